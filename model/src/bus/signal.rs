//! A signal, and the copy of it that goes over the network. The signal itself is durable in the store; a copy may be lost, come twice, late, out of order, or garbled.
//!
//! A copy: version, sender, incarnation, sequence, member that is asked for an answer, clock (see `encoding`), content, digest. The digest is XXH3-64 of all but
//! the clock, which has its own.

use super::clock::Clock;
use super::encoding::{self, ClockRefused, Reader, put};
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::claim::signal::{Life, SignalId};
use std::rc::Rc;
use twox_hash::XxHash3_64;

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Which.
    pub id: SignalId,
    /// The member that is asked for an answer; 0 is none.
    pub answer_by: u32,
    /// The sender's clock at the sending.
    pub clock: Clock,
    /// What it says.
    pub content: Rc<[u8]>,
}

/// Why a copy is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyRefused {
    /// Its clock isn't one.
    #[error("its clock: {0}")]
    Clock(ClockRefused),
    /// It is damaged elsewhere.
    #[error("it is damaged")]
    Damaged,
}

const COPY_VERSION: u8 = 1;
const DIGEST_BYTES: usize = 8;

impl Signal {
    /// A digest of what it says and asks for.
    pub fn content_digest(&self) -> u64 {
        XxHash3_64::oneshot_with_seed(self.answer_by.into(), &self.content)
    }

    /// The copy that goes over the network; `clock` is the clock's encoding.
    pub(super) fn to_copy(&self, clock: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(40 + clock.len() + self.content.len());
        bytes.push(COPY_VERSION);
        for number in [self.id.sender.agent.into(), self.id.sender.incarnation.into(), self.id.sequence] {
            put(&mut bytes, number);
        }
        put(&mut bytes, self.answer_by.into());
        put(&mut bytes, self.content.len() as u64);
        bytes.extend_from_slice(&self.content);
        let digest = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&digest.to_le_bytes());
        bytes.extend_from_slice(clock);
        bytes
    }

    /// Reads a copy.
    ///
    /// # Errors
    /// Why it isn't taken.
    pub fn of_copy(bytes: &[u8], mutant: Option<Mutant>) -> Result<Signal, CopyRefused> {
        let (id, answer_by, content, clock) = parts(bytes).ok_or(CopyRefused::Damaged)?;
        Ok(Signal {
            id,
            answer_by,
            clock: read_clock(clock, mutant).map_err(CopyRefused::Clock)?,
            content: content.into(),
        })
    }
}

/// Reads a clock that somebody else has written.
pub(super) fn read_clock(bytes: &[u8], mutant: Option<Mutant>) -> Result<Clock, ClockRefused> {
    if is(mutant, Mutant::DuplicateKeysAccepted) {
        Ok(encoding::decode_whatever(bytes))
    } else {
        encoding::decode(bytes)
    }
}

/// Identity, who is asked for an answer, content, clock.
fn parts(bytes: &[u8]) -> Option<(SignalId, u32, &[u8], &[u8])> {
    if bytes.first() != Some(&COPY_VERSION) {
        return None;
    }
    let mut rest = Reader(&bytes[1..]);
    let sender = Life { agent: rest.small().ok()?, incarnation: rest.small().ok()? };
    let id = SignalId { sender, sequence: rest.number().ok()? };
    let (answer_by, content) = (rest.small().ok()?, rest.bytes().ok()?);
    let read = bytes.len() - rest.0.len();
    let (digest, clock) = rest.0.split_first_chunk::<DIGEST_BYTES>()?;
    (XxHash3_64::oneshot(&bytes[..read]) == u64::from_le_bytes(*digest)).then_some((id, answer_by, content, clock))
}
