//! Draws are independent: what one process, fault or operation does shifts no draw of another. Shrinking rests on it.

use crate::support::{MILLI_NS, Ran, at_call, fault, note, plan, run_world};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::sync::{Condition, Mutex};
use seedstorm_sim::trace::RecordBody;
use seedstorm_sim::{Draw, Exit, Plan, Sys, World};

/// A process's own doings: files of its own, sleeps of drawn length, entropy, tasks that share a condition.
async fn work(sys: Sys, operations: &[u64]) {
    let directory = format!("/{}", sys.name());
    if sys.mkdir(&directory).await.is_err() {
        note(&sys, "again").await;
    }
    for id in operations {
        sys.begin_operation(*id);
        let drawn = sys.entropy().below(1000);
        note(&sys, format!("operation {id} drew {drawn}")).await;
        let _ = sys.sleep(drawn * 1000).await;
        let file = sys.open(&format!("{directory}/{id}"), OpenFlags::READ_WRITE.create()).await.expect("open");
        let _ = file.write(&drawn.to_le_bytes()).await;
        let _ = file.sync().await;
    }
    let (mutex, condition) = (Mutex::new(&sys, 0), Condition::new(&sys));
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (mutex, condition) = (mutex.clone(), condition.clone());
        let waits = move |_: Sys| async move {
            let guard = mutex.lock().await.expect("lock");
            condition.wait(guard).await.expect("wait");
        };
        tasks.push(sys.spawn(waits).await);
    }
    sys.sleep(MILLI_NS).await.expect("sleep");
    for _ in 0..3 {
        condition.notify_one().await;
    }
    condition.notify_all().await;
    for task in tasks {
        sys.join(task).await;
    }
}

fn world_of(indexes: &'static [u32], operations: &'static [u64]) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for &index in indexes {
            world.process("a", index, move |sys| async move {
                work(sys, operations).await;
                Exit::success()
            });
        }
    }
}

/// What process `id` did and how long each call took; without inodes, descriptors and PIDs, which are the machine's to give, and without time
/// of day.
fn doings(ran: &Ran, id: u32) -> Vec<String> {
    let told = ran.of(id).map(|record| match &record.body {
        RecordBody::Call { kind, data, took_ns, .. } => format!("{kind} {took_ns} {data:?}"),
        RecordBody::Blocked { kind, .. } => format!("{kind} waits"),
        RecordBody::Started { .. } => "started".into(),
        body => format!("{body:?}"),
    });
    told.collect()
}

fn timed() -> Plan {
    Plan { latency: "nvme".into(), strategy: StrategyPlan::Timed, ..plan() }
}

#[test]
fn without_one_process_the_others_do_the_same() {
    let all = run_world(&timed(), world_of(&[0, 1, 2, 3], &[1, 2, 3])).passed();
    let fewer = run_world(&timed(), world_of(&[0, 2, 3], &[1, 2, 3])).passed();
    for (id_in_all, id_in_fewer) in [(0, 0), (2, 1), (3, 2)] {
        assert_eq!(doings(&all, id_in_all), doings(&fewer, id_in_fewer));
    }
    assert_ne!(doings(&all, 0), doings(&all, 1), "each draws for itself");
}

#[test]
fn without_one_fault_the_others_hit_the_same_calls_in_the_same_way() {
    let of = |id: u32, index: u32, kind, call, nth| FaultPlan {
        id,
        process: Some(format!("a-{index}")),
        for_ns: MILLI_NS,
        ..fault(kind, at_call(call, nth))
    };
    use seedstorm_sim::trace::CallKind::{Sync, Write};
    let faults = vec![
        of(1, 1, FaultKind::Kill, Write, 2),
        of(2, 0, FaultKind::ShortWrite, Write, 1),
        of(3, 0, FaultKind::FailedSync, Sync, 2),
        of(4, 2, FaultKind::Kill, Sync, 2),
    ];
    let all = run_world(&Plan { faults: faults.clone(), ..timed() }, world_of(&[0, 1, 2], &[1, 2, 3])).passed();
    let fewer = run_world(&Plan { faults: faults[1..].to_vec(), ..timed() }, world_of(&[0, 1, 2], &[1, 2, 3])).passed();
    for id in [0, 2] {
        assert_eq!(doings(&all, id), doings(&fewer, id));
    }
    assert_ne!(doings(&all, 1), doings(&fewer, 1));
    assert_eq!(all.faults().len(), 4);
}

#[test]
fn without_one_operation_the_others_draw_the_same() {
    let all = run_world(&timed(), world_of(&[0, 1], &[1, 2, 3])).passed();
    let fewer = run_world(&timed(), world_of(&[0, 1], &[1, 3])).passed();
    for id in [0, 1] {
        let (all, fewer) = (all.notes(id), fewer.notes(id));
        assert_eq!([&all[0], &all[2]], [&fewer[0], &fewer[1]]);
    }
    // Latencies too: the third operation's calls take as long as ever.
    let took = |ran: &Ran| doings(ran, 0).into_iter().rev().take(15).collect::<Vec<_>>();
    assert_eq!(took(&all), took(&fewer));
}

#[test]
fn the_boot_counts_only_until_the_first_operation() {
    let kill = fault(FaultKind::Kill, at_call(seedstorm_sim::trace::CallKind::MakeDirectory, 1));
    let undisturbed = run_world(&timed(), world_of(&[0], &[1, 2])).passed();
    let restarted = run_world(&Plan { faults: vec![kill], ..timed() }, world_of(&[0], &[1, 2])).passed();
    assert_eq!(restarted.starts(0).len(), 2);
    let drew = |ran: &Ran| ran.notes(0).into_iter().filter(|note| note.starts_with("operation")).collect::<Vec<_>>();
    assert_eq!(drew(&restarted), drew(&undisturbed));
}
