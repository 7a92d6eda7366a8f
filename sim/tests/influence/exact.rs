//! On recorded traces influence says of every two events what the naive account says.

use crate::naive::agree;
use crate::sqlite_support::writers::{Use, add};
use crate::worlds::{anything, plan_of_anything, record};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Plan, Seed};
use std::collections::BTreeMap;

#[test]
fn influence_is_what_the_whole_graph_says() {
    let mut calls: BTreeMap<CallKind, u32> = BTreeMap::new();
    let (mut ordered, mut unordered, mut crashes, mut boots) = (0, 0, 0, 0);
    for seed in 0..60 {
        let (outcome, records) = record(&plan_of_anything(seed), anything(80));
        assert!(outcome.passed(), "{:#?}", outcome.violations);
        let (more, less) = agree(&records);
        ordered += more;
        unordered += less;
        for record in &records {
            match record.body {
                RecordBody::Call { kind, result: Ok(_), .. } => *calls.entry(kind).or_default() += 1,
                RecordBody::MachineCrashed => crashes += 1,
                RecordBody::Started { .. } => boots += 1,
                _ => {}
            }
        }
    }
    // All that it is made of has happened, and left something unordered.
    use CallKind as Kind;
    for kind in [
        Kind::Open,
        Kind::Close,
        Kind::ReadAt,
        Kind::WriteAt,
        Kind::Rename,
        Kind::Link,
        Kind::Unlink,
        Kind::MakeDirectory,
        Kind::RemoveDirectory,
        Kind::ReadDirectory,
        Kind::Stat,
        Kind::Lock,
        Kind::Unlock,
        Kind::RangeLock,
        Kind::RangeUnlock,
        Kind::ProcessQuery,
        Kind::Send,
        Kind::Receive,
    ] {
        assert!(calls.get(&kind).is_some_and(|count| *count > 5), "{kind}: {calls:?}");
    }
    assert!(crashes > 5 && boots > 300, "{crashes} crashes, {boots} boots");
    assert!(ordered > 100_000 && unordered > 100_000, "{ordered} ordered, {unordered} not");
}

#[test]
fn influence_through_sqlite_is_what_the_whole_graph_says() {
    for (journal, seed) in [("WAL", 1), ("WAL", 2), ("DELETE", 3)] {
        let kill = FaultPlan {
            id: 1,
            kind: FaultKind::Kill,
            process: Some("writer-1".into()),
            when: Trigger::Call { kind: CallKind::WriteAt, nth: 9 },
            for_ns: 0,
            by_ns: 0,
            between: None,
        };
        let plan = Plan { faults: vec![kill], ..Plan::plain("case", Seed(seed)) };
        let how = Use { journal, transactions: 3, ..Use::WAL };
        let (outcome, records) = record(&plan, move |world| add(world, how));
        assert!(outcome.passed(), "{:#?}", outcome.violations);
        let (ordered, unordered) = agree(&records);
        assert!(ordered > 10_000 && unordered > 1_000, "{journal}: {ordered} ordered, {unordered} not");
    }
}
