//! Days: introspection and sleep, killed at each of their calls; what a wake repairs; what a status says of the living, the dead and the sleeping.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{Agent, Done, WorkKind, prepare, wake};
use seedstorm_model::claims::{AgentState, NoteStaged, StatusSeen};
use seedstorm_model::config::Config;
use seedstorm_model::lock::{LockKind, LockName, Locks};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::trace::{CallKind, Event, Interest};
use seedstorm_sim::{Exit, Outcome, Plan, Sys, View, World};
use std::rc::Rc;
use support::{Diary, MS, SECOND, agent, ask, fault, pass, run_plan, timed};

fn config() -> Config {
    Config { keeps_days: true, page_bytes: 1024, autocheckpoint_pages: 20, ..Config::default() }
}

fn with(mutant: Mutant) -> Config {
    Config { mutant: Some(mutant), ..config() }
}

const TASK: &str = "task";

fn prepared(world: &mut World, config: &Config) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            prepare(&sys, &config, &["key".into()], &[TASK.to_owned()], 1).await.expect("nothing goes wrong yet");
            Exit::success()
        }
    });
}

async fn day(sys: &Sys, agent: &mut Agent) {
    ask(sys, agent, 1, WorkKind::TaskClaim { task: TASK.into() }).await;
    assert_eq!(ask(sys, agent, 2, WorkKind::Introspect { notes: 3, bytes: 900 }).await, Done::Acknowledged);
    assert_eq!(ask(sys, agent, 3, WorkKind::Sleep).await, Done::Acknowledged);
}

/// Adds a process that looks at the database, after everybody else.
fn audit(world: &mut World, config: &Config, look: impl Fn(&Connection) -> rusqlite::Result<()> + 'static) {
    let (path, look) = (config.database(), Rc::new(look));
    world.process("audit", 0, move |sys| {
        let (path, look) = (path.clone(), look.clone());
        async move {
            let _ = sys.sleep(200 * SECOND).await;
            sys.blocking(move |_| look(&Connection::open(path)?)).await.expect("a sound database");
            Exit::success()
        }
    });
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// Notes in a diary which notes are claimed as staged, and what statuses say; judges nothing.
struct Ear(Diary);

impl Invariant for Ear {
    fn id(&self) -> &'static str {
        "ear"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(NoteStaged { key, note, .. }) = event.claim() {
            self.0.note(format!("staged {}#{}/{note}", key.agent, key.number));
        }
        for seen in event.claim::<StatusSeen>().into_iter().flat_map(|status| status.agents) {
            self.0.note(format!("{}: {:?}", seen.agent, seen.state));
        }
        Ok(())
    }
}

/// A kill at each call of a kind that a day makes.
fn kills() -> impl Iterator<Item = FaultPlan> {
    let calls = [
        (CallKind::Open, 40),
        (CallKind::Write, 8),
        (CallKind::Sync, 40),
        (CallKind::Rename, 8),
        (CallKind::Unlink, 10),
        (CallKind::Claim, 20),
        (CallKind::SharedLock, 60),
        (CallKind::WriteAt, 60),
        (CallKind::ReadDirectory, 8),
    ];
    let triggers = calls.into_iter().flat_map(|(kind, most)| (1..=most).map(move |nth| Trigger::Call { kind, nth }));
    triggers.map(|when| fault(FaultKind::Kill, Some("agent-0"), when, 0))
}

/// A day that is killed once and asked for again: all notes are in the store once, the task is open, and the agent asleep.
fn day_killed(config: &Config, faults: Vec<FaultPlan>, seed: u64, diary: &Diary) -> Outcome {
    run_plan(&Plan { faults, ..timed(seed) }, |world| {
        prepared(world, config);
        agent(world, 0, config, |sys, mut agent, _| async move { day(&sys, &mut agent).await });
        audit(world, config, |connection| {
            assert_eq!(number(connection, "SELECT count(*) FROM memories WHERE number = 2")?, 3, "notes");
            assert_eq!(number(connection, "SELECT count(*) FROM sleeps WHERE number = 3")?, 1, "asleep");
            assert_eq!(number(connection, "SELECT count(*) FROM tasks WHERE state = 'claimed'")?, 0, "tasks");
            assert_eq!(number(connection, "SELECT count(*) FROM agents WHERE status = 'active'")?, 0, "status");
            Ok(())
        });
        world.invariant(Ear(diary.clone()));
    })
}

#[test]
fn a_day_is_finished_whichever_call_its_agent_is_killed_at() {
    let mut fell = 0;
    for kill in kills() {
        let outcome = day_killed(&config(), vec![kill.clone()], 1, &Diary::default());
        assert!(outcome.passed(), "{kill:?}: {:#?}", outcome.violations);
        fell += outcome.observations.faults.values().sum::<u64>();
    }
    assert!(fell > 120, "only {fell} kills fell");
}

#[test]
fn a_day_survives_power_loss_at_each_of_its_syncs_and_renames() {
    let mut fell = 0;
    let calls = (1..=30).map(|nth| (CallKind::Sync, nth)).chain((1..=8).map(|nth| (CallKind::Rename, nth)));
    for (call, nth) in calls {
        for seed in 0..3 {
            let when = Trigger::Call { kind: call, nth };
            let crash = fault(FaultKind::MachineCrash, Some("agent-0"), when, 10 * MS);
            let outcome = day_killed(&config(), vec![crash], seed, &Diary::default());
            assert!(outcome.passed(), "{call} {nth}, seed {seed}: {:#?}", outcome.violations);
            fell += outcome.observations.faults.values().sum::<u64>();
        }
    }
    assert!(fell > 60, "only {fell} crashes fell");
}

/// The first life introspects and is killed; the second only wakes, and the audit looks. Gives how many notes had been acknowledged, and how many
/// are missing.
fn orphans(config: &Config, nth: u64) -> (usize, usize) {
    let kill = fault(FaultKind::Kill, Some("agent-0"), Trigger::Call { kind: CallKind::Claim, nth }, 0);
    let diary = Diary::default();
    let missing = Diary::default();
    pass(&Plan { faults: vec![kill], ..timed(nth) }, |world| {
        prepared(world, config);
        agent(world, 0, config, |sys, mut agent, wakes| async move {
            if wakes == 1 {
                ask(&sys, &mut agent, 2, WorkKind::Introspect { notes: 3, bytes: 100 }).await;
            }
        });
        let (staged, missed) = (diary.clone(), missing.clone());
        audit(world, config, move |connection| {
            for note in staged.notes() {
                let (_, note) = note.split_once('/').expect("as `Ear` writes it");
                let found: i64 =
                    connection.query_row("SELECT count(*) FROM memories WHERE note = ?1", [note], |row| row.get(0))?;
                if found == 0 {
                    missed.note(note);
                }
            }
            Ok(())
        });
        world.invariant(Ear(diary.clone()));
    });
    (diary.count("staged"), missing.notes().len())
}

#[test]
fn staged_notes_come_into_the_store_though_nobody_asks_again() {
    let mut partial = 0;
    for nth in 1..=12 {
        let (staged, missing) = orphans(&config(), nth);
        assert_eq!(missing, 0, "claim {nth}: of {staged} notes");
        partial += usize::from((1..3).contains(&staged));
    }
    assert!(partial >= 2, "a kill between two notes: {partial}");
    let lost: usize = (1..=12).map(|nth| orphans(&with(Mutant::NoteNeverSealed), nth).1).sum();
    assert!(lost > 0, "without the repair some are lost");
}

#[test]
fn a_half_done_sleep_is_finished_at_the_next_wake() {
    let run = |config: &Config, nth| {
        let when = Trigger::Call { kind: CallKind::Unlink, nth };
        let kill = fault(FaultKind::Kill, Some("agent-0"), when, 0);
        let seals = Diary::default();
        let outcome = run_plan(&Plan { faults: vec![kill], ..timed(nth) }, |world| {
            prepared(world, config);
            let seals = seals.clone();
            agent(world, 0, config, move |sys, mut agent, wakes| {
                let seals = seals.clone();
                async move {
                    if wakes == 1 {
                        day(&sys, &mut agent).await;
                    }
                    for name in sys.read_dir("/swarm/staged").await.expect("it is there") {
                        seals.note(name);
                    }
                }
            });
        });
        assert!(outcome.passed(), "{:#?}", outcome.violations);
        (outcome.observations.faults.values().sum::<u64>(), seals.notes())
    };
    let mut left = 0;
    for nth in 1..=8 {
        assert_eq!(run(&config(), nth).1, Vec::<String>::new(), "unlink {nth}");
        left += run(&with(Mutant::HalfDoneSleepNotResumed), nth).1.len();
    }
    assert!(left > 0, "without the repair a seal stays");
}

#[test]
fn a_status_tells_the_living_the_dead_and_the_sleeping_apart() {
    // Killed while it works; its restart comes after the first status.
    let kill = fault(FaultKind::PidReuse, Some("agent-1"), Trigger::AtNs(300 * MS), 20 * SECOND);
    let diary = Diary::default();
    pass(&Plan { faults: vec![kill], ..timed(1) }, |world| {
        prepared(world, &config());
        agent(world, 0, &config(), |sys, mut agent, _| async move {
            let _ = sys.sleep(200 * MS).await;
            ask(&sys, &mut agent, 1, WorkKind::Status).await;
            let _ = sys.sleep(120 * MS).await;
            ask(&sys, &mut agent, 2, WorkKind::Status).await;
        });
        let late = RestartPolicy::OnFailure { first_ns: 5 * SECOND, last_ns: 5 * SECOND };
        world.process_with("agent", 1, late, |sys| async move {
            let Ok(_agent) = wake(&sys, &config()).await else { return Exit::failure("not awake") };
            let _ = sys.sleep(400 * MS).await;
            Exit::success()
        });
        agent(world, 2, &config(), |sys, mut agent, _| async move { day(&sys, &mut agent).await });
        agent(world, 3, &config(), |sys, mut agent, _| async move {
            agent.stop(&sys).await.expect("a working disk");
        });
        world.invariant(Ear(diary.clone()));
    });
    let (working, dead, stopped) = (AgentState::Working, AgentState::Dead, AgentState::Stopped);
    let expected = |second: AgentState| {
        [(0, working), (1, second), (2, AgentState::Asleep(3)), (3, stopped)]
            .map(|(index, state)| format!("agent-{index}: {state:?}"))
    };
    let seen: Vec<String> = diary.notes().into_iter().filter(|note| note.starts_with("agent-")).collect();
    assert_eq!(seen, [expected(working), expected(dead)].concat());
}

#[test]
fn a_dead_lifes_lock_goes_when_its_agent_wakes_though_nobody_wants_it() {
    let config = Config { lock: LockKind::OwnerFile, ..config() };
    let kill = fault(FaultKind::Kill, Some("agent-0"), Trigger::AtNs(SECOND), 0);
    let diary = Diary::default();
    pass(&Plan { faults: vec![kill], ..timed(1) }, |world| {
        prepared(world, &config);
        let (noted, locks) = (diary.clone(), config.clone());
        agent(world, 0, &config, move |sys, _agent, wakes| {
            let (diary, locks) = (noted.clone(), Locks::new(&locks));
            async move {
                if wakes == 1 {
                    let _held = locks.acquire(&sys, LockName::document("a")).await.expect("it is free");
                    let _ = sys.sleep(10 * SECOND).await;
                }
                let names = sys.read_dir("/swarm/.locks").await.expect("it is there");
                diary.note(format!("left {}", names.iter().filter(|name| name.ends_with(".owner")).count()));
            }
        });
    });
    assert_eq!(diary.notes(), ["left 0"]);
}

/// Power fails while commits are in the WAL only. Gives how many notes the database has after the next wake.
fn after_power_loss(config: &Config) -> i64 {
    let crash = fault(FaultKind::MachineCrash, None, Trigger::AtNs(2 * SECOND), 10 * MS);
    let diary = Diary::default();
    pass(&Plan { faults: vec![crash], ..timed(1) }, |world| {
        prepared(world, config);
        agent(world, 0, config, |sys, mut agent, wakes| async move {
            if wakes == 1 {
                ask(&sys, &mut agent, 1, WorkKind::Note { bytes: 20 }).await;
                let _ = sys.sleep(10 * SECOND).await;
            }
        });
        let noted = diary.clone();
        audit(world, config, move |connection| {
            noted.note(number(connection, "SELECT count(*) FROM notes")?.to_string());
            Ok(())
        });
    });
    diary.notes()[0].parse().expect("a number")
}

#[test]
fn whoever_comes_up_first_keeps_what_is_in_the_wal() {
    assert_eq!(after_power_loss(&config()), 1);
    assert_eq!(after_power_loss(&with(Mutant::WalDeletedOnRecovery)), 0, "the planted bug loses it");
}
