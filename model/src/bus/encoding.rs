//! How clocks are written down: one way for each clock, with a version and a digest. What isn't written so is refused, never read in part.
//!
//! Version, number of pruned agents, (agent, below) for each, number of entries, (agent, incarnation, counter) for each, digest. Numbers are LEB128 in their shortest
//! form; keys rise; the digest is XXH3-64 of all before it, least significant byte first.

use super::clock::Clock;
use seedstorm_sim::sys::claim::signal::Life;
use twox_hash::XxHash3_64;

/// The version that is written, and the only one that is read.
pub const CLOCK_VERSION: u8 = 1;

const DIGEST_BYTES: usize = 8;

/// Why bytes are no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockRefused {
    /// They end too early.
    #[error("it ends too early")]
    TooShort,
    /// There are more than the clock takes.
    #[error("something follows it")]
    TooLong,
    /// The version isn't known.
    #[error("version {0} is not known")]
    UnknownVersion(u8),
    /// A number that is too great, or not in its shortest form.
    #[error("a number is not written as numbers are")]
    BadNumber,
    /// More entries are announced than the bytes can hold.
    #[error("the count is wrong")]
    BadCount,
    /// A key stands there twice.
    #[error("a key stands there twice")]
    DuplicateKey,
    /// Keys don't rise.
    #[error("keys are out of order")]
    UnsortedKeys,
    /// An entry of a life that is pruned, or one that says nothing.
    #[error("an entry says nothing")]
    EmptyEntry,
    /// The digest is another's.
    #[error("the digest does not match")]
    BadDigest,
}

/// Writes a clock down.
pub fn encode(clock: &Clock) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + 5 * clock.counters.len());
    bytes.push(CLOCK_VERSION);
    put(&mut bytes, clock.pruned_below.len() as u64);
    for &(agent, below) in &clock.pruned_below {
        put(&mut bytes, agent.into());
        put(&mut bytes, below.into());
    }
    put(&mut bytes, clock.counters.len() as u64);
    for &(life, counter) in &clock.counters {
        put(&mut bytes, life.agent.into());
        put(&mut bytes, life.incarnation.into());
        put(&mut bytes, counter);
    }
    let digest = XxHash3_64::oneshot(&bytes);
    bytes.extend_from_slice(&digest.to_le_bytes());
    bytes
}

/// Reads a clock.
///
/// # Errors
/// Why it is none.
pub fn decode(bytes: &[u8]) -> Result<Clock, ClockRefused> {
    match bytes.first() {
        None => return Err(ClockRefused::TooShort),
        Some(&CLOCK_VERSION) => {}
        Some(&version) => return Err(ClockRefused::UnknownVersion(version)),
    }
    let Some((body, digest)) = bytes.split_last_chunk::<DIGEST_BYTES>() else { return Err(ClockRefused::TooShort) };
    if XxHash3_64::oneshot(body) != u64::from_le_bytes(*digest) {
        return Err(ClockRefused::BadDigest);
    }
    let mut rest = Reader(&body[1..]);
    let mut clock = Clock::default();
    for _ in 0..rest.count(2)? {
        let (agent, below) = (rest.small()?, rest.small()?);
        rises(clock.pruned_below.last().map(|(agent, _)| *agent), agent)?;
        if below == 0 {
            return Err(ClockRefused::EmptyEntry);
        }
        clock.pruned_below.push((agent, below));
    }
    for _ in 0..rest.count(3)? {
        let (life, counter) = (Life { agent: rest.small()?, incarnation: rest.small()? }, rest.number()?);
        rises(clock.counters.last().map(|(life, _)| *life), life)?;
        if counter == 0 || clock.is_pruned(life) {
            return Err(ClockRefused::EmptyEntry);
        }
        clock.counters.push((life, counter));
    }
    if rest.0.is_empty() { Ok(clock) } else { Err(ClockRefused::TooLong) }
}

/// Reads whatever looks like a clock, as far as it goes: of two entries with one key the last counts. It stands for the mutant `duplicate-keys-accepted`.
pub(super) fn decode_whatever(bytes: &[u8]) -> Clock {
    let mut clock = Clock::default();
    let mut rest = Reader(bytes.get(1..bytes.len().saturating_sub(DIGEST_BYTES)).unwrap_or_default());
    let mut read = || {
        for _ in 0..rest.count(2)? {
            clock.prune(rest.small()?, rest.small()?);
        }
        for _ in 0..rest.count(3)? {
            let (life, counter) = (Life { agent: rest.small()?, incarnation: rest.small()? }, rest.number()?);
            clock.counters.retain(|(of, _)| *of != life);
            clock.raise(life, counter);
        }
        Ok::<_, ClockRefused>(())
    };
    let _ = read();
    clock
}

fn rises<K: Ord>(last: Option<K>, key: K) -> Result<(), ClockRefused> {
    match last.map(|last| last.cmp(&key)) {
        Some(std::cmp::Ordering::Equal) => Err(ClockRefused::DuplicateKey),
        Some(std::cmp::Ordering::Greater) => Err(ClockRefused::UnsortedKeys),
        _ => Ok(()),
    }
}

/// Writes a number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Result<u64, ClockRefused> {
        let mut number = 0u64;
        for shift in (0..).step_by(7) {
            let Some((&byte, rest)) = self.0.split_first() else { return Err(ClockRefused::TooShort) };
            self.0 = rest;
            let part = u64::from(byte & 0x7F);
            let is_last = byte & 0x80 == 0;
            // The tenth byte has room for one bit; a last byte of 0 after others could have been left out.
            if shift > 63 || shift == 63 && part > 1 || is_last && part == 0 && shift > 0 {
                return Err(ClockRefused::BadNumber);
            }
            number |= part << shift;
            if is_last {
                return Ok(number);
            }
        }
        Err(ClockRefused::BadNumber)
    }

    pub(super) fn small(&mut self) -> Result<u32, ClockRefused> {
        u32::try_from(self.number()?).map_err(|_| ClockRefused::BadNumber)
    }

    /// A number of entries of so many bytes at least.
    fn count(&mut self, bytes_each: usize) -> Result<usize, ClockRefused> {
        let count = usize::try_from(self.number()?).map_err(|_| ClockRefused::BadCount)?;
        if count > self.0.len() / bytes_each { Err(ClockRefused::BadCount) } else { Ok(count) }
    }

    /// So many bytes, announced by their number.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], ClockRefused> {
        let len = usize::try_from(self.number()?).map_err(|_| ClockRefused::BadCount)?;
        let Some((bytes, rest)) = self.0.split_at_checked(len) else { return Err(ClockRefused::TooShort) };
        self.0 = rest;
        Ok(bytes)
    }
}
