//! Each oracle of agents that keep days fires in a world in which just its own promise is broken, and is silent in the same world put right.

mod support;

use rusqlite::Connection;
use seedstorm_model::claims::{AgentSeen, AgentState, Effect, NoteStaged, StatusSeen, digest_of};
use seedstorm_model::config::Config;
use seedstorm_model::file::{Seal, StagedName, Temporary, replace, seal};
use seedstorm_model::identity::ProcessIdentity;
use seedstorm_model::lock::{LockKind, LockName, Locks};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Operation, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::{Exit, Outcome, Plan};
use std::collections::BTreeMap;
use support::{Agent, MILLI_NS, fired, passed, plan, run_days, write};

/// The same world twice: with the bug, and without it.
fn both(world: impl Fn(bool) -> Outcome, invariant: &str, words: &str) {
    fired(&world(true), invariant, words);
    passed(&world(false));
}

fn locks() -> Locks {
    Locks::new(&Config { lock: LockKind::OwnerFile, ..Config::default() })
}

#[test]
fn wake_succeeds_wants_each_life_to_get_awake() {
    let world = |fails: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            if !fails {
                agent.awake().await;
            }
            Exit::success()
        })
    };
    both(world, "wake-succeeds", "agent-0 (boot 1) didn't get awake");
}

/// As [`said_of`], with no operation in the plan.
fn said(state: AgentState, ends_ms: u64) -> Outcome {
    said_of(&plan(), state, ends_ms)
}

/// Agent 0 says this of agent 1, in a status that it begins at 200 ms. Agent 1 is awake from 50 ms on, begins operation 1 at once, and
/// ends at this time.
fn said_of(plan: &Plan, state: AgentState, ends_ms: u64) -> Outcome {
    run_days(plan, 2, move |agent, index| async move {
        if index == 1 {
            // A signal makes it shorter.
            let _ = agent.sys.sleep(50 * MILLI_NS).await;
        }
        agent.awake().await;
        if index == 1 {
            agent.begin(1, "note").await;
            agent.until_ms(ends_ms).await;
            return Exit::success();
        }
        agent.until_ms(200).await;
        agent.begin(1, "status").await;
        // Both were started at the same moment, one after the other.
        let of = ProcessIdentity::of(&agent.sys);
        let process = ProcessIdentity { pid: of.pid + 1, ..of };
        let agents = vec![AgentSeen { agent: "agent-1".into(), state, process }];
        agent.sys.claim(&StatusSeen { key: agent.key(1), agents }).await;
        Exit::success()
    })
}

#[test]
fn status_true_finds_a_dead_worker_a_living_dead_and_a_sleep_that_never_was() {
    fired(&said(AgentState::Working, 100), "status-true", "agent-1 (pid 103) is called working, and was dead already");
    passed(&said(AgentState::Working, 300));
    fired(&said(AgentState::Dead, 300), "status-true", "agent-1 (pid 103) is called dead, and is alive");
    passed(&said(AgentState::Dead, 100));
    fired(&said(AgentState::Asleep(7), 100), "status-true", "asleep by operation 7, which nobody asked for");
    passed(&said(AgentState::Stopped, 100));
}

#[test]
fn status_true_finds_an_agent_that_is_called_stopped_at_work() {
    let asked_for = |last: u64| {
        let operation = |id| Operation {
            id,
            process: "agent-1".into(),
            kind: "note".into(),
            not_before_ns: 0,
            think_ns: 0,
            arguments: BTreeMap::new(),
        };
        Plan { operations: (1..=last).map(operation).collect(), ..plan() }
    };
    let words = "agent-1 is called stopped, and is at work";
    fired(&said_of(&asked_for(2), AgentState::Stopped, 300), "status-true", words);
    // It may be about to end.
    passed(&said_of(&asked_for(1), AgentState::Stopped, 300));
    passed(&said_of(&asked_for(2), AgentState::Stopped, 100));
    // Asked to end before it was awake, it stops as soon as it is.
    let terminate = FaultPlan {
        id: 1,
        kind: FaultKind::Terminate,
        process: Some("agent-1".into()),
        when: Trigger::AtNs(20 * MILLI_NS),
        for_ns: 900 * MILLI_NS,
        by_ns: 0,
        between: None,
    };
    passed(&said_of(&Plan { faults: vec![terminate], ..asked_for(2) }, AgentState::Stopped, 300));
}

#[test]
fn status_true_finds_a_sleep_that_the_store_does_not_know() {
    let world = |forgets: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            agent.awake().await;
            agent.begin(7, "sleep").await;
            let mut sql = "INSERT INTO applied VALUES ('agent-0', 7, '\"Slept\"', 1, 1);".to_owned();
            if !forgets {
                sql += "INSERT INTO sleeps VALUES ('agent-0', 7, 1)";
            }
            write(&agent.sys, "FULL", sql).await;
            agent.acknowledge(7, Effect::Slept).await;
            Exit::success()
        })
    };
    both(world, "status-true", "agent-0 went to sleep by operation 7, and the store doesn't say so");
}

#[test]
fn staged_notes_kept_finds_a_note_that_never_comes_into_the_store() {
    let world = |forgets: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            agent.awake().await;
            agent.begin(1, "introspect").await;
            let (note, digest) = ("0".to_owned(), digest_of("text"));
            agent.sys.claim(&NoteStaged { key: agent.key(1), note, digest }).await;
            if !forgets {
                write(&agent.sys, "FULL", "INSERT INTO memories VALUES ('agent-0', 1, '0', 'text', 1)".into()).await;
            }
            Exit::success()
        })
    };
    both(world, "staged-notes-kept", "note 0 of agent-0#1 was staged, and is lost");
}

#[test]
fn day_closed_finds_a_seal_that_a_wake_left() {
    let world = |leaves: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            let sealed = Seal { key: agent.key(3), notes: Vec::new(), tasks: Vec::new(), closes_day: true };
            let path = StagedName::of_seal(&sealed.key).path("/swarm/staged");
            replace(&agent.sys, &path, &seal(&sealed).expect("plain data")).await.expect("the disk takes it");
            if !leaves {
                agent.sys.unlink(&path).await.expect("it is there");
            }
            agent.awake().await;
            Exit::success()
        })
    };
    both(world, "day-closed", "agent-0 is awake, and what it had sealed in operation 3 isn't finished");
}

#[test]
fn dead_locks_reclaimed_finds_a_lock_of_an_earlier_life() {
    let world = |leaves: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            let locks = locks();
            let held = locks.acquire(&agent.sys, LockName::document("a")).await.expect("it is free");
            if leaves {
                // As if a life that held it had died, and the next were awake now.
                agent.awake().await;
            }
            locks.release(&agent.sys, held).await.expect("it is ours");
            agent.awake().await;
            Exit::success()
        })
    };
    both(world, "dead-locks-reclaimed", "document.a.owner names a life of agent-0");
}

#[test]
fn owner_records_whole_finds_an_empty_record() {
    let world = |leaves: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            agent.awake().await;
            let path = "/swarm/.locks/document.a.owner";
            agent.sys.open(path, OpenFlags::WRITE.create_exclusive()).await.expect("it is new");
            if !leaves {
                agent.sys.unlink(path).await.expect("it is there");
            }
            Exit::success()
        })
    };
    both(world, "owner-records-whole", "document.a.owner says of no owner");
}

/// Agent 0 has a temporary file from the start to 300 ms, and removes it unless it is gone by then; agent 1 does this in between.
fn beside_a_temporary<F>(at_last: bool, meanwhile: impl Fn(Agent, String) -> F + Clone + Sync + 'static) -> Outcome
where
    F: Future<Output = ()> + 'static,
{
    run_days(&plan(), 2, move |agent, index| {
        let meanwhile = meanwhile.clone();
        async move {
            agent.awake().await;
            if index == 0 {
                let temporary = Temporary::beside(&agent.sys, "/swarm/documents/a").await.expect("a working disk");
                agent.until_ms(300).await;
                if at_last {
                    temporary.remove(&agent.sys).await;
                }
            } else {
                agent.until_ms(200).await;
                let names = agent.sys.read_dir("/swarm/documents").await.expect("it is there");
                meanwhile(agent, format!("/swarm/documents/{}", names[0])).await;
            }
            Exit::success()
        }
    })
}

#[test]
fn temporaries_have_one_owner_stay_while_it_lives_and_go_in_the_end() {
    let nothing = |_, _| async {};
    passed(&beside_a_temporary(true, nothing));
    fired(&beside_a_temporary(false, nothing), "temporaries-reaped", "is left, and nobody is alive");
    let removes = |agent: Agent, path: String| async move { agent.sys.unlink(&path).await.expect("it is there") };
    fired(&beside_a_temporary(true, removes), "live-temporaries-kept", "agent-1 removed /swarm/documents/a.tmp.");
    let opens = |agent: Agent, path: String| async move {
        drop(agent.sys.open(&path, OpenFlags::WRITE).await.expect("it is there"));
    };
    fired(&beside_a_temporary(true, opens), "temporaries-exclusive", "which agent-0 had opened before it");
}

#[test]
fn no_idle_transaction_finds_one_that_is_open_between_two_operations() {
    let world = |leaves: bool| {
        run_days(&plan(), 1, move |agent, _| async move {
            agent.awake().await;
            let key = agent.key(1);
            let begun = seedstorm_model::claims::OperationBegun { key, kind: "note".into() };
            let work = move |os: &seedstorm_sim::Os| {
                let connection = Connection::open(Config::default().database())?;
                connection.execute_batch("BEGIN IMMEDIATE")?;
                if !leaves {
                    connection.execute_batch("ROLLBACK")?;
                }
                os.claim(&begun);
                Ok::<_, rusqlite::Error>(())
            };
            agent.sys.blocking(move |os| work(os)).await.expect("SQLite does it");
            Exit::success()
        })
    };
    both(world, "no-idle-transaction", "agent-0 holds the database's write lock between two transactions");
}
