//! Where two traces of one run first differ, in words. Where a replay leaves its recording is the business of `schedule::guided`.

use super::layer::Words;
use super::{Record, RecordBody};
use std::fmt;

/// The first difference of two traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the event, from 0: the same on both sides.
    pub index: u64,
    /// The first trace's event there; `None` if it has ended.
    pub first: Option<Record>,
    /// The second trace's.
    pub second: Option<Record>,
}

/// The first difference of two traces, or `None` if they are equal. It reads no further than it must, and keeps nothing.
///
/// # Errors
/// Those of reading the traces.
pub fn first_difference<E>(
    first: impl IntoIterator<Item = Result<Record, E>>,
    second: impl IntoIterator<Item = Result<Record, E>>,
) -> Result<Option<Difference>, E> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    for index in 0.. {
        match (first.next().transpose()?, second.next().transpose()?) {
            (None, None) => break,
            (first, second) if first != second => return Ok(Some(Difference { index, first, second })),
            _ => {}
        }
    }
    Ok(None)
}

impl Difference {
    /// The step at which the traces part: that of the earlier of the two events.
    pub fn step(&self) -> u64 {
        [&self.first, &self.second].into_iter().flatten().map(|record| record.step).min().unwrap_or(0)
    }

    /// Both sides in words. `processes` are the names of processes by id; one that is missing is told by its number.
    pub fn in_words<'a>(&'a self, processes: &'a [String]) -> impl fmt::Display + 'a {
        InWords { difference: self, processes }
    }
}

struct InWords<'a> {
    difference: &'a Difference,
    processes: &'a [String],
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { index, first, second } = self.difference;
        writeln!(f, "the traces part at step {}, event {index}:", self.difference.step())?;
        self.side(f, "first: ", first.as_ref())?;
        writeln!(f)?;
        self.side(f, "second:", second.as_ref())?;
        match (first, second) {
            (Some(first), Some(second)) => hidden(f, first, second),
            _ => Ok(()),
        }
    }
}

/// What the words of two events leave out, where the events differ in it.
fn hidden(f: &mut fmt::Formatter<'_>, first: &Record, second: &Record) -> fmt::Result {
    let (first_data, second_data) = (data_of(&first.body), data_of(&second.body));
    if first_data != second_data {
        let place = first_data.iter().zip(second_data).position(|(one, other)| one != other);
        let place = place.unwrap_or(first_data.len().min(second_data.len()));
        let byte = |data: &[u8]| data.get(place).map_or("nothing".to_owned(), |byte| format!("{byte:02x}"));
        let (lens, bytes) = ((first_data.len(), second_data.len()), (byte(first_data), byte(second_data)));
        write!(
            f,
            "\n  their data ({} and {} bytes) part at byte {place}: {} and {}",
            lens.0, lens.1, bytes.0, bytes.1
        )?;
    }
    if let (RecordBody::Call { took_ns, .. }, RecordBody::Call { took_ns: other_ns, .. }) = (&first.body, &second.body)
        && took_ns != other_ns
    {
        write!(f, "\n  they took {took_ns} and {other_ns} ns")?;
    }
    if first.task != second.task {
        write!(f, "\n  they are of tasks {:?} and {:?}", first.task, second.task)?;
    }
    Ok(())
}

fn data_of(body: &RecordBody) -> &[u8] {
    match body {
        RecordBody::Call { data, .. } => data,
        RecordBody::Claim { bytes, .. } => bytes,
        _ => &[],
    }
}

impl InWords<'_> {
    fn side(&self, f: &mut fmt::Formatter<'_>, side: &str, record: Option<&Record>) -> fmt::Result {
        let Some(record) = record else { return write!(f, "  {side} has ended") };
        write!(f, "  {side} step {} at {} ns, ", record.step, record.time_ns)?;
        match record.process {
            None => write!(f, "the machine")?,
            Some(id) => match self.processes.get(id.0 as usize) {
                Some(name) => write!(f, "{name}")?,
                None => write!(f, "process {}", id.0)?,
            },
        }
        if record.boot > 1 {
            write!(f, " (boot {})", record.boot)?;
        }
        write!(f, ": {}", Words(&record.event()))
    }
}
