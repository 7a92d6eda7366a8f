//! SQLite's locks on the simulated disk: several connections in a process, several processes, the POSIX close rule, and who is seen to hold what.

mod sqlite_support;

use rusqlite::{Connection, ErrorCode};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::StrategyPlan;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Exit, Os, Plan, View, World};
use sqlite_support::writers::{Kept, Use, add, rows};
use sqlite_support::{Said, listen, number, open, open_wal, pass, plan, run_plan};
use std::time::Duration;

/// In the order of due times, so that sleeps say who comes first.
fn timed(seed: u64) -> Plan {
    Plan { strategy: StrategyPlan::Timed, ..plan(seed) }
}

fn is_busy<T>(result: rusqlite::Result<T>) -> bool {
    matches!(result, Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == ErrorCode::DatabaseBusy)
}

fn impatient(path: &str) -> Connection {
    let db = open(path).expect("it opens");
    db.busy_timeout(Duration::ZERO).expect("it takes a timeout");
    db
}

fn create(world: &mut World, journal: &'static str) {
    world.prepare(move |sys| async move {
        sys.blocking(move |_| {
            let db = open("/db").expect("it opens");
            db.pragma_update(None, "journal_mode", journal).expect("it has a journal mode");
            db.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1)").expect("it is made");
        })
        .await;
        Exit::success()
    });
}

#[test]
fn connections_of_one_process_exclude_each_other() {
    for journal in ["WAL", "DELETE"] {
        pass(&plan(1), |_, world| {
            create(world, journal);
            world.process("twin", 0, |sys| async move {
                sys.blocking(|_| {
                    let (first, second) = (impatient("/db"), impatient("/db"));
                    first.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").expect("nobody else writes");
                    assert!(is_busy(second.execute_batch("BEGIN IMMEDIATE")));
                    assert_eq!(number(&second, "SELECT count(*) FROM t"), Ok(1), "a reader sees the state before");
                    first.execute_batch("COMMIT").expect("no reader is left");
                    second
                        .execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(3); COMMIT")
                        .expect("the first is done");
                    assert_eq!(number(&first, "SELECT count(*) FROM t"), Ok(3));
                })
                .await;
                Exit::success()
            });
        });
    }
}

#[test]
fn tasks_and_processes_with_connections_of_their_own_contend() {
    for seed in 0..20 {
        pass(&plan(seed), |_, world| {
            create(world, "WAL");
            for index in 0..2 {
                world.process("twin", index, |sys| async move {
                    let work = |_: &Os| {
                        let db = open_wal("/db").expect("it opens");
                        for _ in 0..6 {
                            db.execute_batch("BEGIN IMMEDIATE; UPDATE t SET x = x + 1; COMMIT")
                                .expect("it waits its turn");
                        }
                    };
                    let other = sys.spawn(move |sys| async move { sys.blocking(work).await }).await;
                    sys.blocking(work).await;
                    sys.join(other).await;
                    Exit::success()
                });
            }
            world.invariant(Sum(25));
        });
    }
}

/// At the end the sum is this.
struct Sum(i64);

impl Invariant for Sum {
    fn id(&self) -> &'static str {
        "sum"
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let sum = seedstorm_sim::sqlite::inspect(view.disk(), || {
            number(&open("/db").expect("it opens"), "SELECT sum(x) FROM t")
        });
        if sum == Ok(self.0) { Ok(()) } else { Err(Violation::new("sum", format!("{sum:?} instead of {}", self.0))) }
    }
}

/// One process writes and closes something in the middle; another looks whether it is held off meanwhile.
fn held_off_while(closes: fn(&Os)) -> bool {
    let (outcome, heard) = listen(&timed(1), move |_, world| {
        create(world, "DELETE");
        world.process("holder", 0, move |sys| async move {
            sys.blocking(move |os| {
                let db = impatient("/db");
                db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").expect("nobody else writes");
                closes(os);
                os.sleep(100_000_000).expect("nobody ends it");
                let _ = db.execute_batch("COMMIT");
            })
            .await;
            Exit::success()
        });
        world.process("other", 0, |sys| async move {
            sys.blocking(|os| {
                os.sleep(50_000_000).expect("nobody ends it");
                let is_held_off = is_busy(impatient("/db").execute_batch("BEGIN IMMEDIATE"));
                os.claim(&Said(is_held_off.to_string()));
            })
            .await;
            Exit::success()
        });
    });
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    heard[0].1 == "true"
}

#[test]
fn closing_one_connection_keeps_the_locks_of_another() {
    assert!(held_off_while(|_| {}));
    assert!(held_off_while(|_| {
        let second = impatient("/db");
        assert_eq!(number(&second, "SELECT count(*) FROM t"), Ok(1));
        drop(second);
    }));
    // Twice: the second one takes over the descriptor that the first left open.
    assert!(held_off_while(|_| {
        for _ in 0..2 {
            assert_eq!(number(&impatient("/db"), "SELECT count(*) FROM t"), Ok(1));
        }
    }));
}

#[test]
fn a_program_that_closes_the_database_file_itself_breaks_its_locks() {
    // sqlite.org/howtocorrupt.html, 2.2: "Posix advisory locks canceled by a separate thread doing close()".
    assert!(!held_off_while(|os| os.open("/db", OpenFlags::READ).expect("it is there").close().expect("it is open")));
}

#[test]
fn a_reader_of_the_same_process_holds_off_what_needs_the_file_for_itself() {
    pass(&plan(1), |_, world| {
        create(world, "DELETE");
        world.process("twin", 0, |sys| async move {
            sys.blocking(|_| {
                let (writer, reader) = (impatient("/db"), impatient("/db"));
                reader.execute_batch("BEGIN; SELECT * FROM t").expect("it reads");
                writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").expect("a reader doesn't mind");
                assert!(is_busy(writer.execute_batch("COMMIT")), "the reader's snapshot is still in the file");
                assert!(is_busy(impatient("/db").query_row("SELECT x FROM t", [], |_| Ok(()))), "nobody new comes in");
                reader.execute_batch("COMMIT").expect("it is done");
                writer.execute_batch("COMMIT").expect("no reader is left");
                assert_eq!(number(&reader, "SELECT count(*) FROM t"), Ok(2));
            })
            .await;
            Exit::success()
        });
    });
}

/// Whenever something is said, the speaker has so many descriptors open at most.
struct FewDescriptors(usize);

impl Invariant for FewDescriptors {
    fn id(&self) -> &'static str {
        "few-descriptors"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let owner = event.process.map(|process| view.process(process).owner);
        let open = owner.map_or(0, |owner| view.disk().open_fds(owner).len());
        if open <= self.0 { Ok(()) } else { Err(Violation::new("few-descriptors", format!("{open} are open"))) }
    }
}

#[test]
fn descriptors_kept_for_locks_serve_again_and_are_closed_with_the_locks() {
    pass(&plan(1), |_, world| {
        create(world, "DELETE");
        world.process("opener", 0, |sys| async move {
            sys.blocking(|os| {
                let holder = impatient("/db");
                holder.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
                // More than there may be descriptors.
                for _ in 0..1_100 {
                    drop(impatient("/db"));
                }
                let many: Vec<Connection> = (0..50).map(|_| impatient("/db")).collect();
                drop(many);
                holder.execute_batch("COMMIT").expect("nobody reads");
                os.claim(&Said("released".into()));
            })
            .await;
            Exit::success()
        });
        world.invariant(FewDescriptors(2));
    });
}

#[test]
fn the_busy_timeout_is_simulated_time() {
    let (outcome, heard) = listen(&timed(3), |_, world| {
        create(world, "WAL");
        world.process("holder", 0, |sys| async move {
            sys.blocking(|os| {
                let db = open_wal("/db").expect("it opens");
                db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").expect("nobody else writes");
                os.sleep(3_000_000_000).expect("nobody ends it");
                db.execute_batch("COMMIT").expect("it commits");
            })
            .await;
            Exit::success()
        });
        for (index, timeout_ms) in [(0, 1_000), (1, 5_000)] {
            world.process("waiter", index, move |sys| async move {
                sys.blocking(move |os| {
                    os.sleep(100_000_000).expect("nobody ends it");
                    let db = open("/db").expect("it opens");
                    db.busy_timeout(Duration::from_millis(timeout_ms)).expect("it takes a timeout");
                    let start_ns = os.monotonic_ns();
                    let result = db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(3); COMMIT");
                    let waited_ms = (os.monotonic_ns() - start_ns) / 1_000_000;
                    os.claim(&Said(format!("{} {}", waited_ms / 100, is_busy(result))));
                })
                .await;
                Exit::success()
            });
        }
    });
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    assert_eq!(heard[0], ("waiter-0".into(), "10 true".into()), "it gives up after a second");
    let (who, text) = &heard[1];
    let waited: u64 = text.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
    assert!(who == "waiter-1" && (28..=31).contains(&waited) && text.ends_with("false"), "it gets its turn: {heard:?}");
}

#[test]
fn exclusive_locking_mode_can_starve_and_the_step_budget_ends_it() {
    let mut short = plan(2);
    short.steps_max = 20_000;
    let outcome = run_plan(&short, |_, world| {
        create(world, "DELETE");
        for index in 0..2 {
            world.process("hog", index, |sys| async move {
                sys.blocking(|os| {
                    let db = impatient("/db");
                    db.pragma_update(None, "locking_mode", "EXCLUSIVE").expect("it has a locking mode");
                    // Whoever was first never lets go; the other asks for ever.
                    while db.execute_batch("INSERT INTO t VALUES(1)").is_err() && os.is_alive() {}
                    while os.is_alive() {
                        os.yield_now();
                    }
                })
                .await;
                Exit::success()
            });
        }
    });
    assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
    assert_eq!(outcome.violations[0].fingerprint, "progress/run/hog/steps");
}

/// Counts what a scenario's observer can tell from events and the view.
#[derive(Default)]
struct Watch;

impl Invariant for Watch {
    fn id(&self) -> &'static str {
        "watch"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::SharedLock).and(Interest::call(CallKind::WriteAt))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Body::Call { kind, object, arguments, result: Ok(_), .. } = event.body else { return Ok(()) };
        let inode = seedstorm_sim::sys::disk::InodeId(object);
        if kind == CallKind::WriteAt {
            if arguments[0] == 0 && view.disk().inode_of("/db-wal") == Some(inode) {
                view.cover("wal_reset");
            }
            return Ok(());
        }
        let locks = view.wal_locks(inode);
        let owner = event.process.map(|process| view.process(process).owner);
        let (slot, takes_exclusively) = (arguments[0] >> 8, arguments[1] == 2 | 8);
        if slot == 0 && arguments[0] & 0xFF == 1 {
            let expected = if takes_exclusively { owner } else { None };
            if locks.writer != expected {
                return Err(Violation::new("watch", format!("{:?} after {arguments:?} by {owner:?}", locks.writer)));
            }
        }
        if let (Some(writer), Some(checkpointer)) = (locks.writer, locks.checkpointer)
            && writer != checkpointer
        {
            view.cover("checkpoint_beside_writer");
        }
        if locks.readers.iter().any(|(mark, reader)| *mark > 0 && locks.writer.is_some_and(|writer| writer != *reader))
        {
            view.cover("reader_held_snapshot");
        }
        Ok(())
    }
}

#[test]
fn observers_see_who_holds_which_lock_of_the_wal_index() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..40 {
        let outcome = pass(&plan(seed), |_, world| {
            add(world, Use { transactions: 15, ..Use::WAL });
            world.invariant(Watch);
            world.invariant(Kept::default());
        });
        for (name, count) in outcome.observations.coverage {
            *seen.entry(name).or_insert(0) += count;
        }
    }
    for name in ["wal_reset", "checkpoint_beside_writer", "reader_held_snapshot"] {
        assert!(seen.contains_key(name), "{name} was never seen: {seen:?}");
    }
}

#[test]
fn the_last_connection_leaves_the_database_file_alone_on_the_disk() {
    struct Files;
    impl Invariant for Files {
        fn id(&self) -> &'static str {
            "files"
        }

        fn interest(&self) -> Interest {
            Interest::CLAIMS
        }

        fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
            let Some(Said(expected)) = event.claim::<Said>() else { return Ok(()) };
            let names: Vec<String> = view.disk().files().map(|(path, ..)| path).collect();
            if names.join(" ") == expected { Ok(()) } else { Err(Violation::new("files", format!("{names:?}"))) }
        }

        fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
            rows(view.disk()).map(drop).or_else(|wrong| {
                if wrong.contains("no such table") { Ok(()) } else { Err(Violation::new("files", wrong)) }
            })
        }
    }
    pass(&plan(4), |_, world| {
        world.process("user", 0, |sys| async move {
            sys.blocking(|os| {
                let db = open_wal("/db").expect("it opens");
                db.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1)").expect("it is made");
                os.claim(&Said("/db /db-shm /db-wal".into()));
                drop(db);
                os.claim(&Said("/db".into()));
            })
            .await;
            Exit::success()
        });
        world.invariant(Files);
    });
}
