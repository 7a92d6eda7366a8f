//! Workers that carry out the trials of a search, as many at a time as there are workers. What is tried is decided in `sim::explore`.

use super::protocol::{Answer, WantedOf};
use super::watchdog::{Asked, Worker};
use crate::measured::Stopwatch;
use seedstorm_sim::explore::{Runner, Stopped, Trial, Tried};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Workers, and until when they work.
pub(crate) struct Pool {
    /// One place for each worker; it is empty until there is something to do, and after its worker died.
    workers: Vec<Mutex<Option<Worker>>>,
    /// How much real time a trial may take, in nanoseconds.
    trial_limit_ns: u64,
    interrupt: Arc<AtomicBool>,
    stopwatch: Stopwatch,
    /// How much real time there is for everything, in nanoseconds.
    budget_ns: u64,
    /// Trials that were begun.
    trials: AtomicU64,
    /// Why a trial's plan can't be run, of the last one of which that was said.
    refusal: Mutex<Option<String>>,
}

impl Pool {
    /// Workers that stop at a signal or after `budget_ns` of real time.
    pub(crate) fn new(jobs: u32, trial_limit_ns: u64, budget_ns: u64, interrupt: Arc<AtomicBool>) -> Pool {
        let workers = (0..jobs.max(1)).map(|_| Mutex::new(None)).collect();
        let (trials, refusal) = (AtomicU64::new(0), Mutex::default());
        Pool { workers, trial_limit_ns, interrupt, stopwatch: Stopwatch::start(), budget_ns, trials, refusal }
    }

    /// How many trials were begun. One that the end cuts off counts, one that never began does not.
    pub(crate) fn trials(&self) -> u64 {
        self.trials.load(Ordering::Relaxed)
    }

    /// Why the last trial that had a plan that can't be run can't be, if there was one.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For how long it has worked, in real nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.stopwatch.elapsed_ns()
    }

    /// Whether a signal asked for the end. Else it was the budget.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.is_interrupted() || self.stopwatch.elapsed_ns() >= self.budget_ns
    }

    /// Takes trials until there are none left.
    fn serve(&self, worker: &Mutex<Option<Worker>>, trials: &[Trial], next: &AtomicUsize, tried: &Results) {
        let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && index < trials.len()
            && !self.is_over()
        {
            self.trials.fetch_add(1, Ordering::Relaxed);
            let result = self.try_one(&mut worker, &trials[index]);
            tried.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
        }
    }

    fn try_one(&self, worker: &mut Option<Worker>, trial: &Trial) -> Result<Option<Tried>, Stopped> {
        let broken = |error: anyhow::Error| Stopped::Broken(format!("{error:#}"));
        let mut asked = match worker.take() {
            Some(worker) => worker,
            None => Worker::start().map_err(broken)?,
        };
        let is_wanted = || !self.is_over();
        match asked.ask(WantedOf::Trial(trial), self.trial_limit_ns, &is_wanted).map_err(broken)? {
            Asked::Answered(Answer::Tried { tried, retires }) => {
                if !retires {
                    *worker = Some(asked);
                }
                Ok(Some(told(*tried)))
            }
            Asked::Answered(Answer::Failed(why)) => Err(Stopped::Broken(why)),
            Asked::Answered(answer) => {
                *worker = Some(asked);
                if let Answer::Refused(why) = answer {
                    *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                }
                Ok(None)
            }
            Asked::Lost(_, Some(tried)) => {
                let mut tried = told(*tried);
                tried.processes.retain(|process| !trial.plan.absent.contains(process));
                Ok(Some(tried))
            }
            Asked::Lost(_, None) => Ok(None),
            Asked::Abandoned => Err(Stopped::Interrupted),
        }
    }
}

/// What a worker has told, whole.
fn told(mut tried: Tried) -> Tried {
    if let Some(turns) = &mut tried.turns {
        // Their text does not tell it.
        turns.preemptions = tried.preemptions;
    }
    tried
}

/// What came of each trial, as far as they were carried out.
type Results = Mutex<Vec<Option<Result<Option<Tried>, Stopped>>>>;

impl Runner for Pool {
    fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
        let (next, tried) = (AtomicUsize::new(0), Mutex::new(vec![None; trials.len()]));
        std::thread::scope(|scope| {
            for worker in self.workers.iter().take(trials.len()) {
                scope.spawn(|| self.serve(worker, &trials, &next, &tried));
            }
        });
        let tried = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
        tried.into_iter().map(|tried| tried.unwrap_or(Err(Stopped::Interrupted))).collect()
    }

    fn width(&self) -> usize {
        self.workers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::invariant::CrashPoints;
    use seedstorm_sim::{Plan, Seed};

    #[test]
    fn trials_that_never_began_are_not_counted() {
        let mut pool = Pool::new(2, 1, 0, Arc::default());
        let trial = Trial {
            plan: Plan::plain("steady", Seed(1)),
            guide: None,
            crash_points: CrashPoints::None,
            without_invariants: false,
        };
        assert!(matches!(pool.run(vec![trial.clone(), trial]), Err(Stopped::Interrupted)));
        assert_eq!(pool.trials(), 0);
    }
}
