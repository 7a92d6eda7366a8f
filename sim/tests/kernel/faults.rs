//! Every kind of fault really happens, as its documentation says. When they fire is in `triggers`.

use crate::support::{MILLI_NS, Ran, SECOND_NS, at_call, fault, note, plan, run_plain, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::sys::{File, OpenFlags};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Errno, Exit, Plan, Seed, Sys, World};
use std::future::Future;

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

/// One process that runs `program` once, under faults.
fn run_with<F>(faults: Vec<FaultPlan>, program: impl Fn(Sys) -> F + Copy + Sync + 'static) -> Ran
where
    F: Future<Output = ()> + 'static,
{
    run_world(&Plan { faults, ..plan() }, move |world| {
        world.process_with("a", 0, RestartPolicy::Never, move |sys| async move {
            program(sys).await;
            Exit::success()
        });
    })
    .passed()
}

async fn contents(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let read = file.read_at(&mut bytes, 0).await.expect("read");
    bytes.truncate(read);
    bytes
}

#[test]
fn an_io_error_is_told_once_and_the_call_has_no_effect() {
    let fails =
        |kind, nth| FaultPlan { id: nth as u32 * 10 + kind as u32, ..fault(FaultKind::IoError, at_call(kind, nth)) };
    let faults = vec![
        fails(CallKind::Write, 2),
        fails(CallKind::WriteAt, 1),
        fails(CallKind::Read, 1),
        fails(CallKind::ReadAt, 2),
    ];
    let ran = run_with(faults, |sys| async move {
        let file = sys.open("/f", CREATE).await.expect("open");
        assert_eq!(file.write(b"one").await, Ok(3));
        assert_eq!(file.write(b"lost").await, Err(Errno::Io));
        assert_eq!(file.write(b"two").await, Ok(3), "the cursor stayed where it was");
        assert_eq!(file.write_at(b"lost", 0).await, Err(Errno::Io));
        assert_eq!(contents(&file).await, b"onetwo");
        assert_eq!(file.read_at(&mut [0; 4], 0).await, Err(Errno::Io));
        assert_eq!(contents(&file).await, b"onetwo");
        let reader = sys.open("/f", OpenFlags::READ).await.expect("open");
        let mut bytes = [9; 3];
        assert_eq!(reader.read(&mut bytes).await, Err(Errno::Io));
        assert_eq!(bytes, [9; 3]);
        assert_eq!(reader.read(&mut bytes).await, Ok(3));
        assert_eq!(&bytes, b"one");
    });
    assert_eq!(ran.outcome.observations.faults[&FaultKind::IoError], 4);
}

#[test]
fn a_full_disk_refuses_a_write_and_a_later_one_succeeds() {
    run_with(vec![fault(FaultKind::NoSpace, at_call(CallKind::Write, 1))], |sys| async move {
        let file = sys.open("/f", CREATE).await.expect("open");
        assert_eq!(file.write(b"one").await, Err(Errno::NoSpace));
        assert_eq!(file.stat().await.expect("stat").len_bytes, 0);
        assert_eq!(file.write(b"one").await, Ok(3));
    });
}

#[test]
fn a_capacity_is_a_full_disk_of_its_own() {
    let ran = run_world(&Plan { disk_capacity_bytes: Some(8192), ..plan() }, |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/f", CREATE).await.expect("open");
            assert_eq!(file.write(&[1; 10_000]).await, Ok(8192), "what has room is taken in");
            assert_eq!(file.write(&[1; 10_000]).await, Err(Errno::NoSpace));
            Exit::success()
        });
    });
    ran.passed();
}

#[test]
fn a_short_write_takes_in_a_part_and_says_how_much() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let faults = vec![fault(FaultKind::ShortWrite, at_call(CallKind::Write, 1))];
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                let file = sys.open("/f", CREATE).await.expect("open");
                // One byte can't be short: the fault waits for a write that can.
                assert_eq!(file.write(b"x").await, Ok(1));
                let written = file.write(b"0123456789").await.expect("write");
                assert_eq!(contents(&file).await[1..], b"0123456789"[..written]);
                assert_eq!(file.write(b"0123456789").await, Ok(10), "only one");
                note(&sys, written.to_string()).await;
                Exit::success()
            });
        })
        .passed();
        lengths.insert(ran.notes(0)[0].parse::<usize>().expect("a number"));
    }
    assert!(lengths.iter().all(|len| (1..10).contains(len)) && lengths.len() > 5, "{lengths:?}");
}

/// The bytes that survive: written by `write`, then the power fails at the first yield, and the next boot notes what it finds.
fn survives<F>(
    persistence: Persistence,
    seed: u64,
    faults: Vec<FaultPlan>,
    write: impl Fn(Sys, File) -> F + Copy + Sync + 'static,
) -> Ran
where
    F: Future<Output = ()> + 'static,
{
    let crash = FaultPlan { id: 99, for_ns: MILLI_NS, ..fault(FaultKind::MachineCrash, at_call(CallKind::Yield, 1)) };
    let faults = faults.into_iter().chain([crash]).collect();
    run_world(&Plan { seed: Seed(seed), persistence, faults, ..plan() }, move |world| {
        world.prepare(|sys| async move {
            let file = sys.open("/f", CREATE).await.expect("open");
            file.write_all(&[b'.'; 4096]).await.expect("write");
            file.sync().await.expect("fsync");
            sys.sync_dir("/").await.expect("fsync");
            Exit::success()
        });
        world.process("a", 0, move |sys| async move {
            let file = sys.open("/f", OpenFlags::READ_WRITE).await.expect("open");
            let is_second_boot = sys.stat("/begun").await.is_ok();
            if !is_second_boot {
                sys.open("/begun", CREATE).await.expect("open").sync().await.expect("fsync");
                sys.sync_dir("/").await.expect("fsync");
                write(sys.clone(), file).await;
                sys.yield_now().await;
                sys.sleep(SECOND_NS).await.expect("sleep");
                return Exit::success();
            }
            let bytes = contents(&file).await;
            let sectors: String = bytes.chunks(512).map(|sector| char::from(sector[0])).collect();
            note(&sys, sectors).await;
            Exit::success()
        });
    })
    .passed()
}

#[test]
fn a_failed_sync_is_told_once_and_what_it_should_have_kept_is_never_durable() {
    let mut kept = 0;
    for seed in 0..30 {
        let faults = vec![fault(FaultKind::FailedSync, at_call(CallKind::Sync, 3))];
        let ran = survives(Persistence::Ext4, seed, faults, |_, file| async move {
            file.write_at(&[b'x'; 4096], 0).await.expect("write");
            assert_eq!(file.sync().await, Err(Errno::Io));
            assert_eq!(contents(&file).await, [b'x'; 4096], "the page cache still has it");
            assert_eq!(file.sync().await, Ok(()), "the error is told once: a second fsync finds nothing to do");
        });
        assert_eq!(ran.faults()[0].1, FaultKind::FailedSync);
        kept += u32::from(ran.notes(1)[0] != "........");
    }
    assert_eq!(kept, 0, "the second fsync made nothing durable");
}

#[test]
fn what_a_failed_sync_lost_shows_until_the_page_cache_lets_go_of_it() {
    let mut gone_at = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let faults = vec![fault(FaultKind::FailedSync, at_call(CallKind::Sync, 2))];
        let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                let file = sys.open("/f", CREATE).await.expect("open");
                file.write_at(b"old", 0).await.expect("write");
                file.sync().await.expect("fsync");
                file.write_at(b"new", 0).await.expect("write");
                assert_eq!(file.sync().await, Err(Errno::Io));
                let mut rounds = 0;
                while contents(&file).await == b"new" {
                    rounds += 1;
                    sys.sleep(100 * MILLI_NS).await.expect("sleep");
                }
                assert_eq!(contents(&file).await, b"old");
                note(&sys, rounds.to_string()).await;
                Exit::success()
            });
        })
        .passed();
        gone_at.insert(ran.notes(0)[0].parse::<u32>().expect("a number"));
    }
    assert!(
        gone_at.len() > 5 && gone_at.iter().all(|rounds| *rounds <= 21),
        "within two seconds, at drawn times: {gone_at:?}"
    );
}

#[test]
fn a_lying_sync_says_yes_and_keeps_nothing() {
    let outcomes = |lies: bool| -> Vec<String> {
        let run = |seed| {
            let faults = if lies { vec![fault(FaultKind::LyingSync, at_call(CallKind::Sync, 3))] } else { Vec::new() };
            let ran = survives(Persistence::Ext4, seed, faults, |_, file| async move {
                file.write_at(&[b'x'; 4096], 0).await.expect("write");
                assert_eq!(file.sync().await, Ok(()));
            });
            ran.notes(1)[0].clone()
        };
        (0..30).map(run).collect()
    };
    assert!(outcomes(false).iter().all(|left| left == "xxxxxxxx"), "an honest fsync keeps all");
    let left = outcomes(true);
    assert!(left.iter().any(|left| left == "........"), "{left:?}");
}

#[test]
fn a_torn_write_reaches_the_disk_in_part() {
    for persistence in [Persistence::Strict, Persistence::Ext4, Persistence::Posix] {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let torn = FaultPlan { for_ns: MILLI_NS, ..fault(FaultKind::TornWrite, at_call(CallKind::WriteAt, 1)) };
            let ran = survives(persistence, seed, vec![torn], |_, file| async move {
                file.write_at(&[b'x'; 4096], 0).await.expect("write");
            });
            let fault = ran.index(|record| matches!(record.body, RecordBody::Fault { .. }));
            let crash = ran.index(|record| record.body == RecordBody::MachineCrashed);
            assert_eq!(ran.records[fault].step, ran.records[crash].step, "the power fails inside the write");
            let left = ran.notes(1)[0].clone();
            assert!(left.contains('x') && left.contains('.'), "{persistence:?} seed {seed}: {left}");
            seen.insert(left);
        }
        assert!(seen.len() > 10, "{seen:?}");
    }
}

#[test]
fn a_write_within_one_sector_is_not_torn() {
    let torn = FaultPlan { for_ns: MILLI_NS, ..fault(FaultKind::TornWrite, at_call(CallKind::WriteAt, 1)) };
    let ran = run_with(vec![torn], |sys| async move {
        let file = sys.open("/f", CREATE).await.expect("open");
        assert_eq!(file.write_at(&[1; 512], 512).await, Ok(512));
        assert_eq!(file.write_at(&[1; 12], 500).await, Ok(12));
    });
    assert_eq!(ran.faults(), []);
}

#[test]
fn a_delay_makes_exactly_one_call_slower() {
    let delay = FaultPlan { for_ns: 50 * MILLI_NS, ..fault(FaultKind::Delay, at_call(CallKind::Yield, 3)) };
    let ran = run_with(vec![delay], |sys| async move {
        for _ in 0..6 {
            sys.yield_now().await;
        }
    });
    let took: Vec<u64> = ran
        .of(0)
        .filter_map(|record| match record.body {
            RecordBody::Call { kind: CallKind::Yield, took_ns, .. } => Some(took_ns),
            _ => None,
        })
        .collect();
    assert_eq!(took, [1000, 1000, 50 * MILLI_NS + 1000, 1000, 1000, 1000]);
    assert_eq!(ran.faults(), [(ran.calls(0, CallKind::Yield)[1].0 + 1000, FaultKind::Delay)]);
}

#[test]
fn a_delayed_call_is_counted_once_and_still_hears_of_a_signal() {
    let delay = |kind| FaultPlan { for_ns: 50 * MILLI_NS, ..fault(FaultKind::Delay, at_call(kind, 1)) };
    let second = FaultPlan { id: 2, ..fault(FaultKind::FailedSync, at_call(CallKind::Sync, 2)) };
    run_with(vec![delay(CallKind::Sync), second], |sys| async move {
        let file = sys.open("/f", CREATE).await.expect("open");
        file.write(b"x").await.expect("write");
        assert_eq!(file.sync().await, Ok(()), "the second fsync is not the first once more");
        assert_eq!(file.sync().await, Err(Errno::Io));
    });
    let terminate = FaultPlan { id: 2, for_ns: SECOND_NS, ..fault(FaultKind::Terminate, Trigger::AtNs(10 * MILLI_NS)) };
    let ran = run_with(vec![delay(CallKind::Sleep), terminate], |sys| async move {
        // The signal ends the sleep; that the call then takes longer doesn't change how it ended.
        assert_eq!(sys.sleep(100 * MILLI_NS).await, Err(Errno::Interrupted));
        assert_eq!(sys.monotonic_ns() / MILLI_NS, 60);
    });
    assert_eq!(ran.faults().len(), 2);
}

#[test]
fn a_call_that_has_to_wait_is_counted_once() {
    let kill = FaultPlan { id: 2, ..fault(FaultKind::Kill, at_call(CallKind::Lock, 2)) };
    let ran = run_world(&Plan { faults: vec![kill], strategy: StrategyPlan::Timed, ..plan() }, contended).passed();
    assert_eq!(ran.notes(3), ["locked"], "the first lock waited, and was not taken for the second");
    assert!(
        ran.of(3).filter(|record| matches!(record.body, RecordBody::Blocked { .. })).count() > 1,
        "it tried more than once"
    );
}

/// `a-0` waits for a lock that passes from hand to hand before.
fn contended(world: &mut World) {
    use seedstorm_sim::sys::LockMode;
    for index in 0..3u64 {
        world.process("b", index as u32, move |sys| async move {
            sys.sleep(index * 1000).await.expect("sleep");
            let file = sys.open("/lock", CREATE).await.expect("open");
            file.lock(LockMode::Shared).await.expect("lock");
            sys.sleep((index + 1) * MILLI_NS).await.expect("sleep");
            Exit::success()
        });
    }
    world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
        sys.sleep(MILLI_NS / 2).await.expect("sleep");
        let file = sys.open("/lock", CREATE).await.expect("open");
        file.lock(LockMode::Exclusive).await.expect("lock");
        note(&sys, "locked").await;
        file.unlock().await.expect("unlock");
        Exit::success()
    });
}

#[test]
fn a_fault_that_can_t_happen_is_refused_before_the_run() {
    let refusal = |fault: FaultPlan| {
        run_plain(&Plan { faults: vec![fault], ..plan() }, |world| {
            world.process("a", 0, |_| async { Exit::success() });
        })
        .expect_err("it must be refused")
    };
    let by_nobody = FaultPlan { process: None, ..fault(FaultKind::Kill, Trigger::AtNs(0)) };
    assert!(refusal(by_nobody).contains("`process` is missing"));
    let by_stranger = FaultPlan { process: Some("z-9".into()), ..fault(FaultKind::Kill, Trigger::AtNs(0)) };
    assert!(refusal(by_stranger).contains("fault 1, process: `z-9` is not possible; allowed: a-0"));
    let cannot_hit = refusal(fault(FaultKind::LyingSync, at_call(CallKind::Write, 1)));
    assert!(
        cannot_hit.contains("fault 1 (lying-sync): it can't hit a `pwrite` call")
            || cannot_hit.contains("`write` call"),
        "{cannot_hit}"
    );
    assert!(cannot_hit.contains("allowed: `fsync`"), "{cannot_hit}");
    assert!(refusal(fault(FaultKind::Kill, at_call(CallKind::Boot, 1))).contains("`boot` is a step of the harness"));
    assert!(refusal(fault(FaultKind::Kill, at_call(CallKind::Yield, 0))).contains("the first call is 1"));
}
