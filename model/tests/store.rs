//! The store, by way of agents: the SQLite and board families of the fault catalogue, each row with the planted bug that it is about.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{Done, Work, WorkKind, prepare};
use seedstorm_model::config::{CheckpointMode, Config};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Position, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Outcome, Plan, World};
use std::sync::Arc;
use support::{Diary, MS, SECOND, agent, ask, fault, pass, plan, run_plan, timed};

fn config() -> Config {
    Config { busy_timeout_ns: 5 * MS, autocheckpoint_pages: 5, page_bytes: 1024, ..Config::default() }
}

fn with(mutant: Mutant) -> Config {
    Config { mutant: Some(mutant), ..config() }
}

const TASK: &str = "task";

fn keys() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

/// Adds the preparation: two keys, one task of two items.
fn prepared(world: &mut World, config: &Config) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            prepare(&sys, &config, &keys(), &[TASK.to_owned()], 2).await.expect("nothing goes wrong yet");
            Exit::success()
        }
    });
}

fn board_write() -> WorkKind {
    WorkKind::BoardWrite { keys: keys(), bytes: 20 }
}

fn claim() -> WorkKind {
    WorkKind::TaskClaim { task: TASK.into() }
}

/// Adds a process that looks at the database with SQL of its own, after everybody else.
fn audit(
    world: &mut World,
    config: &Config,
    look: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
) {
    let (path, look) = (config.database(), Arc::new(look));
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

fn first(outcome: &Outcome) -> Option<&str> {
    outcome.violations.first().map(|violation| violation.message.as_str())
}

/// How many seeds fail in words that contain `what`; that none fails otherwise.
fn failing(seeds: u64, what: &str, one: impl Fn(u64) -> Outcome) -> usize {
    let outcomes: Vec<Outcome> = (0..seeds).map(one).collect();
    for (seed, outcome) in outcomes.iter().enumerate() {
        assert!(first(outcome).is_none_or(|message| message.contains(what)), "seed {seed}: {:?}", outcome.violations);
    }
    outcomes.iter().filter(|outcome| !outcome.passed()).count()
}

/// B6: writers of the same keys, in every order that the seeds bring: no write is lost. The values themselves count them.
fn lost_updates(config: &Config, seed: u64) -> Outcome {
    run_plan(&plan(seed), |world| {
        prepared(world, config);
        for index in 0..3 {
            agent(world, index, config, |sys, mut agent, _| async move {
                for number in 1..=4 {
                    assert_eq!(ask(&sys, &mut agent, number, board_write()).await, Done::Acknowledged);
                }
                agent.stop(&sys).await.expect("a working disk");
            });
        }
        audit(world, config, |connection| {
            assert_eq!(number(connection, "SELECT count(*) FROM applied")?, 12);
            assert_eq!(number(connection, "SELECT min(version) FROM session_state")?, 12, "lost: versions");
            assert_eq!(
                number(connection, "SELECT min(CAST(value AS INTEGER)) FROM session_state")?,
                12,
                "lost: values"
            );
            Ok(())
        });
    })
}

#[test]
fn no_write_of_the_board_is_lost() {
    assert_eq!(failing(40, "lost", |seed| lost_updates(&config(), seed)), 0);
    let caught = failing(40, "lost", |seed| lost_updates(&with(Mutant::BoardLostUpdate), seed));
    assert!(caught > 20, "only {caught} of 40");
}

/// S1: writers that begin deferred meet SQLITE_BUSY_SNAPSHOT, which no busy timeout heals.
#[test]
fn writers_begin_immediately() {
    let caught = failing(20, "database is locked", |seed| lost_updates(&with(Mutant::DeferredTransaction), seed));
    assert!(caught > 3, "only {caught} of 20");
}

/// B1, B2: agents that claim one task at once: one wins, and only its token counts.
fn claims(config: &Config, seed: u64) -> Outcome {
    run_plan(&plan(seed), |world| {
        prepared(world, config);
        let winners = Diary::default();
        for index in 0..3 {
            let noted = winners.clone();
            agent(world, index, config, move |sys, mut agent, _| {
                let winners = noted.clone();
                async move {
                    if ask(&sys, &mut agent, 1, claim()).await == Done::Acknowledged {
                        winners.note(sys.name());
                    }
                    // The losers have no token, whatever they believe.
                    let ticked =
                        ask(&sys, &mut agent, 2, WorkKind::TaskCheck { task: TASK.into(), item: u64::from(index) % 2 })
                            .await;
                    assert_eq!(ticked == Done::Acknowledged, winners.notes().contains(&sys.name()));
                    let _ = sys.sleep(100 * SECOND).await;
                    assert_eq!(winners.notes().len(), 1, "two winners");
                }
            });
        }
    })
}

#[test]
fn a_claim_has_one_winner() {
    assert_eq!(failing(40, "two winners", |seed| claims(&config(), seed)), 0);
    let outcomes = (0..40).map(|seed| claims(&with(Mutant::ClaimCheckThenAct), seed));
    let caught = outcomes.filter(|outcome| !outcome.passed()).count();
    assert!(caught > 10, "only {caught} of 40");
}

/// A claim that ran out is taken over, and the late holder's token is refused; one whose holder died is taken over at once.
#[test]
fn claims_of_the_late_and_the_dead_are_taken_over() {
    for (claim_ns, killed) in [(SECOND, false), (3600 * SECOND, true)] {
        let config = Config { claim_ns, ..config() };
        let diary = Diary::default();
        let kill = fault(FaultKind::Terminate, Some("agent-0"), Trigger::AtNs(2 * SECOND), 1);
        let faults = if killed { vec![kill] } else { Vec::new() };
        pass(&Plan { faults, ..timed(1) }, |world| {
            prepared(world, &config);
            let noted = diary.clone();
            agent(world, 0, &config, move |sys, mut agent, _| {
                let diary = noted.clone();
                async move {
                    if diary.count("first claims") == 0 {
                        assert_eq!(ask(&sys, &mut agent, 1, claim()).await, Done::Acknowledged);
                        diary.note("first claims");
                        while sys.monotonic_ns() < 6 * SECOND {
                            let _ = sys.sleep(6 * SECOND).await;
                        }
                        let ticked = ask(&sys, &mut agent, 2, WorkKind::TaskCheck { task: TASK.into(), item: 0 }).await;
                        assert_eq!(ticked, Done::Refused, "the claim has passed to another");
                    }
                }
            });
            let noted = diary.clone();
            agent(world, 1, &config, move |sys, mut agent, _| {
                let diary = noted.clone();
                async move {
                    let _ = sys.sleep(500 * MS).await;
                    assert_eq!(ask(&sys, &mut agent, 1, claim()).await, Done::Refused, "it is held");
                    let _ = sys.sleep(1_502 * MS).await;
                    assert_eq!(ask(&sys, &mut agent, 2, claim()).await, Done::Acknowledged, "late, or dead");
                    let ticked = ask(&sys, &mut agent, 3, WorkKind::TaskCheck { task: TASK.into(), item: 0 }).await;
                    assert_eq!(ticked, Done::Acknowledged);
                    diary.note("second claims");
                }
            });
        });
        diary.expect("second claims");
    }
}

/// A task from claim to completion, over a restart in between: the next life goes on with the claims of the last.
#[test]
fn a_task_is_worked_on_over_a_restart() {
    let config = config();
    let diary = Diary::default();
    let kill = fault(FaultKind::Kill, Some("agent-0"), Trigger::AtNs(SECOND), 0);
    pass(&Plan { faults: vec![kill], ..timed(1) }, |world| {
        prepared(world, &config);
        let noted = diary.clone();
        agent(world, 0, &config, move |sys, mut agent, _| {
            let diary = noted.clone();
            async move {
                diary.note("awake");
                assert_eq!(ask(&sys, &mut agent, 1, claim()).await, Done::Acknowledged);
                assert_eq!(
                    ask(&sys, &mut agent, 2, WorkKind::TaskCheck { task: TASK.into(), item: 0 }).await,
                    Done::Acknowledged
                );
                if diary.count("awake") == 1 {
                    let _ = sys.sleep(5 * SECOND).await;
                }
                assert_eq!(
                    ask(&sys, &mut agent, 3, WorkKind::TaskCheck { task: TASK.into(), item: 0 }).await,
                    Done::Refused
                );
                assert_eq!(
                    ask(&sys, &mut agent, 4, WorkKind::TaskCheck { task: TASK.into(), item: 1 }).await,
                    Done::Acknowledged
                );
                assert_eq!(
                    ask(&sys, &mut agent, 5, WorkKind::TaskLeave { task: TASK.into() }).await,
                    Done::Acknowledged
                );
                assert_eq!(ask(&sys, &mut agent, 6, claim()).await, Done::Refused, "it is done");
                let status = agent.status(&sys).await.expect("a sound database").expect("in reach");
                assert_eq!(status.tasks.get("done"), Some(&1));
                assert_eq!((status.agents[0].incarnation, status.agents[0].status.as_str()), (2, "active"));
                agent.stop(&sys).await.expect("a working disk");
                diary.note("done");
            }
        });
    });
    assert_eq!(diary.notes(), ["awake", "awake", "done"]);
}

/// Adds a process that writes for so long, from 100 ms on, with SQL of its own.
fn holds_the_write_lock(world: &mut World, config: &Config, for_ns: u64) {
    let path = config.database();
    world.process("holder", 0, move |sys| {
        let path = path.clone();
        async move {
            let _ = sys.sleep(100 * MS).await;
            let held = sys.blocking(move |os| {
                let connection = Connection::open(path)?;
                connection.execute_batch("BEGIN IMMEDIATE")?;
                let _ = os.sleep(for_ns);
                connection.execute_batch("COMMIT")
            });
            held.await.expect("nobody else writes yet");
            Exit::success()
        }
    });
}

/// Whoever wants to write waits for as long as the busy timeout says, and no longer, before it is a try that failed; and whoever is answered no without writing
/// anything doesn't wait for those that write.
#[test]
fn the_right_to_write_is_waited_for_where_it_is_needed() {
    const TIMEOUT_NS: u64 = 700 * MS;
    let config = Config { busy_timeout_ns: TIMEOUT_NS, attempts_max: 1, ..config() };
    for (held_ns, expected) in [(TIMEOUT_NS / 2, Done::Acknowledged), (10 * SECOND, Done::Unanswered)] {
        for seed in 0..5 {
            let diary = Diary::default();
            pass(&timed(seed), |world| {
                prepared(world, &config);
                holds_the_write_lock(world, &config, held_ns);
                let noted = diary.clone();
                agent(world, 0, &config, move |sys, mut agent, _| {
                    let diary = noted.clone();
                    async move {
                        let _ = sys.sleep(200 * MS).await;
                        let since_ns = sys.monotonic_ns();
                        let tick = WorkKind::TaskCheck { task: TASK.into(), item: 0 };
                        assert_eq!(ask(&sys, &mut agent, 1, tick).await, Done::Refused, "it has no claim");
                        let leave = WorkKind::TaskLeave { task: TASK.into() };
                        assert_eq!(ask(&sys, &mut agent, 2, leave).await, Done::Refused, "it has no claim");
                        let answered_ns = sys.monotonic_ns() - since_ns;
                        assert!(answered_ns < 10 * MS, "{answered_ns} ns for an answer without a write");
                        let since_ns = sys.monotonic_ns();
                        let note = Work { number: 3, kind: WorkKind::Note { bytes: 20 } };
                        assert_eq!(agent.work(&sys, &note).await.ok(), Some(expected));
                        let waited_ns = sys.monotonic_ns() - since_ns;
                        let least_ns = if expected == Done::Unanswered { TIMEOUT_NS } else { held_ns / 2 };
                        assert!((least_ns..TIMEOUT_NS + 50 * MS).contains(&waited_ns), "waited {waited_ns} ns");
                        diary.note("done");
                    }
                });
            });
            diary.expect("done");
        }
    }
}

/// Who has left a task has no claim on it any more. Asked for the same again it finds that it has left it; asked for another leave it has nothing to leave.
#[test]
fn what_was_done_under_a_claim_is_found_without_it() {
    let config = config();
    let diary = Diary::default();
    let leave = || WorkKind::TaskLeave { task: TASK.into() };
    let tick = |item| WorkKind::TaskCheck { task: TASK.into(), item };
    pass(&timed(3), |world| {
        prepared(world, &config);
        let noted = diary.clone();
        agent(world, 0, &config, move |sys, mut agent, _| {
            let diary = noted.clone();
            async move {
                assert_eq!(ask(&sys, &mut agent, 1, claim()).await, Done::Acknowledged);
                assert_eq!(ask(&sys, &mut agent, 2, tick(0)).await, Done::Acknowledged);
                assert_eq!(ask(&sys, &mut agent, 3, leave()).await, Done::Acknowledged);
                assert_eq!(ask(&sys, &mut agent, 3, leave()).await, Done::Acknowledged, "found");
                assert_eq!(ask(&sys, &mut agent, 2, tick(0)).await, Done::Acknowledged, "found");
                assert_eq!(ask(&sys, &mut agent, 4, leave()).await, Done::Refused);
                assert_eq!(ask(&sys, &mut agent, 5, tick(1)).await, Done::Refused);
                diary.note("done");
            }
        });
    });
    diary.expect("done");
}

/// B5: killed at every call of a note's transaction and asked again: once in the database.
fn note_killed(config: &Config, kill: FaultPlan, seed: u64) -> Outcome {
    run_plan(&Plan { faults: vec![kill], ..timed(seed) }, |world| {
        prepared(world, config);
        agent(world, 0, config, |sys, mut agent, _| async move {
            for number in 1..=2 {
                assert_eq!(ask(&sys, &mut agent, number, WorkKind::Note { bytes: 1500 }).await, Done::Acknowledged);
            }
        });
        audit(world, config, |connection| {
            assert_eq!(number(connection, "SELECT count(DISTINCT number) FROM notes")?, 2, "lost");
            assert_eq!(number(connection, "SELECT count(*) FROM notes")?, 2, "doubled");
            Ok(())
        });
    })
}

fn kills() -> Vec<FaultPlan> {
    let while_in = |position, most| (1..=most).map(move |nth| Trigger::While { position, nth });
    let triggers = while_in(Position::InTransaction, 60).chain(while_in(Position::BetweenEffectAndClaim, 12));
    triggers.map(|when| fault(FaultKind::Kill, Some("agent-0"), when, 0)).collect()
}

#[test]
fn an_operation_takes_effect_once() {
    for kill in kills() {
        assert_eq!(failing(3, "", |seed| note_killed(&config(), kill.clone(), seed)), 0);
    }
    let mutant = with(Mutant::RetryWithoutIdempotence);
    let caught: usize =
        kills().into_iter().map(|kill| failing(3, "doubled", |seed| note_killed(&mutant, kill.clone(), seed))).sum();
    assert!(caught > 3, "only {caught} seeds");
}

/// A failed fsync of the WAL at each commit in turn: the outcome is unknown, is looked for, and is right in the end; also when a crash follows.
#[test]
fn an_unknown_outcome_is_settled() {
    let mut unknown = 0;
    for nth in 1..=8 {
        for crash_ns in [None, Some(SECOND)] {
            let mut faults =
                vec![fault(FaultKind::FailedSync, Some("agent-0"), Trigger::Call { kind: CallKind::Sync, nth }, 0)];
            faults.extend(
                crash_ns
                    .map(|at_ns| FaultPlan { id: 2, ..fault(FaultKind::MachineCrash, None, Trigger::AtNs(at_ns), MS) }),
            );
            let config = config();
            let outcome = pass(&Plan { faults, ..timed(nth) }, |world| {
                prepared(world, &config);
                agent(world, 0, &config, |sys, mut agent, _| async move {
                    for number in 1..=3 {
                        assert_eq!(
                            ask(&sys, &mut agent, number, WorkKind::Note { bytes: 1500 }).await,
                            Done::Acknowledged
                        );
                        assert_eq!(ask(&sys, &mut agent, 10 + number, board_write()).await, Done::Acknowledged);
                    }
                });
                audit(world, &config, |connection| {
                    assert_eq!(number(connection, "SELECT count(*) FROM notes")?, 3);
                    assert_eq!(number(connection, "SELECT min(version) FROM session_state")?, 3);
                    Ok(())
                });
            });
            unknown += outcome.observations.faults.get(&FaultKind::FailedSync).copied().unwrap_or(0);
        }
    }
    assert!(unknown >= 10, "only {unknown} fsyncs failed");
}

/// S8: a failure at each read or write in turn leaves no transaction open: the other agent goes on.
#[test]
fn a_failure_locks_nobody_out() {
    for (failure, call) in [
        (FaultKind::IoError, CallKind::ReadAt),
        (FaultKind::IoError, CallKind::WriteAt),
        (FaultKind::NoSpace, CallKind::WriteAt),
    ] {
        for nth in 1..=12 {
            let failing = fault(failure, Some("agent-0"), Trigger::Call { kind: call, nth }, 0);
            let config = config();
            pass(&Plan { faults: vec![failing], ..timed(nth) }, |world| {
                prepared(world, &config);
                for index in 0..2 {
                    agent(world, index, &config, move |sys, mut agent, _| async move {
                        for number in 1..=3 {
                            assert_eq!(ask(&sys, &mut agent, number, board_write()).await, Done::Acknowledged);
                        }
                    });
                }
            });
        }
    }
}

/// A disk that stays full: refused, not lost, not half done; reading still works.
#[test]
fn a_full_disk_refuses() {
    let config = Config { attempts_max: 3, ..config() };
    let diary = Diary::default();
    pass(&Plan { disk_capacity_bytes: Some(256 << 10), ..timed(1) }, |world| {
        prepared(world, &config);
        let noted = diary.clone();
        agent(world, 0, &config, move |sys, mut agent, _| {
            let diary = noted.clone();
            async move {
                let mut kept = 0;
                for number in 1..=200 {
                    match agent.work(&sys, &Work { number, kind: WorkKind::Note { bytes: 4000 } }).await {
                        Ok(Done::Acknowledged) => kept += 1,
                        Ok(Done::Refused | Done::Unanswered) => {
                            diary.note("refused");
                            break;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                assert_eq!(ask(&sys, &mut agent, 1000, WorkKind::BoardRead { keys: keys() }).await, Done::Acknowledged);
                let status = agent.status(&sys).await.expect("a sound database").expect("in reach");
                assert!(kept > 3 && (kept..=kept + 1).contains(&status.notes), "{kept} kept, {} there", status.notes);
            }
        });
    });
    diary.expect("refused");
}

/// Readers see all keys as they were at one moment, while writers write, and let checkpoints pass in every mode.
#[test]
fn readers_see_one_moment() {
    for checkpoint in CheckpointMode::ALL {
        let config = Config { checkpoint, reader_pause_ns: 5 * MS, ..config() };
        for seed in 0..10 {
            pass(&plan(seed), |world| {
                prepared(world, &config);
                for index in 0..2 {
                    agent(world, index, &config, |sys, mut agent, _| async move {
                        for number in 1..=5 {
                            assert_eq!(ask(&sys, &mut agent, number, board_write()).await, Done::Acknowledged);
                            assert_ne!(
                                ask(&sys, &mut agent, 10 + number, WorkKind::Checkpoint).await,
                                Done::Unanswered
                            );
                        }
                    });
                }
                world.invariant(support::Snapshots);
                agent(world, 2, &config, |sys, mut agent, _| async move {
                    for number in 1..=5 {
                        assert_eq!(
                            ask(&sys, &mut agent, number, WorkKind::BoardRead { keys: keys() }).await,
                            Done::Acknowledged
                        );
                    }
                });
            });
        }
    }
}

/// Documents of three agents, under each kind of lock, with kills and crashes: each operation is in the document once.
#[test]
fn documents_keep_every_operation() {
    for lock in seedstorm_model::lock::LockKind::ALL {
        for seed in 0..12 {
            let config = Config { lock, lease_ns: 200 * MS, ..config() };
            let position = if seed % 2 == 0 { Position::HoldingLock } else { Position::BetweenTempAndRename };
            let when = Trigger::While { position, nth: 1 + seed };
            let kind = if seed % 3 == 0 { FaultKind::MachineCrash } else { FaultKind::Kill };
            let plan = Plan { faults: vec![fault(kind, Some("agent-0"), when, MS)], ..plan(seed) };
            let (revisions, answers) = (Diary::default(), Diary::default());
            pass(&plan, |world| {
                prepared(world, &config);
                for index in 0..3 {
                    let noted = answers.clone();
                    agent(world, index, &config, move |sys, mut agent, _| {
                        let answers = noted.clone();
                        async move {
                            // What was answered is not asked again: a document knows each agent's last operation only.
                            let (yes, any) = (format!("{} yes", sys.name()), sys.name());
                            while answers.count(&yes) < 5 {
                                let number = answers.count(&any) as u64;
                                let save = WorkKind::Document { name: "plan".into(), bytes: 50 };
                                let done = ask(&sys, &mut agent, number, save).await;
                                answers.note(if done == Done::Acknowledged {
                                    yes.clone()
                                } else {
                                    format!("{any} no")
                                });
                            }
                        }
                    });
                }
                world.invariant(support::Revisions::new(revisions.clone()));
                seedstorm_sim::invariant::watch_locks(world);
            });
            assert!(revisions.notes().len() >= 15, "{} saves", revisions.notes().len());
        }
    }
}
