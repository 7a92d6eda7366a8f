//! Rows of the fault catalogue, family lock: who owns a lock, and what a late or dead owner may still do. Waiting for a lock is in `lock_waits`.

use crate::script::{
    Diary, MS, Ran, SECOND, directories, fault, follow, locker, make_directories, once, plan, play, steps, to_the_end,
    until, with,
};
use seedstorm_model::config::Config;
use seedstorm_model::file::{Fence, FileError, open_document, replace};
use seedstorm_model::lock::{Attempt, LockError, LockKind, LockName, Locks, OwnerFile, Way};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::invariant::watch_locks;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::sys::claim::FencedWrite;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Plan, Sys, World};

const NAIVE_LOCK: &str = "/swarm/naive.lock";

fn config(lock: LockKind) -> Config {
    Config { lock, lock_timeout_ns: 2 * SECOND, ..Config::default() }
}

fn lock() -> LockName {
    LockName::document("plan")
}

/// Acquires, notes what came of it and how long it took, keeps the lock for so long and gives it back.
async fn hold(sys: &Sys, diary: &Diary, locks: &Locks, for_ns: u64) {
    let (name, since_ns) = (sys.name(), sys.monotonic_ns());
    match locks.acquire(sys, lock()).await {
        Ok(held) => {
            diary.note(format!("{name} acquired"));
            if sys.monotonic_ns() - since_ns > 500 * MS {
                diary.note(format!("{name} waited long"));
            }
            let _ = sys.sleep(for_ns).await;
            diary.note(format!("{name} releases"));
            locks.release(sys, held).await.expect("it is ours");
        }
        Err(LockError::TimedOut { holder, .. }) => diary.note(format!("{name} timed out: {holder}")),
        Err(error) => panic!("{error}"),
    }
}

/// A holder from the start on, and a waiter that comes at 100 ms.
fn holder_and_waiter(world: &mut World, diary: &Diary, config: &Config, holds_ns: u64) {
    directories(world);
    locker(
        world,
        diary,
        "a",
        config,
        move |sys, diary, locks| async move { hold(&sys, &diary, &locks, holds_ns).await },
    );
    locker(world, diary, "b", config, |sys, diary, locks| async move {
        let _ = sys.sleep(100 * MS).await;
        hold(&sys, &diary, &locks, MS).await;
    });
    watch_locks(world);
}

/// A lock by hand: a file that is created exclusively, with the owner's PID in it. `is_stale` says whether what was read is nobody's.
async fn naive_acquire(sys: &Sys, is_stale: impl AsyncFn(&Sys, &[u8]) -> bool) -> bool {
    let deadline_ns = sys.monotonic_ns() + 2 * SECOND;
    while sys.monotonic_ns() < deadline_ns {
        match sys.open(NAIVE_LOCK, OpenFlags::WRITE.create_exclusive()).await {
            Ok(file) => {
                file.write_all(sys.pid().to_string().as_bytes()).await.expect("room");
                return true;
            }
            Err(Errno::Exists) => {}
            Err(error) => panic!("{error}"),
        }
        let found = match sys.open(NAIVE_LOCK, OpenFlags::READ).await {
            Ok(file) => file.read_to_end().await.expect("a working disk"),
            Err(_) => continue,
        };
        if is_stale(sys, &found).await {
            let _ = sys.unlink(NAIVE_LOCK).await;
        } else {
            let _ = sys.sleep(20 * MS).await;
        }
    }
    false
}

/// As [`holder_and_waiter`], with the lock by hand.
fn naive_pair(
    world: &mut World,
    diary: &Diary,
    holds_ns: u64,
    is_stale: impl AsyncFn(&Sys, &[u8]) -> bool + Clone + 'static,
) {
    directories(world);
    for (role, starts_ns, holds_ns) in [("a", 0, holds_ns), ("b", 100 * MS, MS)] {
        let is_stale = is_stale.clone();
        once(world, diary, role, move |sys, diary| {
            let is_stale = is_stale.clone();
            async move {
                let _ = sys.sleep(starts_ns).await;
                if naive_acquire(&sys, is_stale).await {
                    diary.note(format!("{role}-0 acquired"));
                    let _ = sys.sleep(holds_ns).await;
                    diary.note(format!("{role}-0 releases"));
                    let _ = sys.unlink(NAIVE_LOCK).await;
                } else {
                    diary.note(format!("{role}-0 timed out"));
                }
            }
        });
    }
}

fn kill_at_50_ms(kind: FaultKind) -> Plan {
    with([fault(kind, Some("a-0"), Trigger::AtNs(50 * MS), 60 * SECOND)], 1)
}

/// A locks; kill A; B acquires: gets it, or a typed timeout.
#[test]
fn l1_a_killed_owner_s_lock_is_free() {
    let naive = play(&kill_at_50_ms(FaultKind::Kill), |world, diary| {
        naive_pair(world, diary, 5 * SECOND, async |_: &Sys, _: &[u8]| false);
    });
    assert_eq!(naive.passed().notes, ["a-0 acquired", "b-0 timed out"], "a file without an owner outlives its maker");
    for kind in LockKind::ALL {
        let ran = play(&kill_at_50_ms(FaultKind::Kill), |world, diary| {
            holder_and_waiter(world, diary, &config(kind), 5 * SECOND);
        });
        assert_eq!(ran.fired(FaultKind::Kill), 1);
        assert_eq!(ran.passed().notes, ["a-0 acquired", "b-0 acquired", "b-0 releases"], "{}", kind.name());
        // The owner lives: every wait has its deadline, and whoever gives up knows why.
        let ran = play(&plan(1), |world, diary| holder_and_waiter(world, diary, &config(kind), 5 * SECOND)).passed();
        assert!(ran.notes[1].starts_with("b-0 timed out: a-0 (pid"), "{}: {:?}", kind.name(), ran.notes);
    }
}

/// A (pid 7, t0) locks; kill A; X starts as pid 7 at t1; B acquires: success.
#[test]
fn l2_a_reused_pid_is_no_owner() {
    let lives = async |sys: &Sys, found: &[u8]| {
        let pid = std::str::from_utf8(found).ok().and_then(|text| text.parse().ok()).expect("a PID");
        !matches!(sys.process_info(pid).await, Ok(Some(_)))
    };
    let naive = |kind| play(&kill_at_50_ms(kind), |world, diary| naive_pair(world, diary, 5 * SECOND, lives)).passed();
    assert_eq!(
        naive(FaultKind::Kill).notes,
        ["a-0 acquired", "b-0 acquired", "b-0 releases"],
        "a PID alone finds the dead"
    );
    assert_eq!(naive(FaultKind::PidReuse).notes, ["a-0 acquired", "b-0 timed out"], "and takes a stranger for them");
    for kind in LockKind::ALL {
        let reused = |config: &Config| {
            play(&kill_at_50_ms(FaultKind::PidReuse), |world, diary| {
                holder_and_waiter(world, diary, config, 5 * SECOND);
            })
        };
        let ran = reused(&config(kind)).passed();
        assert_eq!(ran.fired(FaultKind::PidReuse), 1);
        assert_eq!(ran.notes, ["a-0 acquired", "b-0 acquired", "b-0 releases"], "{}", kind.name());
        if kind == LockKind::OwnerFile {
            reused(&Config { mutant: Some(Mutant::PidReuseIgnored), ..config(kind) }).violated("lock-reclaimed");
        }
    }
}

/// The same over a power loss: PIDs and start times begin anew with each boot, and the record of the last boot may be on the disk still.
#[test]
fn l2_a_pid_of_another_boot_is_no_owner() {
    let mut survived = 0;
    for seed in 0..20 {
        let crash = fault(FaultKind::MachineCrash, None, Trigger::AtNs(50 * MS), 10 * MS);
        let ran = play(&Plan { persistence: Persistence::Ext4, ..with([crash], seed) }, |world, diary| {
            let config = config(LockKind::OwnerFile);
            // Without a preparation: each life of A starts with the machine.
            let noted = diary.clone();
            world.process("a", 0, move |sys| {
                let (diary, locks) = (noted.clone(), Locks::new(&config));
                async move {
                    if !diary.has("first life") {
                        diary.note("first life");
                        make_directories(&sys).await;
                        let held = locks.acquire(&sys, lock()).await.expect("free");
                        let _ = sys.sleep(10 * SECOND).await;
                        drop(held);
                    } else {
                        // The same program at the same PID, started as long after the boot as its last life; it has locked nothing.
                        let _ = sys.sleep(10 * SECOND).await;
                    }
                    seedstorm_sim::Exit::success()
                }
            });
            let (noted, config) = (diary.clone(), Config { lock: LockKind::OwnerFile, ..Config::default() });
            world.process("b", 0, move |sys| {
                let (diary, locks) = (noted.clone(), Locks::new(&config));
                async move {
                    let _ = sys.sleep(100 * MS).await;
                    if sys.stat("/swarm/.locks/document.plan.owner").await.is_ok() {
                        diary.note("the record survived");
                    }
                    hold(&sys, &diary, &locks, MS).await;
                    seedstorm_sim::Exit::success()
                }
            });
        })
        .passed();
        assert!(ran.has("b-0 acquired") && !ran.has("b-0 waited long"), "seed {seed}: {:?}", ran.notes);
        survived += u64::from(ran.has("the record survived"));
    }
    assert!(survived > 3, "the record survived in {survived} of 20 seeds only");
}

/// The same row, its second half: kill A after half of the owner record.
#[test]
fn l2_half_an_owner_record_blocks_nobody() {
    // By hand, at its final name: the half record stays unreadable, and nobody can tell whose it is.
    let naive = play(&kill_at_50_ms(FaultKind::Kill), |world, diary| {
        directories(world);
        once(world, diary, "a", |sys, _| async move {
            let file = sys.open(NAIVE_LOCK, OpenFlags::WRITE.create_exclusive()).await.expect("free");
            file.write_all(b"pid 10").await.expect("room");
            let _ = sys.sleep(SECOND).await;
            file.write_all(b"1 started 0\n").await.expect("room");
        });
        once(world, diary, "b", |sys, diary| async move {
            let _ = sys.sleep(100 * MS).await;
            let is_whole = async |_: &Sys, found: &[u8]| found.ends_with(b"\n");
            diary.note(if naive_acquire(&sys, is_whole).await { "acquired" } else { "timed out" });
        });
    });
    assert_eq!(naive.passed().notes, ["timed out"]);
    let mut halves = 0;
    for seed in 0..40 {
        let killed = fault(FaultKind::Kill, Some("a-0"), Trigger::Call { kind: CallKind::Write, nth: 1 }, 0);
        let ran =
            play(&with([killed], seed), |world, diary| {
                directories(world);
                let config = config(LockKind::OwnerFile);
                locker(world, diary, "a", &config, |sys, diary, locks| async move {
                    hold(&sys, &diary, &locks, SECOND).await
                });
                locker(world, diary, "b", &config, |sys, diary, locks| async move {
                    let _ = sys.sleep(100 * MS).await;
                    for name in sys.read_dir("/swarm/.locks").await.expect("it is there") {
                        let len_bytes =
                            sys.stat(&format!("/swarm/.locks/{name}")).await.expect("it is there").len_bytes;
                        diary.note(format!("{len_bytes} bytes"));
                    }
                    hold(&sys, &diary, &locks, MS).await;
                });
                watch_locks(world);
            })
            .passed();
        assert_eq!(ran.fired(FaultKind::Kill), 1);
        assert!(ran.has("b-0 acquired") && !ran.has("b-0 waited long"), "seed {seed}: {:?}", ran.notes);
        let first = ran.notes.iter().find_map(|note| note.strip_suffix(" bytes")?.parse::<u64>().ok());
        halves += u64::from(first.is_some_and(|len_bytes| (1..150).contains(&len_bytes)));
    }
    assert!(halves > 3, "the kill fell inside the write in {halves} of 40 seeds only");
}

/// A locks and is paused 11 s; B waits; A resumes and writes.
#[test]
fn l3_a_live_owner_keeps_its_lock_however_old_it_is() {
    const DATA: &str = "/swarm/documents/plan";
    let paused = || with([fault(FaultKind::Pause, Some("a-0"), Trigger::AtNs(50 * MS), 11 * SECOND)], 1);
    let naive = play(&paused(), |world, diary| {
        directories(world);
        for (role, starts_ns, holds_ns) in [("a", 0, 100 * MS), ("b", 10 * SECOND, 2 * SECOND)] {
            once(world, diary, role, move |sys, diary| async move {
                let _ = sys.sleep(starts_ns).await;
                let is_old = async |sys: &Sys, _: &[u8]| {
                    let stat = sys.stat(NAIVE_LOCK).await.expect("it is there");
                    sys.monotonic_ns() - stat.modified_ns > 10 * SECOND
                };
                assert!(naive_acquire(&sys, is_old).await);
                diary.note(format!("{role} acquired"));
                let _ = sys.sleep(holds_ns).await;
                replace(&sys, DATA, role.as_bytes()).await.expect("a working disk");
                diary.note(format!("{role} wrote"));
            });
        }
    })
    .passed();
    assert_eq!(naive.notes, ["a acquired", "b acquired", "a wrote", "b wrote"], "two holders, by age");
    for kind in [LockKind::Flock, LockKind::OwnerFile] {
        let run = |config: &Config| {
            play(&paused(), |world, diary| {
                directories(world);
                locker(world, diary, "a", config, |sys, diary, locks| async move {
                    let held = locks.acquire(&sys, lock()).await.expect("free");
                    let _ = sys.sleep(100 * MS).await;
                    replace(&sys, DATA, b"a").await.expect("a working disk");
                    diary.note("a wrote");
                    locks.release(&sys, held).await.expect("it is ours");
                });
                locker(world, diary, "b", config, |sys, diary, locks| async move {
                    let _ = sys.sleep(100 * MS).await;
                    // Each timeout is an answer that one may act on: here, by asking again.
                    for _ in 0..8 {
                        hold(&sys, &diary, &locks, MS).await;
                        if diary.has("b-0 releases") {
                            break;
                        }
                    }
                });
                watch_locks(world);
            })
        };
        let ran = run(&config(kind)).passed();
        let timeouts = ran.notes.iter().filter(|note| note.starts_with("b-0 timed out: a-0 (pid")).count();
        assert!(timeouts >= 4, "{}: {:?}", kind.name(), ran.notes);
        assert_eq!(ran.notes[timeouts..timeouts + 2], ["a wrote", "b-0 acquired"], "{}: {:?}", kind.name(), ran.notes);
        if kind == LockKind::OwnerFile {
            run(&Config { mutant: Some(Mutant::LiveOwnerReapedByAge), ..config(kind) }).violated("lock-exclusion");
        }
    }
}

/// A creates; B reads empty: must not steal. B comes at each single step of A's acquisition.
#[test]
fn l6_no_reader_sees_an_owner_record_half_made() {
    let races = |config: &Config| -> Vec<Ran> {
        let race = |count| {
            follow(&plan(1), &[steps("a-0", count), until("b-0", CallKind::Claim, 2)], |world, diary| {
                directories(world);
                locker(world, diary, "a", config, |sys, diary, locks| async move {
                    hold(&sys, &diary, &locks, SECOND).await
                });
                locker(world, diary, "b", config, |sys, diary, locks| async move {
                    hold(&sys, &diary, &locks, SECOND).await
                });
                watch_locks(world);
            })
        };
        // From A's boot to its claim of the lock.
        (1..=10).map(race).collect()
    };
    let whole: Vec<Ran> = races(&config(LockKind::OwnerFile)).into_iter().map(Ran::passed).collect();
    assert!(whole.iter().all(|ran| ran.has("a-0 acquired") && ran.has("b-0 acquired")), "each has its turn");
    assert!(
        whole.iter().any(|ran| ran.notes[0].starts_with("a-0"))
            && whole.iter().any(|ran| ran.notes[0].starts_with("b-0"))
    );
    let mutant = Config { mutant: Some(Mutant::EmptyOwnerFileIsStale), ..config(LockKind::OwnerFile) };
    let stolen = races(&mutant)
        .into_iter()
        .filter(|ran| ran.outcome.violations.first().is_some_and(|violation| violation.invariant == "lock-exclusion"));
    assert!(stolen.count() >= 1, "B takes the empty record for stale");
}

/// The same row, its second half: kill A after it has created an empty record; after a grace, C reclaims.
#[test]
fn l6_an_empty_record_is_reclaimed_after_a_grace() {
    let ran = play(&kill_at_50_ms(FaultKind::Kill), |world, diary| {
        directories(world);
        once(world, diary, "a", |sys, _| async move {
            let path = "/swarm/.locks/document.plan.owner";
            let file = sys.open(path, OpenFlags::WRITE.create_exclusive()).await.expect("free");
            let _ = sys.sleep(SECOND).await;
            file.write_all(b"too late").await.expect("room");
        });
        locker(world, diary, "b", &config(LockKind::OwnerFile), |sys, diary, _| async move {
            let _ = sys.sleep(100 * MS).await;
            let looked = OwnerFile::new("/swarm/.locks".into(), SECOND, None);
            let stolen = matches!(looked.attempt(&sys, &lock()).await, Ok(Attempt::Acquired(_)));
            diary.note(if stolen { "b-0 stole it" } else { "b-0 takes it for held" });
        });
        locker(world, diary, "c", &config(LockKind::OwnerFile), |sys, diary, locks| async move {
            let _ = sys.sleep(100 * MS).await;
            let since_ns = sys.monotonic_ns();
            hold(&sys, &diary, &locks, MS).await;
            let waited_ns = sys.monotonic_ns() - since_ns;
            assert!((SECOND..2 * SECOND).contains(&waited_ns), "the grace is half of the wait: {waited_ns} ns");
        });
        watch_locks(world);
    });
    assert_eq!(ran.passed().notes, ["b-0 takes it for held", "c-0 acquired", "c-0 waited long", "c-0 releases"]);
}

/// TTL 10 s; B's clock +1 s; B takes at 9 s; A's write with the old token is refused, whether B has written by then or only been let in.
#[test]
fn l7_a_lease_judged_by_another_clock_is_fenced() {
    let skewed = || {
        let mut plan = plan(1);
        plan.clock_skew_ns.insert("b-0".into(), SECOND as i64);
        plan
    };
    let run = |config: &Config, b_writes_ns: u64| {
        let config = Config { lease_ns: 10 * SECOND, ..config.clone() };
        play(&skewed(), move |world, diary| {
            directories(world);
            for (role, starts_ns, writes_ns) in [("a", 0, 9_500 * MS), ("b", 9_100 * MS, b_writes_ns)] {
                let config_of = config.clone();
                locker(world, diary, role, &config, move |sys, diary, locks| {
                    let config = config_of.clone();
                    async move {
                        let _ = sys.sleep(starts_ns).await;
                        let held = locks.acquire(&sys, lock()).await.expect("free, or run out");
                        let token = held.token().expect("a lease has a token");
                        let path = format!("{}/plan", config.documents());
                        let fence = Fence::new(&path, "/swarm/.locks/plan", SECOND, config.mutant);
                        let (opened, passed) = fence.enter(&sys, token).await.expect("the newest token");
                        sys.claim(&FencedWrite { resource: "plan".into(), token, sequence: passed.place }).await;
                        let mut document = opened.document;
                        while sys.monotonic_ns() < writes_ns {
                            let _ = sys.sleep(writes_ns - sys.monotonic_ns()).await;
                        }
                        document.apply(&sys.name(), 1, role.into());
                        match fence.write(&sys, token, &mut document).await {
                            Ok(passed) => {
                                diary.note(format!("{role} wrote"));
                                sys.claim(&FencedWrite { resource: "plan".into(), token, sequence: passed.place })
                                    .await;
                            }
                            Err(FileError::Fenced { token, newest, .. }) => {
                                diary.note(format!("{role} was refused: {token} < {newest}"));
                            }
                            Err(error) => panic!("{error}"),
                        }
                        let _ = sys.sleep(SECOND).await;
                        let found = open_document(&sys, &path).await.expect("a working disk").document;
                        diary.note(format!("{role} finds {}", found.body));
                        locks.release(&sys, held).await.expect("a lease can always be given back");
                    }
                });
            }
            watch_locks(world);
        })
    };
    let lease = config(LockKind::Lease);
    let written = run(&lease, 9_200 * MS).passed();
    assert_eq!(written.notes, ["b wrote", "a was refused: 1 < 2", "b finds b", "a finds b"]);
    // B has read the document, and writes later than A would: what it read must not change behind its back.
    let entered = run(&lease, 9_900 * MS).passed();
    assert_eq!(entered.notes, ["a was refused: 1 < 2", "b wrote", "a finds b", "b finds b"]);
    // A lease alone, at a resource that doesn't look: B's document is overwritten by what A knew before.
    let unfenced = run(&Config { mutant: Some(Mutant::LeaseWithoutFencing), ..lease }, 9_200 * MS);
    assert!(unfenced.violated("lease-fencing").has("a wrote"));
}

/// The same row: a process that is slow between choosing its token and making the lease's file looks again before it believes that it holds it.
#[test]
fn l7_a_lease_that_others_have_left_behind_is_not_believed() {
    let config = Config { lease_ns: 10 * SECOND, ..config(LockKind::Lease) };
    // A has seen that there is no lease yet, and has its record ready to be linked as token 1. B acquires 1 and gives it back; C acquires 2,
    // and removes the file of 1: the name is free again.
    let legs =
        [until("a-0", CallKind::Close, 2), to_the_end("b-0"), until("c-0", CallKind::Unlink, 2), steps("a-0", 1)];
    let ran = follow(&plan(1), &legs, |world, diary| {
        directories(world);
        for (role, holds_ns) in [("a", MS), ("b", 0), ("c", SECOND)] {
            locker(world, diary, role, &config, move |sys, diary, locks| async move {
                let held = locks.acquire(&sys, lock()).await.expect("within the wait");
                diary.note(format!("{role} holds {}", held.token().expect("a lease has a token")));
                if holds_ns > 0 {
                    let _ = sys.sleep(holds_ns).await;
                }
                locks.release(&sys, held).await.expect("a lease can always be given back");
            });
        }
        watch_locks(world);
    })
    .passed();
    assert_eq!(ran.notes, ["b holds 1", "c holds 2", "a holds 3"]);
}

/// A flocks f; A renames over f; B locks f: must block.
#[test]
fn l8_a_lock_outlives_the_file_that_it_protects() {
    const DATA: &str = "/swarm/documents/plan";
    let ran = |is_naive: bool| {
        play(&plan(1), move |world, diary| {
            directories(world);
            for (role, starts_ns) in [("a", 0), ("b", 100 * MS)] {
                locker(world, diary, role, &config(LockKind::Flock), move |sys, diary, locks| async move {
                    let _ = sys.sleep(starts_ns).await;
                    let data = sys.open(DATA, OpenFlags::READ_WRITE.create()).await.expect("the directory is there");
                    let held = if is_naive {
                        data.lock(LockMode::Exclusive).await.expect("a lock to wait for");
                        None
                    } else {
                        Some(locks.acquire(&sys, lock()).await.expect("within the wait"))
                    };
                    diary.note(format!("{role} locks"));
                    replace(&sys, DATA, role.as_bytes()).await.expect("a working disk");
                    let _ = sys.sleep(500 * MS).await;
                    diary.note(format!("{role} unlocks"));
                    if let Some(held) = held {
                        locks.release(&sys, held).await.expect("it is ours");
                    }
                });
            }
            watch_locks(world);
        })
        .passed()
        .notes
    };
    assert_eq!(ran(true), ["a locks", "b locks", "a unlocks", "b unlocks"], "the name has another inode by then");
    assert_eq!(ran(false), ["a locks", "a unlocks", "b locks", "b unlocks"]);
}

/// L2 and L6, between two that reclaim: what is taken away is what was judged dead, and nobody publishes in between.
#[test]
fn l2_reclaiming_takes_nothing_from_the_living() {
    let config = config(LockKind::OwnerFile);
    let race = |legs: &[_]| {
        // Calls that take no time to speak of, so that B and C wake together.
        let killed = Plan { latency: "flat".into(), ..kill_at_50_ms(FaultKind::Kill) };
        follow(&killed, legs, |world, diary| {
            directories(world);
            for (role, starts_ns) in [("a", 0), ("b", 100 * MS), ("c", 100 * MS)] {
                locker(world, diary, role, &config, move |sys, diary, locks| async move {
                    let _ = sys.sleep(starts_ns.saturating_sub(sys.monotonic_ns())).await;
                    hold(&sys, &diary, &locks, SECOND).await;
                });
            }
            watch_locks(world);
        })
        .passed()
    };
    // B has judged the dead owner's record, and not begun to reclaim; C reclaims it and holds the lock then.
    let (b_judges, c_holds) = (until("b-0", CallKind::ProcessQuery, 1), until("c-0", CallKind::Claim, 2));
    let judged = race(&[to_the_end("a-0"), b_judges, c_holds, steps("b-0", 4)]);
    assert_eq!(judged.notes[..4], ["a-0 acquired", "c-0 acquired", "c-0 releases", "b-0 acquired"]);
    // B has read it again and is about to remove it; C comes upon it now.
    let read_again = race(&[to_the_end("a-0"), until("b-0", CallKind::Lock, 1), steps("b-0", 3), c_holds]);
    assert_eq!(read_again.notes[..4], ["a-0 acquired", "b-0 acquired", "b-0 releases", "c-0 acquired"]);
}
