//! What the store promises of acknowledged commits, and of its WAL: the remaining SQLite rows of the fault catalogue.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{Agent, Done, Work, WorkKind, prepare, wake};
use seedstorm_model::claims::{Checkpointed, Committed};
use seedstorm_model::config::{CheckpointMode, Config};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::trace::{CallKind, Event, Interest};
use seedstorm_sim::{Exit, Plan, Sys, View, World};
use std::future::Future;
use std::rc::Rc;
use support::{Diary, MS, SECOND, fault, pass, timed};

fn keys() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

fn prepared(world: &mut World, config: &Config) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            prepare(&sys, &config, &keys(), &[], 0).await.expect("nothing goes wrong yet");
            Exit::success()
        }
    });
}

/// Adds an agent. Its program is told how often the agent has woken, from 1.
fn agent<F>(world: &mut World, index: u32, config: &Config, program: impl Fn(Sys, Agent, usize) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let (config, program, wakes) = (config.clone(), Rc::new(program), Diary::default());
    world.process("agent", index, move |sys| {
        let (config, program, wakes) = (config.clone(), program.clone(), wakes.clone());
        async move {
            let agent = wake(&sys, &config).await.expect("a working disk");
            wakes.note("awake");
            program(sys, agent, wakes.count("awake")).await;
            Exit::success()
        }
    });
}

async fn ask(sys: &Sys, agent: &mut Agent, number: u64, kind: WorkKind) -> Done {
    agent.work(sys, &Work { number, kind }).await.expect("a working disk")
}

/// Notes acknowledgements and checkpoints in a diary; judges nothing.
struct Ear(Diary);

impl Invariant for Ear {
    fn id(&self) -> &'static str {
        "ear"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if event.claim::<Committed>().is_some() {
            self.0.note("committed");
        }
        if let Some(Checkpointed { was_busy, wal_frames, moved_frames, .. }) = event.claim() {
            self.0.note(if was_busy { "busy" } else { "whole" });
            self.0.note(if moved_frames < wal_frames { "left some" } else { "moved all" });
        }
        Ok(())
    }
}

/// Three notes, then the fault, then a look at the database. Gives how many were acknowledged, and how many are there.
fn notes_after(config: &Config, fault: FaultPlan, seed: u64) -> (usize, usize) {
    let (diary, found) = (Diary::default(), Diary::default());
    pass(&Plan { faults: vec![fault], ..timed(seed) }, |world| {
        prepared(world, config);
        let noted = found.clone();
        agent(world, 0, config, move |sys, mut agent, wakes| {
            let noted = noted.clone();
            async move {
                if wakes == 1 {
                    for number in 1..=3 {
                        ask(&sys, &mut agent, number, WorkKind::Note { bytes: 600 }).await;
                    }
                    let _ = sys.sleep(10 * SECOND).await;
                }
                let path = Config::default().database();
                let count = |connection: &Connection| {
                    connection.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, u32>(0))
                };
                let count = sys.blocking(move |_| count(&Connection::open(path)?)).await.expect("a sound database");
                (0..count).for_each(|_| noted.note("found"));
            }
        });
        world.invariant(Ear(diary.clone()));
    });
    (diary.count("committed"), found.count("found"))
}

/// S6: what was acknowledged survives a kill, and with synchronous=FULL, which is promised, power loss as well. With NORMAL it would not.
#[test]
fn acknowledged_commits_survive_what_was_promised() {
    let normal = Config { mutant: Some(Mutant::SynchronousNormal), ..Config::default() };
    let kill = fault(FaultKind::Kill, Some("agent-0"), Trigger::AtNs(5 * SECOND), 0);
    let crash = fault(FaultKind::MachineCrash, None, Trigger::AtNs(5 * SECOND), 10 * MS);
    let mut lost = 0;
    for seed in 0..10 {
        for config in [&Config::default(), &normal] {
            assert_eq!(notes_after(config, kill.clone(), seed), (3, 3), "a kill loses nothing, seed {seed}");
        }
        assert_eq!(notes_after(&Config::default(), crash.clone(), seed), (3, 3), "nor does power loss, seed {seed}");
        lost += 3 - notes_after(&normal, crash.clone(), seed).1;
    }
    assert!(lost > 0, "with NORMAL power loss takes some back");
}

/// S6, in between: a crash at each write and fsync of three commits loses none that was acknowledged by then.
#[test]
fn no_moment_loses_an_acknowledged_commit() {
    let mut fell = 0;
    for (call, most) in [(CallKind::WriteAt, 40), (CallKind::Sync, 12), (CallKind::SharedLock, 40)] {
        for nth in 1..=most {
            let crash = fault(FaultKind::MachineCrash, Some("agent-0"), Trigger::Call { kind: call, nth }, 10 * MS);
            let (committed, found) = notes_after(&Config::default(), crash, nth);
            assert!(found >= committed, "{call} {nth}: {committed} acknowledged, {found} found");
            fell += usize::from(committed < 3);
        }
    }
    assert!(fell > 20, "only {fell} crashes fell among the commits");
}

/// S2: a long reader keeps the WAL from being moved. A checkpoint says so and says how far it got; once the reader is through, one moves all of it.
#[test]
fn a_long_reader_holds_the_wal_and_is_reported() {
    let config = Config {
        reader_pause_ns: 60 * SECOND,
        checkpoint: CheckpointMode::Truncate,
        autocheckpoint_pages: 0,
        ..Config::default()
    };
    let diary = Diary::default();
    pass(&timed(1), |world| {
        prepared(world, &config);
        agent(world, 0, &config, |sys, mut agent, _| async move {
            assert_eq!(ask(&sys, &mut agent, 1, WorkKind::BoardRead { keys: keys() }).await, Done::Acknowledged);
        });
        agent(world, 1, &config, |sys, mut agent, _| async move {
            let _ = sys.sleep(SECOND).await;
            for number in 1..=200 {
                let written = WorkKind::BoardWrite { keys: keys(), bytes: 500 };
                assert_eq!(ask(&sys, &mut agent, number, written).await, Done::Acknowledged);
            }
            ask(&sys, &mut agent, 201, WorkKind::Checkpoint).await;
            let _ = sys.sleep(70 * SECOND).await;
            ask(&sys, &mut agent, 202, WorkKind::Checkpoint).await;
        });
        world.invariant(Ear(diary.clone()));
    });
    let checkpoints: Vec<String> = diary.notes().into_iter().filter(|note| note != "committed").collect();
    assert_eq!(checkpoints, ["busy", "left some", "whole", "moved all"]);
}
