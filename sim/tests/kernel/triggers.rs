//! When faults fire: by time, at the n-th call of a kind, in a position. Each fires once, and is an event.

use crate::support::{MILLI_NS, Ran, at_call, fault, note, plan, run_world};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Position, StrategyPlan, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::claim::{Exclusion, LockAcquired, LockReleased};
use seedstorm_sim::trace::{CallKind, Ended, Record, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};

fn while_in(position: Position, nth: u64) -> Trigger {
    Trigger::While { position, nth }
}

fn is_fault(record: &Record) -> bool {
    matches!(record.body, RecordBody::Fault { .. })
}

/// Yields with and without a lock, in turn: thirty of each.
fn locks_and_yields(world: &mut World) {
    world.process("a", 0, |sys| async move {
        for _ in 0..10 {
            for _ in 0..3 {
                sys.yield_now().await;
            }
            sys.claim(&LockAcquired { lock: "l".into(), exclusion: Exclusion::Holder, token: 0 }).await;
            for _ in 0..3 {
                sys.sleep(1000).await.expect("sleep");
            }
            sys.claim(&LockReleased { lock: "l".into() }).await;
        }
        Exit::success()
    });
}

fn delay(when: Trigger) -> FaultPlan {
    FaultPlan { for_ns: MILLI_NS, ..fault(FaultKind::Delay, when) }
}

fn run_one(fault: FaultPlan, populate: impl Fn(&mut World) + Sync) -> Ran {
    let ran = run_world(&Plan { faults: vec![fault], ..plan() }, populate).passed();
    assert_eq!(ran.faults().len(), 1, "it fires once, and is an event");
    assert_eq!(ran.outcome.observations.faults.values().sum::<u64>(), 1);
    ran
}

#[test]
fn at_a_time() {
    let ran = run_one(FaultPlan { for_ns: 1, ..fault(FaultKind::Pause, Trigger::AtNs(12_345)) }, locks_and_yields);
    assert_eq!(ran.faults(), [(12_345, FaultKind::Pause)]);
    // One that needs a call waits for the next.
    let ran = run_one(delay(Trigger::AtNs(12_345)), locks_and_yields);
    let (fired_ns, _) = ran.faults()[0];
    assert!((12_345..13_400).contains(&fired_ns), "{fired_ns}");
}

#[test]
fn at_a_time_for_a_call_that_it_can_hit() {
    let ran = run_one(fault(FaultKind::FailedSync, Trigger::AtNs(5000)), |world| {
        world.process("a", 0, |sys| async move {
            let file = sys.open("/f", OpenFlags::WRITE.create()).await.expect("open");
            for _ in 0..10 {
                file.write(b"x").await.expect("write");
            }
            assert!(file.sync().await.is_err());
            assert!(file.sync().await.is_ok());
            Exit::success()
        });
    });
    assert!(ran.faults()[0].0 > 10_000);
}

#[test]
fn at_the_nth_call_of_a_kind() {
    for nth in [1, 2, 17, 30] {
        let ran = run_one(delay(at_call(CallKind::Yield, nth)), locks_and_yields);
        let before = &ran.records[..ran.index(is_fault)];
        let yields = before
            .iter()
            .filter(|record| matches!(record.body, RecordBody::Call { kind: CallKind::Yield, .. }))
            .count();
        assert_eq!(yields as u64, nth - 1);
    }
    let ran =
        run_world(&Plan { faults: vec![delay(at_call(CallKind::Yield, 31))], ..plan() }, locks_and_yields).passed();
    assert_eq!(ran.faults(), [], "there is no 31st");
}

#[test]
fn calls_are_counted_over_all_boots() {
    let kill = |id, nth| FaultPlan { id, ..fault(FaultKind::Kill, at_call(CallKind::Yield, nth)) };
    let restart = RestartPolicy::OnFailure { first_ns: 1000, last_ns: 1000 };
    let ran = run_world(&Plan { faults: vec![kill(1, 3), kill(2, 5)], ..plan() }, |world| {
        world.process_with("a", 0, restart, |sys| async move {
            for _ in 0..10 {
                sys.yield_now().await;
            }
            Exit::success()
        });
    })
    .passed();
    let ends: Vec<Ended> = ran.ends(0).into_iter().map(|(_, ended)| ended).collect();
    assert_eq!(ends, [Ended::Killed, Ended::Killed, Ended::Exited { code: 0, why: String::new() }]);
    let yields_of = |boot| {
        ran.of(0)
            .filter(|record| {
                record.boot == boot && matches!(record.body, RecordBody::Call { kind: CallKind::Yield, .. })
            })
            .count()
    };
    assert!((2..=3).contains(&yields_of(1)) && (1..=2).contains(&yields_of(2)), "{} {}", yields_of(1), yields_of(2));
    assert_eq!(yields_of(3), 10);
}

#[test]
fn two_faults_at_one_call_fire_one_after_the_other() {
    let second = FaultPlan { id: 2, ..delay(at_call(CallKind::Yield, 3)) };
    let ran = run_world(&Plan { faults: vec![delay(at_call(CallKind::Yield, 3)), second], ..plan() }, locks_and_yields)
        .passed();
    assert_eq!(ran.faults().len(), 2, "neither is lost");
}

#[test]
fn while_it_holds_a_lock() {
    for nth in [1, 2, 4, 5, 9] {
        let ran = run_one(delay(while_in(Position::HoldingLock, nth)), locks_and_yields);
        let at = ran.index(is_fault);
        let kind_of = |record: &Record| match &record.body {
            RecordBody::Claim { kind, .. } => kind.clone(),
            RecordBody::Call { kind, .. } => kind.name().to_owned(),
            _ => String::new(),
        };
        let calls: Vec<String> = ran.of(0).map(kind_of).filter(|kind| !kind.is_empty()).collect();
        let before = ran.records[..at].iter().map(kind_of).filter(|kind| !kind.is_empty()).count();
        // In each hold three sleeps and the claim of the release are made in the position.
        let expected = ["sleep", "sleep", "sleep", "lock-released"][(nth as usize - 1) % 4];
        assert_eq!(calls[before], expected, "call {nth} in the position");
        let holds = calls[..=before].iter().filter(|kind| *kind == "lock-acquired").count();
        assert_eq!(holds as u64, nth.div_ceil(4));
    }
}

fn replaces(world: &mut World) {
    world.process_with("a", 0, RestartPolicy::Never, |sys| async move {
        for round in 0..5 {
            sys.yield_now().await;
            let (temporary, name) = (format!("/f.{round}.tmp"), "/f");
            let file = sys.open(&temporary, OpenFlags::WRITE.create_exclusive()).await.expect("open");
            file.write(format!("content {round}").as_bytes()).await.expect("write");
            file.sync().await.expect("fsync");
            file.close().await.expect("close");
            sys.rename(&temporary, name).await.expect("rename");
            sys.sync_dir("/").await.expect("fsync");
            note(&sys, format!("acknowledged {round}")).await;
        }
        Exit::success()
    });
    world.process("b", 0, |sys| async move {
        sys.sleep(10 * MILLI_NS).await.expect("sleep");
        let names = sys.read_dir("/").await.expect("readdir");
        note(&sys, names.join(" ")).await;
        Exit::success()
    });
}

#[test]
fn between_a_temporary_file_s_creation_and_its_rename() {
    for seed in 0..10 {
        // Write, fsync, close, rename: the sixth is the fsync of the second round.
        for (nth, last) in
            [(1, None), (4, Some(CallKind::Close)), (6, Some(CallKind::Write)), (8, Some(CallKind::Close))]
        {
            let faults = vec![fault(FaultKind::Kill, while_in(Position::BetweenTempAndRename, nth))];
            let ran = run_world(&Plan { seed: Seed(seed), faults, ..plan() }, replaces).passed();
            assert_eq!(ran.faults().len(), 1);
            let last_call = ran.of(0).filter_map(|record| match record.body {
                RecordBody::Call { kind, .. } => Some(kind),
                _ => None,
            });
            assert_eq!(
                last_call.last(),
                Some(last.unwrap_or(CallKind::Open)),
                "call {nth} of the position never took effect"
            );
            assert!(ran.notes(1)[0].contains(".tmp"), "the temporary file is left: {}", ran.notes(1)[0]);
        }
    }
}

#[test]
fn between_an_effect_and_its_claim() {
    for seed in 0..10 {
        let faults = vec![fault(FaultKind::Kill, while_in(Position::BetweenEffectAndClaim, 4))];
        let plan = Plan { seed: Seed(seed), strategy: StrategyPlan::Random, faults, ..plan() };
        let ran = run_world(&plan, replaces).passed();
        // After the rename: open, fsync and close of the directory, then the claim.
        assert_eq!(ran.notes(0), [] as [&str; 0], "the rename happened, and the claim of it did not");
        assert_eq!(ran.calls(0, CallKind::Rename).len(), 1);
        assert_eq!(ran.calls(0, CallKind::Sync).len(), 2);
        assert!(!ran.notes(1)[0].contains(".tmp"));
    }
}
