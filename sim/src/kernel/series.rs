//! Many runs on one thread, for plans so short that a thread each would cost more than the run. What a single run is, is in `run`; what a thread remembers of
//! its runs is seen by `ruler`.

use super::ruler::{Begun, Rulers};
use super::run::{Outcome, RunError, SELF_CONTAINED_SEED, Settings};
use super::run::{
    in_simulation, may_use_threads_again, needs_first_run, on_fresh_thread, run_apart, run_on_used_thread, runtime,
};
use crate::invariant::CrashPoints;
use crate::plan::{Plan, Scenario};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Runs plans of one scenario in turn, nearly all of them on one thread, and hands over each outcome, which is the one that [`crate::run`] gives. What std keeps
/// for a thread is watched: where a program makes a hash map of std's, its plan is run again on a fresh thread, perhaps with some others. Not noticed is a program
/// that keeps something in a thread-local of its own from one run to the next: none may.
///
/// A scenario that is self-contained ([`Scenario::is_self_contained`]) is served best: many of its runs share a madsim runtime, too, and a program
/// that draws from it after all is noticed as well.
///
/// Where `tracing` has a subscriber every run has a thread of its own.
///
/// `plans` is asked for some plans ahead of the one that is run, and `settings` at each attempt of a plan. `each` ends the series with [`ControlFlow::Break`].
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
    let mut series = Series { scenario, plans: plans.into_iter(), ahead: VecDeque::new(), settings, each };
    if !may_use_threads_again() {
        return series.run_apart();
    }
    let mut marks = MARKS_FIRST;
    loop {
        let rulers = Rulers::made_apart(marks)?;
        marks = (marks * 4).min(MARKS_MAX);
        if on_fresh_thread(|| series.run_on_this_thread(rulers))? == Progress::Over {
            return Ok(());
        }
    }
}

/// A short series makes a short ruler; the longest, a few milliseconds' work, does for thousands of runs.
const MARKS_FIRST: usize = 1 << 11;
const MARKS_MAX: usize = 1 << 16;

/// The most plans that are run before their outcomes are handed over.
const AHEAD_MAX: usize = 64;

#[derive(PartialEq, Eq)]
enum Progress {
    Over,
    /// The thread has made more hash maps than its ruler can count.
    ThreadIsUsedUp,
}

struct Series<'a, P, S, E> {
    scenario: &'a (dyn Scenario + Sync),
    plans: P,
    /// Plans that have been asked for.
    ahead: VecDeque<Plan>,
    settings: S,
    each: E,
}

/// What a run on a used thread came to. `None`: it has to be run apart.
type Attempt = Option<Result<Outcome, RunError>>;

impl<P, S, E> Series<'_, P, S, E>
where
    P: Iterator<Item = Plan>,
    S: Fn() -> Settings,
    E: FnMut(&Plan, Outcome) -> ControlFlow<()>,
{
    fn run_on_this_thread(&mut self, rulers: Rulers) -> Result<Progress, RunError> {
        let begun = rulers.begin()?;
        if self.scenario.is_self_contained() { self.run_in_handfuls(begun) } else { self.run_in_simulations(begun) }
    }

    /// Each run on a thread of its own.
    fn run_apart(&mut self) -> Result<(), RunError> {
        while let Some(plan) = self.plans.next() {
            if self.hand_over(&plan, None)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Each run in a simulation of its own.
    fn run_in_simulations(&mut self, mut begun: Begun) -> Result<Progress, RunError> {
        // Each simulation makes hash maps, always as many.
        let of_one = begun.hash_maps(|| in_simulation(SELF_CONTAINED_SEED, || ())).1;
        while begun.has_room() {
            self.ask_ahead(1);
            let Some(plan) = self.ahead.pop_front().map(Rc::new) else { return Ok(Progress::Over) };
            let settings = (self.settings)();
            let attempt = if can_follow(&settings) {
                // A first run that counts steps is a run, too.
                let runs = 1 + usize::from(needs_first_run(&plan, &settings));
                let run = || run_on_used_thread(self.scenario, &plan, settings, false);
                let (outcome, hash_maps) = begun.hash_maps(run);
                (hash_maps.is_some() && hash_maps == of_one.map(|of_one| of_one * runs)).then_some(outcome)
            } else {
                None
            };
            if self.hand_over(&plan, attempt)?.is_break() {
                return Ok(Progress::Over);
            }
        }
        Ok(Progress::ThreadIsUsedUp)
    }

    /// Runs a handful at a time in one simulation. Whoever is called between runs should see the real clock, so that is done outside; and each handful has a
    /// simulation of its own, since the clock of one moves each time that it is entered.
    fn run_in_handfuls(&mut self, mut begun: Begun) -> Result<Progress, RunError> {
        let mut attempts: Vec<(Rc<Plan>, Attempt)> = Vec::with_capacity(AHEAD_MAX);
        // A violation is what one looks for: whoever does so should hear of it before more is run. But who goes on after each needn't hear of every one at once.
        let mut violations_max = 1;
        // One look at the rulers costs what some steps do, so it is for a handful of runs. Whatever they have touched they have touched together, and each is
        // run again: after that there are few of them, and more each time that nothing was touched.
        let mut runs_max = AHEAD_MAX;
        while begun.has_room() {
            self.ask_ahead(AHEAD_MAX);
            if self.ahead.is_empty() {
                return Ok(Progress::Over);
            }
            let handful = || self.run_handful(&mut attempts, runs_max, violations_max);
            let violations = runtime(SELF_CONTAINED_SEED).block_on(async {
                begun.enters_simulation();
                begun.untouched(handful)
            });
            match violations {
                Some(violations) => {
                    runs_max = (runs_max * 2).min(AHEAD_MAX);
                    if violations > 0 {
                        // What is run in vain after one that ends the series after all is less than a handful.
                        violations_max = (violations_max * 2).min(AHEAD_MAX);
                    }
                }
                None => {
                    runs_max = 1;
                    attempts.iter_mut().for_each(|(_, attempt)| *attempt = None);
                }
            }
            for (plan, attempt) in attempts.drain(..) {
                if self.hand_over(&plan, attempt)?.is_break() {
                    return Ok(Progress::Over);
                }
            }
        }
        Ok(Progress::ThreadIsUsedUp)
    }

    /// Runs so many plans at most, until one can't be run or until there are so many violations. Gives how many there were.
    fn run_handful(
        &mut self,
        attempts: &mut Vec<(Rc<Plan>, Attempt)>,
        runs_max: usize,
        violations_max: usize,
    ) -> usize {
        let mut violations = 0;
        while attempts.len() < runs_max
            && violations < violations_max
            && let Some(plan) = self.ahead.pop_front().map(Rc::new)
        {
            let settings = (self.settings)();
            let attempt = can_follow(&settings).then(|| run_on_used_thread(self.scenario, &plan, settings, true));
            let runs_on = matches!(&attempt, Some(Ok(_)));
            violations += usize::from(matches!(&attempt, Some(Ok(outcome)) if !outcome.passed()));
            attempts.push((plan, attempt));
            if !runs_on {
                break;
            }
        }
        violations
    }

    /// Asks for plans until so many are there.
    fn ask_ahead(&mut self, count: usize) {
        let missing = count.saturating_sub(self.ahead.len());
        self.ahead.extend(self.plans.by_ref().take(missing));
    }

    fn hand_over(&mut self, plan: &Plan, attempt: Attempt) -> Result<ControlFlow<()>, RunError> {
        let outcome = match attempt {
            Some(outcome) => outcome?,
            // What its hash maps were like depended on the runs before it.
            None => run_apart(self.scenario, plan, (self.settings)())?,
        };
        Ok((self.each)(plan, outcome))
    }
}

/// Whether a run may follow others on their thread: recoveries at crash points need threads of their own.
fn can_follow(settings: &Settings) -> bool {
    settings.crash_points == CrashPoints::None
}
