//! SQLite that the same OS process uses outside of every run, between two of them. A test program of its own: it draws from SQLite's one generator, which a
//! run of another test would notice.

mod sqlite_support;

use seedstorm_sim::{Exit, Plan, World};
use sqlite_support::{number, open_wal, pass, plan};

fn draws(_plan: &Plan, world: &mut World) {
    world.prepare(|sys| async move {
        sys.blocking(|_| {
            open_wal("/db").expect("opens").execute_batch("CREATE TABLE log(who, drawn)").expect("creates");
        })
        .await;
        Exit::success()
    });
    for writer in 0..3 {
        world.process("writer", writer, move |sys| async move {
            sys.blocking(move |_| {
                let db = open_wal("/db").expect("opens");
                for _ in 0..10 {
                    db.execute("INSERT INTO log VALUES(?, random())", [writer]).expect("waits, five seconds at most");
                }
                assert_eq!(number(&db, &format!("SELECT count(*) FROM log WHERE who = {writer}")), Ok(10));
            })
            .await;
            Exit::success()
        });
    }
}

#[test]
fn another_vfs_that_was_made_the_default_meanwhile_is_replaced() {
    let alone = pass(&plan(30), draws).trace_hash;
    // The real file system's, as a tool of the same OS process would use it: in memory, so that nothing is left behind.
    let real = rusqlite::Connection::open_with_flags_and_vfs(
        "file:outside?mode=memory",
        rusqlite::OpenFlags::default(),
        c"unix",
    );
    real.expect("it opens").execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES(random())").expect("it draws");
    assert_eq!(pass(&plan(30), draws).trace_hash, alone);
}
