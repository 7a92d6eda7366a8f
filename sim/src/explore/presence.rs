//! Whether a recorded failure is still there after a change of code. One run that follows its turns may miss it by bad luck, so runs near it are tried
//! before it counts as gone. Where a failure comes from is the question of `bisect`.
//!
//! The rule:
//! - One run follows all the turns as far as it can. If it fails alike, the failure is there.
//! - Else [`NEARBY_RUNS`] runs follow them up to some step, each to another, the late ones more often, and go on at random. If one of them fails
//!   alike, the failure is there.
//! - Else, if calls don't come as they were recorded, those runs were perhaps not near it at all. So the plan runs at random, with other draws of latencies
//!   and entropy each time, [`RANDOM_RUNS`] times; or, where it is known how often it fails so at random, as often as it takes to see that with 99 %.
//!   If one of them fails alike, the failure is there.
//! - Else, if the run that follows all turns fails otherwise or gives no result, or most of the others do, nothing can be told: what comes first may hide it.
//! - Else, if too few of the recorded calls came as recorded and the runs at random prove too little, nothing can be told.
//! - Else it is gone. What still fails in a share p of n such runs is taken for gone with the probability (1 − p)^n.

use super::{Runner, Share, Stopped, Trial};
use crate::Draw;
use crate::invariant::CrashPoints;
use crate::plan::Plan;
use crate::schedule::{Guide, TurnDrift, Turns};
use crate::seed::{Seed, Stream};

/// How many runs near the recorded one are tried.
pub const NEARBY_RUNS: u64 = 40;

/// How many runs at random, where nothing is known of them.
pub const RANDOM_RUNS: u64 = 80;

/// The most runs at random.
const RANDOM_RUNS_MAX: f64 = 400.0;

/// Of a thousand steps so many are kept, turn by turn: mostly late, where most failures are decided.
const KEPT_PER_MILLE: [u64; 8] = [1000, 990, 970, 950, 900, 800, 600, 300];

/// If this part of the recorded calls came as recorded, runs that follow them are as good as if all had.
const FOLLOWED_WELL: f64 = 0.95;

/// If less than this came as recorded, a verdict needs to know how often it fails at random.
const FOLLOWED_MIN: f64 = 0.5;

/// With which probability runs at random may miss what is there, at most.
const MISSED_MAX: f64 = 0.05;

/// A failure that was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What ran.
    pub plan: Plan,
    /// Who went when.
    pub turns: Turns,
    /// How it failed.
    pub fingerprint: String,
    /// How many crash points were explored.
    pub crash_points: CrashPoints,
    /// Whether the scenario's invariants were left out.
    pub without_invariants: bool,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fails alike.
    There,
    /// It doesn't.
    Gone,
    /// It can't be told, and why.
    Unclear(String),
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Presence {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the run that follows all turns fails alike.
    pub follows: bool,
    /// How many of the runs near it fail alike.
    pub nearby: Share,
    /// How many of the runs at random.
    pub random: Share,
    /// The first step that was not as recorded.
    pub drift: Option<TurnDrift>,
    /// What part of the recorded calls came as recorded.
    pub followed: f64,
}

impl Presence {
    /// All runs that gave a result.
    pub fn runs(&self) -> u64 {
        1 + self.nearby.of + self.random.of
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Go on after the first failure, to count in how many runs there is one, near it and at random.
    pub counts_all: bool,
    /// How often it is known to fail at random where it is there.
    pub expected: Option<Share>,
}

impl Effort {
    /// How many runs at random there are, and whether they prove something.
    fn random_runs(self) -> (u64, bool) {
        let Some(expected) = self.expected else { return (RANDOM_RUNS, false) };
        // What is known for sure of how often: no more than the lower end.
        let (low, _) = expected.interval();
        if low <= 0.0 {
            return (RANDOM_RUNS, false);
        }
        let passes = (1.0 - low).max(1e-9);
        let runs = (0.01_f64.ln() / passes.ln()).ceil().clamp(NEARBY_RUNS as f64, RANDOM_RUNS_MAX);
        (runs as u64, passes.powf(runs) <= MISSED_MAX)
    }
}

/// Finds out.
///
/// # Errors
/// The search shall end, or nothing can be run.
pub fn presence(recorded: &Recorded, runner: &mut dyn Runner, effort: Effort) -> Result<Presence, Stopped> {
    let none = Share::default();
    let found =
        Presence { verdict: Verdict::Gone, follows: false, nearby: none, random: none, drift: None, followed: 0.0 };
    let fresh = recorded.plan.seed.stream("presence");
    Looking { recorded, runner, effort, fresh, others: 0, lost: 0, found }.look()
}

struct Looking<'a> {
    recorded: &'a Recorded,
    runner: &'a mut dyn Runner,
    effort: Effort,
    fresh: Stream,
    /// Runs that fail otherwise.
    others: u64,
    /// Runs that gave no result.
    lost: u64,
    found: Presence,
}

impl Looking<'_> {
    fn look(mut self) -> Result<Presence, Stopped> {
        let trial = self.trial(None, None);
        let first = self.runner.run(vec![trial])?.into_iter().next().flatten();
        let mut other = None;
        if let Some(tried) = &first {
            self.found.follows = tried.failed_as(&self.recorded.fingerprint);
            let guided = tried.guided.clone().unwrap_or_default();
            self.found.followed = guided.calls_followed as f64 / self.recorded.turns.steps.max(1) as f64;
            self.found.drift = guided.drift;
            other = tried.violation.as_ref().map(|violation| violation.fingerprint.clone());
        }
        let steps = self.recorded.turns.steps;
        let kept = |index: u64| steps * KEPT_PER_MILLE[index as usize % KEPT_PER_MILLE.len()] / 1000;
        self.found.nearby = self.run(NEARBY_RUNS, kept)?;
        let drifts = self.found.drift.is_some() && self.found.followed < FOLLOWED_WELL;
        let (random_runs, proves) = self.effort.random_runs();
        if drifts || self.effort.counts_all {
            self.found.random = self.run(random_runs, |_| 0)?;
        }
        let told = self.found.nearby.of + self.found.random.of;
        let followed = format!("only {:.0} % of the recorded calls came as recorded", self.found.followed * 100.0);
        self.found.verdict = match other {
            _ if self.is_there() => Verdict::There,
            _ if first.is_none() => {
                Verdict::Unclear("the run that follows the recorded turns gives no result".to_owned())
            }
            Some(other) => Verdict::Unclear(format!("another violation comes first: {other}")),
            None if self.lost > told => {
                Verdict::Unclear(format!("{} of {} runs give no result", self.lost, told + self.lost))
            }
            None if self.others * 2 > told => {
                Verdict::Unclear(format!("{} of {told} runs fail otherwise", self.others))
            }
            None if drifts && !proves && self.effort.expected.is_some() => Verdict::Unclear(format!(
                "{followed}, and at random it is too rare for {random_runs} runs to prove anything"
            )),
            None if drifts && !proves && self.found.followed < FOLLOWED_MIN => {
                Verdict::Unclear(format!("{followed}: it goes another way"))
            }
            None => Verdict::Gone,
        };
        Ok(self.found)
    }

    fn trial(&self, leave_after: Option<u64>, then: Option<Seed>) -> Trial {
        let Recorded { plan, turns, crash_points, without_invariants, .. } = self.recorded;
        let guide = Guide { turns: turns.clone(), leave_after, then };
        let (plan, guide) = (plan.clone(), Some(guide));
        Trial { plan, guide, crash_points: *crash_points, without_invariants: *without_invariants }
    }

    fn is_there(&self) -> bool {
        self.found.follows || self.found.nearby.count > 0 || self.found.random.count > 0
    }

    /// So many runs, each with so many steps kept; after the first failure no more than are counted.
    fn run(&mut self, runs: u64, kept: impl Fn(u64) -> u64) -> Result<Share, Stopped> {
        let (mut share, mut asked) = (Share::default(), 0);
        while asked < runs && (self.effort.counts_all || !(self.is_there() || share.count > 0)) {
            let batch = (self.runner.width() as u64).max(4).min(runs - asked);
            let mut trials = Vec::new();
            for index in asked..asked + batch {
                let (kept, then) = (kept(index), Seed(self.fresh.bits()));
                let mut trial = self.trial(Some(kept), Some(then));
                if kept == 0 {
                    // Who goes first is not all that was drawn: how long calls take decides, too, and one call more shifts all those draws.
                    trial.plan.seed = Seed(self.fresh.bits());
                }
                trials.push(trial);
            }
            for tried in self.runner.run(trials)? {
                let Some(tried) = tried else {
                    self.lost += 1;
                    continue;
                };
                let fails_alike = tried.failed_as(&self.recorded.fingerprint);
                share.add(fails_alike);
                self.others += u64::from(!fails_alike && tried.violation.is_some());
            }
            asked += batch;
        }
        Ok(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::Tried;
    use crate::invariant::Violation;
    use crate::schedule::Guided;
    use crate::trace::CallKind;

    const STEPS: u64 = 1000;

    /// How it fails that ends its process.
    const LOST: &str = "lost";

    /// Runs by a rule: how it fails, and how many calls are followed.
    struct Rule<F>(F);

    impl<F: Fn(&Guide) -> (Option<&'static str>, u64)> Runner for Rule<F> {
        fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
            let try_one = |trial: Trial| {
                let (fails, calls_followed) = (self.0)(&trial.guide.expect("a guide"));
                (fails != Some(LOST)).then(|| Tried {
                    hits: Vec::new(),
                    violation: fails.map(|id| Violation::new(id, "it failed")),
                    processes: Vec::new(),
                    steps: STEPS,
                    chaos_steps: STEPS,
                    calm_steps: 0,
                    preemptions: 0,
                    trace_hash: None,
                    turns: None,
                    choices: None,
                    guided: Some(Guided {
                        calls_followed,
                        drift: (calls_followed < STEPS).then(|| TurnDrift {
                            step: 1,
                            task: "a task".to_owned(),
                            expected: CallKind::Read,
                            found: None,
                        }),
                        ..Guided::default()
                    }),
                })
            };
            Ok(trials.into_iter().map(try_one).collect())
        }

        fn width(&self) -> usize {
            2
        }
    }

    fn found(effort: Effort, rule: impl Fn(&Guide) -> (Option<&'static str>, u64)) -> Presence {
        let recorded = Recorded {
            plan: Plan::plain("made-up", Seed(1)),
            turns: Turns { steps: STEPS, ..Turns::default() },
            fingerprint: "right/-/-/-".to_owned(),
            crash_points: CrashPoints::None,
            without_invariants: false,
        };
        presence(&recorded, &mut Rule(rule), effort).expect("nothing stops it")
    }

    fn expecting(count: u64, of: u64) -> Effort {
        Effort { expected: Some(Share { count, of }), ..Effort::default() }
    }

    #[test]
    fn one_failure_is_enough() {
        let there = found(Effort::default(), |_| (Some("right"), STEPS));
        assert_eq!((there.verdict.clone(), there.runs()), (Verdict::There, 1));
        let late = found(Effort::default(), |guide| ((guide.leave_after == Some(970)).then_some("right"), 10));
        assert_eq!((late.verdict, late.nearby.count), (Verdict::There, 1), "a drift is no reason not to see it");
        assert!(late.nearby.of < 10);
    }

    #[test]
    fn it_is_gone_only_after_all_runs() {
        let gone = found(Effort::default(), |_| (None, STEPS));
        assert_eq!(
            (gone.verdict.clone(), gone.runs()),
            (Verdict::Gone, 1 + NEARBY_RUNS),
            "without a drift no run is at random"
        );
    }

    #[test]
    fn what_runs_near_it_miss_runs_at_random_may_find() {
        let rare = |guide: &Guide| {
            let fails = guide.leave_after == Some(0) && guide.then.is_some_and(|then| then.0 % 16 == 0);
            (fails.then_some("right"), STEPS * 7 / 10)
        };
        assert_eq!(found(Effort::default(), rare).verdict, Verdict::There);
    }

    #[test]
    fn what_can_t_be_told_is_not_told() {
        let other = found(Effort::default(), |guide| (guide.leave_after.is_none().then_some("other"), STEPS));
        assert!(matches!(&other.verdict, Verdict::Unclear(why) if why.contains("other/-/-/-")), "{other:?}");
        let others = found(Effort::default(), |guide| (guide.leave_after.is_some().then_some("other"), STEPS));
        assert!(matches!(&others.verdict, Verdict::Unclear(why) if why.contains("40 of 40")), "{others:?}");
        let lost = found(Effort::default(), |guide| (guide.leave_after.is_some().then_some(LOST), STEPS));
        assert!(matches!(&lost.verdict, Verdict::Unclear(why) if why.contains("40 of 40")), "{lost:?}");
        let far = found(Effort::default(), |_| (None, STEPS / 3));
        assert!(matches!(&far.verdict, Verdict::Unclear(why) if why.contains("33 %")), "{far:?}");
    }

    #[test]
    fn how_rare_it_is_at_random_decides_what_a_drift_means() {
        let drifts = |_: &Guide| (None, STEPS / 3);
        let often = found(expecting(40, 80), drifts);
        assert_eq!((often.verdict, often.random.of), (Verdict::Gone, 40), "half of all runs: forty are enough");
        let sometimes = found(expecting(8, 80), drifts);
        assert_eq!(sometimes.verdict, Verdict::Gone);
        assert!(sometimes.random.of > 80, "{:?}", sometimes.random);
        for rare in [expecting(0, 80), expecting(1, 80)] {
            let told = found(rare, drifts);
            assert!(matches!(&told.verdict, Verdict::Unclear(why) if why.contains("too rare")), "{told:?}");
        }
        // Where the recorded calls come as recorded nobody needs runs at random.
        assert_eq!(found(expecting(0, 80), |_| (None, STEPS)).verdict, Verdict::Gone);
    }

    #[test]
    fn all_are_counted_when_asked() {
        let all = Effort { counts_all: true, expected: None };
        let counted = found(all, |guide| ((guide.leave_after.is_none_or(|kept| kept > 900)).then_some("right"), STEPS));
        assert_eq!(counted.verdict, Verdict::There);
        assert_eq!(counted.nearby, Share { count: 20, of: NEARBY_RUNS });
        assert_eq!(counted.random, Share { count: 0, of: RANDOM_RUNS });
    }
}
