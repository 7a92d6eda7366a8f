//! A contender of the bench of peers: turmoil, for raw speed. Its tasks are tokio's, on one simulated host. `peers_bench::Request` says how it is asked and what it
//! tells.

use peers_bench::{Request, Stopwatch, Work, tell_speed};
use std::time::Duration;

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
        let mut simulation =
            turmoil::Builder::new().rng_seed(seed).simulation_duration(Duration::from_secs(1_000_000_000)).build();
        simulation.client("tasks", run(work, tasks, rounds, seed));
        simulation.run().expect("a run ends well");
    }
    tell_speed(tasks * rounds * runs, runs, begun.elapsed());
}

async fn run(work: Work, tasks: u64, rounds: u64, seed: u64) -> turmoil::Result {
    let mut handles = Vec::new();
    for task in 0..tasks {
        handles.push(tokio::spawn(async move {
            let mut state = seed.wrapping_mul(tasks) + task + 1;
            for _ in 0..rounds {
                match work {
                    Work::Yield => tokio::task::yield_now().await,
                    Work::Sleep => {
                        // Xorshift (Marsaglia 2003): turmoil's own generator is not for programs.
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        tokio::time::sleep(Duration::from_micros(1_000 + state % 9_000)).await;
                    }
                }
            }
        }));
    }
    for handle in handles {
        handle.await?;
    }
    Ok(())
}
