//! The running hash of a run: 128 bits of xxh3 over every event and, last, the durable image. Of a read it takes where and how much, not the bytes:
//! they have been hashed. No cryptographic strength is meant.

use super::event::{Body, CallKind, Dropped, Ended, Event, ProcessId, TaskId};
use crate::errno::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use twox_hash::XxHash3_128;

/// The hash of a whole run, printed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TraceHash(pub u128);

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

const BATCH_BYTES: usize = 1024;
const HEAD_BYTES: usize = 64;
const DIGEST_BYTES: usize = 16;
/// Marks the short head of a call that touched nothing, had no arguments and returned 0.
const SHORT: u64 = 1 << 40;

/// Who made a call, and when.
pub struct CallHead {
    /// Simulated time, in nanoseconds.
    pub time_ns: u64,
    /// The task.
    pub task: TaskId,
    /// Its process.
    pub process: ProcessId,
    /// The process's boot.
    pub boot: u32,
    /// Which call.
    pub kind: CallKind,
}

/// Takes in events, gives the hash. Heads are gathered and hashed a batch at a time, since xxh3's set-up costs more than a head does; each batch
/// begins with the digest of the one before.
pub struct TraceHasher {
    batch: [u8; BATCH_BYTES],
    used: usize,
    events: u64,
}

impl Default for TraceHasher {
    fn default() -> Self {
        TraceHasher { batch: [0; BATCH_BYTES], used: DIGEST_BYTES, events: 0 }
    }
}

impl TraceHasher {
    /// Begins anew.
    pub(crate) fn begin_again(&mut self) {
        // What lies beyond is written before it is read.
        self.batch[..DIGEST_BYTES].fill(0);
        self.used = DIGEST_BYTES;
        self.events = 0;
    }

    /// How many events have been taken in.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Takes in one event.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        let who = u64::from(event.task.map_or(u32::MAX, |task| task.0)) << 32
            | u64::from(event.process.map_or(u32::MAX, |process| process.0));
        match &event.body {
            Body::Call { kind, object, arguments, result, data, took_ns } => {
                self.of_call(event.time_ns, who, event.boot, *kind, *object, *arguments, *result, data, *took_ns);
            }
            body => self.rare(event, who, body),
        }
    }

    /// As [`TraceHasher::event`] with [`Body::Call`], for a call whose event nobody wants to see.
    #[inline(always)]
    pub fn call(
        &mut self,
        head: &CallHead,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &[u8],
        took_ns: u64,
    ) {
        self.events += 1;
        let who = u64::from(head.task.0) << 32 | u64::from(head.process.0);
        self.of_call(head.time_ns, who, head.boot, head.kind, object, arguments, result, data, took_ns);
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the fields of one event, in registers")]
    fn of_call(
        &mut self,
        time_ns: u64,
        who: u64,
        boot: u32,
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &[u8],
        took_ns: u64,
    ) {
        let result = match result {
            Ok(value) => value,
            Err(errno) => u64::MAX - errno as u64,
        };
        let word = u64::from(kind as u8) << 32 | u64::from(boot);
        if object | arguments[0] | arguments[1] | result == 0 && data.is_empty() {
            self.head([time_ns, who, word | SHORT, took_ns]);
            return;
        }
        self.head([time_ns, who, word, object, arguments[0], arguments[1], result, took_ns]);
        // What a file held was hashed as it was written, and so was each fault that changed it.
        if !data.is_empty() && !matches!(kind, CallKind::Read | CallKind::ReadAt) {
            self.bytes(data);
        }
    }

    #[cold]
    fn rare(&mut self, event: &Event<'_>, who: u64, body: &Body<'_>) {
        let (tag, first, second, data): (u64, u64, u64, &[u8]) = match body {
            Body::Call { .. } => unreachable!("calls have a path of their own"),
            Body::Blocked { kind, object } => (1, *kind as u64, *object, &[]),
            Body::Claim { kind, bytes } => {
                self.bytes(kind.as_bytes());
                (2, 0, 0, bytes)
            }
            Body::Fault { kind, id } => (3, *kind as u64, u64::from(*id), &[]),
            Body::Started { pid } => (4, u64::from(*pid), 0, &[]),
            Body::Ended(Ended::Exited { code, why }) => (5, u64::from(*code), 0, why.as_bytes()),
            Body::Ended(Ended::Killed) => (6, 0, 0, &[]),
            Body::Ended(Ended::Crashed) => (7, 0, 0, &[]),
            Body::Paused => (8, 0, 0, &[]),
            Body::Resumed => (9, 0, 0, &[]),
            Body::TerminationRequested => (10, 0, 0, &[]),
            Body::MachineCrashed => (11, 0, 0, &[]),
            Body::MachineStarted => (12, 0, 0, &[]),
            Body::ClockJumped(by_ns) => (13, *by_ns as u64, 0, &[]),
            Body::CalmBegan => (14, 0, 0, &[]),
            Body::MessageFault { kind, id, message } => (15, *message, (*kind as u64) << 32 | u64::from(*id), &[]),
            Body::MessageDropped { message, why: Dropped::Nobody } => (16, *message, 0, &[]),
            Body::MessageDropped { message, why: Dropped::Full } => (17, *message, 0, &[]),
            Body::MessageDropped { message, why: Dropped::Cut(id) } => (18, *message, u64::from(*id), &[]),
            Body::MessageDropped { message, why: Dropped::PowerLoss } => (19, *message, 0, &[]),
            Body::MessageDropped { message, why: Dropped::Unread } => (21, *message, 0, &[]),
            Body::PartitionHealed { id } => (20, u64::from(*id), 0, &[]),
        };
        self.head([
            event.time_ns,
            who,
            u64::from(event.boot),
            u64::MAX - tag,
            first,
            second,
            data.len() as u64,
            event.step,
        ]);
        if !data.is_empty() {
            self.bytes(data);
        }
    }

    #[inline(always)]
    fn head<const WORDS: usize>(&mut self, words: [u64; WORDS]) {
        if self.used + HEAD_BYTES > BATCH_BYTES {
            self.flush();
        }
        let slot = &mut self.batch[self.used..self.used + WORDS * 8];
        for (bytes, word) in slot.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.used += WORDS * 8;
    }

    /// Takes in bytes that belong to the last event: by their own digest, which costs less than to stream them.
    #[inline(never)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let digest = XxHash3_128::oneshot(bytes);
        self.head([digest as u64, (digest >> 64) as u64]);
    }

    #[inline(never)]
    fn flush(&mut self) {
        let digest = XxHash3_128::oneshot(&self.batch[..self.used]);
        self.batch[..DIGEST_BYTES].copy_from_slice(&digest.to_le_bytes());
        self.used = DIGEST_BYTES;
    }

    /// The hash of all that was taken in.
    pub fn finish(&self) -> TraceHash {
        TraceHash(XxHash3_128::oneshot(&self.batch[..self.used]))
    }
}
