//! A peer of the ratios bench: madsim's own executor on the work that `ours` does. It links madsim and nothing of seedstorm.
//!
//! usage: peer-madsim yield|sleep TASKS ROUNDS; prints `units seconds`.

use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, work, tasks, rounds] = arguments.as_slice() else {
        eprintln!("usage: peer-madsim yield|sleep TASKS ROUNDS");
        std::process::exit(2);
    };
    let (tasks, rounds): (u64, u64) =
        (tasks.parse().expect("a number of tasks"), rounds.parse().expect("a number of rounds"));
    let sleeps = work == "sleep";
    let runtime = madsim::runtime::Runtime::with_seed_and_config(1, madsim::Config::default());
    // Outside the runtime this is the machine's clock; inside it would be simulated time.
    #[allow(clippy::disallowed_methods, reason = "a bench measures wall time")]
    let start = Instant::now();
    runtime.block_on(async move {
        let mut handles = Vec::new();
        for _ in 0..tasks {
            handles.push(madsim::task::spawn(async move {
                for _ in 0..rounds {
                    if sleeps {
                        let for_us = madsim::rand::Rng::gen_range(&mut madsim::rand::thread_rng(), 1_000..10_000);
                        madsim::time::sleep(Duration::from_micros(for_us)).await;
                    } else {
                        madsim::task::yield_now().await;
                    }
                }
            }));
        }
        for handle in handles {
            handle.await.expect("a task ended");
        }
    });
    println!("{} {}", tasks * rounds, start.elapsed().as_secs_f64());
}
