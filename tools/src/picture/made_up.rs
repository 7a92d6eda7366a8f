//! A made-up trace for tests: three processes, a message, locks, a kill, and a violation.

use crate::catalogue::Catalogue;
use seedstorm_sim::invariant::Violation;
use seedstorm_sim::plan::{FaultKind, StrategyPlan};
use seedstorm_sim::sys::claim::{Exclusion, LockAcquired, LockWaiting};
use seedstorm_sim::trace::file::{Ending, FileWriter, Head};
use seedstorm_sim::trace::{CallKind, Ended, ProcessId, Record, RecordBody, TaskId, TraceHash, codec};
use seedstorm_sim::{Errno, Seed};

/// The scenarios of the product.
pub(crate) fn catalogue() -> Catalogue {
    Catalogue::new(seedstorm_scenarios::all(), "seedstorm")
}

/// The id of the one message that arrives, and of the one that is lost.
pub(crate) const MESSAGES: [u64; 2] = [1 << 40 | 1, 1 << 40 | 2];

/// A trace file of a run in which two hold one lock.
pub(crate) fn failing() -> Vec<u8> {
    failing_with("a-1 acquired lock `compaction` while it is held by a-0\nmore <here>")
}

/// The same, with another message.
pub(crate) fn failing_with(message: &str) -> Vec<u8> {
    let mut records = Vec::new();
    let mut add = |process: Option<u32>, body| {
        let step = records.len() as u64 / 2;
        let (time_ns, boot) = (records.len() as u64 * 1_000, u32::from(process.is_some()));
        let (process, task) = (process.map(ProcessId), process.map(TaskId));
        records.push(Record { step, time_ns, process, task, boot, body });
    };
    let call = |kind, object, arguments, data: &str| RecordBody::Call {
        kind,
        object,
        arguments,
        result: Ok(3),
        data: data.as_bytes().to_vec(),
        took_ns: 400,
    };
    let mailboxes = [1 << 16 | 7, 2 << 16 | 7];
    let claim = |kind: &str, bytes| RecordBody::Claim { kind: kind.to_owned(), bytes };
    let acquired = || {
        let (lock, exclusion) = ("compaction".to_owned(), Exclusion::Holder);
        claim("lock-acquired", codec::encode(&LockAcquired { lock, exclusion, token: 0 }))
    };
    for process in 0..3 {
        add(Some(process), RecordBody::Started { pid: 100 + process });
    }
    add(Some(0), call(CallKind::Open, 7, [7, 0], "/shared </script>\u{2028}"));
    add(Some(2), call(CallKind::Open, 8, [7, 0], "/aside"));
    add(Some(0), call(CallKind::Send, MESSAGES[0], mailboxes, ""));
    add(Some(0), RecordBody::MessageFault { kind: FaultKind::MessageLoss, id: 4, message: MESSAGES[1] });
    add(Some(0), call(CallKind::Send, MESSAGES[1], mailboxes, ""));
    add(Some(1), claim("lock-waiting", codec::encode(&LockWaiting { lock: "compaction".into(), within_ns: 5 })));
    add(Some(0), acquired());
    add(Some(2), RecordBody::Fault { kind: FaultKind::Kill, id: 9 });
    add(Some(2), RecordBody::Ended(Ended::Killed));
    add(None, RecordBody::CalmBegan);
    let failed = RecordBody::Call {
        kind: CallKind::Access,
        object: 0,
        arguments: [0; 2],
        result: Err(Errno::NoEntry),
        data: b"/nowhere".to_vec(),
        took_ns: 0,
    };
    add(Some(0), failed);
    add(Some(1), call(CallKind::Receive, MESSAGES[0], mailboxes, ""));
    add(Some(1), acquired());
    let (step, time_ns) = records.last().map(|record: &Record| (record.step, record.time_ns)).unwrap_or_default();
    let violation = Violation::new("lock-exclusion", message).object("lock").at(step, time_ns);
    let ending = Ending { steps: step, simulated_ns: time_ns, violations: vec![violation], ..Ending::default() };
    write(&records, Some(ending))
}

/// A trace file of some events.
pub(crate) fn write(records: &[Record], ending: Option<Ending>) -> Vec<u8> {
    let processes = ["a-0", "a-1", "a-2"].map(str::to_owned).to_vec();
    let (scenario, plan) = ("made-up".to_owned(), String::new());
    let head = Head { scenario, seed: Seed(7), strategy: StrategyPlan::Timed, processes, plan };
    let mut writer = FileWriter::new(Vec::new(), &head).expect("memory takes everything");
    for record in records {
        writer.event(&record.event()).expect("memory takes everything");
    }
    writer.finish(TraceHash(0xABC), ending).expect("memory takes everything")
}
