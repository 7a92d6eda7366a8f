//! Messages between processes go as they are described, without faults of messages. What these do is in `message_faults`.

use crate::support::{
    MILLI_NS, Ran, SECOND_NS, at_call, dropped, fault, follow_world, note, plan, receives, record_world, run_settings,
    run_world,
};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::net::{Address, MESSAGE_BYTES_MAX, Mailbox, MailboxKey, MessageId};
use seedstorm_sim::trace::layer::Words;
use seedstorm_sim::trace::{CallKind, Dropped, RecordBody};
use seedstorm_sim::{Errno, Exit, Plan, Settings, Sys, World};
use std::rc::Rc;

const PORT: u16 = 7;

fn to(process: &str) -> Address {
    Address::new(process, PORT)
}

/// `a-0` sends so many numbered messages to `b-0`, a microsecond of its own after the other.
async fn send_numbers(sys: &Sys, count: u8) -> Mailbox {
    let mailbox = sys.bind(PORT).await.expect("bind");
    for number in 0..count {
        mailbox.send(&to("b-0"), &[number]).await.expect("send");
    }
    mailbox
}

/// Notes what arrives until nothing does for a while.
async fn note_all(sys: &Sys, mailbox: &Mailbox, quiet_ns: u64) {
    while let Some(message) = mailbox.receive_within(quiet_ns).await.expect("receive") {
        note(sys, format!("{}", message.bytes[0])).await;
    }
}

#[test]
fn a_message_goes_there_and_a_reply_comes_back() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            sys.sleep(1000).await.expect("sleep");
            mailbox.send(&Address::new("b-0", 9), b"hello").await.expect("send");
            let reply = mailbox.receive().await.expect("reply");
            note(&sys, format!("{} {:?}", reply.from, reply.bytes)).await;
            assert_eq!(mailbox.try_receive().await, Ok(None));
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind(9).await.expect("bind");
            let first = mailbox.receive().await.expect("a message");
            assert_eq!((first.from.clone(), first.bytes), (to("a-0"), b"hello".to_vec()));
            mailbox.send(&first.from, b"").await.expect("send");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["b-0:9 []"]);
    // The trace says which message it is, and between which mailboxes.
    let of = |wanted: CallKind, by: u32| {
        let calls = ran.of(by).filter_map(move |record| match &record.body {
            RecordBody::Call { kind, object, arguments, data, .. } if *kind == wanted => {
                Some((MessageId(*object), arguments.map(MailboxKey), data.clone()))
            }
            _ => None,
        });
        calls.collect::<Vec<_>>()
    };
    let sent = of(CallKind::Send, 0);
    assert_eq!(sent, of(CallKind::Receive, 1));
    let (id, [from, into], data) = &sent[0];
    assert_eq!((id.sender().0, id.number(), id.to_string()), (0, 1, "0/1".to_owned()));
    assert_eq!((from.process().map(|process| process.0), from.port()), (Some(0), PORT));
    assert_eq!((into.process().map(|process| process.0), into.port()), (Some(1), 9));
    assert_eq!((MailboxKey(0).process(), data.as_slice()), (None, b"hello".as_slice()));
    let words: Vec<String> = ran.records.iter().map(|record| Words(&record.event()).to_string()).collect();
    for line in
        ["send message 0/1 (0:7 -> 1:9) = 5", "receive message 0/1 (0:7 -> 1:9) = 5", "receive #65543 (0, 65543) = 0"]
    {
        assert!(words.iter().any(|words| words == line), "`{line}` is not in {words:#?}");
    }
}

#[test]
fn a_port_has_one_mailbox_and_is_free_after_it() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            assert_eq!(sys.bind(PORT).await.err(), Some(Errno::AddressInUse));
            assert_eq!(sys.bind(0).await.err(), Some(Errno::Invalid));
            assert_eq!(sys.bind_sized(8, 0).await.err(), Some(Errno::Invalid));
            assert_eq!(mailbox.port(), PORT);
            let longest = vec![1; MESSAGE_BYTES_MAX];
            mailbox.send(&to("a-0"), &longest).await.expect("to itself, too");
            assert_eq!(mailbox.send(&to("a-0"), &[&longest[..], &[1]].concat()).await, Err(Errno::MessageTooLong));
            assert_eq!(mailbox.receive().await.expect("a message").bytes, longest);
            mailbox.send(&to("a-0"), b"old").await.expect("send");
            sys.sleep(MILLI_NS).await.expect("sleep");
            drop(mailbox);
            let mailbox = sys.bind(PORT).await.expect("free again");
            assert_eq!(mailbox.try_receive().await, Ok(None), "what was in the old one is gone");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(dropped(&ran), [(2, Dropped::Unread)]);
}

#[test]
fn a_message_to_nobody_is_lost_and_nobody_is_told() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            assert_eq!(mailbox.send(&to("z-9"), b"no such process").await, Ok(()));
            assert_eq!(mailbox.send(&Address::new("a-0", 8), b"no such port").await, Ok(()));
            sys.sleep(MILLI_NS).await.expect("sleep");
            let late = sys.bind(8).await.expect("bind");
            assert_eq!(late.receive_within(SECOND_NS).await, Ok(None));
            Exit::success()
        });
    })
    .passed();
    assert_eq!(dropped(&ran), [(1, Dropped::Nobody), (2, Dropped::Nobody)]);
    assert_eq!(ran.outcome.observations.counters["messages_to_nobody"], 2);
}

#[test]
fn a_full_mailbox_takes_no_more() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            send_numbers(&sys, 5).await;
            sys.sleep(3 * MILLI_NS).await.expect("sleep");
            send_numbers(&sys, 1).await;
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind_sized(PORT, 3).await.expect("bind");
            sys.sleep(2 * MILLI_NS).await.expect("sleep");
            note_all(&sys, &mailbox, 10 * MILLI_NS).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(1), ["0", "1", "2", "0"], "there is room again once something has been taken");
    assert_eq!(dropped(&ran), [(4, Dropped::Full), (5, Dropped::Full)]);
}

#[test]
fn a_mailbox_dies_with_its_process_and_its_address_does_not() {
    let kill = FaultPlan { process: Some("b-0".into()), ..fault(FaultKind::Kill, Trigger::AtNs(2 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![kill], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            let mailbox = send_numbers(&sys, 2).await;
            sys.sleep(2 * MILLI_NS).await.expect("sleep");
            mailbox.send(&to("b-0"), &[8]).await.expect("to a dead process");
            sys.sleep(8 * MILLI_NS).await.expect("sleep");
            mailbox.send(&to("b-0"), &[9]).await.expect("to its next life");
            Exit::success()
        });
        let restart = RestartPolicy::OnFailure { first_ns: 5 * MILLI_NS, last_ns: 5 * MILLI_NS };
        world.process_with("b", 0, restart, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            if sys.simulated_ns() < MILLI_NS {
                sys.sleep(SECOND_NS).await.expect("sleep");
            }
            note_all(&sys, &mailbox, 20 * MILLI_NS).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(1), ["9"], "what was in the mailbox died with it");
    assert_eq!(dropped(&ran), [(1, Dropped::Unread), (2, Dropped::Unread), (3, Dropped::Nobody)]);
}

#[test]
fn a_message_outlives_its_sender() {
    let kill = fault(FaultKind::Kill, at_call(CallKind::Yield, 1));
    let slow = FaultPlan { id: 2, for_ns: 5 * MILLI_NS, ..fault(FaultKind::MessageDelay, at_call(CallKind::Send, 1)) };
    let ran = run_world(&Plan { faults: vec![kill, slow], ..plan() }, |world| {
        world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
            send_numbers(&sys, 1).await;
            sys.yield_now().await;
            sys.sleep(SECOND_NS).await.expect("sleep");
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            let message = mailbox.receive().await.expect("receive");
            note(&sys, format!("{} {}", message.from, sys.monotonic_ns() / MILLI_NS)).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(1), ["a-0:7 5"]);
    assert!(ran.ends(0)[0].0 < MILLI_NS);
}

#[test]
fn what_is_under_way_is_lost_with_the_machine_s_power() {
    let crash =
        FaultPlan { process: None, for_ns: MILLI_NS, ..fault(FaultKind::MachineCrash, Trigger::AtNs(2 * MILLI_NS)) };
    let slow = FaultPlan { id: 2, for_ns: 9 * MILLI_NS, ..fault(FaultKind::MessageDelay, at_call(CallKind::Send, 2)) };
    let ran = run_world(&Plan { faults: vec![crash, slow], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            if sys.simulated_ns() < MILLI_NS {
                send_numbers(&sys, 3).await;
            }
            sys.sleep(10 * MILLI_NS).await.expect("sleep");
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            note_all(&sys, &mailbox, 30 * MILLI_NS).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(1), ["0", "2"]);
    assert_eq!(dropped(&ran), [(2, Dropped::PowerLoss)]);
}

#[test]
fn a_wait_for_a_message_ends_in_time_or_by_a_signal() {
    let asked = FaultPlan { for_ns: SECOND_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(50 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![asked], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            let began_ns = sys.monotonic_ns();
            assert_eq!(mailbox.receive_within(20 * MILLI_NS).await, Ok(None));
            assert_eq!((sys.monotonic_ns() - began_ns) / MILLI_NS, 20);
            assert_eq!(mailbox.receive().await, Err(Errno::Interrupted));
            assert_eq!((sys.monotonic_ns() / MILLI_NS, sys.is_terminating()), (50, true));
            mailbox.send(&to("a-0"), b"x").await.expect("send");
            assert_eq!(mailbox.receive_within(SECOND_NS).await.expect("goes on").expect("one").bytes, b"x");
            assert_eq!(mailbox.receive_within(MILLI_NS).await, Ok(None), "the deadline of the wait before is no more");
            Exit::success()
        });
    });
    ran.passed();
}

#[test]
fn each_message_goes_to_one_of_those_who_wait() {
    for seed in 0..20 {
        let plan = Plan { strategy: StrategyPlan::Random, seed: seedstorm_sim::Seed(seed), ..plan() };
        let ran = run_world(&plan, |world| {
            world.process("a", 0, |sys| async move {
                sys.sleep(MILLI_NS).await.expect("sleep");
                send_numbers(&sys, 30).await;
                sys.sleep(MILLI_NS).await.expect("sleep");
                Exit::success()
            });
            world.process("b", 0, |sys| async move {
                let mailbox = Rc::new(sys.bind(PORT).await.expect("bind"));
                let mut tasks = Vec::new();
                for _ in 0..3 {
                    let mailbox = mailbox.clone();
                    let waits = |sys: Sys| async move { note_all(&sys, &mailbox, SECOND_NS).await };
                    tasks.push(sys.spawn(waits).await);
                }
                for task in tasks {
                    sys.join(task).await;
                }
                Exit::success()
            });
        })
        .passed();
        let mut got: Vec<u8> = ran.notes(1).iter().map(|note| note.parse().expect("a number")).collect();
        got.sort_unstable();
        assert_eq!(got, (0..30).collect::<Vec<u8>>());
    }
}

#[test]
fn a_paused_process_finds_its_messages_when_it_goes_on() {
    let pause = FaultPlan {
        process: Some("b-0".into()),
        for_ns: 50 * MILLI_NS,
        ..fault(FaultKind::Pause, Trigger::AtNs(MILLI_NS / 2))
    };
    let ran = run_world(&Plan { faults: vec![pause], ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            send_numbers(&sys, 2).await;
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind(PORT).await.expect("bind");
            mailbox.receive().await.expect("receive");
            note(&sys, format!("{}", sys.monotonic_ns() / MILLI_NS)).await;
            mailbox.receive().await.expect("receive");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(1), ["50"]);
}

/// Several processes that talk to each other in drawn operations.
fn talk(processes: &'static [u32]) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for &index in processes {
            world.process("a", index, move |sys| async move {
                let mailbox = Rc::new(sys.bind(PORT).await.expect("bind"));
                let listens = mailbox.clone();
                let listener = sys
                    .spawn(|sys| async move {
                        let mut count = 0;
                        while let Ok(Some(_)) = listens.receive_within(100 * MILLI_NS).await {
                            count += 1;
                        }
                        note(&sys, format!("{count} messages")).await;
                    })
                    .await;
                for operation in 1..=8 {
                    sys.begin_operation(operation);
                    for peer in 0..4 {
                        let address = Address::new(format!("a-{peer}"), PORT);
                        mailbox.send(&address, &[operation as u8]).await.expect("send");
                    }
                    let _ = sys.sleep(MILLI_NS).await;
                }
                sys.join(listener).await;
                Exit::success()
            });
        }
    }
}

/// How long each message was under way: (sender, its number, receiver, nanoseconds).
fn travels(ran: &Ran) -> Vec<(u32, u64, u32, u64)> {
    let mut sent = std::collections::BTreeMap::new();
    let mut travels = Vec::new();
    for record in &ran.records {
        let RecordBody::Call { kind, object, arguments, .. } = record.body else { continue };
        let receiver = MailboxKey(arguments[1]).process().map_or(u32::MAX, |process| process.0);
        match kind {
            CallKind::Send => drop(sent.insert(object, record.time_ns)),
            CallKind::Receive if arguments[0] != 0 => {
                let id = MessageId(object);
                travels.push((id.sender().0, id.number(), receiver, record.time_ns - sent[&object]));
            }
            _ => {}
        }
    }
    travels.sort_unstable();
    travels
}

#[test]
fn delays_are_drawn_and_messages_overtake_each_other() {
    let ran = run_world(&Plan { latency: "nvme".into(), ..plan() }, talk(&[0, 1, 2, 3])).passed();
    let travels = travels(&ran);
    assert_eq!(travels.len(), 4 * 8 * 4);
    assert!(travels.iter().all(|(_, _, _, took_ns)| *took_ns >= 25_000), "{travels:?}");
    let slow = travels.iter().filter(|(_, _, _, took_ns)| *took_ns > 400_000).count();
    assert!((2..30).contains(&slow), "{slow}");
    let reordered = ran.outcome.observations.coverage.get("reordered").copied().unwrap_or(0);
    let overtaken = |(id, into): &(MessageId, MailboxKey), before: &[(MessageId, MailboxKey)]| {
        before.iter().any(|(other, at)| at == into && other.sender() == id.sender() && other.number() > id.number())
    };
    let received = receives(&ran);
    let seen = (0..received.len()).filter(|at| overtaken(&received[*at], &received[..*at])).count();
    assert!(reordered > 0 && seen as u64 == reordered, "{reordered} against {seen}");
    assert!(!ran.outcome.observations.coverage.contains_key("duplicated"));
}

#[test]
fn a_delay_depends_on_its_sender_s_doings_alone() {
    let timed = Plan { latency: "nvme".into(), ..plan() };
    let all = travels(&run_world(&timed, talk(&[0, 1, 2, 3])).passed());
    let kill = FaultPlan { process: Some("a-1".into()), ..fault(FaultKind::Kill, Trigger::AtNs(3 * MILLI_NS)) };
    let fewer = travels(&run_world(&Plan { faults: vec![kill], ..timed }, talk(&[0, 1, 2, 3])).passed());
    // A message that waits in its mailbox for its receiver's next step is taken a little later: whole messages are compared.
    let near = |one: u64, other: u64| one.abs_diff(other) < 60_000;
    let of = |travels: &[(u32, u64, u32, u64)]| -> Vec<(u32, u64, u32, u64)> {
        travels.iter().copied().filter(|(from, _, into, _)| *from != 1 && *into != 1).collect()
    };
    let (all, fewer) = (of(&all), of(&fewer));
    assert_eq!(all.len(), fewer.len());
    for (one, other) in all.iter().zip(&fewer) {
        assert!((one.0, one.1, one.2) == (other.0, other.1, other.2) && near(one.3, other.3), "{one:?} {other:?}");
    }
}

#[test]
fn one_plan_has_one_hash_and_its_turns_lead_to_it() {
    for seed in 0..10 {
        let weather = |id, kind, for_ns| FaultPlan {
            id,
            process: None,
            for_ns,
            ..fault(kind, Trigger::Weather { from_ns: 0, until_ns: SECOND_NS, per_mille: 200 })
        };
        let faults = vec![
            weather(1, FaultKind::MessageLoss, 0),
            weather(2, FaultKind::MessageDuplicate, MILLI_NS),
            weather(3, FaultKind::MessageReorder, 0),
            weather(4, FaultKind::MessageDelay, 5 * MILLI_NS),
            FaultPlan { id: 5, ..fault(FaultKind::Kill, at_call(CallKind::Receive, 3)) },
        ];
        let (seed, strategy) = (seedstorm_sim::Seed(seed), StrategyPlan::Random);
        let plan = Plan { seed, strategy, faults, latency: "nvme".into(), ..plan() };
        let first = record_world(&plan, talk(&[0, 1, 2, 3])).passed();
        let bare = run_settings(&plan, Settings::default(), talk(&[0, 1, 2, 3]));
        assert_eq!(first.outcome.trace_hash, bare.trace_hash, "whoever listens");
        follow_world(&plan, &first, talk(&[0, 1, 2, 3])).is_exactly(&first);
        assert!(first.outcome.observations.faults.len() == 5, "{:?}", first.outcome.observations.faults);
    }
}
