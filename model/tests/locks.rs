//! Named locks between simulated processes: the lock family of the fault catalogue, each row with the planted bug that it is about.

mod support;

use seedstorm_model::config::Config;
use seedstorm_model::file::{Fence, FileError};
use seedstorm_model::identity::ProcessIdentity;
use seedstorm_model::lock::{BackoffPolicy, Holder, LockError, LockKind, LockName, Locks};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::invariant::watch_locks;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Position, StrategyPlan, Trigger};
use seedstorm_sim::sys::claim::{FencedWrite, Happened};
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Exit, Plan, Sys, World};
use std::future::Future;
use support::{Diary, MS, SECOND, fault, pass, plan, prepare_directories, timed, violate};

fn config(lock: LockKind) -> Config {
    Config { lock, lock_timeout_ns: 2 * SECOND, ..Config::default() }
}

fn lock() -> LockName {
    LockName::document("plan")
}

/// Adds a process that runs once, on locks of its own.
fn process<F>(world: &mut World, role: &'static str, config: &Config, program: impl Fn(Sys, Locks) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let config = config.clone();
    world.process_with(role, 0, RestartPolicy::Never, move |sys| {
        let running = program(sys.clone(), Locks::new(&config));
        async move {
            running.await;
            Exit::success()
        }
    });
}

/// A holder that keeps the lock for so long, and a waiter that comes a millisecond later.
fn holder_and_waiter(world: &mut World, config: &Config, diary: &Diary, holds_ns: u64) {
    prepare_directories(world, config);
    let noted = diary.clone();
    process(world, "holder", config, move |sys, locks| {
        let diary = noted.clone();
        async move {
            let held = locks.acquire(&sys, lock()).await.expect("nobody else wants it yet");
            diary.note("held");
            let _ = sys.sleep(holds_ns).await;
            diary.note("given back");
            locks.release(&sys, held).await.expect("it is ours");
        }
    });
    let noted = diary.clone();
    process(world, "waiter", config, move |sys, locks| {
        let diary = noted.clone();
        async move {
            let _ = sys.sleep(20 * MS).await;
            match locks.acquire(&sys, lock()).await {
                Ok(held) => {
                    diary.note("acquired");
                    locks.release(&sys, held).await.expect("it is ours");
                }
                Err(error @ LockError::TimedOut { .. }) => {
                    diary.note(format!("timed out: {error}"));
                    // Whoever has the lock after all has time to say so.
                    let _ = sys.sleep(3 * SECOND).await;
                    sys.claim(&Happened { what: "waited".into() }).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    });
    watch_locks(world);
}

/// L1: the lock of a killed owner is free, wherever the kill fell.
#[test]
fn a_dead_owners_lock_is_acquired() {
    for kind in LockKind::ALL {
        for nth in 1..=20 {
            let killed =
                fault(FaultKind::Kill, Some("holder-0"), Trigger::While { position: Position::HoldingLock, nth }, 0);
            let plan = Plan { faults: vec![killed], ..timed(nth) };
            let diary = Diary::default();
            pass(&plan, |world| holder_and_waiter(world, &config(kind), &diary, SECOND));
            if nth == 1 {
                assert_eq!(diary.count("given back"), 0, "{}: the kill came first", kind.name());
            }
            if diary.count("given back") == 0 {
                diary.expect("acquired");
            }
        }
    }
}

/// L1, L6: a kill at each single call of an acquisition leaves nothing that blocks or misleads the next.
#[test]
fn a_kill_anywhere_in_an_acquisition_leaves_a_lock_that_works() {
    for kind in LockKind::ALL {
        let mut kills = 0;
        for (call, nth) in calls_of_an_acquisition() {
            let killed = fault(FaultKind::Kill, Some("holder-0"), Trigger::Call { kind: call, nth }, 0);
            for seed in 0..4 {
                let plan = Plan { faults: vec![killed.clone()], ..timed(seed) };
                let diary = Diary::default();
                let outcome = pass(&plan, |world| holder_and_waiter(world, &config(kind), &diary, 10 * MS));
                kills += outcome.observations.faults.values().sum::<u64>();
                diary.expect("acquired");
            }
        }
        assert!(kills > 20, "{}: only {kills} kills fell", kind.name());
    }
}

fn calls_of_an_acquisition() -> Vec<(CallKind, u64)> {
    let kinds = [
        CallKind::Open,
        CallKind::Read,
        CallKind::Write,
        CallKind::Sync,
        CallKind::Close,
        CallKind::Link,
        CallKind::Unlink,
        CallKind::Lock,
        CallKind::Claim,
        CallKind::ReadDirectory,
        CallKind::MakeDirectory,
        CallKind::WriteAt,
        CallKind::Rename,
    ];
    kinds.into_iter().flat_map(|kind| (1..=3).map(move |nth| (kind, nth))).collect()
}

/// L2: somebody else has the dead owner's PID.
#[test]
fn a_reused_pid_is_no_owner() {
    let reused = fault(FaultKind::PidReuse, Some("holder-0"), Trigger::AtNs(15 * MS), 60 * SECOND);
    for kind in [LockKind::Flock, LockKind::OwnerFile] {
        let diary = Diary::default();
        pass(&Plan { faults: vec![reused.clone()], ..timed(1) }, |world| {
            holder_and_waiter(world, &config(kind), &diary, 5 * SECOND)
        });
        assert_eq!(diary.notes(), ["held", "acquired"]);
    }
    let mutant = Config { mutant: Some(Mutant::PidReuseIgnored), ..config(LockKind::OwnerFile) };
    let diary = Diary::default();
    violate(&Plan { faults: vec![reused], ..timed(1) }, "lock-reclaimed", |world| {
        holder_and_waiter(world, &mutant, &diary, 5 * SECOND)
    });
    diary.expect("timed out");
}

/// L3: a living owner keeps its lock, however long it is away; who gives up learns its name.
#[test]
fn a_paused_owner_keeps_its_lock() {
    let paused = fault(FaultKind::Pause, Some("holder-0"), Trigger::AtNs(15 * MS), 11 * SECOND);
    for kind in [LockKind::Flock, LockKind::OwnerFile] {
        let diary = Diary::default();
        pass(&Plan { faults: vec![paused.clone()], ..timed(1) }, |world| {
            holder_and_waiter(world, &config(kind), &diary, SECOND)
        });
        let notes = diary.notes();
        assert!(notes[1].starts_with("timed out") && notes[1].contains("holder-0 (pid"), "{}: {notes:?}", kind.name());
        assert_eq!(notes[2], "given back");
    }
    let mutant = Config { mutant: Some(Mutant::LiveOwnerReapedByAge), ..config(LockKind::OwnerFile) };
    let diary = Diary::default();
    violate(&Plan { faults: vec![paused], ..timed(1) }, "lock-exclusion", |world| {
        holder_and_waiter(world, &mutant, &diary, SECOND)
    });
}

/// L6: at each step, what stands at the lock's name is a whole record or nothing; an unreadable one, which only a damaged disk leaves, is not
/// taken for stale at once.
#[test]
fn an_unreadable_record_is_held_until_its_grace_is_over() {
    let config = Config { lock_timeout_ns: SECOND, ..config(LockKind::OwnerFile) };
    let diary = Diary::default();
    pass(&timed(1), |world| {
        prepare_directories(world, &config);
        let noted = diary.clone();
        process(world, "finder", &config, move |sys, locks| {
            let diary = noted.clone();
            async move {
                let torn = sys
                    .open("/swarm/.locks/document.plan.owner", OpenFlags::WRITE.create_exclusive())
                    .await
                    .expect("a free name");
                torn.write_all(b"seedstorm/1 00000").await.expect("room");
                drop(torn);
                let since_ns = sys.monotonic_ns();
                let held = locks.acquire(&sys, lock()).await.expect("after the grace");
                let waited_ns = sys.monotonic_ns() - since_ns;
                assert!(waited_ns >= 500 * MS, "taken after {waited_ns} ns");
                diary.note("acquired");
                locks.release(&sys, held).await.expect("it is ours");
            }
        });
        watch_locks(world);
    });
    diary.expect("acquired");
}

/// L6: an owner that is slow to write its record. Nobody ever sees it half written; with the planted bug somebody does.
#[test]
fn a_record_is_published_whole() {
    let slow = fault(FaultKind::Delay, Some("holder-0"), Trigger::Call { kind: CallKind::Write, nth: 1 }, 60 * MS);
    let plan = Plan { faults: vec![slow], ..timed(1) };
    let config = config(LockKind::OwnerFile);
    let diary = Diary::default();
    pass(&plan, |world| holder_and_waiter(world, &config, &diary, 500 * MS));
    assert_eq!(diary.notes(), ["acquired", "held", "given back"]);
    let mutant = Config { mutant: Some(Mutant::EmptyOwnerFileIsStale), ..config };
    violate(&plan, "lock-exclusion", |world| {
        holder_and_waiter(world, &mutant, &diary, 500 * MS);
        // The waiter gives the lock back at once; one more keeps it.
        process(world, "third", &mutant, |sys, locks| async move {
            let _ = sys.sleep(30 * MS).await;
            let held = locks.acquire(&sys, lock()).await.expect("taken for free");
            let _ = sys.sleep(SECOND).await;
            let _ = locks.release(&sys, held).await;
        });
    });
}

/// A crowd at a free lock, in every order that the seeds bring: one holder.
#[test]
fn a_crowd_has_one_holder() {
    for kind in LockKind::ALL {
        let config = config(kind);
        for seed in 0..60 {
            pass(&plan(seed), |world| {
                prepare_directories(world, &config);
                for role in ["a", "b", "c"] {
                    process(world, role, &config, |sys, locks| async move {
                        for _ in 0..3 {
                            if let Ok(held) = locks.acquire(&sys, lock()).await {
                                sys.yield_now().await;
                                locks.release(&sys, held).await.expect("it is ours");
                            }
                        }
                    });
                }
                watch_locks(world);
            });
        }
    }
}

/// Two reclaimers of one dead owner, and a new owner beside them: whatever the order, one holder.
#[test]
fn reclaiming_is_race_free() {
    let reclaimed: u64 = (0..150)
        .map(|seed| {
            let killed =
                fault(FaultKind::Kill, Some("holder-0"), Trigger::While { position: Position::HoldingLock, nth: 1 }, 0);
            let plan = Plan { faults: vec![killed], ..plan(seed) };
            let config = config(LockKind::OwnerFile);
            let outcome = pass(&plan, |world| {
                holder_and_waiter(world, &config, &Diary::default(), SECOND);
                for role in ["b", "c"] {
                    process(world, role, &config, |sys, locks| async move {
                        for _ in 0..2 {
                            if let Ok(held) = locks.acquire(&sys, lock()).await {
                                locks.release(&sys, held).await.expect("it is ours");
                            }
                        }
                    });
                }
            });
            outcome.observations.faults.values().sum::<u64>()
        })
        .sum();
    assert!(reclaimed > 100, "only {reclaimed} holders died");
}

/// L7: a lease that ran out by another's clock. What it protects refuses the old token.
#[test]
fn a_late_write_under_an_old_lease_is_refused() {
    let config = Config { lease_ns: 10 * SECOND, ..config(LockKind::Lease) };
    let populate = |config: &Config, diary: &Diary, world: &mut World| {
        prepare_directories(world, config);
        for (role, starts_ns, works_ns) in [("a", 0, 9_500 * MS), ("b", 9_100 * MS, MS)] {
            let (config_of, diary) = (config.clone(), diary.clone());
            process(world, role, config, move |sys, locks| {
                let (config, diary) = (config_of.clone(), diary.clone());
                async move {
                    let _ = sys.sleep(starts_ns).await;
                    let held = locks.acquire(&sys, lock()).await.expect("free, or run out");
                    let token = held.token().expect("a lease has a token");
                    let fence = Fence::new(
                        "/swarm/documents/plan",
                        "/swarm/.locks/plan",
                        config.lock_timeout_ns,
                        config.mutant,
                    );
                    let (opened, passed) = fence.enter(&sys, token).await.expect("the newest token");
                    let mut document = opened.document;
                    sys.claim(&FencedWrite { resource: "plan".into(), token, sequence: passed.place }).await;
                    let _ = sys.sleep(works_ns).await;
                    match fence.write(&sys, token, &mut document).await {
                        Ok(passed) => {
                            sys.claim(&FencedWrite { resource: "plan".into(), token, sequence: passed.place }).await;
                            diary.note(format!("{role} wrote"));
                        }
                        Err(FileError::Fenced { token: 1, newest: 2, .. }) => diary.note(format!("{role} was refused")),
                        Err(error) => panic!("{error}"),
                    }
                    locks.release(&sys, held).await.expect("a lease can always be given back");
                }
            });
        }
        watch_locks(world);
    };
    // By its own clock, b comes when a's lease has run out; a's has 0.9 s to go.
    let mut skewed = timed(1);
    skewed.clock_skew_ns.insert("b-0".into(), SECOND as i64);
    let diary = Diary::default();
    pass(&skewed, |world| populate(&config, &diary, world));
    assert_eq!(diary.notes(), ["b wrote", "a was refused"]);
    let mutant = Config { mutant: Some(Mutant::LeaseWithoutFencing), ..config };
    violate(&skewed, "lease-fencing", |world| populate(&mutant, &Diary::default(), world));
}

/// L8: an flock on a file that is replaced by a rename excludes nobody; the side-car is never replaced.
#[test]
fn the_lock_outlives_the_file_that_it_protects() {
    let config = config(LockKind::Flock);
    let diary = Diary::default();
    pass(&timed(1), |world| {
        prepare_directories(world, &config);
        let noted = diary.clone();
        process(world, "a", &config, move |sys, locks| {
            let diary = noted.clone();
            async move {
                let data =
                    sys.open("/swarm/documents/plan", OpenFlags::READ_WRITE.create()).await.expect("a free name");
                data.lock(LockMode::Exclusive).await.expect("nobody else has it");
                let held = locks.acquire(&sys, lock()).await.expect("nobody else wants it");
                seedstorm_model::file::replace(&sys, "/swarm/documents/plan", b"new").await.expect("room");
                let _ = sys.sleep(500 * MS).await;
                diary.note("a gives back");
                locks.release(&sys, held).await.expect("it is ours");
            }
        });
        let noted = diary.clone();
        process(world, "b", &config, move |sys, locks| {
            let diary = noted.clone();
            async move {
                let _ = sys.sleep(100 * MS).await;
                let data = sys.open("/swarm/documents/plan", OpenFlags::READ_WRITE).await.expect("it is there");
                // The control: the same file by name, another inode.
                assert_eq!(data.try_lock(LockMode::Exclusive).await, Ok(()));
                diary.note("b has the data file's lock too");
                let held = locks.acquire(&sys, lock()).await.expect("within the wait");
                diary.note("b has the lock");
                locks.release(&sys, held).await.expect("it is ours");
            }
        });
        watch_locks(world);
    });
    assert_eq!(diary.notes(), ["b has the data file's lock too", "a gives back", "b has the lock"]);
}

/// L9: one that reacquires at every release, one that waits. It wins within some rounds, or learns who has the lock.
#[test]
fn a_waiter_is_not_starved() {
    for kind in LockKind::ALL {
        for backoff in BackoffPolicy::ALL {
            let config = Config { backoff, lock_timeout_ns: 5 * SECOND, ..config(kind) };
            let diary = Diary::default();
            pass(&Plan { latency: "ssd".into(), ..timed(7) }, |world| {
                prepare_directories(world, &config);
                let noted = diary.clone();
                process(world, "greedy", &config, move |sys, locks| {
                    let diary = noted.clone();
                    async move {
                        for _ in 0..300 {
                            if diary.count("waiter") > 0 {
                                break;
                            }
                            let Ok(held) = locks.acquire(&sys, lock()).await else { continue };
                            diary.note("greedy round");
                            let _ = sys.sleep(5 * MS).await;
                            locks.release(&sys, held).await.expect("it is ours");
                        }
                    }
                });
                let noted = diary.clone();
                process(world, "waiter", &config, move |sys, locks| {
                    let diary = noted.clone();
                    async move {
                        let _ = sys.sleep(50 * MS).await;
                        let before = diary.count("greedy");
                        match locks.acquire(&sys, lock()).await {
                            Ok(held) => {
                                diary.note(format!("waiter overtaken {} times", diary.count("greedy") - before));
                                locks.release(&sys, held).await.expect("it is ours");
                            }
                            Err(LockError::TimedOut { holder: Holder::Process(record), .. }) => {
                                diary.note(format!("waiter gave up on {}", record.name));
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
                watch_locks(world);
            });
            diary.expect("waiter");
            if backoff == BackoffPolicy::FairQueue {
                // Whoever holds it when we join, and whoever was in front of us then.
                let notes = diary.notes();
                let fair =
                    notes.iter().any(|note| note == "waiter overtaken 0 times" || note == "waiter overtaken 1 times");
                assert!(fair, "{}: {notes:?}", kind.name());
            }
        }
    }
}

/// L10: whoever sleeps a fixed time sleeps past its deadline.
#[test]
fn no_sleep_passes_the_deadline() {
    for backoff in BackoffPolicy::ALL {
        let config = Config { backoff, lock_timeout_ns: 100 * MS, ..config(LockKind::Flock) };
        let diary = Diary::default();
        pass(&timed(1), |world| holder_and_waiter(world, &config, &diary, SECOND));
        diary.expect("timed out");
        let mutant = Config { mutant: Some(Mutant::FixedBackoffConvoy), ..config };
        violate(&timed(1), "lock-wait-bounded", |world| holder_and_waiter(world, &mutant, &diary, SECOND));
    }
}

/// A wake goes on only when nothing of its earlier lives is left: what can't be looked at may hold something.
#[test]
fn what_cannot_be_looked_at_does_not_count_as_released() {
    for (directory, expected) in [("/swarm", true), ("/nowhere", false)] {
        pass(&timed(1), |world| {
            prepare_directories(world, &config(LockKind::OwnerFile));
            let config = Config { directory: directory.into(), ..config(LockKind::OwnerFile) };
            process(world, "agent", &config, move |sys, locks| async move {
                assert_eq!(locks.release_dead(&sys).await, Ok(expected), "{directory}");
            });
        });
    }
}

/// L11, and the fixed order: mistakes are told at once, and do no harm.
#[test]
fn locks_are_acquired_once_and_in_order() {
    for kind in LockKind::ALL {
        let config = config(kind);
        let diary = Diary::default();
        pass(&plan(1), |world| {
            prepare_directories(world, &config);
            let noted = diary.clone();
            process(world, "a", &config, move |sys, locks| {
                let diary = noted.clone();
                async move {
                    let held = locks.acquire(&sys, lock()).await.expect("free");
                    let again = locks.acquire(&sys, lock()).await.err();
                    assert_eq!(again, Some(LockError::ReEntered { lock: lock() }));
                    let before = locks.acquire(&sys, LockName::compaction()).await.err();
                    assert_eq!(before, Some(LockError::OutOfOrder { lock: LockName::compaction(), held: lock() }));
                    locks.release(&sys, held).await.expect("it is ours");
                    let first = locks.acquire(&sys, LockName::compaction()).await.expect("free");
                    let second = locks.acquire(&sys, lock()).await.expect("free, and later in the order");
                    locks.release(&sys, second).await.expect("it is ours");
                    locks.release(&sys, first).await.expect("it is ours");
                    diary.note("done");
                }
            });
            watch_locks(world);
        });
        diary.expect("done");
    }
}

/// A failing disk is no reason to give up before the deadline, and no reason to leave the lock behind.
#[test]
fn a_lock_survives_a_failing_disk() {
    for kind in LockKind::ALL {
        for (failure, call) in [
            (FaultKind::IoError, CallKind::Read),
            (FaultKind::IoError, CallKind::Write),
            (FaultKind::NoSpace, CallKind::Write),
            (FaultKind::ShortWrite, CallKind::Write),
            (FaultKind::FailedSync, CallKind::Sync),
        ] {
            for nth in 1..=3 {
                let failing = fault(failure, Some("holder-0"), Trigger::Call { kind: call, nth }, 0);
                let diary = Diary::default();
                pass(&Plan { faults: vec![failing], ..timed(nth) }, |world| {
                    holder_and_waiter(world, &config(kind), &diary, 10 * MS)
                });
                diary.expect("given back");
                diary.expect("acquired");
            }
        }
    }
}

/// A process that is asked to end waits for nothing more.
#[test]
fn a_terminated_waiter_gives_up() {
    let diary = Diary::default();
    let config = config(LockKind::OwnerFile);
    let ended = fault(FaultKind::Terminate, Some("b-0"), Trigger::AtNs(100 * MS), 10 * SECOND);
    pass(&Plan { faults: vec![ended], strategy: StrategyPlan::Timed, ..plan(1) }, |world| {
        prepare_directories(world, &config);
        process(world, "a", &config, |sys, locks| async move {
            let held = locks.acquire(&sys, lock()).await.expect("free");
            let _ = sys.sleep(SECOND).await;
            locks.release(&sys, held).await.expect("it is ours");
        });
        let noted = diary.clone();
        process(world, "b", &config, move |sys, locks| {
            let diary = noted.clone();
            async move {
                let _ = sys.sleep(20 * MS).await;
                let error = locks.acquire(&sys, lock()).await.err();
                assert_eq!(error, Some(LockError::Terminating { lock: lock() }));
                assert!(sys.monotonic_ns() < 500 * MS);
                diary.note("gave up");
            }
        });
    });
    diary.expect("gave up");
}

/// Identity: the same PID later, or on another boot, is another process.
#[test]
fn an_identity_is_alive_while_its_process_is() {
    let diary = Diary::default();
    let noted = diary.clone();
    pass(&timed(1), |world| {
        let noted = noted.clone();
        world.process_with("a", 0, RestartPolicy::Never, move |sys| {
            let diary = noted.clone();
            async move {
                let ours = ProcessIdentity::of(&sys);
                assert!(ours.is_alive(&sys, None).await);
                for other in [
                    ProcessIdentity { pid: ours.pid + 50, ..ours },
                    ProcessIdentity { started_ns: ours.started_ns + 1, ..ours },
                    ProcessIdentity { boot_id: ours.boot_id ^ 1, ..ours },
                ] {
                    assert!(!other.is_alive(&sys, None).await, "{other}");
                }
                assert_eq!(sys.open("/nothing", OpenFlags::READ).await.err(), Some(Errno::NoEntry));
                diary.note("seen");
                Exit::success()
            }
        });
    });
    diary.expect("seen");
}
