//! Searches a program on shuttle: one scheduler that goes on from schedule to schedule, even after a deadlock, which ends shuttle's own run. The programs are in
//! `programs`.

use crate::programs::Program;
use peers_bench::{Count, Request, Search, Told};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
// Not shuttle's own: a program tells its outcome by it, and that is no step.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One of shuttle's schedulers, which counts what it is asked, and stops when the search is over.
struct Counting {
    scheduler: Box<dyn Scheduler>,
    /// Scheduling points of this schedule; 0: there has been none.
    points: u64,
    count: Count,
    /// Whether this schedule has shown the bug.
    has_bug: Arc<AtomicBool>,
}

/// What shuttle's runner gets of it: a runner ends with the first deadlock, and the scheduler goes on.
struct Shared(Rc<RefCell<Counting>>);

impl Scheduler for Shared {
    fn new_execution(&mut self) -> Option<Schedule> {
        let mut counting = self.0.borrow_mut();
        let points = std::mem::take(&mut counting.points);
        let has_bug = counting.has_bug.swap(false, Relaxed);
        if points > 0 && !counting.count.schedule(has_bug, points) {
            return None;
        }
        counting.scheduler.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let mut counting = self.0.borrow_mut();
        counting.points += 1;
        counting.scheduler.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.borrow_mut().scheduler.next_u64()
    }
}

/// Schedules without end: the search says when it is over.
const ENDLESS: usize = usize::MAX;

fn scheduler(strategy: &str, seed: u64) -> Result<Box<dyn Scheduler>, String> {
    Ok(match strategy {
        "random" => Box::new(RandomScheduler::new_from_seed(seed, ENDLESS)),
        "pct:depth=2" => Box::new(PctScheduler::new_from_seed(seed, 2, ENDLESS)),
        "pct:depth=3" => Box::new(PctScheduler::new_from_seed(seed, 3, ENDLESS)),
        "urw" => Box::new(UrwRandomScheduler::new_from_seed(seed, ENDLESS)),
        _ => return Err(format!("no strategy is named `{strategy}`; there are random, pct:depth=2, pct:depth=3, urw")),
    })
}

/// Failures are counted, not printed.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
}

/// Does what was asked for.
///
/// # Errors
/// What can't be searched, in words.
pub(crate) fn search(request: &Request, search: &Search, program: Program) -> Result<Told, String> {
    let (scheduler, has_bug) = (scheduler(&search.strategy, search.seed)?, Arc::new(AtomicBool::new(false)));
    let count = Count::begin(request);
    let counting = Rc::new(RefCell::new(Counting { scheduler, points: 0, count, has_bug: has_bug.clone() }));
    let is_mended = search.is_mended;
    loop {
        let runner = Runner::new(Shared(counting.clone()), config());
        let shown = has_bug.clone();
        let schedule = move || {
            if !program(is_mended) {
                shown.store(true, Relaxed);
            }
        };
        match catch_unwind(AssertUnwindSafe(|| runner.run(schedule))) {
            Ok(_) => break,
            Err(_) if counting.borrow().points > 0 => has_bug.store(true, Relaxed),
            // Its PCT refuses a program in which nobody ever has a choice.
            Err(_) => return Err(format!("{} can't run {} here", search.strategy, search.program)),
        }
    }
    let counting = Rc::into_inner(counting).map(RefCell::into_inner);
    Ok(counting.ok_or("a runner is left")?.count.told())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::named;
    use peers_bench::PROGRAMS;

    const STRATEGIES: &[&str] = &["random", "pct:depth=3", "urw"];

    /// How many of so many schedules have the bug, by strategy.
    fn found(program: &str, is_mended: bool, strategies: &[&str], schedules: u64) -> Vec<u64> {
        let found = |strategy: &&str| {
            let search = Search { program: program.to_owned(), is_mended, strategy: (*strategy).to_owned(), seed: 1 };
            let request = Request::Rate { search: search.clone(), schedules };
            let told = super::search(&request, &search, named(program).expect("a program")).expect("a search");
            assert_eq!(told.schedules, schedules, "{program}");
            assert!(told.points > 10 * schedules, "{program} takes steps");
            told.found
        };
        strategies.iter().map(found).collect()
    }

    #[test]
    fn every_bug_is_found() {
        for (program, _) in PROGRAMS {
            let found = found(program, false, STRATEGIES, 3_000);
            assert!(found.iter().sum::<u64>() > 0, "{program}");
        }
    }

    #[test]
    fn what_is_mended_holds() {
        for (program, _) in PROGRAMS {
            // Not PCT: in a token ring that is mended there is no choice left, and it refuses that.
            let found = found(program, true, &["random", "urw"], 3_000);
            assert_eq!(found.iter().sum::<u64>(), 0, "{program}: {found:?}");
        }
    }
}
