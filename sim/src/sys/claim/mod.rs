//! Claims: the one way in which a program tells the outside what it believes. Invariants judge them against what the harness knows. Those about signals
//! are in `signal`.

mod kind;
pub mod signal;

pub use kind::ClaimKind;

use super::call::{Call, Caller, Effect, Header};
use super::{Result, Sys};
use crate::kernel::{Core, Injected};
use crate::trace::{CallKind, codec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A belief that a program states. The model defines its own beside the ones here.
pub trait Claim: Serialize + DeserializeOwned {
    /// Its name: kebab case, unique.
    const KIND: &'static str;
}

/// The task that claims it begins to wait for a lock. It waits until it claims [`LockAcquired`] or [`LockTimedOut`], or waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockWaiting {
    /// The lock's name.
    pub lock: String,
    /// How long it will wait at most, in nanoseconds from now. No sleep of the wait may be planned past that.
    pub within_ns: u64,
}

impl Claim for LockWaiting {
    const KIND: &'static str = "lock-waiting";
}

/// How a lock excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exclusion {
    /// One live holder at a time.
    Holder,
    /// A paused holder may be overtaken: the resource refuses a token older than one it has seen.
    FencingToken,
}

/// The program believes that it holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockAcquired {
    /// The lock's name.
    pub lock: String,
    /// How it excludes.
    pub exclusion: Exclusion,
    /// The fencing token; 0 where there is none.
    pub token: u64,
}

impl Claim for LockAcquired {
    const KIND: &'static str = "lock-acquired";
}

/// The program believes that it has released a lock. Claimed before the release takes effect: from here on it relies on it no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockReleased {
    /// The lock's name.
    pub lock: String,
}

impl Claim for LockReleased {
    const KIND: &'static str = "lock-released";
}

/// The program gave up waiting for a lock, and handles it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTimedOut {
    /// The lock's name.
    pub lock: String,
    /// Whom it named as the holder; empty when it couldn't tell.
    pub holder: String,
}

impl Claim for LockTimedOut {
    const KIND: &'static str = "lock-timed-out";
}

/// A resource behind a lease has accepted a write, or let a holder in who will write. Claims come after their effects and may overtake each other; the sequence tells the true order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FencedWrite {
    /// The resource's name.
    pub resource: String,
    /// The writer's fencing token.
    pub token: u64,
    /// The number of the write in the resource's own order, given in the same atomic act as the write.
    pub sequence: u64,
}

impl Claim for FencedWrite {
    const KIND: &'static str = "fenced-write";
}

/// Something that must happen sometimes has happened in the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// Its name, as in the scenario's list.
    pub what: String,
}

impl Claim for Happened {
    const KIND: &'static str = "happened";
}

/// Decodes a claim's body.
pub(crate) fn decode<C: Claim>(bytes: &[u8]) -> Option<C> {
    codec::decode(bytes).ok()
}

pub(crate) struct MakeClaim {
    kind: &'static str,
    bytes: Vec<u8>,
}

impl MakeClaim {
    pub(crate) fn of<C: Claim>(claim: &C) -> MakeClaim {
        MakeClaim { kind: C::KIND, bytes: codec::encode(claim) }
    }
}

impl Call for MakeClaim {
    type Value = ();

    fn header(&self) -> Header {
        Header::new(CallKind::Claim, 0, [0; 2])
    }

    fn effect(&mut self, _core: &mut Core, _caller: Caller, _injected: Option<Injected>) -> Effect<()> {
        Effect::Done(Ok(()))
    }

    fn number(&self, (): &()) -> u64 {
        0
    }

    fn claim(&self) -> Option<(&'static str, &[u8])> {
        Some((self.kind, &self.bytes))
    }
}

impl Sys {
    /// States a belief. A step of its own, so that a kill can fall between an effect and the claim of it; void once the process is dead.
    pub async fn claim<C: Claim>(&self, claim: &C) {
        // A claim can't fail: the only error is the process's death, and then this never completes.
        let _: Result<()> = self.call(MakeClaim::of(claim)).await;
    }
}
