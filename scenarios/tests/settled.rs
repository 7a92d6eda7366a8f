//! Oracles hold to what a crash has settled: what nobody acknowledged may be there or not, until a crash has shown which. And to the bytes of what a
//! crash has damaged. Acknowledged writes are tested in `oracles` and `days`.

mod support;

use rusqlite::Connection;
use seedstorm_model::config::Config;
use seedstorm_model::file::{Document, replace, seal};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Outcome, Plan, Sys};
use support::{Agent, MILLI_NS, fired, passed, plan, run_lives, write};

/// The power fails at 500 ms, after the first fsync has lied, if it `lies`.
fn with_power_loss(lies: bool) -> Plan {
    let crash = FaultPlan {
        id: 1,
        kind: FaultKind::MachineCrash,
        process: None,
        when: Trigger::AtNs(500 * MILLI_NS),
        for_ns: MILLI_NS,
        by_ns: 0,
        between: None,
    };
    let lie = FaultPlan {
        id: 2,
        kind: FaultKind::LyingSync,
        process: Some("agent-0".into()),
        when: Trigger::Call { kind: CallKind::Sync, nth: 1 },
        for_ns: 0,
        ..crash.clone()
    };
    Plan { faults: if lies { vec![crash, lie] } else { vec![crash] }, ..plan() }
}

/// The agent does the first thing, without acknowledging it, and the power fails; in its next life it does the second, if `undoes`.
fn lives<F, G>(
    plan: &Plan,
    undoes: bool,
    first: impl Fn(Agent) -> F + Clone + Sync + 'static,
    second: impl Fn(Agent) -> G + Clone + Sync + 'static,
) -> Outcome
where
    F: Future<Output = ()> + 'static,
    G: Future<Output = ()> + 'static,
{
    run_lives(plan, move |agent, _| {
        let (first, second) = (first.clone(), second.clone());
        async move {
            agent.awake().await;
            if agent.sys.simulated_ns() < 500 * MILLI_NS {
                first(agent.clone()).await;
                agent.until_ms(10_000).await;
            } else if undoes {
                second(agent).await;
            }
            Exit::success()
        }
    })
}

/// Writes to the database, and dies with the connection open: nothing has been moved out of the WAL.
async fn write_and_die(sys: &Sys, sql: &'static str) {
    let work = move |os: &seedstorm_sim::Os| {
        let connection = Connection::open(Config::default().database())?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(sql)?;
        os.sleep(10_000 * MILLI_NS).expect("nobody sends signals here");
        Ok::<_, rusqlite::Error>(())
    };
    sys.blocking(move |os| work(os)).await.expect("SQLite does it");
}

#[test]
fn no_lost_write_holds_to_what_a_crash_has_settled() {
    let cases = [
        (
            "INSERT INTO notes VALUES (NULL, 'agent-0', 1, 'text', 1)",
            "DELETE FROM notes",
            "the note of agent-0#1 had survived a crash, and is lost",
        ),
        (
            "UPDATE session_state SET version = 5",
            "UPDATE session_state SET version = 4",
            "version 5 of `key` had survived a crash, and is lost",
        ),
        (
            "UPDATE tasks SET generation = 2",
            "UPDATE tasks SET generation = 1",
            "generation 2 of task `task` had survived a crash, and is lost",
        ),
        (
            "UPDATE tasks SET state = 'done'",
            "UPDATE tasks SET state = 'open'",
            "the end of task `task` had survived a crash",
        ),
        (
            "UPDATE checklist SET generation = 1 WHERE item = 2",
            "UPDATE checklist SET generation = NULL",
            "the tick of item 2 of task `task` had survived a crash",
        ),
        (
            "INSERT INTO applied VALUES ('agent-0', 1, '\"Slept\"', 1, 1)",
            "DELETE FROM applied",
            "the close of agent-0#1 had survived a crash",
        ),
    ];
    for (done, undone, words) in cases {
        let world = |undoes| {
            let first = move |agent: Agent| async move {
                agent.begin(1, "any").await;
                write_and_die(&agent.sys, done).await;
            };
            lives(&with_power_loss(false), undoes, first, move |agent: Agent| async move {
                write(&agent.sys, "FULL", undone.into()).await
            })
        };
        fired(&world(true), "no-lost-write", words);
        passed(&world(false));
    }
}

const DOCUMENT: &str = "/swarm/documents/document-0";

async fn save(agent: Agent, revision: u64) {
    let document = Document { revision, ..Document::default() };
    replace(&agent.sys, DOCUMENT, &seal(&document).expect("plain data")).await.expect("the disk takes it");
}

#[test]
fn documents_kept_holds_to_a_revision_that_a_crash_has_settled() {
    let world = |undoes| lives(&with_power_loss(false), undoes, |agent| save(agent, 3), |agent| save(agent, 2));
    fired(&world(true), "documents-kept", "revision 3 had survived a crash, and the disk has revision 2");
    passed(&world(false));
}

/// In its first life an agent leaves half a document; in the next it puts it aside, and then does this with what it has put aside.
fn puts_aside(then: impl AsyncFn(&Sys, &str) + Copy + Sync + 'static) -> Outcome {
    let first = |agent: Agent| async move {
        let file = agent.sys.open(DOCUMENT, OpenFlags::WRITE.create()).await.expect("it is new");
        file.write(b"half").await.expect("the disk takes it");
        file.sync().await.expect("the disk takes it");
        agent.sys.sync_dir("/swarm/documents").await.expect("the disk takes it");
    };
    let second = move |agent: Agent| async move {
        let aside = format!("{DOCUMENT}.corrupt.1");
        agent.sys.rename(DOCUMENT, &aside).await.expect("it is there");
        then(&agent.sys, &aside).await;
    };
    // The lie voids what rests on durability, so that nobody else minds.
    lives(&with_power_loss(true), true, first, second)
}

#[test]
fn damage_kept_holds_to_what_was_put_aside() {
    let words = "document-0.corrupt.1 was damaged, and is gone";
    passed(&puts_aside(async |_, _| {}));
    fired(&puts_aside(async |sys, aside| sys.unlink(aside).await.expect("it is there")), "damage-kept", words);
    let over = async |sys: &Sys, aside: &str| {
        let other = "/swarm/other";
        drop(sys.open(other, OpenFlags::WRITE.create()).await.expect("it is new"));
        sys.rename(other, aside).await.expect("both are there");
    };
    fired(&puts_aside(over), "damage-kept", words);
}
