//! Records: events that own their data, as a trace file keeps them. The borrowed originals are in `event`, files in `file`.

use super::event::{Body, CallKind, Dropped, Ended, Event, ProcessId, TaskId};
use crate::errno::Errno;
use crate::plan::FaultKind;
use serde::{Deserialize, Serialize};

/// An event that owns its data. It is encoded exactly as the [`Event`] that it is a copy of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// As [`Event::step`].
    pub step: u64,
    /// As [`Event::time_ns`].
    pub time_ns: u64,
    /// As [`Event::process`].
    pub process: Option<ProcessId>,
    /// As [`Event::task`].
    pub task: Option<TaskId>,
    /// As [`Event::boot`].
    pub boot: u32,
    /// What happened.
    pub body: RecordBody,
}

/// What happened, with data of its own. The variants are those of [`Body`], in the same order: the codec numbers them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is described at its namesake in `Body`")]
pub enum RecordBody {
    Call {
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        #[serde(with = "bytes")]
        data: Vec<u8>,
        took_ns: u64,
    },
    Blocked {
        kind: CallKind,
        object: u64,
    },
    Claim {
        kind: String,
        #[serde(with = "bytes")]
        bytes: Vec<u8>,
    },
    Fault {
        kind: FaultKind,
        id: u32,
    },
    Started {
        pid: u32,
    },
    Ended(Ended),
    Paused,
    Resumed,
    TerminationRequested,
    MachineCrashed,
    MachineStarted,
    ClockJumped(i64),
    CalmBegan,
    MessageFault {
        kind: FaultKind,
        id: u32,
        message: u64,
    },
    MessageDropped {
        message: u64,
        why: Dropped,
    },
    PartitionHealed {
        id: u32,
    },
}

impl From<&Event<'_>> for Record {
    fn from(event: &Event<'_>) -> Record {
        let Event { step, time_ns, process, task, boot, ref body } = *event;
        let body = match *body {
            Body::Call { kind, object, arguments, result, data, took_ns } => {
                RecordBody::Call { kind, object, arguments, result, data: data.to_vec(), took_ns }
            }
            Body::Blocked { kind, object } => RecordBody::Blocked { kind, object },
            Body::Claim { kind, bytes } => RecordBody::Claim { kind: kind.to_owned(), bytes: bytes.to_vec() },
            Body::Fault { kind, id } => RecordBody::Fault { kind, id },
            Body::Started { pid } => RecordBody::Started { pid },
            Body::Ended(ended) => RecordBody::Ended(ended.clone()),
            Body::Paused => RecordBody::Paused,
            Body::Resumed => RecordBody::Resumed,
            Body::TerminationRequested => RecordBody::TerminationRequested,
            Body::MachineCrashed => RecordBody::MachineCrashed,
            Body::MachineStarted => RecordBody::MachineStarted,
            Body::ClockJumped(by_ns) => RecordBody::ClockJumped(by_ns),
            Body::CalmBegan => RecordBody::CalmBegan,
            Body::MessageFault { kind, id, message } => RecordBody::MessageFault { kind, id, message },
            Body::MessageDropped { message, why } => RecordBody::MessageDropped { message, why },
            Body::PartitionHealed { id } => RecordBody::PartitionHealed { id },
        };
        Record { step, time_ns, process, task, boot, body }
    }
}

impl Record {
    /// The record as an event, for what reads events: words, claims, observers.
    pub fn event(&self) -> Event<'_> {
        let Record { step, time_ns, process, task, boot, ref body } = *self;
        let body = match *body {
            RecordBody::Call { kind, object, arguments, result, ref data, took_ns } => {
                Body::Call { kind, object, arguments, result, data, took_ns }
            }
            RecordBody::Blocked { kind, object } => Body::Blocked { kind, object },
            RecordBody::Claim { ref kind, ref bytes } => Body::Claim { kind, bytes },
            RecordBody::Fault { kind, id } => Body::Fault { kind, id },
            RecordBody::Started { pid } => Body::Started { pid },
            RecordBody::Ended(ref ended) => Body::Ended(ended),
            RecordBody::Paused => Body::Paused,
            RecordBody::Resumed => Body::Resumed,
            RecordBody::TerminationRequested => Body::TerminationRequested,
            RecordBody::MachineCrashed => Body::MachineCrashed,
            RecordBody::MachineStarted => Body::MachineStarted,
            RecordBody::ClockJumped(by_ns) => Body::ClockJumped(by_ns),
            RecordBody::CalmBegan => Body::CalmBegan,
            RecordBody::MessageFault { kind, id, message } => Body::MessageFault { kind, id, message },
            RecordBody::MessageDropped { message, why } => Body::MessageDropped { message, why },
            RecordBody::PartitionHealed { id } => Body::PartitionHealed { id },
        };
        Event { step, time_ns, process, task, boot, body }
    }
}

/// Byte strings in one piece: serde would hand them over byte by byte.
pub(super) mod bytes {
    use serde::de::{SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;

    pub(in crate::trace) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(in crate::trace) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        /// Formats for people write bytes as a list of numbers.
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::trace::codec;

    /// One record of each kind.
    pub(in crate::trace) fn one_of_each() -> Vec<Record> {
        let (kind, result, data) = (CallKind::WriteAt, Ok(3), vec![1, 0, 255]);
        let bodies = vec![
            RecordBody::Call { kind, object: u64::MAX, arguments: [1, 2], result, data, took_ns: 5 },
            RecordBody::Call {
                kind: CallKind::Access,
                object: 0,
                arguments: [0; 2],
                result: Err(Errno::Dead),
                data: vec![],
                took_ns: 0,
            },
            RecordBody::Blocked { kind: CallKind::Lock, object: 9 },
            RecordBody::Claim { kind: "lock-acquired".into(), bytes: vec![7; 300] },
            RecordBody::Fault { kind: FaultKind::PidReuse, id: 12 },
            RecordBody::Started { pid: 101 },
            RecordBody::Ended(Ended::Exited { code: 3, why: "no reason".into() }),
            RecordBody::Ended(Ended::Killed),
            RecordBody::Ended(Ended::Crashed),
            RecordBody::Paused,
            RecordBody::Resumed,
            RecordBody::TerminationRequested,
            RecordBody::MachineCrashed,
            RecordBody::MachineStarted,
            RecordBody::ClockJumped(-7),
            RecordBody::CalmBegan,
            RecordBody::MessageFault { kind: FaultKind::MessageLoss, id: 3, message: 1 << 40 | 7 },
            RecordBody::MessageDropped { message: 9, why: Dropped::Cut(4) },
            RecordBody::PartitionHealed { id: 4 },
        ];
        let place = |step: u64, body| {
            let (process, task) =
                (step.is_multiple_of(2).then_some(ProcessId(1)), step.is_multiple_of(3).then_some(TaskId(4)));
            Record { step, time_ns: step * 1_000_003, process, task, boot: step as u32 % 3, body }
        };
        (1..).zip(bodies).map(|(step, body)| place(step, body)).collect()
    }

    #[test]
    fn a_record_is_encoded_as_the_event_that_it_copies() {
        for record in one_of_each() {
            let of_event = codec::encode(&record.event());
            assert_eq!(of_event, codec::encode(&record), "{record:?}");
            assert_eq!(codec::decode::<Record>(&of_event).expect("what was encoded decodes"), record);
            assert_eq!(Record::from(&record.event()), record);
        }
    }
}
