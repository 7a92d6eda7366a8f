//! A contender of the bench of peers: turmoil, for raw speed. `peers_bench::Request` says how it is asked and what it tells.
//!
//! Yields and sleeps are those of tokio's tasks on one simulated host. No other host goes between two yields of one: turmoil lets each host go on until it has
//! nothing more to do in the tick, one host after the other (the tests show it). So a yield there is no step of the simulation, whatever it costs. The least after
//! which another host may go is a sleep of one tick: that is the work `tick`, with a host for each task.

use peers_bench::{Request, Stopwatch, TICK, Work, tell_speed};
use std::future::Future;
use std::time::Duration;
use turmoil::Sim;

/// As at all contenders.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let Request::Speed { work, tasks, rounds, runs } = Request::from_arguments() else {
        eprintln!("turmoil is asked for its speed only");
        std::process::exit(2);
    };
    let begun = Stopwatch::start();
    for seed in 0..runs {
        let mut simulation = simulation(seed);
        match work {
            Work::Yield | Work::Sleep => simulation.client("tasks", run(work, tasks, rounds, seed)),
            Work::Tick => (0..tasks).for_each(|task| {
                simulation.client(format!("task-{task}"), async move { repeat(rounds, ticks).await });
            }),
        }
        simulation.run().expect("a run ends well");
    }
    tell_speed(tasks * rounds * runs, runs, begun.elapsed());
}

fn simulation(seed: u64) -> Sim<'static> {
    turmoil::Builder::new()
        .rng_seed(seed)
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(1_000_000_000))
        .build()
}

async fn ticks() {
    tokio::time::sleep(TICK).await;
}

/// Does a thing so often.
async fn repeat<F: Future<Output = ()>>(rounds: u64, thing: impl Fn() -> F) -> turmoil::Result {
    for _ in 0..rounds {
        thing().await;
    }
    Ok(())
}

async fn run(work: Work, tasks: u64, rounds: u64, seed: u64) -> turmoil::Result {
    let mut handles = Vec::new();
    for task in 0..tasks {
        handles.push(tokio::spawn(async move {
            let mut state = seed.wrapping_mul(tasks) + task + 1;
            for _ in 0..rounds {
                if work == Work::Yield {
                    tokio::task::yield_now().await;
                    continue;
                }
                // Xorshift (Marsaglia 2003): turmoil's own generator is not for programs.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                tokio::time::sleep(Duration::from_micros(1_000 + state % 9_000)).await;
            }
        }));
    }
    for handle in handles {
        handle.await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const HOSTS: usize = 4;
    const ROUNDS: usize = 50;

    /// Which host went, in order, when each does a thing so often.
    fn order<F: Future<Output = ()> + 'static>(thing: fn() -> F) -> Vec<usize> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut simulation = simulation(1);
        for host in 0..HOSTS {
            let order = order.clone();
            simulation.client(format!("task-{host}"), async move {
                for _ in 0..ROUNDS {
                    order.borrow_mut().push(host);
                    thing().await;
                }
                Ok(())
            });
        }
        simulation.run().expect("a run ends well");
        drop(simulation);
        Rc::into_inner(order).expect("all hosts are gone").into_inner()
    }

    fn changes(order: &[usize]) -> usize {
        order.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    #[test]
    fn no_other_host_goes_between_two_yields_of_one() {
        let order = order(tokio::task::yield_now);
        assert_eq!((order.len(), changes(&order)), (HOSTS * ROUNDS, HOSTS - 1), "{order:?}");
    }

    #[test]
    fn after_a_tick_another_host_goes() {
        let order = order(ticks);
        assert_eq!((order.len(), changes(&order)), (HOSTS * ROUNDS, HOSTS * ROUNDS - 1), "{order:?}");
    }
}
