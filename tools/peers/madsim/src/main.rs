//! A contender of the bench of peers: madsim's own executor, for raw speed. `peers_bench::Request` says how it is asked and what it tells.

use peers_bench::{Request, Stopwatch, Work, tell_speed};
use std::time::Duration;

/// As at all contenders.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[allow(clippy::disallowed_methods, reason = "a thread a run is what madsim asks for")]
fn main() {
    let Request::Speed { work: work @ (Work::Yield | Work::Sleep), tasks, rounds, runs } = Request::from_arguments()
    else {
        eprintln!("madsim is asked for the speed of yields and sleeps only");
        std::process::exit(2);
    };
    let begun = Stopwatch::start();
    for seed in 0..runs {
        // As madsim's own test macro does it: a thread a run, or std's hash maps would differ from run to run.
        let run = move || {
            let runtime = madsim::runtime::Runtime::with_seed_and_config(seed, madsim::Config::default());
            runtime.block_on(run(work, tasks, rounds));
        };
        std::thread::spawn(run).join().expect("a run ends well");
    }
    tell_speed(tasks * rounds * runs, runs, begun.elapsed());
}

async fn run(work: Work, tasks: u64, rounds: u64) {
    let mut handles = Vec::new();
    for _ in 0..tasks {
        handles.push(madsim::task::spawn(async move {
            for _ in 0..rounds {
                match work {
                    Work::Yield => madsim::task::yield_now().await,
                    _ => {
                        let for_us = madsim::rand::Rng::gen_range(&mut madsim::rand::thread_rng(), 1_000..10_000);
                        madsim::time::sleep(Duration::from_micros(for_us)).await;
                    }
                }
            }
        }));
    }
    for handle in handles {
        handle.await.expect("a task ended");
    }
}
