//! Many runs on one thread, for plans so short that a thread each would cost more than the run. What a single run is, is in `run`.

use super::run::{Outcome, RunError, Settings, Threading, in_simulation, run_apart, run_on_used_thread, thread, turn};
use crate::invariant::CrashPoints;
use crate::plan::{Plan, Scenario};
use crate::seed::Seed;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

/// Runs plans of one scenario in turn, nearly all of them on one thread, and hands over each outcome. Each is the outcome that [`crate::run`] gives: every run
/// has a madsim runtime of its own, and a program that makes a hash map of std's, whose seeding belongs to the thread, is noticed and its plan run again on a
/// fresh thread. Not noticed is a program that keeps something in a thread-local of its own from one run to the next: none may.
///
/// `settings` is asked at each attempt of a plan. `each` ends the series with [`ControlFlow::Break`].
///
/// # Errors
/// As [`crate::run`], at the first plan that can't be run.
///
/// # Panics
/// As [`crate::run`]; and with the panic of `plans`, `settings` or `each`.
pub fn run_series(
    scenario: &(dyn Scenario + Sync),
    plans: impl IntoIterator<Item = Plan, IntoIter: Send>,
    settings: impl Fn() -> Settings + Send,
    each: impl FnMut(&Plan, Outcome) -> ControlFlow<()> + Send,
) -> Result<(), RunError> {
    let mut series = Series { scenario, plans: plans.into_iter(), settings, each };
    let mut marks = MARKS_FIRST;
    loop {
        let ruler = Ruler::made_apart(marks)?;
        marks = (marks * 4).min(MARKS_MAX);
        let progress = std::thread::scope(|scope| {
            let run = thread().spawn_scoped(scope, || series.run_on_this_thread(ruler));
            let run = run.map_err(|error| RunError(error.to_string()))?;
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        if progress == Progress::Over {
            return Ok(());
        }
    }
}

#[derive(PartialEq, Eq)]
enum Progress {
    Over,
    /// The thread has made more hash maps than its ruler can count.
    ThreadIsUsedUp,
}

struct Series<'a, P, S, E> {
    scenario: &'a (dyn Scenario + Sync),
    plans: P,
    settings: S,
    each: E,
}

impl<P, S, E> Series<'_, P, S, E>
where
    P: Iterator<Item = Plan>,
    S: Fn() -> Settings,
    E: FnMut(&Plan, Outcome) -> ControlFlow<()>,
{
    fn run_on_this_thread(&mut self, mut ruler: Ruler) -> Result<Progress, RunError> {
        begin_thread();
        let of_one = ruler.count(|| {
            let _turn = turn();
            in_simulation(RULER_SEED, Threading::Used, || ());
        });
        let Some(((), of_one)) = of_one else {
            return Err(RunError("this build's hash maps are seeded in a way that can't be counted".to_owned()));
        };
        while ruler.has_room() {
            let Some(plan) = self.plans.next() else { return Ok(Progress::Over) };
            let outcome = self.run(&plan, of_one, &mut ruler)?;
            if (self.each)(&plan, outcome).is_break() {
                return Ok(Progress::Over);
            }
        }
        Ok(Progress::ThreadIsUsedUp)
    }

    fn run(&self, plan: &Plan, of_one: usize, ruler: &mut Ruler) -> Result<Outcome, RunError> {
        let settings = (self.settings)();
        // Their recoveries need threads of their own.
        if settings.crash_points != CrashPoints::None {
            return run_apart(self.scenario, plan, settings);
        }
        // A first run that counts steps is a run, too.
        let runs = 1 + usize::from(plan.strategy.needs_counts() && settings.replay.is_none());
        match ruler.count(|| run_on_used_thread(self.scenario, plan, settings)) {
            Some((outcome, counted)) if counted == of_one * runs => outcome,
            // What its hash maps were like depended on the runs before it.
            _ => run_apart(self.scenario, plan, (self.settings)()),
        }
    }
}

/// Tells how many hash maps a thread has seeded. Std seeds each a little differently, and says nothing of it; but of two threads that began alike, the n-th
/// of one is seeded as the n-th of the other.
struct Ruler {
    marks: Vec<u64>,
    /// How many of the marks this thread has passed.
    passed: usize,
}

/// Seeds the hash maps of threads with a ruler.
const RULER_SEED: Seed = Seed(0);
/// A short series makes a short ruler; the longest, a few milliseconds' work, does for thousands of runs.
const MARKS_FIRST: usize = 1 << 11;
const MARKS_MAX: usize = 1 << 16;
/// The most that is left unused at a ruler's end: a run needs fewer than that.
const MARKS_KEPT: usize = 256;

/// What a hash map would make of a number, were it made now.
fn mark() -> u64 {
    RandomState::new().hash_one(0u64)
}

/// How threads with a ruler begin: madsim seeds a thread's hash maps with its first runtime there.
fn begin_thread() {
    let _turn = turn();
    in_simulation(RULER_SEED, Threading::Fresh, || ());
}

impl Ruler {
    /// Makes one, on a thread that ends with that.
    fn made_apart(marks: usize) -> Result<Ruler, RunError> {
        let marks = move || {
            begin_thread();
            (0..marks).map(|_| mark()).collect()
        };
        let made = thread().spawn(marks).map_err(|error| RunError(error.to_string()))?.join();
        Ok(Ruler { marks: made.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), passed: 0 })
    }

    fn has_room(&self) -> bool {
        self.marks.len() - self.passed > MARKS_KEPT
    }

    /// Passes the next mark. None when the ruler is too short for it.
    fn pass(&mut self) -> Option<usize> {
        let mark = mark();
        self.passed += self.marks[self.passed..].iter().position(|other| *other == mark)? + 1;
        Some(self.passed)
    }

    /// Does something, and counts the hash maps that it seeded.
    fn count<T>(&mut self, work: impl FnOnce() -> T) -> Option<(T, usize)> {
        let before = self.pass()?;
        let made = work();
        Some((made, self.pass()? - before - 1))
    }
}
