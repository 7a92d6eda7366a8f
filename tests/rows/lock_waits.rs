//! Rows of the fault catalogue, family lock: how waiters wait. Who owns a lock is in `lock`.

use crate::script::{Diary, MS, Ran, SECOND, directories, locker, once, plan, play};
use seedstorm_model::config::Config;
use seedstorm_model::lock::{BackoffPolicy, Holder, LockError, LockKind, LockName};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::invariant::watch_locks;
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Plan, Sys, World};
use std::collections::BTreeMap;

const SIDE_CAR: &str = "/swarm/naive.lock";

fn lock() -> LockName {
    LockName::document("plan")
}

async fn side_car(sys: &Sys) -> File {
    sys.open(SIDE_CAR, OpenFlags::READ_WRITE.create()).await.expect("the directory is there")
}

/// A reacquires at every release; B polls ten times slower; B wins within k rounds, or gets a retryable timeout that names the holder.
#[test]
fn l9_a_slow_poller_is_not_starved() {
    const ROUND_NS: u64 = 5 * MS;
    // By hand: A has the lock but for a moment in each round, and B comes by every tenth round.
    let naive = play(&plan(1), |world, diary| {
        directories(world);
        once(world, diary, "a", |sys, diary| async move {
            let file = side_car(&sys).await;
            for _ in 0..500 {
                file.lock(LockMode::Exclusive).await.expect("a lock to wait for");
                let _ = sys.sleep(ROUND_NS).await;
                file.unlock().await.expect("it is ours");
            }
            diary.note("a is done");
        });
        once(world, diary, "b", |sys, diary| async move {
            let file = side_car(&sys).await;
            for _ in 0..40 {
                let _ = sys.sleep(10 * ROUND_NS).await;
                if file.try_lock(LockMode::Exclusive).await.is_ok() {
                    diary.note("b won");
                    return;
                }
            }
            diary.note("b starved");
        });
    });
    assert_eq!(naive.passed().notes, ["b starved", "a is done"]);
    for kind in LockKind::ALL {
        for backoff in BackoffPolicy::ALL {
            let config = Config { lock: kind, backoff, lock_timeout_ns: 2 * SECOND, ..Config::default() };
            let ran = play(&plan(1), |world, diary| greedy_and_waiter(world, diary, &config, ROUND_NS)).passed();
            let case = format!("{}, {}", kind.name(), backoff.name());
            let waiter = ran
                .notes
                .iter()
                .find(|note| *note == "b won" || note.starts_with("b gave up"))
                .expect("B comes to an end");
            if waiter == "b won" {
                let rounds = ran.notes.iter().skip_while(|note| *note != "b waits").take_while(|note| *note != "b won");
                let rounds = rounds.filter(|note| *note == "a's round").count();
                // In a queue: whoever had the lock when B joined, and whoever was before it.
                assert!(backoff != BackoffPolicy::FairQueue || rounds <= 2, "{case}: overtaken {rounds} times");
            } else {
                assert_ne!(backoff, BackoffPolicy::FairQueue, "{case}: {waiter}");
                assert_eq!(waiter, "b gave up on a-0 after 2000 ms", "{case}");
            }
        }
    }
}

fn greedy_and_waiter(world: &mut World, diary: &Diary, config: &Config, round_ns: u64) {
    directories(world);
    locker(world, diary, "a", config, move |sys, diary, locks| async move {
        for _ in 0..600 {
            if diary.has("b won") {
                break;
            }
            let Ok(held) = locks.acquire(&sys, lock()).await else { continue };
            diary.note("a's round");
            let _ = sys.sleep(round_ns).await;
            locks.release(&sys, held).await.expect("it is ours");
        }
    });
    locker(world, diary, "b", config, |sys, diary, locks| async move {
        let _ = sys.sleep(50 * MS).await;
        diary.note("b waits");
        match locks.acquire(&sys, lock()).await {
            Ok(held) => {
                diary.note("b won");
                locks.release(&sys, held).await.expect("it is ours");
            }
            Err(LockError::TimedOut { holder: Holder::Process(record), waited_ns, .. }) => {
                diary.note(format!("b gave up on {} after {} ms", record.name, waited_ns / MS));
            }
            Err(error) => panic!("{error}"),
        }
    });
    watch_locks(world);
}

const CROWD: u32 = 50;

/// Contenders that come at one moment to a lock that is held for 2 s, and give up after 1 s.
fn crowd(config: &Config, size: u32) -> Ran {
    // Calls that take no time to speak of: what spreads the crowd is the back-off alone.
    play(&Plan { latency: "flat".into(), ..plan(1) }, |world, diary| {
        directories(world);
        locker(world, diary, "holder", config, |sys, _, locks| async move {
            let held = locks.acquire(&sys, lock()).await.expect("free");
            let _ = sys.sleep(2 * SECOND).await;
            locks.release(&sys, held).await.expect("it is ours");
        });
        for index in 0..size {
            let config = config.clone();
            let policy = seedstorm_sim::kernel::RestartPolicy::Never;
            world.process_with("crowd", index, policy, move |sys| {
                let locks = seedstorm_model::lock::Locks::new(&config);
                async move {
                    let _ = sys.sleep(500 * MS - sys.monotonic_ns()).await;
                    let refused = locks.acquire(&sys, lock()).await.err();
                    assert!(matches!(refused, Some(LockError::TimedOut { .. })), "{refused:?}");
                    seedstorm_sim::Exit::success()
                }
            });
        }
    })
    .passed()
}

/// The most sleepers that wake within one millisecond, of the second wake-up of the wait and later ones.
fn largest_bunch(ran: &Ran) -> usize {
    let mut sleeps: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for step in ran.steps.iter().filter(|step| step.kind == Some(CallKind::Sleep) && step.by.starts_with("crowd")) {
        sleeps.entry(&step.by).or_default().push(step.time_ns);
    }
    // The first sleep is the way to the lock. The last ones end at everybody's deadline.
    let deadline_ns = 1_500 * MS;
    let wakes =
        sleeps.values().flat_map(|wakes| wakes.iter().skip(2)).filter(|wake_ns| **wake_ns < deadline_ns - 20 * MS);
    let mut wakes: Vec<u64> = wakes.copied().collect();
    wakes.sort_unstable();
    let bunch = |from: usize| wakes[from..].iter().take_while(|wake_ns| **wake_ns < wakes[from] + MS).count();
    (0..wakes.len()).map(bunch).max().unwrap_or(0)
}

/// 50 contenders; wake-ups must spread.
#[test]
fn l10_a_crowd_of_waiters_spreads() {
    let config = Config { lock: LockKind::Flock, lock_timeout_ns: SECOND, ..Config::default() };
    let convoy = Config { mutant: Some(Mutant::FixedBackoffConvoy), ..config.clone() };
    assert_eq!(largest_bunch(&crowd(&convoy, CROWD)), CROWD as usize, "all wake at once, each time");
    for backoff in BackoffPolicy::ALL {
        let config = Config { backoff, ..config.clone() };
        let ran = crowd(&config, CROWD);
        let bunch = largest_bunch(&ran);
        assert!((1..=CROWD as usize / 2).contains(&bunch), "{}: {bunch} wake at once", backoff.name());
        // The jitter is each agent's own: who else is there changes nobody's first draw.
        let first_sleep_ns = |ran: &Ran| -> BTreeMap<String, u64> {
            let mut first = BTreeMap::new();
            for step in ran.steps.iter().filter(|step| step.kind == Some(CallKind::Sleep) && step.by != "holder-0") {
                let of = first.entry(step.by.clone()).or_insert_with(Vec::new);
                of.push(step.arguments[0]);
            }
            first.into_iter().filter_map(|(by, sleeps)| Some((by, *sleeps.get(1)?))).collect()
        };
        let (all, fewer) = (first_sleep_ns(&ran), first_sleep_ns(&crowd(&config, CROWD / 2)));
        assert_eq!((all.len(), fewer.len()), (CROWD as usize, CROWD as usize / 2));
        assert!(fewer.iter().all(|(by, sleep_ns)| all.get(by) == Some(sleep_ns)), "{}", backoff.name());
    }
}

/// A locks twice.
#[test]
fn l11_a_second_acquisition_is_refused_at_once() {
    let naive = play(&plan(1), |world, diary| {
        directories(world);
        once(world, diary, "a", |sys, diary| async move {
            let (first, second) = (side_car(&sys).await, side_car(&sys).await);
            first.lock(LockMode::Exclusive).await.expect("free");
            diary.note("locked once");
            second.lock(LockMode::Exclusive).await.expect("never");
            diary.note("locked twice");
        });
    });
    assert_eq!(naive.violated("progress").notes, ["locked once"], "it waits for itself");
    for kind in LockKind::ALL {
        let config = Config { lock: kind, ..Config::default() };
        let ran = play(&plan(1), |world, diary| {
            directories(world);
            locker(world, diary, "a", &config, |sys, diary, locks| async move {
                let held = locks.acquire(&sys, lock()).await.expect("free");
                let since_ns = sys.monotonic_ns();
                let again = locks.acquire(&sys, lock()).await.err();
                assert_eq!(again, Some(LockError::ReEntered { lock: lock() }));
                assert_eq!(sys.monotonic_ns(), since_ns, "without a wait");
                locks.release(&sys, held).await.expect("the first acquisition is as it was");
                let held = locks.acquire(&sys, lock()).await.expect("given back");
                locks.release(&sys, held).await.expect("it is ours");
                diary.note("done");
            });
            watch_locks(world);
        });
        assert_eq!(ran.passed().notes, ["done"], "{}", kind.name());
    }
}
