//! Code that makes no system call stops its whole run, since a run has one thread. Here it is noticed, by the run's beat, and put in words. Who ends it: `interrupt` in
//! this process, `sweep::watchdog` in a worker.

use crate::sweep::TIMED_OUT;
use seedstorm_sim::Beat;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::kernel::{Place, Stage};
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::schedule::Turns;
use seedstorm_sim::trace::CallKind;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How long a step may take where nothing is said, in nanoseconds of real time.
pub(crate) const STEP_TIMEOUT_NS: u64 = 60_000_000_000;

/// The most that one look of several in a second counts, in nanoseconds, where the machine was busy or this process stopped.
pub(crate) const LOOK_NS_MAX: u64 = 500_000_000;

static LIMIT_NS: AtomicU64 = AtomicU64::new(STEP_TIMEOUT_NS);

/// Runs of a process take turns, so they share a beat.
static BEAT: OnceLock<Arc<Beat>> = OnceLock::new();

static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// Whether the run's thread is at something of ours that may wait for who reads what it writes.
static IS_WRITING: AtomicBool = AtomicBool::new(false);

/// How long a step may take where a search runs a hang many times and nothing is said, in nanoseconds of real time. Each run that fails alike takes as long.
const SEARCH_STEP_TIMEOUT_NS: u64 = 1_000_000_000;

/// Says how long a step may take, in nanoseconds of real time: once for the whole process, before anything is run.
pub(crate) fn limit(step_timeout_ns: u64) {
    LIMIT_NS.store(step_timeout_ns, Ordering::Relaxed);
}

/// Says how long a step may take in a search that runs a failure of this fingerprint many times, and gives it where that is a hang.
pub(crate) fn limit_search(fingerprint: &str, given_ns: Option<u64>) -> Option<u64> {
    let step_timeout_ns = search_step_timeout_ns(fingerprint, given_ns)?;
    limit(step_timeout_ns);
    Some(step_timeout_ns)
}

fn search_step_timeout_ns(fingerprint: &str, given_ns: Option<u64>) -> Option<u64> {
    is_hang(fingerprint).then(|| given_ns.unwrap_or(SEARCH_STEP_TIMEOUT_NS))
}

/// How long a step may take, in nanoseconds of real time.
pub(crate) fn limit_ns() -> u64 {
    LIMIT_NS.load(Ordering::Relaxed)
}

/// The beat of what runs in this process.
pub(crate) fn beat() -> Arc<Beat> {
    BEAT.get_or_init(Arc::default).clone()
}

/// Where the run of this process is. While its thread writes what a person asked for, it is nowhere: who reads a log in a pager takes their time.
pub(crate) fn place() -> Place {
    let place = beat().look();
    if IS_WRITING.load(Ordering::Relaxed) { Place { stage: Stage::None, ..place } } else { place }
}

/// Does something of ours on the run's thread, which is no hang however long it takes.
pub(crate) fn writing<T>(write: impl FnOnce() -> T) -> T {
    /// What it was before, also where the work panics.
    struct Before(bool);

    impl Drop for Before {
        fn drop(&mut self) {
            IS_WRITING.store(self.0, Ordering::Relaxed);
        }
    }

    let _before = Before(IS_WRITING.swap(true, Ordering::Relaxed));
    write()
}

/// Leaves it to the process that has started this one to look at the beat.
pub(crate) fn is_watched_from_outside() {
    IS_WORKER.store(true, Ordering::Relaxed);
}

/// Whether somebody else looks at it.
pub(crate) fn is_worker() -> bool {
    IS_WORKER.load(Ordering::Relaxed)
}

/// Adds up for how long a run has stood still.
#[derive(Default)]
pub(crate) struct Watch {
    last: Option<Place>,
    still_ns: u64,
    looks: u32,
}

impl Watch {
    /// Sees where the run is now, so many nanoseconds of real time after the last look. `most_ns` of them count at most: this process may have been stopped, and the
    /// run with it.
    pub(crate) fn look(&mut self, place: Place, since_last_ns: u64, most_ns: u64) {
        let is_still = place.stage != Stage::None && self.last.as_ref().is_some_and(|last| last.beats == place.beats);
        (self.still_ns, self.looks) =
            if is_still { (self.still_ns + since_last_ns.min(most_ns), self.looks + 1) } else { (0, 0) };
        self.last = Some(place);
    }

    /// For how long it has stood still, in nanoseconds of real time.
    pub(crate) fn still_ns(&self) -> u64 {
        self.still_ns
    }

    /// Where it stands still, if a step has taken longer than it may.
    pub(crate) fn hung(&self) -> Option<&Place> {
        self.last.as_ref().filter(|_| self.looks > 0 && self.still_ns >= limit_ns())
    }

    /// What it stands still at, in a line.
    pub(crate) fn in_words(&self) -> String {
        let message = self.last.as_ref().map(|place| in_words(place, None, "", "").message).unwrap_or_default();
        message.lines().next().unwrap_or_default().to_owned()
    }

    /// Where it is, and whether it stands still there for a share of the time that it had which leaves little doubt.
    pub(crate) fn out_of_time(&self, limit_ns: u64) -> Option<(&Place, bool)> {
        let place = self.last.as_ref().filter(|place| place.stage != Stage::None)?;
        Some((place, self.looks > 1 && self.still_ns >= limit_ns / 4))
    }
}

/// A step that took too long, as a violation. `call` is the call that came before, in words; without it its kind must do.
pub(crate) fn violation(place: &Place, call: Option<&str>) -> Violation {
    in_words(place, call, &format!(" for {} of real time", Nanoseconds(limit_ns())), "")
}

/// As [`violation`], of a run that had so many nanoseconds of real time for all its steps.
pub(crate) fn violation_of_seed(place: &Place, limit_ns: u64) -> Violation {
    in_words(place, None, "", &format!("; the seed's {} of real time are over", Nanoseconds(limit_ns)))
}

fn in_words(place: &Place, call: Option<&str>, how_long: &str, what_else: &str) -> Violation {
    let Place { name, role, ordinal, step, .. } = place;
    let who = format!("{name} (task {ordinal})");
    let (run_step, time_ns) = place.recovered_at.unwrap_or((*step, place.time_ns));
    let inside =
        place.recovered_at.map_or_else(String::new, |_| format!(" of the recovery from a crash at step {run_step}"));
    let (object, role, what, advice) = match place.stage {
        _ if place.is_judging => ("invariant", role.as_str(), "an invariant has not come to an end".to_owned(), ""),
        Stage::Plan => ("plan", "", "the scenario's `plan` has not come to an end".to_owned(), ""),
        Stage::SetUp | Stage::None => ("scenario", "", "the scenario's set-up has not come to an end".to_owned(), ""),
        Stage::Program if place.recovered_at.is_some() => {
            ("recovery", role.as_str(), format!("{who} has made no system call"), ADVICE)
        }
        Stage::Program => ("process", role.as_str(), format!("{who} has made no system call"), ADVICE),
        Stage::Destructors => {
            ("destructor", role.as_str(), format!("{who} has ended, and a destructor has not"), ADVICE)
        }
        Stage::Between => ("run", "", "what comes between two steps has not come to an end".to_owned(), ""),
    };
    let kind = place.kind.map(|kind| match kind {
        CallKind::Boot | CallKind::Start => "its first".to_owned(),
        kind => format!("`{kind}`"),
    });
    let call = call.map(|call| format!("`{call}`")).or(kind).map_or_else(String::new, |call| format!(" ({call})"));
    let since = match place.stage {
        Stage::Plan | Stage::SetUp | Stage::None => inside,
        _ => format!(", since step {step}{inside}{call}"),
    };
    let message = format!("{what}{how_long}{since}{what_else}{advice}");
    let mut violation = Violation::new(TIMED_OUT, message).at(run_step, time_ns);
    // A worker has told the role, so it is no word of this program.
    let role = if role.is_empty() { "-" } else { role };
    violation.fingerprint = format!("{TIMED_OUT}/{object}/{role}/hung");
    violation
}

/// Whether a failure is that a step or a seed took too long.
pub(crate) fn is_timeout(fingerprint: &str) -> bool {
    fingerprint.split('/').next() == Some(TIMED_OUT)
}

/// Whether it is code that makes no system call, and no run that was only slow.
pub(crate) fn is_hang(fingerprint: &str) -> bool {
    is_timeout(fingerprint) && fingerprint.ends_with("/hung")
}

/// Whether it is a plan that could not be drawn: then there is none.
pub(crate) fn is_of_plan(fingerprint: &str) -> bool {
    is_hang(fingerprint) && fingerprint.split('/').nth(1) == Some("plan")
}

/// What to do about it.
const ADVICE: &str = "\na loop must await something, `sys.yield_now()` at least, or in blocking code call `os.yield_now()`;\n\
    a lock between tasks must be one of `sys::sync`: one of std that is taken twice, or held by another task, is never free again";

/// A hang in this process. Its run can't be ended but with the process, and nothing else can be run here any more.
#[derive(Debug)]
pub(crate) struct Hang {
    /// The scenario and the seed.
    pub(crate) of: String,
    /// What is wrong.
    pub(crate) violation: Violation,
    /// Who had gone when, if it was written down.
    pub(crate) turns: Option<Turns>,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.of, self.violation.invariant, self.violation.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            stage: Stage::Program,
            name: "clerk-1".to_owned(),
            role: "clerk".to_owned(),
            ordinal: 2,
            kind: Some(CallKind::Read),
            step: 412,
            time_ns: 5,
            ..Place::default()
        }
    }

    /// Message without advice, fingerprint, step.
    fn told(place: &Place, call: Option<&str>) -> (String, String, u64) {
        let violation = violation(place, call);
        (violation.message.lines().next().unwrap_or_default().to_owned(), violation.fingerprint, violation.step)
    }

    #[test]
    fn what_hangs_is_told_by_where_it_is() {
        let words = |place: &Place| told(place, None).0;
        assert_eq!(
            told(&place(), Some("read /accounts")),
            (
                "clerk-1 (task 2) has made no system call for 60.0 s of real time, since step 412 (`read /accounts`)"
                    .into(),
                "worker-timed-out/process/clerk/hung".into(),
                412
            )
        );
        assert!(words(&Place { kind: Some(CallKind::Boot), ..place() }).ends_with(", since step 412 (its first)"));
        assert_eq!(
            told(&Place { recovered_at: Some((900, 7)), step: 3, ..place() }, None),
            (
                "clerk-1 (task 2) has made no system call for 60.0 s of real time, since step 3 of the recovery from a crash at step 900 (`read`)".into(),
                "worker-timed-out/recovery/clerk/hung".into(),
                900
            )
        );
        assert_eq!(
            told(&Place { stage: Stage::Plan, ..Place::default() }, None),
            (
                "the scenario's `plan` has not come to an end for 60.0 s of real time".into(),
                "worker-timed-out/plan/-/hung".into(),
                0
            )
        );
        let destructor = told(&Place { stage: Stage::Destructors, ..place() }, None);
        assert_eq!(destructor.1, "worker-timed-out/destructor/clerk/hung");
        assert!(
            destructor.0.starts_with("clerk-1 (task 2) has ended, and a destructor has not for 60.0 s"),
            "{destructor:?}"
        );
        let seed = violation_of_seed(&place(), 2_000_000_000).message;
        assert!(
            seed.contains("no system call, since step 412 (`read`); the seed's 2.00 s of real time are over\n"),
            "{seed}"
        );
    }

    #[test]
    fn what_was_asked_for_is_given_to_searches_too() {
        let hang = "worker-timed-out/program/writer/hung";
        assert!(is_hang(hang));
        assert_eq!(search_step_timeout_ns(hang, None), Some(SEARCH_STEP_TIMEOUT_NS));
        for given_ns in [1, STEP_TIMEOUT_NS, u64::MAX] {
            assert_eq!(search_step_timeout_ns(hang, Some(given_ns)), Some(given_ns));
        }
        assert_eq!(search_step_timeout_ns("no-panic/process/writer/panic", Some(1)), None);
    }

    #[test]
    fn only_time_in_one_place_counts_and_of_a_long_look_a_part() {
        let mut watch = Watch::default();
        let mut look = |beats, stage, since_last_ns| {
            watch.look(Place { beats, stage, ..place() }, since_last_ns, STEP_TIMEOUT_NS / 4);
            (watch.still_ns(), watch.hung().is_some())
        };
        assert_eq!(look(1, Stage::Program, STEP_TIMEOUT_NS), (0, false));
        assert_eq!(look(1, Stage::Program, u64::MAX), (STEP_TIMEOUT_NS / 4, false), "this process was stopped");
        assert_eq!(look(2, Stage::Program, 5), (0, false), "it goes on");
        assert_eq!(look(2, Stage::None, u64::MAX), (0, false), "it writes for a person");
        for looks in 1..4 {
            assert_eq!(look(2, Stage::Program, u64::MAX), (looks * STEP_TIMEOUT_NS / 4, false));
        }
        assert_eq!(look(2, Stage::Program, u64::MAX), (STEP_TIMEOUT_NS, true));
    }
}
