//! One plan, one run: the trace hash is the same however often and with whatever watching, and differs when a byte differs.

use crate::support::{MILLI_NS, at_call, fault, note, plan, run_plain, run_world};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::sync::Mutex;
use seedstorm_sim::trace::layer::SimulatedTime;
use seedstorm_sim::trace::{CallKind, Event, TraceHash};
use seedstorm_sim::{Draw, Exit, Plan, Seed, View, World};
use std::io;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

/// Looks at everything, and is content.
struct Nosy;

impl Invariant for Nosy {
    fn id(&self) -> &'static str {
        "nosy"
    }

    fn observe(&mut self, _event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        view.cover("seen");
        view.latency("nothing", view.disk().files().count() as u64);
        Ok(())
    }
}

fn world(byte: u8) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for index in 0..3u32 {
            world.process("a", index, move |sys| async move {
                let file = sys.open("/shared", OpenFlags::READ_WRITE.create().append()).await.expect("open");
                let mutex = Mutex::new(&sys, 0);
                let child = {
                    let mutex = mutex.clone();
                    sys.spawn(move |sys| async move {
                        for _ in 0..20 {
                            *mutex.lock().await.expect("lock") += sys.entropy().below(9);
                        }
                    })
                };
                let child = child.await;
                for round in 0..10u64 {
                    let _ = sys.sleep(sys.entropy().below(MILLI_NS)).await;
                    let text = [b'0' + index as u8, if round == 7 && index == 1 { byte } else { b' ' }];
                    let _ = file.write(&text).await;
                    let _ = file.sync().await;
                    drop(mutex.lock().await);
                }
                sys.join(child).await;
                note(&sys, "done").await;
                Exit::success()
            });
        }
        world.invariant(Nosy);
    }
}

fn busy_plan(seed: u64) -> Plan {
    let of =
        |id: u32, kind, call| FaultPlan { id, process: Some(format!("a-{id}")), for_ns: MILLI_NS, ..fault(kind, call) };
    let faults = vec![
        of(0, FaultKind::Kill, at_call(CallKind::Write, 4)),
        of(2, FaultKind::MachineCrash, at_call(CallKind::Sync, 6)),
    ];
    Plan { seed: Seed(seed), strategy: StrategyPlan::Random, latency: "ssd".into(), faults, ..plan() }
}

fn hash_of(seed: u64) -> TraceHash {
    let outcome = run_plain(&busy_plan(seed), world(b' ')).expect("it can be run");
    assert!(outcome.passed(), "{:?}", outcome.violations);
    outcome.trace_hash
}

#[test]
fn the_first_and_the_fiftieth_run_of_a_process_are_equal() {
    let first = hash_of(1);
    let others: Vec<TraceHash> = (2..50).map(hash_of).collect();
    assert_eq!(hash_of(1), first);
    let all: std::collections::BTreeSet<TraceHash> = others.iter().copied().chain([first]).collect();
    assert_eq!(all.len(), 49, "each seed runs in its own way");
}

#[test]
fn runs_on_several_threads_take_turns() {
    let expected: Vec<TraceHash> = (0..8).map(hash_of).collect();
    let found: Vec<TraceHash> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || hash_of(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(found, expected);
}

#[test]
fn a_listener_and_invariants_change_nothing() {
    for seed in 0..5 {
        let expected = hash_of(seed);
        let listened = run_world(&busy_plan(seed), world(b' ')).passed();
        assert_eq!(listened.outcome.trace_hash, expected);
        assert_eq!(listened.outcome.events, listened.records.len() as u64, "the listener is told every event");
        assert!(listened.outcome.observations.coverage["seen"] > 100);
        let settings = seedstorm_sim::Settings { without_invariants: true, ..Default::default() };
        let unchecked = crate::support::run_settings(&busy_plan(seed), settings, world(b' '));
        assert_eq!(unchecked.trace_hash, expected);
        assert!(unchecked.observations.coverage.is_empty());
    }
}

#[test]
#[expect(
    clippy::disallowed_types,
    reason = "the test is that a program which iterates over one does so in the same order in each run"
)]
fn a_program_that_iterates_over_a_hash_map_runs_the_same_each_time() {
    let hash = || {
        let outcome = run_plain(&plan(), |world| {
            world.process("a", 0, |sys| async move {
                let map: std::collections::HashMap<u32, u32> = (0..50).map(|number| (number, number)).collect();
                for key in map.keys() {
                    note(&sys, key.to_string()).await;
                }
                Exit::success()
            });
        });
        outcome.expect("it runs").trace_hash
    };
    let first = hash();
    let others: Vec<TraceHash> = (0..5).map(|_| hash()).collect();
    assert_eq!(others, [first; 5]);
}

/// Where the tracing subscriber of a test writes.
#[derive(Clone, Default)]
struct Written(Arc<StdMutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn tracing_changes_nothing_and_tells_simulated_time_and_process() {
    let expected = hash_of(3);
    let written = Written::default();
    let to = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .event_format(SimulatedTime)
        .with_writer(move || to.clone())
        .finish();
    // A run has a thread of its own, so the subscriber must be every thread's. Other tests of this process are traced meanwhile.
    tracing::subscriber::set_global_default(subscriber).expect("this is the only test that sets one");
    let hash = hash_of(3);
    let text = String::from_utf8(std::mem::take(&mut *written.0.lock().expect("whole"))).expect("UTF-8");
    assert_eq!(hash, expected);
    let line = text
        .lines()
        .find(|line| line.contains("a-1") && line.contains("pwrite") || line.contains("write #"))
        .expect("a write");
    assert!(line.trim_start().starts_with("0.") && line.contains("s a-"), "{line}");
    // What a program says of itself has both, too, with its own spans and fields.
    let talks = run_plain(&plan(), |world| {
        world.process("talker", 0, |sys| async move {
            sys.yield_now().await;
            let span = tracing::info_span!("transfer", id = 3);
            span.in_scope(|| tracing::info!(amount = 7, to = "b", "moved"));
            Exit::success()
        });
    });
    assert!(talks.expect("it runs").passed());
    let text = String::from_utf8(std::mem::take(&mut *written.0.lock().expect("whole"))).expect("UTF-8");
    let line = text.lines().find(|line| line.contains("moved")).expect("its event");
    assert!(line.trim_start().starts_with("0.") && line.contains("s talker-0 "), "{line}");
    assert!(line.ends_with(" INFO transfer{id=3}: moved amount=7 to=\"b\""), "{line}");
}

#[test]
fn one_byte_written_otherwise_changes_the_hash() {
    for seed in 0..5 {
        let plan = Plan { faults: Vec::new(), ..busy_plan(seed) };
        let (first, second) = (run_plain(&plan, world(b'x')), run_plain(&plan, world(b'y')));
        let (first, second) = (first.expect("it runs"), second.expect("it runs"));
        assert_eq!((first.steps, first.events), (second.steps, second.events));
        assert_ne!(first.trace_hash, second.trace_hash);
    }
}

#[test]
fn what_is_left_on_the_disk_is_part_of_the_hash() {
    // Two plans with the same events: they differ in what the crash keeps of a file that nobody looks at again.
    let run = |id: u32| {
        let crash = FaultPlan { id, for_ns: MILLI_NS, ..fault(FaultKind::MachineCrash, at_call(CallKind::Yield, 1)) };
        run_plain(&Plan { faults: vec![crash], latency: "flat".into(), ..plan() }, |world| {
            world.process("a", 0, |sys| async move {
                if sys.boot_id() != 0 && sys.stat("/begun").await.is_ok() {
                    return Exit::success();
                }
                sys.open("/begun", OpenFlags::WRITE.create()).await.expect("open").sync().await.expect("fsync");
                sys.sync_dir("/").await.expect("fsync");
                let file = sys.open("/f", OpenFlags::WRITE.create()).await.expect("open");
                file.write(&[1; 4096]).await.expect("write");
                sys.yield_now().await;
                sys.sleep(MILLI_NS).await.expect("sleep");
                Exit::success()
            });
        })
        .expect("it runs")
    };
    let hashes: std::collections::BTreeSet<TraceHash> = (0..20).map(|id| run(id).trace_hash).collect();
    assert!(hashes.len() > 3, "{hashes:?}");
}
