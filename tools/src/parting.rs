//! Where two traces part, in the words of their runs: what both did before, and what each does from there on. Whether they are of one plan is told by `two_plans`; which
//! two are compared is `compare`'s and `sweep::determinism`'s business.

use crate::exit::{Problem, Result};
use crate::report::{counted, grouped};
use crate::traced;
use crate::words::{self, MACHINE, Narrator};
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::trace::file::{Head, Reader};
use seedstorm_sim::trace::{Body, CallKind, Record, RecordBody, layer};
use serde::{Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// One of the two, opened.
pub(crate) struct Side {
    /// What was given, for what is wrong with it.
    path: PathBuf,
    trace: Reader<BufReader<File>>,
    narrator: Narrator,
}

impl Side {
    /// Opens a trace, which is told by this path.
    ///
    /// # Errors
    /// It can't be read, or is none.
    pub(crate) fn open(trace: &Path, told_by: &Path) -> Result<Side> {
        let trace = traced::open(trace).map_err(|error| Problem::usage(format!("{error:#}")))?;
        let Head { scenario, processes, .. } = trace.head();
        let narrator = Narrator::new(scenario, processes);
        Ok(Side { path: told_by.to_owned(), trace, narrator })
    }

    /// What the trace is of.
    pub(crate) fn head(&self) -> &Head {
        self.trace.head()
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let next = self.trace.next().transpose();
        next.map_err(|error| Problem::usage(format!("{}: {error}", self.path.display())))
    }

    fn process(&self, record: &Record) -> String {
        let name = |id: u32| self.head().processes.get(id as usize).map_or("?", String::as_str);
        record.process.map_or(MACHINE, |id| name(id.0)).to_owned()
    }

    fn tell(&mut self, record: &Record) -> Told {
        let words = self.narrator.tell(&record.event());
        Told { time_ns: record.time_ns, step: record.step, process: self.process(record), words }
    }

    /// Tells the next events.
    fn tell_next(&mut self, count: usize) -> Result<Vec<Told>> {
        let mut told = Vec::new();
        while told.len() < count
            && let Some(record) = self.next()?
        {
            told.push(self.tell(&record));
        }
        Ok(told)
    }

    /// What is done, without times, bytes and numbers that differ between any two runs.
    fn deed(&self, record: &Record) -> String {
        let event = record.event();
        let process = self.process(record);
        match event.body {
            Body::Call { kind, result, .. } => match result {
                Ok(_) => format!("{process} {kind}"),
                Err(error) => format!("{process} {kind} failed: {error}"),
            },
            Body::Blocked { kind, .. } => format!("{process} {kind} waits"),
            Body::Claim { kind, .. } => format!("{process} claims {kind}"),
            Body::Fault { kind, .. } => format!("{process} {}", kind.name()),
            Body::Started { .. } => format!("{process} starts"),
            Body::ClockJumped(_) => "the clock jumps".to_owned(),
            Body::MessageFault { kind, .. } => format!("{process} {}", kind.name()),
            Body::MessageDropped { .. } => format!("{process} loses a message"),
            Body::PartitionHealed { .. } => "a partition heals".to_owned(),
            Body::Ended(_)
            | Body::Paused
            | Body::Resumed
            | Body::TerminationRequested
            | Body::MachineCrashed
            | Body::MachineStarted
            | Body::CalmBegan => format!("{process} {}", layer::Words(&event)),
        }
    }
}

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    time_ns: u64,
    step: u64,
    process: String,
    words: String,
}

/// As everywhere.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words::line(self.time_ns, self.step, Some(&self.process), &self.words))
    }
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where they part, in one way of looking at it.
#[derive(Serialize)]
pub(crate) struct Place {
    /// The number of the event, from 0.
    pub(crate) event: u64,
    /// The step of the earlier of the two events.
    pub(crate) step: u64,
    /// The last events before it, as the first has them.
    before: Vec<Told>,
    /// What the first does from there on.
    first: Vec<Told>,
    /// What the second does.
    second: Vec<Told>,
    /// What differs in the two events, where they are of one kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// Where two traces part.
pub(crate) struct Parting {
    /// Where they first differ in anything.
    pub(crate) exact: Option<Place>,
    /// Where they first differ in what is done.
    pub(crate) in_deeds: Option<Place>,
    /// Events that both have, up to the end or to where they part in what is done.
    pub(crate) events: u64,
}

/// Finds where they part, with so many events before it and after it.
///
/// # Errors
/// A trace that can't be read to there.
pub(crate) fn part(sides: &mut [Side; 2], context: usize) -> Result<Parting> {
    let mut parting = Parting { exact: None, in_deeds: None, events: 0 };
    let mut before = VecDeque::new();
    loop {
        let (first, second) = (sides[0].next()?, sides[1].next()?);
        if first.is_none() && second.is_none() {
            return Ok(parting);
        }
        let deed = |side: &Side, record: &Option<Record>| record.as_ref().map(|record| side.deed(record));
        let is_same_deed = deed(&sides[0], &first) == deed(&sides[1], &second);
        // Events hold the numbers of processes: those of two scenarios may be equal, and be of processes with other names.
        let differs = first != second || !is_same_deed;
        let first_told = first.as_ref().map(|record| sides[0].tell(record));
        let second_told = match &second {
            Some(record) if differs => Some(sides[1].tell(record)),
            Some(record) => {
                sides[1].narrator.pass_by(&record.event());
                None
            }
            None => None,
        };
        let told = [first_told, second_told];
        let parts_here = differs && parting.exact.is_none();
        let words = |told: &Option<Told>| told.as_ref().map(|told| (told.process.clone(), told.words.clone()));
        let event = parting.events;
        let place = |sides: &mut [Side; 2], after: usize| -> Result<Place> {
            let step = [&first, &second].into_iter().flatten().map(|record| record.step).min().unwrap_or(0);
            let difference = match (&first, &second) {
                (Some(first), Some(second)) if is_same_deed => {
                    in_words(first, second, words(&told[0]) == words(&told[1]))
                }
                _ => None,
            };
            let [mut first, mut second] = told.clone().map(|told| told.into_iter().collect::<Vec<_>>());
            first.extend(sides[0].tell_next(after)?);
            second.extend(sides[1].tell_next(after)?);
            let before = before.iter().cloned().collect();
            Ok(Place { event, step, before, first, second, difference })
        };
        if parts_here {
            // What comes after it is told where what is done is no longer the same.
            parting.exact = Some(place(sides, 0)?);
        }
        if !is_same_deed {
            parting.in_deeds = Some(place(sides, context.saturating_sub(1))?);
            return Ok(parting);
        }
        if before.len() == context {
            before.pop_front();
        }
        let [told, _] = told;
        if context > 0 {
            before.extend(told);
        }
        parting.events += 1;
    }
}

/// What differs in two events of one kind. `is_hidden`: their words are the same.
fn in_words(first: &Record, second: &Record, is_hidden: bool) -> Option<String> {
    let mut differs = Vec::new();
    let by = |first: u64, second: u64, more: &str, less: &str| match second.checked_sub(first) {
        Some(by_ns) => format!("{} {more}", Nanoseconds(by_ns)),
        None => format!("{} {less}", Nanoseconds(first - second)),
    };
    if first.time_ns != second.time_ns {
        differs.push(format!("the second comes {}", by(first.time_ns, second.time_ns, "later", "earlier")));
    }
    if first.task != second.task {
        differs.push("they are of different tasks of the process".to_owned());
    }
    if first.boot != second.boot {
        differs.push(format!("they are of lives {} and {} of the process", first.boot, second.boot));
    }
    let (first_data, second_data) = (data_of(&first.body), data_of(&second.body));
    if first_data != second_data {
        let place = first_data.iter().zip(second_data).position(|(one, other)| one != other);
        let place = place.unwrap_or(first_data.len().min(second_data.len()));
        let from = |data: &[u8]| match data.get(place..) {
            Some(rest) if !rest.is_empty() => words::beginning(rest),
            _ => "no more".to_owned(),
        };
        let (first, second) = (from(first_data), from(second_data));
        differs.push(format!("their content differs from byte {} on: {first} and {second}", grouped(place as u64)));
    }
    if let (
        RecordBody::Call { kind, object, arguments, result, took_ns, .. },
        RecordBody::Call { object: other, arguments: others, result: other_result, took_ns: other_ns, .. },
    ) = (&first.body, &second.body)
    {
        let numbers = arguments.iter().zip(others).filter(|(one, other)| is_hidden && one != other);
        let unit = if *kind == CallKind::Sleep { " ns" } else { "" };
        let told = |(one, other): (&u64, &u64)| format!("they ask for {} and {}{unit}", grouped(*one), grouped(*other));
        differs.extend(numbers.map(told));
        if let (true, Ok(one), Ok(other)) = (is_hidden && result != other_result, result, other_result) {
            differs.push(format!("they return {} and {}", grouped(*one), grouped(*other)));
        }
        if took_ns != other_ns {
            differs.push(format!("the second takes {}", by(*took_ns, *other_ns, "longer", "less")));
        }
        if object != other && is_hidden {
            differs.push("they touch two things of one name".to_owned());
        }
    }
    (!differs.is_empty()).then(|| differs.join("; "))
}

fn data_of(body: &RecordBody) -> &[u8] {
    match body {
        RecordBody::Call { data, .. } => data,
        RecordBody::Claim { bytes, .. } => bytes,
        _ => &[],
    }
}

impl fmt::Display for Parting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.exact, &self.in_deeds) {
            (None, _) => write!(f, "the same {}", counted(self.events, "event")),
            (Some(exact), None) => {
                let events = counted(self.events, "event");
                write!(
                    f,
                    "they part {}, in times, bytes or numbers alone: what is done is the same to the end, {events}",
                    exact.at()
                )?;
                exact.tell(f)
            }
            (Some(exact), Some(deeds)) if exact.event == deeds.event => {
                write!(f, "they part {}", deeds.at())?;
                deeds.tell(f)
            }
            (Some(exact), Some(deeds)) => {
                write!(f, "they part {}, at first in times, bytes or numbers alone", exact.at())?;
                exact.tell_events(f)?;
                write!(f, "\nand {} in what is done", deeds.at())?;
                deeds.tell(f)
            }
        }
    }
}

/// How wide a column of events is, in characters.
const COLUMN_CHARACTERS: usize = 70;

impl Place {
    /// When, in the time of the first that is there.
    fn at(&self) -> String {
        let time = [&self.first, &self.second].into_iter().flatten().map(|told| told.time_ns).min();
        let time = time.map(|ns| format!(", {} into the run", Nanoseconds(ns))).unwrap_or_default();
        format!("at step {}{time}, event {}", grouped(self.step), grouped(self.event))
    }

    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for told in &self.before {
            write!(f, "\n  both     {told}")?;
        }
        self.tell_events(f)?;
        let rows = self.first.len().max(self.second.len());
        if rows > 1 {
            write!(f, "\nwhat they do from there on")?;
            write!(f, "\n  {:<COLUMN_CHARACTERS$}   second", "first")?;
        }
        for row in 1..rows {
            let [first, second] = [&self.first, &self.second].map(|side| cell(side, row));
            let line = format!("{first:<COLUMN_CHARACTERS$}   {second}");
            write!(f, "\n  {}", line.trim_end())?;
        }
        Ok(())
    }

    /// The two events, whole.
    fn tell_events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, side) in [("first", &self.first), ("second", &self.second)] {
            match side.first() {
                Some(told) => write!(f, "\n  {name:<8} {told}")?,
                None => write!(f, "\n  {name:<8} has ended")?,
            }
        }
        match &self.difference {
            Some(difference) => write!(f, "\n  {difference}"),
            None => Ok(()),
        }
    }
}

/// An event in a column, cut where the column ends.
fn cell(side: &[Told], row: usize) -> String {
    let Some(Told { step, process, words, .. }) = side.get(row) else {
        // Of one that had ended at the parting that is told already.
        return if row == side.len() && row > 0 { "has ended".to_owned() } else { String::new() };
    };
    let whole = format!("step {step} {process}: {words}");
    // What just fits is whole.
    if whole.chars().nth(COLUMN_CHARACTERS).is_some() { words::cut(whole, COLUMN_CHARACTERS - 1) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::trace::{CallKind, ProcessId, TaskId};

    fn call(time_ns: u64, task: u32, kind: CallKind, arguments: [u64; 2], data: &[u8]) -> Record {
        let body = RecordBody::Call { kind, object: 7, arguments, result: Ok(0), data: data.to_vec(), took_ns: 3 };
        Record { step: 1, time_ns, process: Some(ProcessId(0)), task: Some(TaskId(task)), boot: 1, body }
    }

    #[test]
    fn what_events_differ_in_is_told() {
        let one = call(5, 0, CallKind::Write, [0, 8], b"a term of 3");
        let told = [
            (call(1_500, 0, CallKind::Write, [0, 8], b"a term of 3"), Some("the second comes 1.49 µs later")),
            (call(5, 1, CallKind::Write, [0, 8], b"a term of 3"), Some("they are of different tasks of the process")),
            (
                call(5, 0, CallKind::Write, [0, 8], b"a term of 4!"),
                Some("their content differs from byte 10 on: \"3\" and \"4!\""),
            ),
            (
                call(5, 0, CallKind::Write, [0, 8], b"a term"),
                Some("their content differs from byte 6 on: \" of 3\" and no more"),
            ),
            (call(5, 0, CallKind::Write, [0, 9], b"a term of 3"), Some("they ask for 8 and 9")),
            (one.clone(), None),
        ];
        for (other, words) in told {
            assert_eq!(in_words(&one, &other, true).as_deref(), words);
        }
        assert_eq!(in_words(&one, &call(5, 0, CallKind::Write, [0, 9], b"a term of 3"), false), None, "words say it");
    }
}
