//! Rows of the fault catalogue, family SQLite: snapshots, checkpoints, what a commit promises, and transactions that are left open.

use crate::agents::{agent, ask, happened};
use crate::script::{
    Diary, MS, Ran, SECOND, fault, follow, once, plan, play, steps, to_the_end, until, until_before, with,
};
use rusqlite::{Connection, ffi};
use seedstorm_model::agent::{Agent, Done, Work, WorkKind, prepare, wake};
use seedstorm_model::config::{CheckpointMode, Config};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Os, Plan, Sys, World};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

const NAIVE: &str = "/swarm/naive.db";
const PROFILES: [Persistence; 3] = [Persistence::Strict, Persistence::Ext4, Persistence::Posix];

fn config() -> Config {
    Config { busy_timeout_ns: 5 * MS, page_bytes: 1024, autocheckpoint_pages: 0, ..Config::default() }
}

fn keys() -> Vec<String> {
    (0..40).map(|number| format!("key-{number}")).collect()
}

fn board_write() -> WorkKind {
    WorkKind::BoardWrite { keys: keys()[..2].to_vec(), bytes: 20 }
}

const NOTE: WorkKind = WorkKind::Note { bytes: 600 };

/// Adds the preparation: keys, a task of two items, and a database by hand with one row.
fn prepared(world: &mut World) {
    world.prepare(|sys| async move {
        prepare(&sys, &config(), &keys(), &["task".to_owned()], 2).await.expect("nothing goes wrong yet");
        let made = sys.blocking(|_| {
            let connection = open_by_hand("FULL")?;
            connection
                .execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE); INSERT INTO t VALUES (1, 0)")
        });
        made.await.expect("nothing goes wrong yet");
        Exit::success()
    });
}

fn open_by_hand(synchronous: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(NAIVE)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

/// Adds process `ROLE-0`, which runs SQL by hand once.
fn by_hand(
    world: &mut World,
    diary: &Diary,
    role: &'static str,
    starts_ns: u64,
    work: impl Fn(&Os, &Connection, &Diary) -> rusqlite::Result<()> + 'static,
) {
    let work = Rc::new(work);
    once(world, diary, role, move |sys, diary| {
        let work = work.clone();
        async move {
            if starts_ns > 0 {
                let _ = sys.sleep(starts_ns).await;
            }
            let done = sys.blocking(move |os| work(os, &open_by_hand("FULL")?, &diary));
            done.await.expect("what may fail is looked at");
        }
    });
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// One number out of the model's database, over a connection of its own.
async fn count(sys: &Sys, sql: &'static str) -> i64 {
    sys.blocking(move |_| number(&Connection::open(config().database())?, sql)).await.expect("a sound database")
}

/// A begins, reads; B commits; A writes.
#[test]
fn s1_a_writer_begins_as_one() {
    let legs = [until("a-0", CallKind::Claim, 1), to_the_end("b-0"), to_the_end("a-0")];
    let naive = follow(&plan(1), &legs, |world, diary| {
        prepared(world);
        by_hand(world, diary, "a", 0, |os, connection, diary| {
            connection.execute_batch("BEGIN DEFERRED")?;
            let read = number(connection, "SELECT n FROM t")?;
            os.claim(&happened("read"));
            let since_ns = os.monotonic_ns();
            let error = connection.execute("UPDATE t SET n = ?1", [read + 1]).expect_err("a stale snapshot");
            let code = error.sqlite_error().expect("SQLite's own").extended_code;
            diary.note(format!(
                "a failed: {}",
                if code == ffi::SQLITE_BUSY_SNAPSHOT { "BUSY_SNAPSHOT" } else { "else" }
            ));
            assert!(os.monotonic_ns() - since_ns < 100 * MS, "the busy timeout of 5 s was not consulted");
            Ok(())
        });
        by_hand(world, diary, "b", 0, |_, connection, diary| {
            connection.execute("UPDATE t SET n = n + 1", [])?;
            diary.note("b committed");
            Ok(())
        });
    });
    assert_eq!(naive.passed().notes, ["b committed", "a failed: BUSY_SNAPSHOT"]);
    // The model, with B at each step of A's transaction.
    let races = |config: &Config| -> Vec<Ran> {
        let race = |count| {
            let legs = [until("a-0", CallKind::Claim, 1), steps("a-0", count), to_the_end("b-0")];
            follow(&plan(1), &legs, |world, diary| {
                prepared(world);
                for role in ["a", "b"] {
                    agent(world, diary, role, config, |sys, diary, mut agent| async move {
                        match agent.work(&sys, &Work { number: 1, kind: board_write() }).await {
                            Ok(done) => diary.note(format!("{}: {done:?}", sys.name())),
                            Err(error) => diary.note(format!("{}: {error}", sys.name())),
                        }
                    });
                }
            })
            .passed()
        };
        (1..=24).map(race).collect()
    };
    let mut orders = std::collections::BTreeSet::new();
    for mut ran in races(&config()) {
        orders.insert(ran.notes.clone());
        ran.notes.sort();
        assert_eq!(ran.notes, ["a-0: Acknowledged", "b-0: Acknowledged"]);
    }
    assert_eq!(orders.len(), 2, "B came before A's transaction, and after it");
    let mutant = Config { mutant: Some(Mutant::DeferredTransaction), ..config() };
    let unhandled =
        races(&mutant).into_iter().filter(|ran| ran.notes.iter().any(|note| note.contains("database is locked")));
    assert!(unhandled.count() > 0, "nobody expects it");
}

/// Commits 200 times, and checkpoints after every tenth; notes whether the last checkpoint before the reader went, and the last of all, moved
/// the whole WAL.
async fn commit_200_times(sys: Sys, diary: Diary, mut agent: Agent) {
    let _ = sys.sleep(50 * MS).await;
    diary.note("b begins");
    for round in 0..20 {
        for commit in 1..=10 {
            assert_eq!(ask(&sys, &mut agent, round * 100 + commit, board_write()).await, Done::Acknowledged);
        }
        assert_eq!(ask(&sys, &mut agent, round * 100 + 99, WorkKind::Checkpoint).await, Done::Acknowledged);
        let _ = sys.sleep(100 * MS).await;
    }
    let len_bytes = sys.stat("/swarm/state.db-wal").await.expect("it is there").len_bytes;
    diary.note(format!("the WAL has {len_bytes} bytes"));
}

/// What B's checkpoints reported: whether each was busy, and what it moved of what.
fn progress(ran: &Ran) -> Vec<(bool, u64, u64)> {
    let words = |note: &str| -> Option<(bool, u64, u64)> {
        let mut parts = note.strip_prefix("checkpoint: ")?.split(' ');
        Some((parts.next()? == "busy", parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    ran.notes.iter().filter_map(|note| words(note)).collect()
}

fn wal_bytes(ran: &Ran) -> u64 {
    let bytes = ran.notes.iter().find_map(|note| note.strip_prefix("the WAL has ")?.strip_suffix(" bytes"));
    bytes.expect("B came to its end").parse().expect("a number")
}

/// A begins, reads; B commits 200 times; checkpoint: busy.
#[test]
fn s2_a_reader_s_age_is_bounded_and_checkpoints_tell_how_far_they_came() {
    let config = Config {
        checkpoint: CheckpointMode::Restart,
        reader_pause_ns: 400 * MS,
        reader_age_ns_max: 300 * MS,
        ..config()
    };
    let naive = play(&plan(1), |world, diary| {
        prepared(world);
        once(world, diary, "a", |sys, _| async move {
            let read = sys.blocking(|os| {
                let connection = Connection::open(Config::default().database())?;
                connection.execute_batch("BEGIN")?;
                number(&connection, "SELECT count(*) FROM session_state")?;
                os.sleep(60 * SECOND).expect("nobody wakes it");
                connection.execute_batch("COMMIT")
            });
            read.await.expect("a sound database");
        });
        agent(world, diary, "b", &config, commit_200_times);
    })
    .passed();
    let reports = progress(&naive);
    assert_eq!(reports.len(), 20);
    assert!(reports.iter().all(|(is_busy, wal, moved)| *is_busy && moved < wal), "{reports:?}");
    assert!(reports.is_sorted_by_key(|(_, wal, _)| *wal) && wal_bytes(&naive) > 400_000, "{} bytes", wal_bytes(&naive));
    let ran = play(&plan(1), |world, diary| {
        prepared(world);
        agent(world, diary, "a", &config, |sys, diary, mut agent| async move {
            let since_ns = sys.monotonic_ns();
            assert_eq!(ask(&sys, &mut agent, 1, WorkKind::BoardRead { keys: keys() }).await, Done::Acknowledged);
            diary.note(format!("a read for {} ms", (sys.monotonic_ns() - since_ns) / MS));
        });
        agent(world, diary, "b", &config, commit_200_times);
    })
    .passed();
    let reports = progress(&ran);
    assert!(reports.first().is_some_and(|(is_busy, ..)| *is_busy), "the reader was there: {reports:?}");
    assert!(reports.last().is_some_and(|(is_busy, wal, moved)| !is_busy && wal == moved), "{reports:?}");
    assert!(wal_bytes(&ran) * 3 < wal_bytes(&naive), "{} of {} bytes", wal_bytes(&ran), wal_bytes(&naive));
}

/// The same row, for a reader that is stopped: its snapshot is given up as soon as it goes on, and read anew.
#[test]
fn s2_a_stopped_reader_gives_its_snapshot_up() {
    let config = Config { reader_pause_ns: 20 * MS, reader_age_ns_max: 2 * SECOND, ..config() };
    let paused = fault(FaultKind::Pause, Some("a-0"), Trigger::AtNs(200 * MS), 5 * SECOND);
    let ran = play(&with([paused], 1), |world, diary| {
        prepared(world);
        agent(world, diary, "a", &config, |sys, diary, mut agent| async move {
            assert_eq!(ask(&sys, &mut agent, 1, WorkKind::BoardRead { keys: keys() }).await, Done::Acknowledged);
            diary.note(format!("a has read, {} ms after the boot", sys.monotonic_ns() / MS));
        });
        agent(world, diary, "b", &config, |sys, diary, mut agent| async move {
            let _ = sys.sleep(SECOND).await;
            let write = WorkKind::BoardWrite { keys: keys(), bytes: 20 };
            assert_eq!(ask(&sys, &mut agent, 1, write).await, Done::Acknowledged);
            diary.note("b wrote");
        });
    })
    .passed();
    assert_eq!(ran.fired(FaultKind::Pause), 1);
    let notes: Vec<&str> = ran.notes.iter().map(String::as_str).collect();
    assert!(
        notes.contains(&"a-0 read version 1 throughout") && !notes.contains(&"a-0 read version 0 throughout"),
        "{notes:?}"
    );
}

/// The checkpoint sequence number of the model's WAL (sqlite.org/fileformat2.html#walformat): one more at each reset.
async fn wal_sequence(sys: &Sys) -> u32 {
    let wal = sys.open("/swarm/state.db-wal", OpenFlags::READ).await.expect("it is there");
    let mut header = [0; 16];
    assert_eq!(wal.read_at(&mut header, 0).await, Ok(16));
    u32::from_be_bytes([header[12], header[13], header[14], header[15]])
}

/// The first SQLite without the WAL-reset bug (sqlite.org/wal.html#walresetbug).
const WAL_RESET_FIXED: i32 = 3_051_003;

/// A checkpoints, and has copied the header of the WAL's index; everything is in the database already, so B's commit resets the WAL; A goes on.
///
/// The model can't do anything about it but bring an SQLite that is sound: 3.51.3 or later. With an older one this schedule must go wrong.
#[test]
fn s3_a_checkpoint_beside_a_reset_of_the_wal_loses_nothing() {
    let legs = [
        until("a-0", CallKind::Claim, 2),
        until("b-0", CallKind::Claim, 14),
        until_before("a-0", CallKind::Unfetch, 1),
        until("b-0", CallKind::Claim, 2),
        until("a-0", CallKind::Claim, 1),
        to_the_end("b-0"),
        to_the_end("a-0"),
    ];
    let ran = follow(&plan(1), &legs, |world, diary| {
        prepared(world);
        agent(world, diary, "a", &config(), |sys, _, mut agent| async move {
            assert_eq!(
                ask(&sys, &mut agent, 1, WorkKind::BoardRead { keys: keys()[..1].to_vec() }).await,
                Done::Acknowledged
            );
            assert_eq!(ask(&sys, &mut agent, 2, WorkKind::Checkpoint).await, Done::Acknowledged);
            let _ = sys.sleep(10 * SECOND).await;
        });
        agent(world, diary, "b", &config(), |sys, diary, mut agent| async move {
            for note in 1..=6 {
                assert_eq!(ask(&sys, &mut agent, note, NOTE).await, Done::Acknowledged);
            }
            assert_eq!(ask(&sys, &mut agent, 10, WorkKind::Checkpoint).await, Done::Acknowledged);
            let before = wal_sequence(&sys).await;
            assert_eq!(ask(&sys, &mut agent, 11, NOTE).await, Done::Acknowledged);
            diary.note(format!("b has reset the WAL: {}", wal_sequence(&sys).await == before + 1));
            for note in 12..=16 {
                let _ = agent.work(&sys, &Work { number: note, kind: NOTE }).await;
                let _ = agent.work(&sys, &Work { number: note + 10, kind: WorkKind::Checkpoint }).await;
            }
        });
        once(world, diary, "c", |sys, diary| async move {
            let _ = sys.sleep(60 * SECOND).await;
            let looked = sys.blocking(|_| -> rusqlite::Result<(String, i64, i64)> {
                let connection = Connection::open(config().database())?;
                let sound = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
                let applied = number(&connection, "SELECT count(*) FROM applied WHERE agent = 'b-0'")?;
                Ok((sound, number(&connection, "SELECT count(*) FROM notes")?, applied))
            });
            diary.note(format!("c finds {:?}", looked.await));
        });
    });
    assert!(ran.has("b has reset the WAL: true"), "the schedule was reached: {:?}", ran.notes);
    let is_sound = ran.has("c finds Ok((\"ok\", 12, 12))");
    assert_eq!(is_sound, rusqlite::version_number() >= WAL_RESET_FIXED, "{}: {:?}", rusqlite::version(), ran.notes);
}

/// A process that commits and acknowledges; then it is killed or the power fails; its next life counts. Gives the notes.
fn commit_then<F>(
    end: FaultKind,
    seed: u64,
    persistence: Persistence,
    commit: impl Fn(Sys) -> F + Clone + Send + Sync + 'static,
    rows: impl AsyncFn(&Sys) -> i64 + Clone + Send + Sync + 'static,
) -> i64
where
    F: Future<Output = ()> + 'static,
{
    let process = (end == FaultKind::Kill).then_some("a-0");
    let end = fault(end, process, Trigger::AtNs(5 * SECOND), 10 * MS);
    let ran = play(&Plan { persistence, ..with([end], seed) }, move |world, diary| {
        prepared(world);
        let (noted, commit, rows) = (diary.clone(), commit.clone(), rows.clone());
        world.process("a", 0, move |sys| {
            let (diary, commit, rows) = (noted.clone(), commit.clone(), rows.clone());
            async move {
                if diary.has("acknowledged") {
                    diary.note(rows(&sys).await.to_string());
                } else {
                    commit(sys.clone()).await;
                    diary.note("acknowledged");
                    let _ = sys.sleep(30 * SECOND).await;
                }
                Exit::success()
            }
        });
    })
    .passed();
    let last = ran.notes.last().and_then(|note| note.parse().ok());
    last.unwrap_or_else(|| panic!("no next life counted: {:?}", ran.notes))
}

/// Commit, acknowledge, kill: kept; power loss: kept too, since the model says FULL.
#[test]
fn s6_what_was_acknowledged_outlasts_a_kill_and_a_power_loss() {
    // By hand with NORMAL, the connection left open: no close checkpoints the WAL.
    let naive = |sys: Sys| async move {
        let done = sys.blocking(|_| -> rusqlite::Result<Connection> {
            let connection = open_by_hand("NORMAL")?;
            connection.execute("INSERT INTO t VALUES (2, 2)", [])?;
            Ok(connection)
        });
        std::mem::forget(done.await.expect("nobody else is there"));
    };
    let naive_rows = async |sys: &Sys| {
        sys.blocking(|_| number(&open_by_hand("NORMAL")?, "SELECT count(*) FROM t")).await.expect("a sound database")
    };
    let model = |sys: Sys| async move {
        let mut agent = wake(&sys, &config()).await.expect("nothing is in the way");
        assert_eq!(ask(&sys, &mut agent, 1, NOTE).await, Done::Acknowledged);
        std::mem::forget(agent);
    };
    let model_rows = async |sys: &Sys| count(sys, "SELECT count(*) FROM notes").await;
    let mut lost = 0;
    for seed in 0..12 {
        for persistence in PROFILES {
            assert_eq!(commit_then(FaultKind::Kill, seed, persistence, naive, naive_rows), 2, "a kill loses nothing");
            lost += 2 - commit_then(FaultKind::MachineCrash, seed, persistence, naive, naive_rows);
            for end in [FaultKind::Kill, FaultKind::MachineCrash] {
                assert_eq!(commit_then(end, seed, persistence, model, model_rows), 1, "seed {seed}");
            }
        }
    }
    assert!(lost > 12, "NORMAL lost the commit in {lost} of 36 power losses only");
}

/// The same row: a kill at the acknowledgement itself.
#[test]
fn s6_an_acknowledgement_comes_after_its_commit() {
    let run = |seed, mutant| {
        // The first claim says that the operation has begun; the second is the acknowledgement.
        let killed = fault(FaultKind::Kill, Some("a-0"), Trigger::Call { kind: CallKind::Claim, nth: 2 }, 0);
        let ran = play(&with([killed], seed), |world, diary| {
            prepared(world);
            let noted = diary.clone();
            world.process("a", 0, move |sys| {
                let diary = noted.clone();
                async move {
                    if diary.has("first life") {
                        diary.note(format!("{} there", count(&sys, "SELECT count(*) FROM notes").await));
                    } else {
                        diary.note("first life");
                        let config = Config { mutant, ..config() };
                        let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
                        // What a killed process still does within the step of its death is void.
                        let _ = ask(&sys, &mut agent, 1, NOTE).await;
                        let _ = sys.sleep(SECOND).await;
                        diary.note("survived");
                    }
                    Exit::success()
                }
            });
        })
        .passed();
        assert!(!ran.has("survived"));
        (ran.acknowledged, ran.has("1 there"))
    };
    let model: Vec<(u64, bool)> = (0..12).map(|seed| run(seed, None)).collect();
    assert!(model.iter().all(|(_, is_there)| *is_there), "{model:?}");
    assert!(model.iter().any(|(acknowledged, _)| *acknowledged == 1), "the kill came after the claim at times");
    let mut mutant = (0..12).map(|seed| run(seed, Some(Mutant::AcknowledgedBeforeCommit)));
    assert!(mutant.any(|lost| lost == (1, false)), "acknowledged, and not there");
}

/// A begins, fails; B writes.
#[test]
fn s8_a_failure_leaves_no_transaction_open() {
    let naive = play(&plan(1), |world, diary| {
        prepared(world);
        by_hand(world, diary, "a", 0, |os, connection, diary| {
            let change = || {
                connection.execute_batch("BEGIN IMMEDIATE")?;
                // A row with that key is there: the error leaves by the `?`, and the transaction stays.
                connection.execute("INSERT INTO t VALUES (1, 1)", [])?;
                connection.execute_batch("COMMIT")
            };
            diary.note(if change().is_err() { "a failed" } else { "a committed" });
            os.sleep(60 * SECOND).expect("nobody wakes it");
            Ok(())
        });
        by_hand(world, diary, "b", SECOND, |_, connection, diary| {
            let error = connection.execute("UPDATE t SET n = 5", []).expect_err("A's transaction is open");
            let code = error.sqlite_error().expect("SQLite's own").code;
            diary.note(format!("b failed after 5 s: {code:?}"));
            Ok(())
        });
    });
    assert_eq!(naive.passed().notes, ["a failed", "b failed after 5 s: DatabaseBusy"]);
    let io_errors = (1..=12).flat_map(|nth| {
        let hit = |kind, call| fault(kind, Some("a-0"), Trigger::Call { kind: call, nth }, 0);
        [
            hit(FaultKind::IoError, CallKind::ReadAt),
            hit(FaultKind::IoError, CallKind::WriteAt),
            hit(FaultKind::NoSpace, CallKind::WriteAt),
        ]
    });
    // Without a fault: A's tick of a task that it doesn't hold ends inside a transaction, too.
    for failing in std::iter::once(None).chain(io_errors.map(Some)) {
        let config = Config { attempts_max: 1, ..config() };
        let ran = play(&with(Vec::from_iter(failing.clone()), 1), |world, diary| {
            prepared(world);
            let a_config = config.clone();
            let noted = diary.clone();
            world.process_with("a", 0, RestartPolicy::Never, move |sys| {
                let (config, diary) = (a_config.clone(), noted.clone());
                async move {
                    let mut agent = wake(&sys, &config).await.expect("it tries again");
                    let tick = WorkKind::TaskCheck { task: "task".into(), item: 0 };
                    for (number, kind) in [(1, tick), (2, board_write()), (3, NOTE)] {
                        agent.work(&sys, &Work { number, kind }).await.expect("an answer");
                    }
                    diary.note("a is idle");
                    let _ = sys.sleep(60 * SECOND).await;
                    Exit::success()
                }
            });
            agent(world, diary, "b", &config, |sys, diary, mut agent| async move {
                let _ = sys.sleep(20 * SECOND).await;
                assert!(diary.has("a is idle"));
                let done = agent.work(&sys, &Work { number: 1, kind: board_write() }).await;
                diary.note(format!("b: {:?}", done.ok()));
            });
        })
        .passed();
        // What became of A's operations depends on the fault.
        let notes: Vec<&str> = ran.notes.iter().map(String::as_str).filter(|note| !note.starts_with("a-0 ")).collect();
        assert_eq!(notes, ["a is idle", "b: Some(Acknowledged)"], "{failing:?}");
    }
}
