//! Errors of the disk as SQLite's result codes, and the database after them.

mod sqlite_support;

use rusqlite::ffi;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Exit, Outcome, Plan, View};
use sqlite_support::{fault, number, open, open_wal, pass, plan};
use std::sync::{Arc, Mutex};

/// The extended code of a failure; 0 for success.
fn code<T>(result: &rusqlite::Result<T>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code,
        Err(error) => panic!("{error}"),
    }
}

/// Runs one process that inserts rows; gives the codes of its transactions that failed, and how many rows there are at the end.
fn codes(plan: &Plan, journal: &'static str, transactions: i64) -> (Outcome, Vec<i32>, i64) {
    let seen = Arc::new(Mutex::new((Vec::new(), 0)));
    let noted = seen.clone();
    let outcome = pass(plan, move |_, world| {
        let noted = noted.clone();
        world.process("writer", 0, move |sys| {
            let noted = noted.clone();
            async move {
                sys.blocking(move |_| {
                    let db = open("/db").expect("it opens");
                    db.pragma_update(None, "journal_mode", journal).expect("it has a journal mode");
                    db.pragma_update(None, "synchronous", "FULL").expect("it is synchronous");
                    db.pragma_update(None, "cache_size", 5).expect("it has a small cache");
                    db.execute_batch("CREATE TABLE t(n INTEGER PRIMARY KEY, pad)").expect("it is made");
                    let (mut failed, mut kept) = (Vec::new(), 0);
                    for n in 0..transactions {
                        let inserted = db.execute("INSERT INTO t VALUES(?, ?)", (n, "x".repeat(3000)));
                        match code(&inserted) {
                            0 => kept += 1,
                            code => failed.push(code),
                        }
                    }
                    // Another connection sees what was written, not what the first has in its cache.
                    let db = open("/db").expect("it opens");
                    let whole = "SELECT count(*) FROM t WHERE length(pad) = 3000 AND trim(pad, 'x') = ''";
                    assert_eq!(number(&db, whole), Ok(kept));
                    assert_eq!(
                        db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)),
                        Ok("ok".into())
                    );
                    *noted.lock().expect("nobody panicked") = (failed, kept);
                })
                .await;
                Exit::success()
            }
        });
    });
    let (failed, kept) = std::mem::take(&mut *seen.lock().expect("nobody panicked"));
    (outcome, failed, kept)
}

fn one(kind: FaultKind, call: CallKind, nth: u64) -> Plan {
    Plan { faults: vec![fault(1, kind, Some("writer-0"), Trigger::Call { kind: call, nth })], ..plan(1) }
}

#[test]
fn each_failure_has_its_code_and_harms_nothing() {
    let cases = [
        (FaultKind::IoError, CallKind::WriteAt, 60, ffi::SQLITE_IOERR_WRITE),
        (FaultKind::NoSpace, CallKind::WriteAt, 60, ffi::SQLITE_FULL),
        (FaultKind::FailedSync, CallKind::Sync, 20, ffi::SQLITE_IOERR_FSYNC),
    ];
    for (kind, call, nth, expected) in cases {
        for journal in ["WAL", "DELETE"] {
            let (outcome, failed, kept) = codes(&one(kind, call, nth), journal, 30);
            assert_eq!(outcome.observations.faults.get(&kind), Some(&1), "{kind:?} {journal}");
            assert_eq!((failed.as_slice(), kept), ([expected].as_slice(), 29), "{kind:?} {journal}");
        }
    }
}

#[test]
fn a_read_that_fails_says_so() {
    let mut failing = one(FaultKind::IoError, CallKind::ReadAt, 60);
    failing.faults[0].process = Some("reader-0".into());
    pass(&failing, |_, world| {
        world.process("reader", 0, |sys| async move {
            sys.blocking(|_| {
                let db = open_wal("/db").expect("it opens");
                db.pragma_update(None, "cache_size", 5).expect("it has a small cache");
                db.execute_batch("CREATE TABLE t(n INTEGER PRIMARY KEY, pad)").expect("it is made");
                for n in 0..30 {
                    db.execute("INSERT INTO t VALUES(?, randomblob(3000))", [n]).expect("it is written");
                }
                let failed: Vec<i32> = (0..10)
                    .map(|_| code(&number(&db, "SELECT sum(length(pad)) FROM t")))
                    .filter(|&code| code != 0)
                    .collect();
                assert_eq!(failed, [ffi::SQLITE_IOERR_READ]);
            })
            .await;
            Exit::success()
        });
    });
}

#[test]
fn a_short_write_is_finished_in_a_step_of_its_own() {
    for nth in 20..60 {
        let (outcome, failed, kept) = codes(&one(FaultKind::ShortWrite, CallKind::WriteAt, nth), "WAL", 30);
        assert_eq!(outcome.observations.faults.get(&FaultKind::ShortWrite), Some(&1));
        assert_eq!((failed.len(), kept), (0, 30));
    }
}

#[test]
fn a_full_disk_is_sqlite_full_until_there_is_room() {
    let mut small = plan(1);
    small.disk_capacity_bytes = Some(160 << 10);
    let (_, failed, kept) = codes(&small, "WAL", 60);
    assert!(failed.len() > 5 && kept > 5, "{failed:?} {kept}");
    assert!(failed.iter().all(|&code| code == ffi::SQLITE_FULL), "{failed:?}");
}

#[test]
fn what_cannot_be_opened_says_so() {
    pass(&plan(1), |_, world| {
        world.process("opener", 0, |sys| async move {
            sys.blocking(|os| {
                let missing = open("/no/such/directory/db");
                assert_eq!(code(&missing), ffi::SQLITE_CANTOPEN);
                os.mkdir("/d").expect("it is made");
                assert_eq!(code(&open("/d")), ffi::SQLITE_CANTOPEN);
                let absent =
                    rusqlite::Connection::open_with_flags("/absent", rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE);
                assert_eq!(code(&absent), ffi::SQLITE_CANTOPEN);
                // A relative path starts at the root.
                open_wal("./here").expect("it opens").execute_batch("CREATE TABLE t(x)").expect("it is made");
                assert!(os.stat("/here").is_ok());
                let reader = rusqlite::Connection::open_with_flags("/here", rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
                    .expect("it opens");
                assert_eq!(code(&reader.execute_batch("INSERT INTO t VALUES(1)")), ffi::SQLITE_READONLY);
            })
            .await;
            Exit::success()
        });
    });
}

/// Whenever SQLite asks, there is no WAL; and it asks.
struct NoJournal(u32);

impl Invariant for NoJournal {
    fn id(&self) -> &'static str {
        "no-journal"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Access)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Body::Call { data: b"/db-wal", result, .. } = event.body else { return Ok(()) };
        self.0 += u32::from(view.disk().inode_of("/db-wal").is_some());
        if result == Ok(0) { Ok(()) } else { Err(Violation::new("no-journal", format!("{result:?}"))) }
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        if self.0 > 0 { Ok(()) } else { Err(Violation::new("no-journal", "nobody asked while there was an empty one")) }
    }
}

#[test]
fn an_empty_journal_counts_as_none() {
    pass(&plan(1), |_, world| {
        world.process("opener", 0, |sys| async move {
            sys.blocking(|os| {
                open("/db").expect("it opens").execute_batch("CREATE TABLE t(x)").expect("it is made");
                // As a crash may leave it: created, and nothing written.
                let wal = os.open("/db-wal", seedstorm_sim::sys::OpenFlags::WRITE.create()).expect("it is made");
                wal.close().expect("it is open");
                let db = open("/db").expect("it opens");
                assert_eq!(number(&db, "SELECT count(*) FROM t"), Ok(0));
            })
            .await;
            Exit::success()
        });
        world.invariant(NoJournal(0));
    });
}
