//! Whether a recorded failure is still there after a change of code. One run that follows its turns may miss it by bad luck, so runs near it are tried
//! before it counts as gone. Where a failure comes from is the question of `bisect`.
//!
//! The rule:
//! - One run follows all the turns as far as it can. If it fails alike, the failure is there.
//! - Else [`NEARBY_RUNS`] runs follow them up to some step, each to another, the late ones more often, and go on at random. If one of them fails
//!   alike, the failure is there.
//! - Else, if the run that follows all turns fails otherwise, or most of those near it do, nothing can be told: what comes first may hide it.
//! - Else, if less than half of the recorded calls came as they were recorded, nothing can be told: these runs were not near it.
//! - Else it is gone. What still fails in a share p of such runs is taken for gone with the probability (1 − p)^41.

use super::{Runner, Stopped, Trial};
use crate::Draw;
use crate::invariant::CrashPoints;
use crate::plan::Plan;
use crate::schedule::{Guide, TurnDrift, Turns};
use crate::seed::Seed;

/// How many runs near the recorded one are tried.
pub const NEARBY_RUNS: u64 = 40;

/// Of a thousand steps so many are kept, turn by turn: mostly late, where most failures are decided.
const KEPT_PER_MILLE: [u64; 8] = [1000, 990, 970, 950, 900, 800, 600, 0];

/// What part of the recorded calls must come as recorded.
const FOLLOWED_MIN: f64 = 0.5;

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
    /// Runs near it that were tried.
    pub nearby: u64,
    /// How many of them fail alike.
    pub failed: u64,
    /// The first step that was not as recorded.
    pub drift: Option<TurnDrift>,
    /// What part of the recorded calls came as recorded.
    pub followed: f64,
}

/// Finds out. With `counts_all` it goes on after the first failure, to count in how many of the runs near it there is one.
///
/// # Errors
/// The search shall end, or nothing can be run.
pub fn presence(recorded: &Recorded, runner: &mut dyn Runner, counts_all: bool) -> Result<Presence, Stopped> {
    let trial = |leave_after, then| Trial {
        plan: recorded.plan.clone(),
        guide: Some(Guide { turns: recorded.turns.clone(), leave_after, then }),
        crash_points: recorded.crash_points,
    };
    let followed = runner.run(vec![trial(None, None)])?.into_iter().next().flatten();
    let mut other = None;
    let mut found =
        Presence { verdict: Verdict::Gone, follows: false, nearby: 0, failed: 0, drift: None, followed: 0.0 };
    if let Some(tried) = &followed {
        found.follows = tried.failed_as(&recorded.fingerprint);
        let guided = tried.guided.clone().unwrap_or_default();
        found.followed = guided.calls_followed as f64 / recorded.turns.steps.max(1) as f64;
        found.drift = guided.drift;
        other = tried.violation.as_ref().map(|violation| violation.fingerprint.clone());
    }
    let mut fresh = recorded.plan.seed.stream("presence");
    let (mut others, mut told) = (0, 0);
    while found.nearby < NEARBY_RUNS && (counts_all || !(found.follows || found.failed > 0)) {
        let batch = (runner.width() as u64).max(4).min(NEARBY_RUNS - found.nearby);
        let trials = (found.nearby..found.nearby + batch).map(|index| {
            let per_mille = KEPT_PER_MILLE[index as usize % KEPT_PER_MILLE.len()];
            trial(Some(recorded.turns.steps * per_mille / 1000), Some(Seed(fresh.bits())))
        });
        for tried in runner.run(trials.collect())?.into_iter().flatten() {
            told += 1;
            let fails_alike = tried.failed_as(&recorded.fingerprint);
            found.failed += u64::from(fails_alike);
            others += u64::from(!fails_alike && tried.violation.is_some());
        }
        found.nearby += batch;
    }
    found.verdict = match other {
        _ if found.follows || found.failed > 0 => Verdict::There,
        _ if followed.is_none() => {
            Verdict::Unclear("the run that follows the recorded turns gives no result".to_owned())
        }
        Some(other) => Verdict::Unclear(format!("another violation comes first: {other}")),
        None if others * 2 > told => Verdict::Unclear(format!("{others} of {told} runs fail otherwise")),
        None if found.followed < FOLLOWED_MIN => {
            let part = (found.followed * 100.0).round();
            Verdict::Unclear(format!("only {part} % of the recorded calls came as recorded: it goes another way"))
        }
        None => Verdict::Gone,
    };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::Tried;
    use crate::invariant::Violation;
    use crate::schedule::Guided;

    const STEPS: u64 = 1000;

    /// Runs by a rule: how it fails, and how many calls are followed.
    struct Rule<F>(F);

    impl<F: Fn(&Guide) -> (Option<&'static str>, u64)> Runner for Rule<F> {
        fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
            let try_one = |trial: Trial| {
                let (fails, calls_followed) = (self.0)(&trial.guide.expect("a guide"));
                Some(Tried {
                    hits: Vec::new(),
                    violation: fails.map(|id| Violation::new(id, "it failed")),
                    processes: Vec::new(),
                    steps: STEPS,
                    chaos_steps: STEPS,
                    preemptions: 0,
                    trace_hash: String::new(),
                    turns: None,
                    guided: Some(Guided { calls_followed, ..Guided::default() }),
                })
            };
            Ok(trials.into_iter().map(try_one).collect())
        }

        fn width(&self) -> usize {
            2
        }
    }

    fn found(counts_all: bool, rule: impl Fn(&Guide) -> (Option<&'static str>, u64)) -> Presence {
        let recorded = Recorded {
            plan: Plan::plain("made-up", Seed(1)),
            turns: Turns { steps: STEPS, ..Turns::default() },
            fingerprint: "right/-/-/-".to_owned(),
            crash_points: CrashPoints::None,
        };
        presence(&recorded, &mut Rule(rule), counts_all).expect("nothing stops it")
    }

    #[test]
    fn one_failure_is_enough() {
        let there = found(false, |_| (Some("right"), STEPS));
        assert_eq!((there.verdict, there.nearby), (Verdict::There, 0));
        let late = found(false, |guide| ((guide.leave_after == Some(970)).then_some("right"), 10));
        assert_eq!((late.verdict, late.failed), (Verdict::There, 1), "a drift is no reason not to see it");
        assert!(late.nearby < 10);
    }

    #[test]
    fn it_is_gone_only_after_all_runs() {
        let gone = found(false, |_| (None, STEPS));
        assert_eq!((gone.verdict, gone.nearby), (Verdict::Gone, NEARBY_RUNS));
    }

    #[test]
    fn what_can_t_be_told_is_not_told() {
        let other = found(false, |guide| (guide.leave_after.is_none().then_some("other"), STEPS));
        assert!(matches!(&other.verdict, Verdict::Unclear(why) if why.contains("other/-/-/-")), "{other:?}");
        let others = found(false, |guide| (guide.leave_after.is_some().then_some("other"), STEPS));
        assert!(matches!(&others.verdict, Verdict::Unclear(why) if why.contains("40 of 40")), "{others:?}");
        let far = found(false, |_| (None, STEPS / 3));
        assert!(matches!(&far.verdict, Verdict::Unclear(why) if why.contains("33 %")), "{far:?}");
    }

    #[test]
    fn all_are_counted_when_asked() {
        let counted =
            found(true, |guide| ((guide.leave_after.is_none_or(|kept| kept > 900)).then_some("right"), STEPS));
        assert_eq!((counted.verdict, counted.nearby, counted.failed), (Verdict::There, NEARBY_RUNS, 20));
    }
}
