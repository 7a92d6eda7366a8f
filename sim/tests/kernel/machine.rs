//! Machine crashes: every process dies, what was not durable may go, and the next boot is another.

use crate::support::{MILLI_NS, Ran, SECOND_NS, at_call, fault, note, plan, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{CallKind, Ended, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

fn crash(when: Trigger, down_ns: u64) -> FaultPlan {
    let process = if matches!(when, Trigger::AtNs(_)) { None } else { Some("a-0".into()) };
    FaultPlan { for_ns: down_ns, process, ..fault(FaultKind::MachineCrash, when) }
}

#[test]
fn every_process_dies_and_starts_again_on_a_machine_with_another_boot_id() {
    let faults = vec![crash(Trigger::AtNs(10 * MILLI_NS), 5 * MILLI_NS)];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        for index in 0..3 {
            world.process("a", index, |sys| async move {
                sys.sleep(MILLI_NS).await.expect("sleep");
                let started_ns = sys.process_info(sys.pid()).await.expect("query").expect("it lives").started_ns;
                assert_eq!(started_ns, sys.started_ns());
                note(&sys, format!("{} {} {} {started_ns}", sys.boot_id(), sys.pid(), sys.monotonic_ns() / MILLI_NS))
                    .await;
                sys.sleep(20 * MILLI_NS).await.expect("sleep");
                Exit::success()
            });
        }
        world.process_with("never", 0, RestartPolicy::Never, |sys| async move {
            sys.sleep(SECOND_NS).await.expect("sleep");
            Exit::success()
        });
    })
    .passed();
    for id in 0..3 {
        assert_eq!(ran.ends(id)[0], (10 * MILLI_NS, Ended::Crashed));
        assert_eq!(ran.starts(id), [0, 15 * MILLI_NS], "up again after the time it was down, whatever the back-off");
        let notes: Vec<Vec<String>> =
            ran.notes(id).iter().map(|note| note.split(' ').map(str::to_owned).collect()).collect();
        assert_ne!(notes[0][0], notes[1][0], "another boot id");
        assert_eq!(
            (notes[0][1].clone(), notes[1][1].clone()),
            ((101 + id).to_string(), (101 + id).to_string()),
            "PIDs start again"
        );
        assert_eq!((notes[0][2].as_str(), notes[1][2].as_str()), ("1", "1"), "the monotonic clock starts again");
        assert_eq!((notes[0][3].as_str(), notes[1][3].as_str()), ("0", "0"), "so do start times");
    }
    assert_eq!(ran.notes(0)[0].split(' ').next(), ran.notes(1)[0].split(' ').next(), "one machine, one boot id");
    assert_eq!((ran.starts(3).len(), ran.ends(3)), (1, vec![(10 * MILLI_NS, Ended::Crashed)]));
    let order: Vec<usize> = [RecordBody::MachineCrashed, RecordBody::MachineStarted]
        .map(|body| ran.index(|record| record.body == body))
        .into();
    assert!(order[0] < order[1]);
    let down = &ran.records[order[0] + 1..order[1]];
    assert!(down.is_empty(), "nothing happens while the machine is down: {down:?}");
}

/// Writes one file that it syncs, with its directory, and one that it doesn't; then waits to be hit. After the crash it tells what is left.
fn writer(world: &mut World) {
    world.process("a", 0, |sys| async move {
        if let Ok(synced) = sys.stat("/synced").await {
            let unsynced = sys.stat("/unsynced").await.map(|stat| stat.len_bytes);
            let file = sys.open("/synced", OpenFlags::READ).await.expect("open");
            assert_eq!(file.read_to_end().await.expect("read"), vec![7; 1000]);
            note(&sys, format!("{} {unsynced:?}", synced.len_bytes)).await;
            return Exit::success();
        }
        for (path, syncs) in [("/unsynced", false), ("/synced", true)] {
            let file = sys.open(path, CREATE).await.expect("open");
            file.write_all(&[7; 1000]).await.expect("write");
            if syncs {
                file.sync().await.expect("fsync");
            }
            file.lock(LockMode::Exclusive).await.expect("lock");
            std::mem::forget(file);
        }
        sys.sync_dir("/").await.expect("fsync");
        sys.yield_now().await;
        sys.sleep(SECOND_NS).await.expect("sleep");
        Exit::success()
    });
}

#[test]
fn what_was_synced_survives_and_what_was_not_may_go() {
    for persistence in [Persistence::Strict, Persistence::Ext4, Persistence::Posix] {
        let mut left = std::collections::BTreeMap::new();
        for seed in 0..60 {
            let faults = vec![crash(at_call(CallKind::Yield, 1), MILLI_NS)];
            let ran = run_world(&Plan { seed: Seed(seed), persistence, faults, ..plan() }, writer).passed();
            *left.entry(ran.notes(0)[0].clone()).or_insert(0) += 1;
        }
        assert!(left.keys().all(|left| left.starts_with("1000 ")), "{persistence:?}: {left:?}");
        match persistence {
            // An fsync of anything keeps all that was done before.
            Persistence::Strict => assert_eq!(left.keys().collect::<Vec<_>>(), ["1000 Ok(1000)"]),
            _ => assert!(
                left.contains_key("1000 Ok(1000)") && left.contains_key("1000 Ok(0)"),
                "{persistence:?}: {left:?}"
            ),
        }
    }
}

#[test]
fn which_crash_comes_does_not_follow_from_the_side_of_the_call_on_which_it_comes() {
    // The two are drawn from streams of their own: all nine combinations of side and what is left must turn up.
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let faults = vec![crash(at_call(CallKind::Yield, 1), MILLI_NS)];
        let ran = run_world(&Plan { seed: Seed(seed), persistence: Persistence::Posix, faults, ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                if let Ok(stat) = sys.stat("/f").await {
                    note(&sys, stat.len_bytes.to_string()).await;
                    return Exit::success();
                }
                if sys.stat("/started").await.is_ok() {
                    return Exit::success();
                }
                let started = sys.open("/started", CREATE).await.expect("open");
                started.sync().await.expect("fsync");
                sys.sync_dir("/").await.expect("fsync");
                let file = sys.open("/f", CREATE).await.expect("open");
                file.write_all(&[1; 512]).await.expect("write");
                sys.yield_now().await;
                sys.sleep(SECOND_NS).await.expect("sleep");
                Exit::success()
            });
        })
        .passed();
        let is_after = !ran.calls(0, CallKind::Yield).is_empty();
        seen.insert((is_after, ran.notes(0).first().cloned()));
    }
    let all = [None, Some("0".to_owned()), Some("512".to_owned())].map(|left| [(false, left.clone()), (true, left)]);
    assert_eq!(seen, all.into_iter().flatten().collect());
}

fn failing(world: &mut World) {
    let restart = RestartPolicy::OnFailure { first_ns: 40 * MILLI_NS, last_ns: 40 * MILLI_NS };
    world.process_with("a", 0, restart, |sys| async move {
        sys.yield_now().await;
        match sys.wall_ns() < 1_790_000_000 * SECOND_NS + 30 * MILLI_NS {
            true => Exit::failure("not yet"),
            false => Exit::success(),
        }
    });
}

#[test]
fn a_process_that_is_down_when_the_machine_crashes_starts_once_when_it_is_up() {
    let faults = vec![crash(Trigger::AtNs(10 * MILLI_NS), 25 * MILLI_NS)];
    let ran: Ran = run_world(&Plan { faults, ..plan() }, failing).passed();
    assert_eq!(ran.starts(0), [0, 35 * MILLI_NS], "the restart that was due at 40 ms is gone with the crash");
    assert_eq!(ran.ends(0).len(), 2);
}

#[test]
fn faults_aimed_at_what_is_down_never_fire() {
    let at = |id, kind, at_milli: u64| FaultPlan { id, ..fault(kind, Trigger::AtNs(at_milli * MILLI_NS)) };
    let of_machine = |id, kind, at_milli: u64| FaultPlan { process: None, by_ns: 5, ..at(id, kind, at_milli) };
    let faults = vec![
        crash(Trigger::AtNs(10 * MILLI_NS), 10 * MILLI_NS),
        at(2, FaultKind::Kill, 12),
        at(3, FaultKind::Pause, 13),
        at(4, FaultKind::Terminate, 14),
        at(5, FaultKind::PidReuse, 15),
        of_machine(6, FaultKind::MachineCrash, 16),
        of_machine(7, FaultKind::ClockJump, 17),
        at(8, FaultKind::Kill, 25),
    ];
    let ran = run_world(&Plan { faults, ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            for _ in 0..20 {
                sys.sleep(MILLI_NS).await.expect("sleep");
            }
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.faults(), [(10 * MILLI_NS, FaultKind::MachineCrash), (25 * MILLI_NS, FaultKind::Kill)]);
    assert_eq!(ran.outcome.observations.faults.values().sum::<u64>(), 2);
}

#[test]
fn the_calm_brings_power_back_and_starts_every_process() {
    let faults = vec![crash(Trigger::AtNs(900 * MILLI_NS), 100 * SECOND_NS)];
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random] {
        let ran = run_world(&Plan { strategy, faults: faults.clone(), ..plan() }, |world| {
            for index in 0..2 {
                world.process("a", index, |sys| async move {
                    sys.sleep(950 * MILLI_NS).await.expect("sleep");
                    Exit::success()
                });
            }
        })
        .passed();
        for id in 0..2 {
            assert_eq!(ran.starts(id), [0, SECOND_NS]);
        }
    }
}
