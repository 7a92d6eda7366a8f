//! Tasks of a process: spawn, join, what they may share, and futures that are dropped.

use crate::support::{Log, MILLI_NS, SECOND_NS, note, plan, run_watched, run_world};
use seedstorm_sim::plan::StrategyPlan;
use seedstorm_sim::sys::sync::channel;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Body, CallKind, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, Settings};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

#[test]
fn joined_tasks_give_their_results_whichever_ends_first() {
    for seed in 0..10 {
        let ran = run_world(&Plan { seed: Seed(seed), strategy: StrategyPlan::Random, ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                let mut children = Vec::new();
                for index in 0..5u64 {
                    let task = move |sys: seedstorm_sim::Sys| async move {
                        for _ in 0..index * 3 {
                            sys.yield_now().await;
                        }
                        index * index
                    };
                    children.push(sys.spawn(task).await);
                }
                let mut sum = 0;
                for child in children.into_iter().rev() {
                    sum += sys.join(child).await;
                }
                note(&sys, sum.to_string()).await;
                Exit::success()
            });
        })
        .passed();
        assert_eq!(ran.notes(0), ["30"]);
        assert_eq!(ran.calls(0, CallKind::Start).len(), 5);
    }
}

#[test]
fn a_join_waits_for_a_task_that_runs_and_not_for_one_that_has_ended() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let slow = sys.spawn(|sys| async move { sys.sleep(MILLI_NS).await }).await;
            let fast = sys.spawn(|_| async move {}).await;
            sys.join(slow).await.expect("sleep");
            let before_ns = sys.monotonic_ns();
            sys.join(fast).await;
            assert_eq!(sys.monotonic_ns() - before_ns, 1000, "one call's latency");
            Exit::success()
        });
    })
    .passed();
    let blocked = |kind| {
        ran.of(0).filter(|record| matches!(record.body, RecordBody::Blocked { kind: of, .. } if of == kind)).count()
    };
    assert_eq!(blocked(CallKind::Join), 1);
}

#[test]
fn the_process_ends_with_its_main_task() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let child = sys.spawn(|sys| async move {
                loop {
                    sys.yield_now().await;
                }
            });
            let _: seedstorm_sim::sys::TaskHandle<()> = child.await;
            sys.sleep(MILLI_NS).await.expect("sleep");
            Exit::success()
        });
    })
    .passed();
    let end = ran.index(|record| matches!(record.body, RecordBody::Ended(_)));
    assert_eq!(end, ran.records.len() - 1, "the other task takes no step after it");
    assert!(ran.calls(0, CallKind::Yield).len() > 100);
}

#[test]
fn a_file_outlives_the_task_that_opened_it_and_is_closed_by_whichever_drops_it() {
    let log = Log::default();
    let open_fds = log.clone();
    let watch = move |event: &seedstorm_sim::trace::Event<'_>, view: &seedstorm_sim::View<'_>| {
        if let (Some(process), Body::Claim { .. }) = (event.process, &event.body) {
            open_fds.add(view.disk().open_fds(view.process(process).owner).len().to_string());
        }
    };
    run_watched(&plan(), Settings::default(), watch, |world| {
        world.process("a", 0, |sys| async move {
            let opened = sys.spawn(|sys| async move { sys.open("/f", CREATE).await }).await;
            let file = Rc::new(sys.join(opened).await.expect("open"));
            file.write(b"from main").await.expect("write");
            let writers = [file.clone(), file.clone()].map(|file| {
                sys.spawn(move |_| async move {
                    file.write(b", from a task").await.expect("write");
                    file.lock(LockMode::Shared).await.expect("lock");
                })
            });
            for writer in writers {
                sys.join(writer.await).await;
            }
            note(&sys, "open").await;
            drop(file);
            note(&sys, "closed").await;
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            let file = sys.open("/f", OpenFlags::READ).await.expect("open");
            assert_eq!(file.read_to_end().await.expect("read"), b"from main, from a task, from a task");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(log.take(), ["1", "0"], "descriptors at each note");
}

/// Polls a future so many times, then drops it.
async fn poll_then_drop(future: impl Future, times: u32) {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        for _ in 0..times {
            assert!(future.as_mut().poll(context).is_pending());
        }
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_dropped_future_takes_its_call_back() {
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random, StrategyPlan::RoundRobin] {
        let ran = run_world(&Plan { strategy, ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                let file = sys.open("/f", CREATE).await.expect("open");
                let (_sender, receiver) = channel::<u8>(&sys, None);
                // Announced and never picked: a write, a sleep, a wait that never ends, an unlink.
                poll_then_drop(file.write(b"never"), 1).await;
                poll_then_drop(sys.sleep(10 * SECOND_NS), 3).await;
                poll_then_drop(receiver.receive(), 2).await;
                poll_then_drop(sys.unlink("/f"), 1).await;
                // Never polled: not even announced.
                drop(file.write(b"never"));
                sys.yield_now().await;
                assert_eq!(file.stat().await.expect("stat").len_bytes, 0);
                Exit::success()
            });
        })
        .passed();
        for kind in [CallKind::Write, CallKind::Sleep, CallKind::Channel, CallKind::Unlink] {
            let calls = ran.calls(0, kind).len();
            // Dropping the channel's ends are calls of their own.
            assert_eq!(calls, if kind == CallKind::Channel { 2 } else { 0 }, "{kind}");
        }
        assert!(ran.outcome.simulated_ns < SECOND_NS, "no timer of the dropped sleep is left");
    }
}

#[test]
fn a_dropped_wait_for_a_lock_leaves_the_queue() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/f", CREATE).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            sys.sleep(5 * MILLI_NS).await.expect("sleep");
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            let file = sys.open("/f", CREATE).await.expect("open");
            {
                let mut lock = pin!(file.lock(LockMode::Exclusive));
                let waker = Rc::new(std::cell::Cell::new(0));
                // Let it block, by being polled at its step, and give up at the next.
                std::future::poll_fn(|context| {
                    waker.set(waker.get() + 1);
                    assert!(lock.as_mut().poll(context).is_pending());
                    if waker.get() == 2 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            }
            sys.sleep(10 * MILLI_NS).await.expect("sleep");
            note(&sys, "free").await;
            Exit::success()
        });
        world.process("c", 0, |sys| async move {
            sys.sleep(2 * MILLI_NS).await.expect("sleep");
            let file = sys.open("/f", CREATE).await.expect("open");
            file.lock(LockMode::Exclusive).await.expect("lock");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.calls(1, CallKind::Lock), [], "it never got the lock");
    assert!(ran.of(1).any(|record| matches!(record.body, RecordBody::Blocked { .. })), "and it did wait");
    assert_eq!(ran.calls(2, CallKind::Lock).len(), 1);
}

#[test]
fn the_step_of_a_dropped_call_is_not_another_call_s() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/f", CREATE).await.expect("open");
            let mut sleep = Some(Box::pin(sys.sleep(MILLI_NS)));
            let mut write = pin!(file.write(b"too early"));
            std::future::poll_fn(|context| match sleep.take() {
                // The first poll announces the sleep; the second is its own step, and drops it.
                Some(mut slept) if sys.monotonic_ns() < MILLI_NS => {
                    assert!(slept.as_mut().poll(context).is_pending());
                    sleep = Some(slept);
                    Poll::Pending
                }
                slept => {
                    drop(slept);
                    for _ in 0..3 {
                        assert!(write.as_mut().poll(context).is_pending(), "it has not been picked");
                    }
                    Poll::Ready(())
                }
            })
            .await;
            assert_eq!(write.await, Ok(9));
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.calls(0, CallKind::Sleep), []);
    assert_eq!(ran.calls(0, CallKind::Write).len(), 1);
}

#[test]
fn a_picked_call_that_the_program_does_not_come_to_is_picked_again() {
    // A select that looks at another branch first: at the sleep's step it takes that one, and comes back to the sleep later.
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mut sleep = pin!(sys.sleep(MILLI_NS));
            let mut polls = 0;
            std::future::poll_fn(|context| {
                polls += 1;
                if polls == 2 {
                    // This is the sleep's own step.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                sleep.as_mut().poll(context).map(drop)
            })
            .await;
            note(&sys, polls.to_string()).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.calls(0, CallKind::Sleep).len(), 1);
    assert!(
        ran.notes(0) == ["3"] || ran.notes(0) == ["4"],
        "at the sleep's second step, with or without the wake-up before: {:?}",
        ran.notes(0)
    );
}
