//! The search over runs that are made up, with a curve that is known: whether it finds what is there, and how often it finds what is not.

use super::*;
use crate::explore::Tried;
use crate::invariant::Violation;

/// Fails with the probability that a curve has for the steps that were kept.
struct MadeUp<F> {
    curve: F,
    runs: u64,
    runs_max: u64,
}

const STEPS: u64 = 6000;

impl<F: Fn(u64) -> f64> Runner for MadeUp<F> {
    fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
        self.runs += trials.len() as u64;
        if self.runs > self.runs_max {
            return Err(Stopped::Interrupted);
        }
        let try_one = |trial: Trial| {
            let guide = trial.guide.expect("every trial is guided");
            let (kept, then) = (guide.leave_after.expect("a prefix"), guide.then.expect("fresh randomness"));
            let chance = if kept >= STEPS { 1.0 } else { (self.curve)(kept) };
            let fails = (then.stream("fate").below(1 << 30) as f64) < chance * f64::from(1 << 30);
            let violation = fails.then(|| Violation::new("made-up", "it failed"));
            Some(Tried {
                hits: Vec::new(),
                violation,
                steps: STEPS,
                chaos_steps: STEPS,
                calm_steps: 0,
                processes: Vec::new(),
                preemptions: 0,
                trace_hash: None,
                turns: None,
                guided: None,
                choices: None,
            })
        };
        Ok(trials.into_iter().map(try_one).collect())
    }

    fn width(&self) -> usize {
        2
    }
}

fn question(seed: u64) -> Question {
    Question {
        plan: Plan::plain("made-up", Seed(1)),
        turns: Turns { steps: STEPS, ..Turns::default() },
        fingerprint: "made-up/-/-/-".to_owned(),
        crash_points: CrashPoints::None,
        without_invariants: false,
        seed: Seed(seed),
    }
}

fn search(seed: u64, curve: impl Fn(u64) -> f64) -> (Found, u64) {
    let mut runner = MadeUp { curve, runs: 0, runs_max: u64::MAX };
    let found = bisect(&question(seed), &mut runner, &mut |_| ()).expect("it repeats");
    (found, runner.runs)
}

fn steps(found: &Found) -> Vec<u64> {
    found.decisive.iter().map(|step| step.step).collect()
}

const SEARCHES: u64 = 200;

#[test]
fn a_jump_is_found_at_its_step() {
    for (low, high) in [(0.0, 1.0), (0.05, 0.95), (0.2, 0.8)] {
        let (mut right, mut wrong, mut runs) = (0, 0, 0);
        for seed in 0..SEARCHES {
            let (found, took) = search(seed, |kept| if kept >= 3777 { high } else { low });
            runs += took;
            let first = found.decisive.first().map(|step| step.step);
            right += u64::from(first == Some(3777));
            wrong += steps(&found).iter().filter(|step| **step != 3777 && **step != STEPS).count() as u64;
            assert!(found.decisive.iter().all(|step| step.before.is_clearly_below(step.after)));
        }
        assert!(right * 100 >= SEARCHES * 95, "{low} to {high}: found in {right} of {SEARCHES}");
        assert!(wrong * 100 <= SEARCHES * 3, "{low} to {high}: {wrong} wrong steps in {SEARCHES} searches");
        assert!(runs / SEARCHES <= 700, "{low} to {high}: {} runs a search", runs / SEARCHES);
    }
}

#[test]
fn two_jumps_are_both_found() {
    let curve = |kept| match kept {
        0..1000 => 0.05,
        1000..5003 => 0.5,
        _ => 0.97,
    };
    let both = (0..SEARCHES).filter(|seed| {
        let found = steps(&search(*seed, curve).0);
        found.contains(&1000) && found.contains(&5003)
    });
    let both = both.count() as u64;
    assert!(both * 100 >= SEARCHES * 85, "both were found in {both} of {SEARCHES}");
}

#[test]
fn where_no_step_decides_none_is_named() {
    let slow = |kept: u64| kept as f64 / STEPS as f64;
    let (mut named, mut within) = (0, 0);
    for seed in 0..SEARCHES {
        let (found, _) = search(seed, slow);
        named += u64::from(!found.decisive.is_empty());
        // A quarter of the rise to three quarters: from 1500 to 4500, give or take what places are known.
        within += u64::from(found.rise.is_some_and(|(before, after)| before < 2800 && after > 3200));
    }
    assert!(named * 100 <= SEARCHES * 3, "a step was named in {named} of {SEARCHES}");
    assert!(within * 100 >= SEARCHES * 90, "the stretch was told in {within} of {SEARCHES}");
}

#[test]
fn what_fails_anyway_has_no_rise() {
    for chance in [0.9, 1.0] {
        let named = (0..SEARCHES).filter(|seed| !search(*seed, |_| chance).0.decisive.is_empty()).count() as u64;
        assert!(named * 100 <= SEARCHES, "a step was named in {named} of {SEARCHES}");
        let (found, runs) = search(3, |_| chance);
        assert_eq!(found.rise, None);
        assert!(runs < 400, "{runs} runs for nothing");
    }
}

#[test]
fn the_last_step_may_be_the_one() {
    let (found, _) = search(1, |_| 0.02);
    assert_eq!(steps(&found), [STEPS]);
    assert_eq!(found.decisive[0].after.interval().1, 1.0);
}

#[test]
fn what_was_found_before_it_was_stopped_is_kept() {
    let mut runner = MadeUp { curve: |kept| f64::from(u8::from(kept >= 3777)), runs: 0, runs_max: 100 };
    let found = bisect(&question(5), &mut runner, &mut |_| ()).expect("it repeats");
    assert_eq!(found.stopped, Some(Stopped::Interrupted));
    assert!(found.decisive.is_empty() && found.curve.len() > 5);
    let (before, after) = found.rise.expect("a stretch");
    assert!(before < 3777 && after >= 3777, "{before} to {after}");
}

#[test]
fn a_run_that_does_not_repeat_is_not_searched() {
    let question = Question { fingerprint: "another/-/-/-".to_owned(), ..question(1) };
    let mut runner = MadeUp { curve: |_| 1.0, runs: 0, runs_max: u64::MAX };
    let refused = bisect(&question, &mut runner, &mut |_| ()).expect_err("it fails otherwise");
    assert_eq!(refused, Refused::NotRepeated("it failed as made-up/-/-/-".to_owned()));
    assert_eq!(runner.runs, 1);
}

#[test]
fn no_continuation_is_run_twice() {
    struct Seen(std::collections::BTreeSet<u64>, MadeUp<fn(u64) -> f64>);
    impl Runner for Seen {
        fn run(&mut self, trials: Vec<Trial>) -> Result<Vec<Option<Tried>>, Stopped> {
            for trial in &trials {
                let then = trial.guide.as_ref().and_then(|guide| guide.then).expect("fresh randomness");
                assert!(self.0.insert(then.0), "{} came twice", then.0);
            }
            self.1.run(trials)
        }

        fn width(&self) -> usize {
            self.1.width()
        }
    }
    let made_up =
        MadeUp { curve: (|kept| f64::from(u8::from(kept >= 99))) as fn(u64) -> f64, runs: 0, runs_max: u64::MAX };
    let mut runner = Seen(Default::default(), made_up);
    let found = bisect(&question(9), &mut runner, &mut |_| ()).expect("it repeats");
    assert_eq!(steps(&found), [99]);
}
