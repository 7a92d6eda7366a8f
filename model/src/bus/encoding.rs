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

#[cfg(test)]
mod tests {
    use super::super::clock::tests::drawn;
    use super::*;
    use seedstorm_sim::{Draw, Seed};

    /// Bytes with the digest that belongs to them.
    fn sealed(body: &[u8]) -> Vec<u8> {
        let mut bytes = body.to_vec();
        bytes.extend_from_slice(&XxHash3_64::oneshot(body).to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read_and_there_is_one_way_to_write_it() {
        let mut stream = Seed(3).stream("clocks");
        for _ in 0..2000 {
            let clock = drawn(&mut stream);
            let bytes = encode(&clock);
            assert_eq!(decode(&bytes), Ok(clock.clone()));
            assert_eq!(encode(&decode(&bytes).expect("just read")), bytes);
            assert_eq!(decode_whatever(&bytes), clock);
        }
    }

    #[test]
    fn no_byte_can_change_unseen() {
        let mut stream = Seed(4).stream("clocks");
        for _ in 0..300 {
            let bytes = encode(&drawn(&mut stream));
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1 << stream.below(8);
                assert!(decode(&other).is_err(), "byte {at} of {bytes:?}");
            }
            for len in 0..bytes.len() {
                assert!(decode(&bytes[..len]).is_err(), "{len} of {bytes:?}");
            }
        }
    }

    #[test]
    fn each_wrong_clock_is_refused_for_what_is_wrong_with_it() {
        let check = |body: &[u8], expected| assert_eq!(decode(&sealed(body)), expected, "{body:?}");
        let (one, two) = (Life { agent: 1, incarnation: 1 }, Life { agent: 2, incarnation: 1 });
        let right = Clock { counters: vec![(one, 5), (two, 6)], pruned_below: Vec::new() };
        check(&[1, 0, 2, 1, 1, 5, 2, 1, 6], Ok(right));
        check(&[1, 0, 2, 1, 1, 5, 1, 1, 6], Err(ClockRefused::DuplicateKey));
        check(&[1, 0, 2, 2, 1, 6, 1, 1, 5], Err(ClockRefused::UnsortedKeys));
        check(&[1, 2, 3, 1, 3, 2, 0], Err(ClockRefused::DuplicateKey));
        check(&[1, 2, 3, 1, 2, 2, 0], Err(ClockRefused::UnsortedKeys));
        check(&[1, 0, 3, 1, 1, 5, 2, 1, 6], Err(ClockRefused::BadCount));
        check(&[1, 0, 1, 1, 1, 5, 2, 1, 6], Err(ClockRefused::TooLong));
        check(&[1, 0, 1, 1, 1, 0], Err(ClockRefused::EmptyEntry));
        check(&[1, 1, 1, 0, 0], Err(ClockRefused::EmptyEntry));
        check(&[1, 1, 1, 2, 1, 1, 1, 5], Err(ClockRefused::EmptyEntry));
        check(&[2, 0, 0], Err(ClockRefused::UnknownVersion(2)));
        check(&[0, 0, 0], Err(ClockRefused::UnknownVersion(0)));
        check(&[1, 0x80, 0, 0], Err(ClockRefused::BadNumber));
        check(&[1, 0, 1, 1, 1, 0x85, 0], Err(ClockRefused::BadNumber));
        check(&[1, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 1, 1], Err(ClockRefused::BadNumber));
        check(&[1], Err(ClockRefused::TooShort));
        check(&[1, 0, 1, 1, 1, 0x85], Err(ClockRefused::TooShort));
        assert_eq!(decode(&[]), Err(ClockRefused::TooShort));
        assert_eq!(decode(&[1, 0, 0]), Err(ClockRefused::TooShort));
        let mut unsealed = sealed(&[1, 0, 0]);
        unsealed[3] ^= 1;
        assert_eq!(decode(&unsealed), Err(ClockRefused::BadDigest));
    }

    #[test]
    fn numbers_of_every_size_are_read_as_they_were_written() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put(&mut bytes, number);
                assert_eq!(Reader(&bytes).number(), Ok(number));
            }
        }
        let ten = |last: u8| [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, last];
        assert_eq!(Reader(&ten(1)).number(), Ok(1 << 63));
        assert_eq!(Reader(&ten(2)).number(), Err(ClockRefused::BadNumber));
    }
}
