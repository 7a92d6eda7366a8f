//! Where two traces of one run first differ. Telling it to people is the business of `tools`; where a replay leaves its recording, of `schedule::guided`.

use super::Record;

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
}
