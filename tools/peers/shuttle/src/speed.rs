//! Plain work on shuttle: threads, or futures, that yield. It has no time: a sleep is a yield there, so sleeps are not told.

use crate::search::config;
use peers_bench::{Stopwatch, Work, tell_speed};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Runner, future, thread};

/// Does so many runs, and tells yields, runs and seconds: with threads or with futures, whichever is faster.
///
/// # Errors
/// Work that shuttle can't do, in words.
pub(crate) fn speed(work: Work, tasks: u64, rounds: u64, runs: u64) -> Result<(), String> {
    if work != Work::Yield {
        return Err("shuttle has no timers".to_owned());
    }
    let mut config = config();
    config.max_steps = shuttle::MaxSteps::None;
    let runner = || Runner::new(RandomScheduler::new_from_seed(1, runs as usize), config.clone());
    let begun = Stopwatch::start();
    runner().run(move || {
        let threads: Vec<_> =
            (0..tasks).map(|_| thread::spawn(move || (0..rounds).for_each(|_| thread::yield_now()))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread ended"));
    });
    let with_threads = begun.elapsed();
    let begun = Stopwatch::start();
    runner().run(move || {
        future::block_on(async move {
            let futures: Vec<_> = (0..tasks)
                .map(|_| {
                    future::spawn(async move {
                        for _ in 0..rounds {
                            future::yield_now().await;
                        }
                    })
                })
                .collect();
            for future in futures {
                future.await.expect("a future ended");
            }
        });
    });
    tell_speed(tasks * rounds * runs, runs, with_threads.min(begun.elapsed()));
    Ok(())
}
