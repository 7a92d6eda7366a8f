//! Blocking code in a run: each call is a step, and code that is cut off leaves without an effect. SQLite isn't used here.

mod sqlite_support;

use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::sys::claim::Happened;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Draw, Errno, Exit, Os, Plan, Sys, World};
use sqlite_support::{Said, fault, listen, pass, plan, run_plan};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

fn said(text: impl Into<String>) -> Said {
    Said(text.into())
}

/// Every call, once, as `async` code.
async fn tour(sys: &Sys) -> Result<(), Errno> {
    sys.mkdir("/d").await?;
    let file = sys.open("/d/a", OpenFlags::READ_WRITE.create()).await?;
    file.write_all(b"hello world").await?;
    file.write_at(b"H", 0).await?;
    let mut buffer = [0; 5];
    file.read_at(&mut buffer, 0).await?;
    assert_eq!(&buffer, b"Hello");
    file.set_len(5).await?;
    file.sync().await?;
    assert_eq!(file.stat().await?.len_bytes, 5);
    file.lock(LockMode::Exclusive).await?;
    file.unlock().await?;
    file.try_lock(LockMode::Shared).await?;
    file.lock_range(0, 4, LockMode::Exclusive).await?;
    file.try_lock_range(8, 4, LockMode::Shared).await?;
    file.unlock_range(0, 0).await?;
    file.close().await?;
    sys.link("/d/a", "/d/b").await?;
    sys.rename("/d/b", "/d/c").await?;
    assert_eq!(sys.read_dir("/d").await?, ["a", "c"]);
    sys.sync_dir("/d").await?;
    sys.unlink("/d/a").await?;
    let left = sys.open("/d/c", OpenFlags::READ).await?;
    assert_eq!(left.read_to_end().await?, b"Hello");
    drop(left);
    sys.unlink("/d/c").await?;
    sys.rmdir("/d").await?;
    assert_eq!(sys.stat("/d").await, Err(Errno::NoEntry));
    sys.yield_now().await;
    sys.sleep(1000).await?;
    sys.begin_operation(7);
    let drawn = sys.entropy().bits();
    sys.claim(&said(format!("{drawn} {} {} {}", sys.monotonic_ns(), sys.wall_ns(), sys.boot_id()))).await;
    assert!(sys.process_info(sys.pid()).await?.is_some());
    Ok(())
}

/// The same as blocking code.
fn blocking_tour(os: &Os) -> Result<(), Errno> {
    os.mkdir("/d")?;
    let file = os.open("/d/a", OpenFlags::READ_WRITE.create())?;
    file.write_all(b"hello world")?;
    file.write_at(b"H", 0)?;
    let mut buffer = [0; 5];
    file.read_at(&mut buffer, 0)?;
    assert_eq!(&buffer, b"Hello");
    file.set_len(5)?;
    file.sync()?;
    assert_eq!(file.stat()?.len_bytes, 5);
    file.lock(LockMode::Exclusive)?;
    file.unlock()?;
    file.try_lock(LockMode::Shared)?;
    file.lock_range(0, 4, LockMode::Exclusive)?;
    file.try_lock_range(8, 4, LockMode::Shared)?;
    file.unlock_range(0, 0)?;
    file.close()?;
    os.link("/d/a", "/d/b")?;
    os.rename("/d/b", "/d/c")?;
    assert_eq!(os.read_dir("/d")?, ["a", "c"]);
    os.sync_dir("/d")?;
    os.unlink("/d/a")?;
    let left = os.open("/d/c", OpenFlags::READ)?;
    assert_eq!(left.read_to_end()?, b"Hello");
    drop(left);
    os.unlink("/d/c")?;
    os.rmdir("/d")?;
    assert_eq!(os.stat("/d"), Err(Errno::NoEntry));
    os.yield_now();
    os.sleep(1000)?;
    os.begin_operation(7);
    let drawn = os.entropy().bits();
    os.claim(&said(format!("{drawn} {} {} {}", os.monotonic_ns(), os.wall_ns(), os.boot_id())));
    assert!(os.process_info(os.pid())?.is_some());
    Ok(())
}

#[test]
fn blocking_code_makes_the_same_calls_as_async_code() {
    for seed in 0..3 {
        let awaiting = pass(&plan(seed), |_, world| {
            world.process("tourist", 0, |sys| async move {
                tour(&sys).await.expect("every call succeeds");
                Exit::success()
            });
        });
        let blocking = pass(&plan(seed), |_, world| {
            world.process("tourist", 0, |sys| async move {
                sys.blocking(blocking_tour).await.expect("every call succeeds");
                Exit::success()
            });
        });
        assert_eq!(awaiting.trace_hash, blocking.trace_hash, "seed {seed}");
        assert!(awaiting.steps >= 33, "{} steps", awaiting.steps);
    }
}

#[test]
fn blocking_processes_interleave_call_by_call() {
    let (outcome, heard) = listen(&plan(1), |_, world| {
        for index in 0..3 {
            world.process("talker", index, |sys| async move {
                sys.blocking(|os| (0..10).for_each(|number| os.claim(&said(number.to_string())))).await;
                Exit::success()
            });
        }
    });
    assert!(outcome.passed(), "{:?}", outcome.violations);
    let changes = heard.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    assert!(changes > 10, "only {changes} changes of speaker");
    for name in ["talker-0", "talker-1", "talker-2"] {
        let own: Vec<String> = heard.iter().filter(|(who, _)| who == name).map(|(_, text)| text.clone()).collect();
        assert_eq!(own, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

/// Says something when it is dropped, by every way that code has.
struct Parting<'a>(&'a Os);

impl Drop for Parting<'_> {
    fn drop(&mut self) {
        let os = self.0;
        let _ = os.unlink("/kept");
        let _ = os.open("/made-by-the-dead", OpenFlags::READ_WRITE.create());
        os.claim(&said("a destructor"));
    }
}

/// Kills the victim at its n-th sleep: instead of it or after it, as the fault's id draws.
fn killed_in_its_sleep(nth: u64, id: u32) -> Plan {
    let faults = vec![fault(id, FaultKind::Kill, Some("victim-0"), Trigger::Call { kind: CallKind::Sleep, nth })];
    Plan { faults, ..plan(3) }
}

#[test]
fn a_killed_program_leaves_without_an_effect() {
    for id in 0..8 {
        // Instead of the sleep or after it: the third claim comes too late either way.
        assert_eq!(killed_in_its_third_sleep(id), 2);
    }
}

/// Gives how many rounds the victim had.
fn killed_in_its_third_sleep(id: u32) -> usize {
    let (outcome, heard) = listen(&killed_in_its_sleep(3, id), |_, world| {
        world.process_with("victim", 0, seedstorm_sim::kernel::RestartPolicy::Never, |sys| async move {
            sys.blocking(|os| {
                let _parting = Parting(os);
                let file = os.open("/kept", OpenFlags::READ_WRITE.create()).expect("it lives");
                file.lock(LockMode::Exclusive).expect("nobody else has it");
                for round in 0..100 {
                    match os.sleep(1000) {
                        Ok(()) => os.claim(&said(format!("round {round}"))),
                        Err(error) => {
                            assert_eq!(error, Errno::Dead);
                            assert!(!os.is_alive() && os.is_terminating());
                            assert_eq!(file.write(b"from the dead"), Err(Errno::Dead));
                            assert_eq!(os.entropy().bits(), 0);
                            os.claim(&said("dead"));
                            break;
                        }
                    }
                }
            })
            .await;
            sys.claim(&said("never reached")).await;
            Exit::success()
        });
        world.process("witness", 0, |sys| async move {
            sys.sleep(100_000_000).await.expect("nobody ends it");
            let file = sys.open("/kept", OpenFlags::READ_WRITE).await.expect("it is still there");
            file.try_lock(LockMode::Exclusive).await.expect("the dead hold no lock");
            assert_eq!(file.stat().await.expect("it is open").len_bytes, 0);
            assert_eq!(sys.stat("/made-by-the-dead").await, Err(Errno::NoEntry));
            Exit::success()
        });
    });
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    assert!(heard.iter().all(|(_, text)| text.starts_with("round")), "{heard:?}");
    heard.len()
}

#[test]
fn all_tasks_of_a_killed_process_leave() {
    let left = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = left.clone();
    let outcome = pass(&killed_in_its_sleep(4, 0), move |_, world| {
        let counted = counted.clone();
        world.process_with("victim", 0, seedstorm_sim::kernel::RestartPolicy::Never, move |sys| {
            let counted = counted.clone();
            async move {
                let work = move |os: &Os| {
                    while os.sleep(1_000_000).is_ok() {}
                    counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                };
                let others: Vec<_> = (0..3).map(|_| work.clone()).collect();
                for other in others {
                    sys.spawn(|sys| async move { sys.blocking(other).await }).await;
                }
                sys.blocking(work).await;
                Exit::success()
            }
        });
    });
    assert_eq!(left.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert!(outcome.steps < 100);
}

/// Polls `first` until it is ready or `other` is; gives what `other` gave.
async fn until<T>(first: impl Future<Output = ()>, other: impl Future<Output = T>) -> Option<T> {
    let (mut first, mut other) = (pin!(first), pin!(other));
    std::future::poll_fn(|context| {
        if let Poll::Ready(value) = other.as_mut().poll(context) {
            return Poll::Ready(Some(value));
        }
        first.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// Ready when that is so. It asks to be polled again: a task that waits in blocking code is not polled for the code's calls alone.
async fn when(it_is_so: Rc<Cell<bool>>) {
    std::future::poll_fn(|context| {
        if it_is_so.get() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn a_dropped_future_cuts_the_code_off_and_the_process_goes_on() {
    let outcome = pass(&plan(5), |_, world| {
        world.process("selector", 0, |sys| async move {
            let seen = Rc::new(RefCell::new(Vec::new()));
            let noted = seen.clone();
            let is_locked = Rc::new(Cell::new(false));
            let locked = is_locked.clone();
            let work = sys.blocking(move |os| {
                let file = os.open("/f", OpenFlags::READ_WRITE.create()).expect("it lives");
                file.lock(LockMode::Exclusive).expect("nobody else has it");
                locked.set(true);
                let written = file.write(b"never picked");
                noted.borrow_mut().push(written);
                noted.borrow_mut().push(file.write(b"inert"));
            });
            // Dropped while the write is announced.
            assert_eq!(until(work, when(is_locked)).await, Some(()));
            assert_eq!(*seen.borrow(), [Err(Errno::Dead), Err(Errno::Dead)]);
            // The withdrawn call's grant doesn't leak into the next: this takes a step of its own.
            let file = sys.open("/f", OpenFlags::READ_WRITE).await.expect("it was created");
            assert_eq!(file.stat().await.expect("it is open").len_bytes, 0);
            // The file was closed, so its lock is gone.
            file.try_lock(LockMode::Exclusive).await.expect("the lock went with the file");
            Exit::success()
        });
    });
    assert!(outcome.steps >= 7, "{} steps", outcome.steps);
}

/// Counts how often it is polled, and asks for nothing.
async fn counting(polls: Rc<Cell<u32>>) {
    std::future::poll_fn(|_| {
        polls.set(polls.get() + 1);
        Poll::Pending
    })
    .await
}

#[test]
fn futures_around_blocking_code_are_polled_where_it_begins_and_ends_and_where_one_is_woken() {
    pass(&plan(5), |_, world| {
        world.process("caller", 0, |sys| async move {
            let polls = Rc::new(Cell::new(0));
            let work = sys.blocking(|os| (0..100).for_each(|_| os.yield_now()));
            assert_eq!(until(work, counting(polls.clone())).await, None::<()>);
            assert_eq!(polls.get(), 2);
            // A future that is woken while the code waits is polled at the task's next step, long before the code ends.
            let is_halfway = Rc::new(Cell::new(false));
            let halfway = is_halfway.clone();
            let work = sys.blocking(move |os| {
                (0..100).for_each(|number| {
                    os.yield_now();
                    halfway.set(number >= 50);
                });
            });
            assert_eq!(until(work, when(is_halfway)).await, Some(()));
            Exit::success()
        });
    });
}

/// A future that something else than its task holds.
type Boxed = Pin<Box<dyn Future<Output = ()>>>;

#[test]
fn code_that_drops_its_own_future_is_cut_off_when_it_suspends() {
    let outcome = pass(&plan(5), |_, world| {
        world.process("caller", 0, |sys| async move {
            let place: Rc<RefCell<Option<Boxed>>> = Rc::default();
            let (own, seen) = (place.clone(), Rc::new(Cell::new(None)));
            let noted = seen.clone();
            let work = sys.blocking(move |os| {
                os.yield_now();
                own.borrow_mut().take();
                noted.set(Some(os.sleep(1)));
            });
            *place.borrow_mut() = Some(Box::pin(work));
            // Its first poll, from within the cell; what follows is resumed without.
            std::future::poll_fn(|context| {
                if let Some(work) = place.borrow_mut().as_mut() {
                    assert!(work.as_mut().poll(context).is_pending());
                    return Poll::Pending;
                }
                Poll::Ready(())
            })
            .await;
            assert_eq!(seen.get(), Some(Err(Errno::Dead)));
            sys.yield_now().await;
            Exit::success()
        });
    });
    assert!(!outcome.observations.counters.contains_key("panics_after_death"));
}

#[test]
fn code_that_was_never_started_is_dropped_as_it_is() {
    pass(&plan(5), |_, world| {
        world.process("idler", 0, |sys| async move {
            drop(sys.blocking(|os| os.claim(&said("never"))));
            sys.yield_now().await;
            Exit::success()
        });
    });
}

#[test]
fn a_panic_is_the_programs_own() {
    let outcome = run_plan(&plan(2), |_, world| {
        world.process("thrower", 0, |sys| async move {
            sys.blocking(|os| {
                os.yield_now();
                panic!("thrown on a coroutine");
            })
            .await;
            Exit::success()
        });
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert_eq!(outcome.violations[0].invariant, "no-panic");
    assert!(outcome.violations[0].message.contains("thrower-0 panicked: thrown on a coroutine"));
}

#[test]
fn a_panic_of_the_dead_is_swallowed_and_counted() {
    let outcome = pass(&killed_in_its_sleep(1, 0), |_, world| {
        world.process_with("victim", 0, seedstorm_sim::kernel::RestartPolicy::Never, |sys| async move {
            sys.blocking(|os| os.sleep(1000).expect("it lives")).await;
            Exit::success()
        });
    });
    assert_eq!(outcome.observations.counters["panics_after_death"], 1);
}

#[test]
fn a_panic_beside_suspended_code_lets_it_leave() {
    // The panic of one process ends the run while another's coroutine is suspended, and its own too: nothing aborts.
    let outcome = run_plan(&plan(2), |_, world| {
        world.process("sleeper", 0, |sys| async move {
            sys.blocking(|os| os.sleep(1_000_000_000).expect_err("the run ends before")).await;
            Exit::success()
        });
        world.process("thrower", 0, |sys| async move {
            let mut work = pin!(sys.blocking(|os| os.sleep(5_000_000_000).expect_err("the run ends before")));
            std::future::poll_fn(|context| {
                assert!(work.as_mut().poll(context).is_pending());
                panic!("thrown beside a coroutine");
            })
            .await
        });
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert!(outcome.violations[0].message.contains("thrown beside a coroutine"));
    assert!(!outcome.observations.counters.contains_key("panics_after_death"), "{:?}", outcome.observations.counters);
}

#[test]
fn code_beside_an_outstanding_call_is_refused_where_it_can_be_told() {
    let outcome = run_plan(&plan(2), |_, world| {
        world.process("juggler", 0, |sys| async move {
            let work = sys.blocking(|os| os.yield_now());
            until(async { sys.yield_now().await }, work).await;
            Exit::success()
        });
    });
    // `until` polls the code first, then the call: the call is the second.
    assert_eq!(outcome.violations.len(), 1);
    assert!(outcome.violations[0].message.contains("one outstanding call"), "{}", outcome.violations[0].message);
    let outcome = run_plan(&plan(2), |_, world| {
        world.process("juggler", 0, |sys| async move {
            let work = sys.blocking(|os| os.yield_now());
            until(work, async { sys.yield_now().await }).await;
            Exit::success()
        });
    });
    assert_eq!(outcome.violations.len(), 1);
    assert!(
        outcome.violations[0].message.contains("blocking code was started beside one"),
        "{}",
        outcome.violations[0].message
    );
}

#[test]
fn an_exhausted_budget_lets_suspended_code_leave() {
    let mut short = plan(2);
    short.steps_max = 50;
    let outcome = run_plan(&short, |_, world| {
        for index in 0..2 {
            world.process("spinner", index, |sys| async move {
                sys.blocking(|os| {
                    while os.is_alive() {
                        os.yield_now();
                    }
                })
                .await;
                Exit::success()
            });
        }
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert_eq!(outcome.violations[0].invariant, "progress");
}

fn deep(levels: u32) -> u64 {
    let room = std::hint::black_box([u64::from(levels); 128]);
    if levels == 0 { room[0] } else { deep(levels - 1) + room[127] }
}

#[test]
fn stacks_are_deep_and_serve_again() {
    for seed in 0..20 {
        pass(&plan(seed), |_, world: &mut World| {
            for index in 0..8 {
                world.process("diver", index, |sys| async move {
                    // About 250 KB of frames, twice on one stack.
                    for _ in 0..2 {
                        sys.blocking(|os| {
                            os.yield_now();
                            assert_eq!(deep(200), 200 * 201 / 2);
                            os.yield_now();
                        })
                        .await;
                    }
                    sys.claim(&Happened { what: "surfaced".into() }).await;
                    Exit::success()
                });
            }
        });
    }
}
