//! What a picture shows of a trace, gathered in one pass over it: events in columns, what lasts, messages, the causal past of the violation.

use super::arrows::{Arrow, Arrows};
use super::bars::{Bar, Bars, Place};
use super::classes::{Class, kind};
use super::columns::{Columns, Row};
use crate::words::Narrator;
use seedstorm_sim::causality::{Influence, Past, Stamp};
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::trace::TraceHash;
use seedstorm_sim::trace::file::{Ending, Head, Reader, TraceError};
use std::collections::VecDeque;
use std::io::Read;

/// So many events a picture shows at most: the last ones. More would take a browser too long, and nobody looks at them all.
const EVENTS_MAX: usize = 250_000;

/// So many of the last events are remembered with what lies before them: a run ends with the step that shows its violation.
const PASTS_MAX: usize = 512;

/// What a picture shows.
pub(super) struct Scene {
    pub(super) head: Head,
    pub(super) trace_hash: TraceHash,
    pub(super) ending: Ending,
    /// Whether the trace says how its run ended.
    pub(super) has_ending: bool,
    /// How many events there are in all.
    pub(super) events: u64,
    /// The number of the first event that is shown.
    pub(super) first: u64,
    pub(super) columns: Columns,
    pub(super) bars: Vec<Bar>,
    pub(super) arrows: Vec<Arrow>,
    pub(super) violation: Option<Sealed>,
}

/// The violation and what led to it.
pub(super) struct Sealed {
    pub(super) violation: Violation,
    /// The row of its event. A crash that the run only thought of has one of its own, behind all others.
    pub(super) row: usize,
    /// By row: whether the event lies in its causal past; the event itself does.
    pub(super) past: Vec<bool>,
}

impl Scene {
    /// Reads a whole trace.
    pub(super) fn read(trace: impl Read) -> Result<Scene, TraceError> {
        Scene::read_last(trace, EVENTS_MAX)
    }

    /// Reads a whole trace, and shows no more than its last `events_max` events, or twice as many if there are no more.
    fn read_last(trace: impl Read, events_max: usize) -> Result<Scene, TraceError> {
        let mut reader = Reader::new(trace)?;
        let head = reader.head().clone();
        let machine = head.processes.len() as u32;
        let mut narrator = Narrator::new(&head.scenario, &head.processes);
        let (mut bars, mut arrows, mut influence) = (Bars::default(), Arrows::default(), Influence::default());
        let (mut columns, mut stamps) = (Columns::default(), Vec::<Stamp>::new());
        let mut pasts: VecDeque<(u64, u64, Past)> = VecDeque::new();
        let (mut index, mut first, mut end) = (0, 0, Place { index: 0, time_ns: 0 });
        for record in reader.by_ref() {
            let record = record?;
            let event = record.event();
            let words = narrator.tell(&event);
            end = Place { index, time_ns: event.time_ns };
            bars.observe(&event, end, &narrator);
            arrows.observe(&event, end);
            let past = influence.observe(&event);
            stamps.push(past.stamp());
            if pasts.len() == PASTS_MAX {
                pasts.pop_front();
            }
            pasts.push_back((event.step, index, past));
            let lane = event.process.map_or(machine, |process| process.0.min(machine));
            let kind = kind(&event);
            columns.push(&Row { step: event.step, time_ns: event.time_ns, lane, kind, words: &words });
            if columns.len() >= events_max.saturating_mul(2) {
                columns.drop_first(events_max);
                stamps.drain(..events_max);
                first += events_max as u64;
            }
            index += 1;
        }
        if columns.len() > events_max {
            let surplus = columns.len() - events_max;
            columns.drop_first(surplus);
            stamps.drain(..surplus);
            first += surplus as u64;
        }
        if first > 0 {
            columns.forget_unused_patterns();
        }
        let tail = reader.tail().cloned();
        let (trace_hash, ending) = tail.map_or((TraceHash(0), None), |tail| (tail.trace_hash, tail.ending));
        let has_ending = ending.is_some();
        let ending = ending.unwrap_or_default();
        let violation = ending.violations.first().cloned().and_then(|violation| match violation.is_of_a_crash() {
            true => Some(Sealed::of_crash(violation, &mut columns, machine)),
            false => Sealed::find(violation, &pasts, &stamps, first),
        });
        Ok(Scene {
            head,
            trace_hash,
            ending,
            has_ending,
            events: index,
            first,
            columns,
            bars: bars.finish(end),
            arrows: arrows.finish(),
            violation,
        })
    }

    /// How many lanes there are: processes, and the machine.
    pub(super) fn lanes(&self) -> usize {
        self.head.processes.len() + 1
    }
}

impl Sealed {
    /// A violation of what a crash would have left: everything before it lies in its past, since a crash takes what all have written.
    fn of_crash(violation: Violation, columns: &mut Columns, machine: u32) -> Sealed {
        let row = columns.len();
        let message = violation.message.lines().next().unwrap_or_default();
        let words = format!("had the power failed here: {message}");
        let kind = ("would-crash", Class::Faults);
        let Violation { step, time_ns, .. } = violation;
        columns.push(&Row { step, time_ns, lane: machine, kind, words: &words });
        Sealed { violation, row, past: vec![true; row + 1] }
    }

    /// Finds the event that showed a violation: the last of its step, or the last one before that.
    fn find(violation: Violation, pasts: &VecDeque<(u64, u64, Past)>, stamps: &[Stamp], first: u64) -> Option<Sealed> {
        let (_, index, past) = pasts.iter().rev().find(|(step, ..)| *step <= violation.step)?;
        let row = usize::try_from(index.checked_sub(first)?).ok()?;
        let past = stamps.iter().map(|stamp| past.has(*stamp)).collect();
        Some(Sealed { violation, row, past })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;

    #[test]
    fn what_led_to_a_violation_is_what_could_have_influenced_it() {
        let scene = Scene::read(made_up::failing().as_slice()).expect("it is whole");
        let sealed = scene.violation.as_ref().expect("it failed");
        let words: Vec<String> = (0..scene.columns.len()).map(|row| scene.columns.words(row)).collect();
        assert_eq!(words[sealed.row], "has acquired lock compaction", "{words:#?}");
        let is_past = |part: &str| {
            let row =
                words.iter().position(|words| words.contains(part)).unwrap_or_else(|| panic!("{part}: {words:#?}"));
            sealed.past[row]
        };
        // a-1 got a message from a-0, which a-0 sent after it had opened a file; of a-2 it has never heard.
        assert!(is_past("send 3 bytes to a-1") && is_past("open /shared") && is_past("receive 3 bytes from a-0"));
        assert!(!is_past("open /aside") && !is_past("FAULT kill"));
    }

    #[test]
    fn a_crash_that_never_was_has_everything_behind_it() {
        let message = "/shared is empty\nhad the power failed at step 7, just before a-0's fsync";
        let scene = Scene::read(made_up::failing_with(message).as_slice()).expect("it is whole");
        let sealed = scene.violation.as_ref().expect("it failed");
        assert_eq!((sealed.row, scene.columns.len() as u64), (scene.columns.len() - 1, scene.events + 1));
        assert_eq!(scene.columns.words(sealed.row), "had the power failed here: /shared is empty");
        assert!(sealed.past.iter().all(|is_past| *is_past) && sealed.past.len() == scene.columns.len());
        assert_eq!(scene.columns.lanes[sealed.row] as usize, scene.head.processes.len(), "it is the machine's");
    }

    #[test]
    fn of_a_long_trace_the_end_is_shown() {
        let trace = made_up::failing();
        let whole = Scene::read(trace.as_slice()).expect("it is whole");
        for events_max in [1, 2, 5, 7, 1000] {
            let scene = Scene::read_last(trace.as_slice(), events_max).expect("it is whole");
            let shown = scene.columns.len();
            assert_eq!((scene.events, shown), (whole.events, events_max.min(whole.columns.len())));
            assert_eq!(scene.first as usize + shown, whole.columns.len());
            let last = |scene: &Scene| scene.columns.words(scene.columns.len() - 1);
            assert_eq!((last(&scene), scene.bars.len()), (last(&whole), whole.bars.len()));
        }
    }
}
