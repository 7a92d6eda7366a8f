//! Connections outside blocking code: in `async` code of a living process they work within the running step; those of the dead are inert.

mod sqlite_support;

use rusqlite::Connection;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Plan};
use sqlite_support::writers::{Kept, Use, add, rows};
use sqlite_support::{fault, number, open, open_wal, pass, plan};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::Poll;

#[test]
fn a_connection_may_be_dropped_in_async_code() {
    pass(&plan(1), |_, world| {
        world.process("dropper", 0, |sys| async move {
            let work = || {
                let db = open_wal("/db").expect("it opens");
                db.execute_batch("CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(1)").expect("it is written");
                db
            };
            let db = sys.blocking(move |_| work()).await;
            assert!(sys.stat("/db-wal").await.is_ok());
            drop(db);
            // The last connection checkpoints, and removes the WAL and the wal-index.
            assert_eq!(sys.read_dir("/").await.expect("the root is there"), ["db"]);
            // Moved into code that never starts.
            let db = sys.blocking(move |_| work()).await;
            drop(sys.blocking(move |_| drop(db)));
            assert_eq!(sys.read_dir("/").await.expect("the root is there"), ["db"]);
            Exit::success()
        });
    });
}

#[test]
fn a_connection_used_in_async_code_takes_no_steps() {
    let outcome = pass(&plan(1), |_, world| {
        world.process("hasty", 0, |sys| async move {
            let db = open_wal("/db").expect("it opens");
            db.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1)").expect("it is written");
            sys.yield_now().await;
            assert_eq!(number(&db, "SELECT count(*) FROM t"), Ok(1));
            drop(db);
            Exit::success()
        });
    });
    assert_eq!(outcome.steps, 2, "the boot and the yield");
    assert!(outcome.events > 30, "{} events", outcome.events);
}

fn killed(role: &str) -> Plan {
    Plan {
        faults: vec![fault(1, FaultKind::Kill, Some(role), Trigger::Call { kind: CallKind::Sleep, nth: 1 })],
        ..plan(1)
    }
}

#[test]
fn a_connection_that_outlives_its_process_is_inert() {
    pass(&killed("keeper-0"), |_, world| {
        // Real processes share no memory; simulated ones can, and must not get hold of each other's files by it.
        let kept: Rc<RefCell<Option<Connection>>> = Rc::default();
        world.process("keeper", 0, move |sys| {
            let kept = kept.clone();
            async move {
                let stale = kept.take();
                let is_first_boot = stale.is_none();
                if let Some(stale) = stale {
                    assert!(stale.execute_batch("COMMIT").is_err());
                    let stale = sys
                        .blocking(move |_| {
                            let _ = stale.execute_batch("ROLLBACK");
                            assert!(stale.execute_batch("INSERT INTO t VALUES(3)").is_err());
                            stale
                        })
                        .await;
                    drop(stale);
                }
                let db = sys
                    .blocking(move |_| {
                        let db = open_wal("/db").expect("it opens");
                        if is_first_boot {
                            db.execute_batch(
                                "CREATE TABLE t(x); INSERT INTO t VALUES(1); BEGIN IMMEDIATE; INSERT INTO t VALUES(4)",
                            )
                            .expect("it is written");
                        }
                        db
                    })
                    .await;
                if is_first_boot {
                    *kept.borrow_mut() = Some(db);
                    let _ = sys.sleep(1_000).await;
                    unreachable!("it is killed in its sleep");
                }
                // The dead one's transaction is gone, and its lock.
                let seen = sys.blocking(move |_| {
                    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(5); COMMIT")?;
                    number(&db, "SELECT sum(x) FROM t")
                });
                assert_eq!(seen.await, Ok(6));
                Exit::success()
            }
        });
    });
}

static OUTLIVING: Mutex<Option<Connection>> = Mutex::new(None);

#[test]
fn a_connection_that_outlives_its_run_is_inert() {
    let leave = || {
        pass(&plan(1), |_, world| {
            world.process("leaver", 0, |sys| async move {
                sys.blocking(|_| {
                    let db = open_wal("/db").expect("it opens");
                    db.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(1)").expect("it is written");
                    *OUTLIVING.lock().expect("nobody panicked") = Some(db);
                })
                .await;
                Exit::success()
            });
        })
    };
    let take = || OUTLIVING.lock().expect("nobody panicked").take().expect("it was left");
    leave();
    // Outside every run, on another thread.
    let stale = take();
    assert!(number(&stale, "SELECT count(*) FROM t").is_err());
    drop(stale);
    leave();
    pass(&plan(1), move |_, world| {
        world.process("leaver", 0, move |sys| async move {
            // The same owner number, in another run.
            sys.blocking(move |_| {
                let stale = take();
                assert!(number(&stale, "SELECT count(*) FROM t").is_err());
                drop(stale);
                open_wal("/db").expect("it opens").execute_batch("CREATE TABLE t(x)").expect("the disk is another");
            })
            .await;
            Exit::success()
        });
    });
}

/// Polls code a few times, then drops it.
async fn cut_off(work: impl Future<Output = ()>, polls: u32) {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        left = left.saturating_sub(1);
        if work.as_mut().poll(context).is_ready() || left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn code_that_a_living_process_drops_leaves_no_lock_behind() {
    // Wherever it is cut off, another connection of the same process and another process can go on.
    for polls in 1..160 {
        pass(&plan(u64::from(polls)), move |_, world| {
            world.prepare(|sys| async move {
                sys.blocking(|_| open_wal("/db")?.execute_batch("CREATE TABLE t(x)")).await.expect("it is made");
                Exit::success()
            });
            world.process("dropper", 0, move |sys| async move {
                let work = sys.blocking(|_| {
                    // Its errors are its own: the code is cut off somewhere.
                    let work = || -> rusqlite::Result<()> {
                        let db = open_wal("/db")?;
                        db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(1); COMMIT")?;
                        db.execute_batch("BEGIN IMMEDIATE; UPDATE t SET x = 2; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
                    };
                    let _ = work();
                });
                cut_off(work, polls).await;
                let again = sys.blocking(|_| {
                    let db = open_wal("/db")?;
                    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(3); COMMIT")?;
                    number(&db, "SELECT count(*) FROM t WHERE x = 3")
                });
                assert_eq!(again.await, Ok(1));
                Exit::success()
            });
            world.process("other", 0, |sys| async move {
                let work = sys.blocking(|_| {
                    let db = open_wal("/db")?;
                    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(4); COMMIT")?;
                    db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
                });
                assert_eq!(work.await, Ok("ok".into()));
                Exit::success()
            });
        });
    }
}

#[test]
fn a_connection_that_survives_a_cut_works_again() {
    for polls in 1..120 {
        pass(&plan(u64::from(polls)), move |_, world| {
            world.prepare(|sys| async move {
                sys.blocking(|_| open_wal("/db")?.execute_batch("CREATE TABLE t(x)")).await.expect("it is made");
                Exit::success()
            });
            world.process("dropper", 0, move |sys| async move {
                let db = Rc::new(sys.blocking(|_| open_wal("/db").expect("it opens")).await);
                let shared = db.clone();
                let work = sys.blocking(move |_| {
                    let _ = shared.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(1); COMMIT");
                    let _ = shared.execute_batch(
                        "PRAGMA wal_checkpoint(RESTART); BEGIN IMMEDIATE; INSERT INTO t VALUES(2); COMMIT",
                    );
                });
                cut_off(work, polls).await;
                let again = sys.blocking(move |_| {
                    if !db.is_autocommit() {
                        db.execute_batch("ROLLBACK")?;
                    }
                    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(3); COMMIT")?;
                    number(&db, "SELECT count(*) FROM t WHERE x = 3")
                });
                assert_eq!(again.await, Ok(1), "cut off after {polls} polls");
                Exit::success()
            });
            world.process("other", 0, |sys| async move {
                let work = sys.blocking(|_| {
                    let db = open_wal("/db")?;
                    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES(4); COMMIT")?;
                    db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
                });
                assert_eq!(work.await, Ok("ok".into()));
                Exit::success()
            });
        });
    }
}

#[test]
fn an_exit_in_the_middle_of_a_transaction_rolls_it_back() {
    let outcome = pass(&plan(3), |_, world| {
        add(world, Use { writers: 1, ..Use::WAL });
        world.process_with("quitter", 0, RestartPolicy::Never, |sys| async move {
            let other = sys
                .spawn(|sys| async move {
                    sys.blocking(|os| {
                        let db = open("/db").expect("it opens");
                        db.execute_batch("BEGIN IMMEDIATE; INSERT INTO log VALUES(99, 99, '')")
                            .expect("it waits its turn");
                        os.sleep(1_000_000_000).expect_err("its process ends");
                    })
                    .await;
                })
                .await;
            sys.sleep(20_000_000).await.expect("nobody ends it");
            drop(other);
            Exit::success()
        });
        world.invariant(Kept::default());
        world.invariant(NoQuitter);
    });
    assert!(outcome.steps > 100);
}

/// The quitter's row never shows.
struct NoQuitter;

impl seedstorm_sim::invariant::Invariant for NoQuitter {
    fn id(&self) -> &'static str {
        "no-quitter"
    }

    fn interest(&self) -> seedstorm_sim::trace::Interest {
        seedstorm_sim::trace::Interest::NONE
    }

    fn observe(
        &mut self,
        _event: &seedstorm_sim::trace::Event<'_>,
        _view: &seedstorm_sim::View<'_>,
    ) -> Result<(), seedstorm_sim::invariant::Violation> {
        Ok(())
    }

    fn finish(&mut self, view: &seedstorm_sim::View<'_>) -> Result<(), seedstorm_sim::invariant::Violation> {
        let found = rows(view.disk()).map_err(|wrong| seedstorm_sim::invariant::Violation::new("no-quitter", wrong))?;
        if found.contains(&(99, 99)) {
            return Err(seedstorm_sim::invariant::Violation::new(
                "no-quitter",
                "a transaction that never ended is there",
            ));
        }
        Ok(())
    }
}

#[test]
fn a_connection_that_the_code_returned_and_nobody_took_leaves_no_lock_behind() {
    pass(&plan(1), |_, world| {
        world.process("leaver", 0, |sys| async move {
            let has_returned = Rc::new(Cell::new(false));
            let returns = has_returned.clone();
            let mut work = sys.blocking(move |_| {
                let db = open_wal("/db").expect("it opens");
                db.execute_batch("CREATE TABLE t(x); BEGIN IMMEDIATE; INSERT INTO t VALUES(1)").expect("it is written");
                returns.set(true);
                db
            });
            // The code returns as it is resumed, and the poll that follows doesn't come to it any more.
            std::future::poll_fn(|context| {
                if has_returned.get() {
                    return Poll::Ready(());
                }
                assert!(pin!(&mut work).poll(context).is_pending());
                Poll::Pending
            })
            .await;
            drop(work);
            // Nobody awaits the code: what its connection would do as it is closed has no effect. A living one would remove the WAL.
            assert!(sys.stat("/db-wal").await.is_ok());
            let rows = sys.blocking(|_| {
                let db = open_wal("/db").expect("it opens");
                db.execute_batch("BEGIN IMMEDIATE").expect("nobody holds the write lock");
                number(&db, "SELECT count(*) FROM t")
            });
            assert_eq!(rows.await, Ok(0), "its transaction never was committed");
            Exit::success()
        });
    });
}
