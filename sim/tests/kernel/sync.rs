//! Primitives between tasks: each operation a step, each rule kept under every schedule, and nothing left after a kill.

use crate::support::{MILLI_NS, Ran, at_call, fault, note, plan, run_world};
use seedstorm_sim::plan::{FaultKind, StrategyPlan};
use seedstorm_sim::sys::sync::{AtomicCell, Condition, Mutex, Waited, channel};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Errno, Exit, Plan, Seed, Sys};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;

/// Runs one process under many random schedules.
fn explore<F>(seeds: u64, program: impl Fn(Sys) -> F + Copy + Sync + 'static) -> Vec<Ran>
where
    F: Future<Output = ()> + 'static,
{
    let run = |seed| {
        run_world(&Plan { seed: Seed(seed), strategy: StrategyPlan::Random, ..plan() }, move |world| {
            world.process("a", 0, move |sys| async move {
                program(sys).await;
                Exit::success()
            });
        })
        .passed()
    };
    (0..seeds).map(run).collect()
}

#[test]
fn a_mutex_lets_one_task_in_at_a_time() {
    let mut orders = BTreeSet::new();
    for ran in explore(30, |sys| async move {
        let (mutex, inside) = (Mutex::new(&sys, Vec::new()), Rc::new(Cell::new(0)));
        let mut tasks = Vec::new();
        for index in 0..4 {
            let (mutex, inside) = (mutex.clone(), inside.clone());
            let task = move |sys: Sys| async move {
                let mut guard = mutex.lock().await.expect("lock");
                inside.set(inside.get() + 1);
                sys.yield_now().await;
                assert_eq!(inside.get(), 1, "two tasks are inside");
                guard.push(index.to_string());
                inside.set(inside.get() - 1);
            };
            tasks.push(sys.spawn(task).await);
        }
        for task in tasks {
            sys.join(task).await;
        }
        let order = mutex.lock().await.expect("lock").join("");
        note(&sys, order).await;
    }) {
        orders.insert(ran.notes(0)[0].clone());
        let keys: BTreeSet<u64> = ran.of(0).filter_map(object_of_mutex).collect();
        assert_eq!(keys.len(), 1, "every operation names the mutex");
    }
    assert!(orders.len() > 10, "the schedule decides who comes first: {orders:?}");
}

fn object_of_mutex(record: &seedstorm_sim::trace::Record) -> Option<u64> {
    match record.body {
        RecordBody::Call { kind: CallKind::Mutex, object, .. } => Some(object),
        _ => None,
    }
}

#[test]
fn who_waits_for_a_mutex_tries_again_only_when_it_is_free_and_keeps_its_deadline() {
    let mut timed_out = 0;
    for ran in explore(60, |sys| async move {
        let mutex = Mutex::new(&sys, 0u32);
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let mutex = mutex.clone();
            let task = move |sys: Sys| async move {
                for _ in 0..3 {
                    let mut count = mutex.lock().await.expect("lock");
                    *count += 1;
                    sys.yield_now().await;
                }
            };
            tasks.push(sys.spawn(task).await);
        }
        let patient = mutex.clone();
        let waits = move |sys: Sys| async move {
            let since_ns = sys.monotonic_ns();
            let locked = patient.lock_within(5_000).await.map(drop);
            let for_ns = sys.monotonic_ns() - since_ns;
            match locked {
                Ok(()) => note(&sys, "locked").await,
                Err(errno) => {
                    assert_eq!(errno, Errno::TimedOut);
                    assert!(for_ns >= 5_000, "{for_ns}");
                    note(&sys, "timed out").await;
                }
            }
        };
        tasks.push(sys.spawn(waits).await);
        for task in tasks {
            sys.join(task).await;
        }
        assert_eq!(*mutex.lock().await.expect("lock"), 12);
    }) {
        timed_out += ran.notes(0).iter().filter(|note| **note == "timed out").count();
        // Who is woken, and finds that another was faster, would be blocked once more for the same lock.
        let mut blocked = std::collections::BTreeMap::new();
        for record in ran.of(0) {
            match record.body {
                RecordBody::Blocked { kind: CallKind::Mutex, .. } => {
                    let times = blocked.entry(record.task).or_insert(0);
                    *times += 1;
                    assert_eq!(*times, 1, "blocked twice by one call");
                }
                RecordBody::Call { kind: CallKind::Mutex, .. } => drop(blocked.remove(&record.task)),
                _ => {}
            }
        }
    }
    assert!((1..60).contains(&timed_out), "{timed_out}");
}

#[test]
fn a_mutex_says_what_is_wrong_and_keeps_deadlines() {
    explore(5, |sys| async move {
        let mutex = Mutex::new(&sys, 0);
        let guard = mutex.lock().await.expect("lock");
        assert_eq!(mutex.lock().await.err(), Some(Errno::Deadlock), "its own task can't wait for it");
        assert_eq!(mutex.try_lock().await.err(), Some(Errno::WouldBlock));
        let other = mutex.clone();
        let waits = move |sys: Sys| async move {
            let since_ns = sys.monotonic_ns();
            assert_eq!(other.try_lock().await.err(), Some(Errno::WouldBlock));
            assert_eq!(other.lock_within(5 * MILLI_NS).await.err(), Some(Errno::TimedOut));
            assert!(sys.monotonic_ns() - since_ns >= 5 * MILLI_NS);
            *other.lock_within(50 * MILLI_NS).await.expect("it comes in time") += 1;
        };
        let waiter = sys.spawn(waits).await;
        sys.sleep(20 * MILLI_NS).await.expect("sleep");
        drop(guard);
        sys.join(waiter).await;
        assert_eq!(*mutex.lock().await.expect("lock"), 1);
    });
}

#[test]
fn a_program_that_asks_again_never_misses_a_condition() {
    explore(60, |sys| async move {
        let (queue, condition) = (Mutex::new(&sys, Vec::new()), Condition::new(&sys));
        let mut consumers = Vec::new();
        for _ in 0..3 {
            let (queue, condition) = (queue.clone(), condition.clone());
            let consume = move |_: Sys| async move {
                let mut guard = queue.lock().await.expect("lock");
                while guard.is_empty() {
                    guard = condition.wait(guard).await.expect("wait");
                }
                guard.pop()
            };
            consumers.push(sys.spawn(consume).await);
        }
        for item in 0..3 {
            queue.lock().await.expect("lock").push(item);
            condition.notify_one().await;
        }
        let mut items = Vec::new();
        for consumer in consumers {
            items.extend(sys.join(consumer).await);
        }
        items.sort();
        assert_eq!(items, [0, 1, 2]);
    });
}

#[test]
fn a_wait_can_end_for_no_reason_and_a_program_that_does_not_ask_again_is_found_out() {
    let mut fooled = 0;
    for ran in explore(60, |sys| async move {
        let (items, condition) = (Mutex::new(&sys, 0), Condition::new(&sys));
        let mut consumers = Vec::new();
        for _ in 0..4 {
            let (items, condition) = (items.clone(), condition.clone());
            let consume = move |sys: Sys| async move {
                let mut guard = items.lock().await.expect("lock");
                if *guard == 0 {
                    guard = condition.wait(guard).await.expect("wait");
                }
                match *guard {
                    0 => note(&sys, "fooled").await,
                    _ => *guard -= 1,
                }
            };
            consumers.push(sys.spawn(consume).await);
        }
        for _ in 0..4 {
            sys.sleep(MILLI_NS).await.expect("sleep");
            *items.lock().await.expect("lock") += 1;
            condition.notify_one().await;
        }
        for consumer in consumers {
            sys.join(consumer).await;
        }
    }) {
        fooled += u32::from(!ran.notes(0).is_empty());
    }
    assert!(fooled > 5, "{fooled}");
}

#[test]
fn a_notification_wakes_one_of_those_who_wait_and_none_who_come_later() {
    let mut woken = BTreeSet::new();
    for ran in explore(40, |sys| async move {
        let (mutex, condition) = (Mutex::new(&sys, false), Condition::new(&sys));
        condition.notify_one().await;
        condition.notify_all().await;
        let mut tasks = Vec::new();
        for index in 0..3 {
            let (mutex, condition) = (mutex.clone(), condition.clone());
            let waits = move |sys: Sys| async move {
                let guard = mutex.lock().await.expect("lock");
                let (guard, waited) = condition.wait_within(guard, 20 * MILLI_NS).await.expect("wait");
                drop(guard);
                note(&sys, format!("{index} {waited:?}")).await;
            };
            tasks.push(sys.spawn(waits).await);
        }
        sys.sleep(5 * MILLI_NS).await.expect("sleep");
        note(&sys, "notify").await;
        condition.notify_one().await;
        for task in tasks {
            sys.join(task).await;
        }
    }) {
        let notes = ran.notes(0);
        assert_eq!(notes[0], "notify", "notifications that nobody waited for are gone: {notes:?}");
        let of = |waited: Waited| notes.iter().filter(|note| note.ends_with(&format!("{waited:?}"))).count();
        assert!(of(Waited::Woken) >= 1 && of(Waited::TimedOut) + of(Waited::Woken) == 3, "{notes:?}");
        woken.insert(notes[1].clone());
    }
    assert!(woken.len() >= 3, "any of them may be the one: {woken:?}");
}

#[test]
fn notify_all_wakes_all() {
    explore(20, |sys| async move {
        let (open, condition) = (Mutex::new(&sys, false), Condition::new(&sys));
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let (open, condition) = (open.clone(), condition.clone());
            let waits = move |_: Sys| async move {
                let mut guard = open.lock().await.expect("lock");
                while !*guard {
                    guard = condition.wait(guard).await.expect("wait");
                }
            };
            tasks.push(sys.spawn(waits).await);
        }
        *open.lock().await.expect("lock") = true;
        condition.notify_all().await;
        for task in tasks {
            sys.join(task).await;
        }
    });
}

#[test]
fn a_wait_that_is_given_up_passes_its_notification_on() {
    explore(40, |sys| async move {
        let (mutex, condition) = (Mutex::new(&sys, 0), Condition::new(&sys));
        let patient = {
            let (mutex, condition) = (mutex.clone(), condition.clone());
            sys.spawn(move |_| async move {
                let mut guard = mutex.lock().await.expect("lock");
                while *guard == 0 {
                    guard = condition.wait(guard).await.expect("wait");
                }
                *guard -= 1;
            })
        };
        let patient = patient.await;
        let hasty = {
            let (mutex, condition) = (mutex.clone(), condition.clone());
            sys.spawn(move |_| async move {
                let guard = mutex.lock().await.expect("lock");
                // Begins to wait, and is dropped at its next step.
                let mut wait = std::pin::pin!(condition.wait(guard));
                let mut polls = 0;
                std::future::poll_fn(|context| {
                    polls += 1;
                    if polls > 2 || wait.as_mut().poll(context).is_ready() {
                        return std::task::Poll::Ready(());
                    }
                    std::task::Poll::Pending
                })
                .await;
            })
        };
        let hasty = hasty.await;
        sys.sleep(MILLI_NS).await.expect("sleep");
        *mutex.lock().await.expect("the dropped wait has not kept the mutex") += 1;
        condition.notify_one().await;
        // The hasty one needs a notification to come to its next step; then the patient one must hear of its own.
        condition.notify_one().await;
        sys.join(patient).await;
        sys.join(hasty).await;
    });
}

#[test]
fn a_channel_is_first_in_first_out_and_closes() {
    explore(20, |sys| async move {
        let (sender, receiver) = channel(&sys, Some(2));
        let producer = sys.spawn(move |_| async move {
            for item in 0..10 {
                sender.send(item).await.expect("somebody receives");
            }
        });
        let producer = producer.await;
        let mut items = Vec::new();
        while let Some(item) = receiver.receive().await {
            items.push(item);
        }
        assert_eq!(items, (0..10).collect::<Vec<_>>());
        assert_eq!(receiver.try_receive().await, Ok(None), "closed and empty");
        sys.join(producer).await;
    });
}

#[test]
fn a_bounded_channel_makes_senders_wait_and_says_so_to_those_who_do_not() {
    let rans = explore(10, |sys| async move {
        let (sender, receiver) = channel(&sys, Some(2));
        sender.send(1).await.expect("room");
        sender.try_send(2).await.expect("room");
        let refused = sender.try_send(3).await.expect_err("full");
        assert_eq!((refused.message, refused.why), (3, Errno::WouldBlock));
        let waiting = sender.clone();
        let task = sys.spawn(move |_| async move { waiting.send(4).await.is_ok() });
        let task = task.await;
        sys.sleep(MILLI_NS).await.expect("sleep");
        assert_eq!(receiver.receive().await, Some(1));
        assert!(sys.join(task).await);
        assert_eq!((receiver.receive().await, receiver.receive().await), (Some(2), Some(4)));
        assert_eq!(receiver.try_receive().await, Err(Errno::WouldBlock));
        assert_eq!(receiver.receive_within(MILLI_NS).await, Err(Errno::TimedOut));
        drop(receiver);
        let refused = sender.send(5).await.expect_err("nobody is left");
        assert_eq!((refused.message, refused.why), (5, Errno::BrokenPipe));
    });
    let blocked =
        |ran: &Ran| ran.of(0).any(|record| matches!(record.body, RecordBody::Blocked { kind: CallKind::Channel, .. }));
    assert!(rans.iter().all(blocked));
}

#[test]
fn a_waiting_sender_hears_that_the_last_receiver_is_gone() {
    explore(10, |sys| async move {
        let (sender, receiver) = channel(&sys, Some(1));
        sender.send(1).await.expect("room");
        let task = sys.spawn(move |_| async move { sender.send(2).await.map_err(|closed| closed.message) });
        let task = task.await;
        sys.sleep(MILLI_NS).await.expect("sleep");
        drop(receiver);
        assert_eq!(sys.join(task).await, Err(2));
    });
}

#[test]
fn each_message_goes_to_one_of_several_receivers() {
    let mut shares = BTreeSet::new();
    for ran in explore(20, |sys| async move {
        let (sender, receiver) = channel(&sys, None);
        let mut tasks = Vec::new();
        for _ in 0..3 {
            let receiver = receiver.clone();
            let task = move |_: Sys| async move {
                let mut got = Vec::new();
                while let Some(item) = receiver.receive().await {
                    got.push(item);
                }
                got
            };
            tasks.push(sys.spawn(task).await);
        }
        drop(receiver);
        for item in 0..12 {
            sender.send(item).await.expect("they receive");
        }
        drop(sender);
        let (mut all, mut counts) = (Vec::new(), Vec::new());
        for task in tasks {
            let got: Vec<i32> = sys.join(task).await;
            counts.push(got.len());
            all.extend(got);
        }
        all.sort();
        assert_eq!(all, (0..12).collect::<Vec<_>>());
        note(&sys, format!("{counts:?}")).await;
    }) {
        shares.insert(ran.notes(0)[0].clone());
    }
    assert!(shares.len() > 3, "{shares:?}");
}

#[test]
fn a_load_and_a_store_can_lose_an_update_and_one_operation_cannot() {
    let sums = |is_atomic: bool| -> BTreeSet<String> {
        let program = move |sys: Sys| async move {
            let cell = AtomicCell::new(&sys, 0u64);
            let mut tasks = Vec::new();
            for _ in 0..2 {
                let cell = cell.clone();
                let add = move |_: Sys| async move {
                    for _ in 0..3 {
                        match is_atomic {
                            true => drop(cell.fetch_add(1).await),
                            false => cell.store(cell.load().await + 1).await,
                        }
                    }
                };
                tasks.push(sys.spawn(add).await);
            }
            for task in tasks {
                sys.join(task).await;
            }
            note(&sys, cell.load().await.to_string()).await;
        };
        explore(40, program).iter().map(|ran| ran.notes(0)[0].clone()).collect()
    };
    assert_eq!(sums(true), BTreeSet::from(["6".to_owned()]));
    assert!(sums(false).len() > 2, "{:?}", sums(false));
}

#[test]
fn a_cell_s_operations_do_what_their_names_say() {
    explore(1, |sys| async move {
        let cell = AtomicCell::new(&sys, 250u8);
        assert_eq!(cell.fetch_add(10).await, 250);
        assert_eq!(cell.load().await, 4, "modulo the type's range");
        assert_eq!(cell.swap(7).await, 4);
        assert_eq!(cell.compare_exchange(7, 8).await, Ok(7));
        assert_eq!(cell.compare_exchange(7, 9).await, Err(8));
        cell.store(1).await;
        assert_eq!(cell.load().await, 1);
        let flag = AtomicCell::new(&sys, false);
        assert!(!flag.swap(true).await && flag.load().await);
    });
}

#[test]
fn after_a_kill_guards_and_handles_are_inert_and_the_next_boot_starts_afresh() {
    let faults = vec![fault(FaultKind::Kill, at_call(CallKind::Yield, 4))];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let (mutex, condition) = (Mutex::new(&sys, 0), Condition::new(&sys));
            let (sender, receiver) = channel::<u8>(&sys, Some(1));
            let waiting = {
                let (mutex, condition, sender) = (mutex.clone(), condition.clone(), sender.clone());
                sys.spawn(move |_| async move {
                    let _sender = sender;
                    let guard = mutex.lock().await.expect("lock");
                    drop(condition.wait(guard).await);
                })
            };
            let _waiting = waiting.await;
            sys.sleep(MILLI_NS).await.expect("sleep");
            let _guard = mutex.lock().await.expect("lock");
            note(&sys, "locked").await;
            for _ in 0..6 {
                sys.yield_now().await;
            }
            drop((sender, receiver));
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["locked", "locked"]);
    let end = ran.index(|record| matches!(record.body, RecordBody::Ended(_)));
    let fault = ran.index(|record| matches!(record.body, RecordBody::Fault { .. }));
    let yielded =
        |record: &seedstorm_sim::trace::Record| matches!(record.body, RecordBody::Call { kind: CallKind::Yield, .. });
    assert!(ran.records[fault + 1..end].iter().all(yielded), "no unlock, no close: {:?}", &ran.records[fault..end]);
    let keys: BTreeSet<u64> = ran.of(0).filter_map(object_of_mutex).collect();
    assert_eq!(keys.len(), 1, "the same primitive has the same key in each boot");
}
