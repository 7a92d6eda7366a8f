//! Every fault of messages really happens, as its documentation says: losses, copies, delays, reorderings, partitions, aimed or as weather.

use crate::support::{
    MILLI_NS, Ran, SECOND_NS, at_call, dropped, fault, message_faults, note, plan, receives, run_plain, run_world,
};
use seedstorm_sim::plan::{Between, FaultKind, FaultPlan, Trigger};
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::trace::{CallKind, Dropped, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};

const PORT: u16 = 7;

/// The n-th message of `a-0`.
fn nth(id: u32, kind: FaultKind, nth: u64) -> FaultPlan {
    FaultPlan { id, ..fault(kind, at_call(CallKind::Send, nth)) }
}

fn weather(id: u32, kind: FaultKind, per_mille: u32) -> FaultPlan {
    FaultPlan { id, process: None, ..fault(kind, Trigger::Weather { from_ns: 0, until_ns: SECOND_NS, per_mille }) }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn cut(at_ns: u64, for_ns: u64, from: &[&str], to: &[&str], one_way: bool) -> FaultPlan {
    let between = Some(Between { from: names(from), to: names(to), one_way });
    FaultPlan { process: None, for_ns, between, ..fault(FaultKind::Partition, Trigger::AtNs(at_ns)) }
}

/// Each process sends `count` messages to each other, one every millisecond, and notes what comes: sender, number and when in milliseconds.
fn all_to_all(processes: &'static [(&'static str, u32)], count: u8) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for &(role, index) in processes {
            world.process(role, index, move |sys| async move {
                let mailbox = std::rc::Rc::new(sys.bind(PORT).await.expect("bind"));
                let ear = mailbox.clone();
                let own = sys.name();
                let listener = sys
                    .spawn(|sys| async move {
                        while let Ok(Some(message)) = ear.receive_within(2 * SECOND_NS).await {
                            let (from, number) = (message.from.process, message.bytes[0]);
                            note(&sys, format!("{from} {number} at {}", sys.simulated_ns() / MILLI_NS)).await;
                        }
                    })
                    .await;
                for number in 1..=count {
                    let began_ns = sys.simulated_ns();
                    for (role, index) in processes {
                        let name = format!("{role}-{index}");
                        if name != own {
                            mailbox.send(&Address::new(name, PORT), &[number]).await.expect("send");
                        }
                    }
                    sys.sleep(MILLI_NS - (sys.simulated_ns() - began_ns)).await.expect("sleep");
                }
                sys.join(listener).await;
                Exit::success()
            });
        }
    }
}

const TWO: &[(&str, u32)] = &[("a", 0), ("b", 0)];
const FOUR: &[(&str, u32)] = &[("a", 0), ("b", 0), ("b", 1), ("b", 2)];

fn run_two(faults: Vec<FaultPlan>, count: u8) -> Ran {
    run_world(&Plan { faults, ..plan() }, all_to_all(TWO, count)).passed()
}

/// The numbers of `a-0`'s messages that `b-0` got, in order.
fn got(ran: &Ran) -> Vec<u8> {
    got_from(ran, 1, "a-0")
}

fn got_from(ran: &Ran, id: u32, from: &str) -> Vec<u8> {
    let notes = ran.notes(id);
    let own = notes.iter().filter_map(|note| note.strip_prefix(from)?.split(' ').nth(1)?.parse().ok());
    own.collect()
}

/// When `b-0` got each, in milliseconds.
fn times(ran: &Ran) -> Vec<u64> {
    let notes = ran.notes(1);
    notes.iter().filter_map(|note| note.strip_prefix("a-0 ")?.split(' ').nth(2)?.parse().ok()).collect()
}

fn covered(ran: &Ran, name: &str) -> u64 {
    ran.outcome.observations.coverage.get(name).copied().unwrap_or(0)
}

#[test]
fn what_is_lost_never_arrives() {
    let ran = run_two(vec![nth(1, FaultKind::MessageLoss, 2)], 4);
    assert_eq!(got(&ran), [1, 3, 4]);
    assert_eq!(got_from(&ran, 0, "b-0"), [1, 2, 3, 4]);
    assert_eq!(message_faults(&ran), [(FaultKind::MessageLoss, 1, 2)]);
    assert_eq!(ran.outcome.observations.faults[&FaultKind::MessageLoss], 1);
    // Its event is just before the message's own, in the same step.
    let hit = ran.index(|record| matches!(record.body, RecordBody::MessageFault { .. }));
    let RecordBody::MessageFault { message, .. } = ran.records[hit].body else { unreachable!() };
    let next = &ran.records[hit + 1];
    assert!(matches!(next.body, RecordBody::Call { kind: CallKind::Send, object, .. } if object == message));
    assert_eq!(ran.records[hit].step, next.step);
}

#[test]
fn one_bit_of_what_is_garbled_arrives_as_the_other() {
    let ran = run_two(vec![nth(1, FaultKind::MessageGarble, 2)], 4);
    let arrived = got(&ran);
    assert_eq!((arrived[0], arrived[2], arrived[3]), (1, 3, 4));
    assert_eq!((arrived[1] ^ 2).count_ones(), 1, "{arrived:?}");
    assert_eq!(message_faults(&ran), [(FaultKind::MessageGarble, 1, 2)]);
    // What was sent is in the trace as it was sent, and as it arrived.
    let bytes = |wanted: CallKind| {
        let data = ran.records.iter().filter_map(move |record| match &record.body {
            RecordBody::Call { kind, data, .. } if *kind == wanted && data.len() == 1 => Some(data[0]),
            _ => None,
        });
        data.collect::<Vec<_>>()
    };
    assert!(!bytes(CallKind::Send).contains(&arrived[1]) || [1, 3, 4].contains(&arrived[1]));
    assert!(bytes(CallKind::Receive).contains(&arrived[1]));
}

#[test]
fn the_first_message_after_a_time_can_be_meant() {
    let ran = run_two(vec![fault(FaultKind::MessageLoss, Trigger::AtNs(5 * MILLI_NS / 2))], 6);
    assert_eq!(got(&ran), [1, 2, 3, 5, 6], "the fourth is sent 3 ms after the first");
}

#[test]
fn a_duplicate_arrives_twice() {
    let copy = FaultPlan { for_ns: 5 * MILLI_NS / 2, ..nth(1, FaultKind::MessageDuplicate, 2) };
    let ran = run_two(vec![copy], 5);
    assert_eq!(got(&ran), [1, 2, 3, 4, 2, 5]);
    assert_eq!((covered(&ran, "duplicated"), covered(&ran, "reordered")), (1, 0), "a late copy is no reordering");
    let at_once = run_two(vec![nth(1, FaultKind::MessageDuplicate, 2)], 3);
    assert_eq!(got(&at_once), [1, 2, 2, 3]);
    let thrice = run_two(vec![nth(1, FaultKind::MessageDuplicate, 2), nth(2, FaultKind::MessageDuplicate, 2)], 3);
    assert_eq!((got(&thrice), covered(&thrice, "duplicated")), (vec![1, 2, 2, 2, 3], 2));
}

#[test]
fn a_delay_is_as_long_as_it_says() {
    let late = FaultPlan { for_ns: 5 * MILLI_NS, ..nth(1, FaultKind::MessageDelay, 1) };
    let ran = run_two(vec![late], 4);
    assert_eq!(got(&ran), [2, 3, 4, 1]);
    let at = times(&ran);
    assert_eq!(at[3], 5, "{at:?}");
    assert_eq!(covered(&ran, "reordered"), 1);
}

#[test]
fn a_reordered_message_is_overtaken_by_the_next() {
    let ran = run_two(vec![nth(1, FaultKind::MessageReorder, 2)], 5);
    assert_eq!(got(&ran), [1, 3, 2, 4, 5]);
    assert_eq!((covered(&ran, "reordered"), covered(&ran, "duplicated")), (1, 0));
    // Two in a row are overtaken by the third, and keep their order.
    let ran = run_two(vec![nth(1, FaultKind::MessageReorder, 2), nth(2, FaultKind::MessageReorder, 3)], 5);
    assert_eq!((got(&ran), covered(&ran, "reordered")), (vec![1, 4, 2, 3, 5], 2));
}

#[test]
fn a_message_that_nothing_overtakes_comes_in_the_end() {
    let last = FaultPlan { for_ns: 7 * MILLI_NS, ..nth(1, FaultKind::MessageReorder, 3) };
    let ran = run_two(vec![last], 3);
    assert_eq!((got(&ran), times(&ran)), (vec![1, 2, 3], vec![0, 1, 9]));
    assert_eq!(covered(&ran, "reordered"), 0);
    let ran = run_two(vec![nth(1, FaultKind::MessageReorder, 3)], 3);
    assert_eq!(times(&ran), [0, 1, 1000], "a second, or until the calm");
    // A message that doesn't arrive overtakes nothing.
    let lost = [nth(1, FaultKind::MessageReorder, 1), nth(2, FaultKind::MessageLoss, 2)];
    assert_eq!(got(&run_two(lost.to_vec(), 3)), [3, 1]);
}

#[test]
fn only_messages_of_the_same_two_overtake() {
    let ran =
        run_world(&Plan { faults: vec![nth(1, FaultKind::MessageReorder, 1)], ..plan() }, all_to_all(FOUR, 2)).passed();
    assert_eq!(got(&ran), [2, 1]);
    for (id, from) in [(2, "a-0"), (3, "a-0"), (1, "b-1"), (0, "b-0")] {
        assert_eq!(got_from(&ran, id, from), [1, 2], "{from} to {id}");
    }
}

#[test]
fn one_message_can_be_duplicated_and_reordered() {
    let copy = FaultPlan { for_ns: 5 * MILLI_NS / 2, ..nth(1, FaultKind::MessageDuplicate, 1) };
    let ran = run_two(vec![copy, nth(2, FaultKind::MessageReorder, 1)], 4);
    assert_eq!(got(&ran), [2, 1, 3, 1, 4]);
    assert_eq!((covered(&ran, "reordered"), covered(&ran, "duplicated")), (1, 1));
    assert_eq!(message_faults(&ran).len(), 2);
    // A copy overtakes nothing: it is no later message.
    let ran = run_two(vec![nth(1, FaultKind::MessageDuplicate, 2), nth(2, FaultKind::MessageReorder, 2)], 4);
    assert_eq!(got(&ran), [1, 2, 3, 2, 4]);
}

#[test]
fn what_is_lost_is_neither_copied_nor_late() {
    let faults = vec![nth(1, FaultKind::MessageDuplicate, 2), nth(2, FaultKind::MessageLoss, 2)];
    let ran = run_two(faults, 4);
    assert_eq!(got(&ran), [1, 3, 3, 4], "the copy is made of the next message that can have one");
    assert_eq!(message_faults(&ran), [(FaultKind::MessageLoss, 2, 2), (FaultKind::MessageDuplicate, 1, 3)]);
}

#[test]
fn weather_hits_its_share_of_messages_in_its_time_among_its_processes() {
    let all = run_two(vec![weather(1, FaultKind::MessageLoss, 1000)], 20);
    assert_eq!((got(&all).len(), got_from(&all, 0, "b-0").len()), (0, 0));
    assert_eq!(all.outcome.observations.faults[&FaultKind::MessageLoss], 40);
    let mut lost = 0;
    for seed in 0..10 {
        let faults = vec![weather(1, FaultKind::MessageLoss, 300)];
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, all_to_all(TWO, 100)).passed();
        lost += message_faults(&ran).len();
        assert_eq!(message_faults(&ran).len(), 200 - receives(&ran).len());
    }
    assert!((520..680).contains(&lost), "{lost} of 2000, 600 are expected");
    let short = FaultPlan {
        when: Trigger::Weather { from_ns: 5 * MILLI_NS / 2, until_ns: 9 * MILLI_NS / 2, per_mille: 1000 },
        ..weather(1, FaultKind::MessageLoss, 1000)
    };
    assert_eq!(got(&run_two(vec![short], 7)), [1, 2, 3, 6, 7]);
    let between = Some(Between { from: names(&["a-0"]), to: names(&["b-1"]), one_way: true });
    let some = FaultPlan { between, ..weather(1, FaultKind::MessageLoss, 1000) };
    let ran = run_world(&Plan { faults: vec![some], ..plan() }, all_to_all(FOUR, 2)).passed();
    let lost: Vec<(u32, &str)> = [(0, "b-1"), (1, "a-0"), (2, "a-0"), (2, "b-0"), (3, "a-0")]
        .into_iter()
        .filter(|(id, from)| got_from(&ran, *id, from).is_empty())
        .collect();
    assert_eq!(lost, [(2, "a-0")]);
}

#[test]
fn weather_of_every_kind_is_at_work_together() {
    let faults = vec![
        weather(1, FaultKind::MessageLoss, 100),
        FaultPlan { for_ns: 3 * MILLI_NS, ..weather(2, FaultKind::MessageDuplicate, 300) },
        FaultPlan { for_ns: 3 * MILLI_NS, ..weather(3, FaultKind::MessageDelay, 300) },
        weather(4, FaultKind::MessageReorder, 300),
    ];
    let ran = run_two(faults, 100);
    let hits = message_faults(&ran);
    let of = |wanted| hits.iter().filter(|(kind, _, _)| *kind == wanted).count();
    for (kind, expected) in
        [(FaultKind::MessageLoss, 20), (FaultKind::MessageDuplicate, 54), (FaultKind::MessageReorder, 54)]
    {
        assert!(of(kind).abs_diff(expected) < expected, "{kind:?}: {}", of(kind));
    }
    let received = receives(&ran);
    assert_eq!(received.len(), 200 - of(FaultKind::MessageLoss) + of(FaultKind::MessageDuplicate));
    assert_eq!(covered(&ran, "duplicated"), of(FaultKind::MessageDuplicate) as u64);
    assert!(covered(&ran, "reordered") > 40);
    let both = hits.iter().filter(|(kind, _, message)| {
        *kind == FaultKind::MessageReorder && hits.contains(&(FaultKind::MessageDuplicate, 2, *message))
    });
    assert!(both.count() > 5, "duplicated and reordered");
}

#[test]
fn without_one_fault_the_others_hit_the_same_messages() {
    let faults = vec![
        weather(1, FaultKind::MessageLoss, 150),
        FaultPlan { for_ns: 3 * MILLI_NS, ..weather(2, FaultKind::MessageDuplicate, 300) },
        FaultPlan { for_ns: 3 * MILLI_NS, ..weather(3, FaultKind::MessageDelay, 300) },
        nth(4, FaultKind::MessageReorder, 17),
    ];
    let hits_of = |faults: Vec<FaultPlan>| -> Vec<(FaultKind, u32, u64)> {
        let ran = run_two(faults, 100);
        let hits = ran.records.iter().filter_map(|record| match record.body {
            RecordBody::MessageFault { kind, id, message } => Some((kind, id, message)),
            _ => None,
        });
        hits.collect()
    };
    let all = hits_of(faults.clone());
    let lost = |message: &u64| all.iter().any(|(_, id, lost)| *id == 1 && lost == message);
    for without in 1..=4 {
        let fewer = faults.iter().filter(|fault| fault.id != without).cloned().collect();
        let mut hits = hits_of(fewer);
        // What was lost can be hit by others when it isn't.
        hits.retain(|(_, _, message)| without != 1 || !lost(message));
        let expected: Vec<_> = all.iter().copied().filter(|(_, id, _)| *id != without).collect();
        assert_eq!(hits, expected, "without {without}");
    }
    assert!(all.len() > 50);
}

#[test]
fn a_partition_cuts_both_ways_and_heals() {
    let ran = run_two(vec![cut(5 * MILLI_NS / 2, 3 * MILLI_NS, &["a-0"], &[], false)], 9);
    for (id, from) in [(1, "a-0"), (0, "b-0")] {
        assert_eq!(got_from(&ran, id, from), [1, 2, 3, 7, 8, 9]);
    }
    assert_eq!(ran.faults(), [(5 * MILLI_NS / 2, FaultKind::Partition)]);
    assert_eq!(dropped(&ran).iter().filter(|(_, why)| *why == Dropped::Cut(1)).count(), 6);
    let healed = ran.index(|record| matches!(record.body, RecordBody::PartitionHealed { id: 1 }));
    assert_eq!(ran.records[healed].time_ns, 11 * MILLI_NS / 2);
    assert_eq!(covered(&ran, "partition_healed"), 2, "once for each direction");
    assert_eq!(ran.outcome.observations.faults[&FaultKind::Partition], 1);
}

#[test]
fn a_partition_can_cut_one_way() {
    let ran = run_two(vec![cut(5 * MILLI_NS / 2, 3 * MILLI_NS, &["a-0"], &["b-0"], true)], 9);
    assert_eq!(got(&ran), [1, 2, 3, 7, 8, 9]);
    assert_eq!(got_from(&ran, 0, "b-0"), (1..=9).collect::<Vec<u8>>());
    assert_eq!(covered(&ran, "partition_healed"), 1);
}

#[test]
fn a_partition_cuts_between_sets_and_not_within_them() {
    let faults = vec![cut(0, 0, &["a-0", "b-0"], &["b-1"], false)];
    let ran = run_world(&Plan { faults, ..plan() }, all_to_all(FOUR, 2)).passed();
    let name = ["a-0", "b-0", "b-1", "b-2"];
    for (into, from) in (0..4).flat_map(|into| (0..4).map(move |from| (into, from))).filter(|(one, two)| one != two) {
        let is_cut = matches!((into, from), (0 | 1, 2) | (2, 0 | 1));
        assert_eq!(got_from(&ran, into, name[from as usize]).is_empty(), is_cut, "{from} to {into}");
    }
}

#[test]
fn a_partition_catches_what_is_under_way_and_lets_through_what_comes_after_it() {
    let slow = |id, number, for_ns| FaultPlan { for_ns, ..nth(id, FaultKind::MessageDelay, number) };
    let faults = vec![
        cut(3 * MILLI_NS / 2, 4 * MILLI_NS, &["a-0"], &[], false),
        slow(2, 1, 3 * MILLI_NS),
        slow(3, 2, 10 * MILLI_NS),
    ];
    let ran = run_two(faults, 3);
    assert_eq!(got(&ran), [2], "the first comes within the partition, the third is sent within it");
    assert_eq!(covered(&ran, "partition_healed"), 0, "nothing that was sent after what was cut off came through");
}

#[test]
fn two_partitions_heal_one_after_the_other() {
    let faults = vec![
        cut(3 * MILLI_NS / 2, 4 * MILLI_NS, &["a-0"], &[], false),
        FaultPlan { id: 2, ..cut(5 * MILLI_NS / 2, MILLI_NS, &["b-0"], &["a-0"], true) },
    ];
    let ran = run_two(faults, 8);
    assert_eq!((got(&ran), got_from(&ran, 0, "b-0")), (vec![1, 2, 7, 8], vec![1, 2, 7, 8]));
}

#[test]
fn a_partition_can_begin_with_a_call_of_a_process() {
    let when = at_call(CallKind::Send, 3);
    let faults = vec![FaultPlan { process: Some("b-0".into()), when, ..cut(0, 0, &["a-0"], &[], false) }];
    let ran = run_two(faults, 5);
    assert_eq!(got(&ran), [1, 2]);
    assert_eq!(got_from(&ran, 0, "b-0"), [1, 2], "the third was under way");
}

#[test]
fn the_calm_has_an_honest_network() {
    let faults = vec![
        cut(3 * MILLI_NS / 2, 0, &["a-0"], &[], false),
        weather(2, FaultKind::MessageLoss, 1000),
        FaultPlan { for_ns: 60 * SECOND_NS, ..nth(3, FaultKind::MessageDelay, 1) },
        nth(4, FaultKind::MessageLoss, 25),
    ];
    let faults: Vec<FaultPlan> = faults.into_iter().filter(|fault| fault.id != 2).collect();
    let endless = Trigger::Weather { from_ns: 15 * MILLI_NS, until_ns: u64::MAX, per_mille: 1000 };
    let endless = FaultPlan { when: endless, ..weather(2, FaultKind::MessageLoss, 1000) };
    let plan = Plan { chaos_ns: 20 * MILLI_NS, faults: [faults, vec![endless]].concat(), ..plan() };
    let ran = run_world(&plan, all_to_all(TWO, 30)).passed();
    let own = got(&ran);
    // The calm lets go of what a fault had made late; before the 21st message it begins.
    assert_eq!(own, [vec![2, 1], (21..=30).collect()].concat());
    assert_eq!(times(&ran)[1], 20);
    let healed = ran.index(|record| matches!(record.body, RecordBody::PartitionHealed { .. }));
    assert!(healed > ran.index(|record| matches!(record.body, RecordBody::CalmBegan)));
    assert!(
        !ran.outcome.observations.faults.contains_key(&FaultKind::MessageLoss),
        "those cut off were hit by nothing"
    );
}

#[test]
fn a_fault_with_nothing_to_hit_never_fires() {
    let faults = vec![
        nth(1, FaultKind::MessageLoss, 99),
        FaultPlan { id: 2, ..cut(0, 0, &["a-0", "b-0"], &[], false) },
        FaultPlan {
            id: 3,
            between: Some(Between { from: names(&["a-0", "b-0"]), to: Vec::new(), one_way: false }),
            ..weather(3, FaultKind::MessageLoss, 1000)
        },
        fault(FaultKind::MessageDelay, Trigger::AtNs(SECOND_NS / 2)),
    ];
    let faults = faults.into_iter().zip(1..).map(|(fault, id)| FaultPlan { id, for_ns: 1, ..fault }).collect();
    let ran = run_two(faults, 3);
    assert_eq!((ran.faults(), message_faults(&ran)), (vec![], vec![]));
    assert!(ran.outcome.observations.faults.is_empty());
    // A message to nobody is hit by nothing either.
    let everything = vec![weather(1, FaultKind::MessageLoss, 1000), nth(2, FaultKind::MessageDuplicate, 1)];
    let ran = run_world(&Plan { faults: everything, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            mailbox.send(&Address::new("z-0", PORT), b"x").await.expect("send");
            Exit::success()
        });
    });
    assert!(ran.passed().outcome.observations.faults.is_empty());
}

#[test]
fn a_process_reaches_itself_whatever_is_cut() {
    let ran = run_world(&Plan { faults: vec![cut(0, 0, &["a-0"], &[], false)], ..plan() }, |world| {
        for role in ["a", "b"] {
            world.process(role, 0, |sys| async move {
                sys.sleep(MILLI_NS).await.expect("sleep");
                let mailbox = sys.bind(PORT).await.expect("bind");
                mailbox.send(&Address::new(sys.name(), PORT), b"x").await.expect("send");
                assert_eq!(mailbox.receive().await.expect("own").bytes, b"x");
                Exit::success()
            });
        }
    });
    ran.passed();
}

#[test]
fn names_that_nobody_has_are_refused_before_the_run() {
    let refusal =
        |fault: FaultPlan| run_plain(&Plan { faults: vec![fault], ..plan() }, all_to_all(TWO, 1)).expect_err("refused");
    let words = refusal(cut(0, 0, &["z-1"], &[], false));
    assert!(words.contains("fault 1, between: `z-1` is not possible; allowed: a-0, b-0"), "{words}");
    let between = Some(Between { from: names(&["a-0"]), to: names(&["z-2"]), one_way: false });
    let words = refusal(FaultPlan { between, ..weather(1, FaultKind::MessageLoss, 10) });
    assert!(words.contains("fault 1, between: `z-2` is not possible; allowed: a-0, b-0"), "{words}");
    let words = refusal(fault(FaultKind::MessageLoss, at_call(CallKind::Receive, 1)));
    assert!(words.contains("it can't hit a `receive` call; allowed: `send`"), "{words}");
}
