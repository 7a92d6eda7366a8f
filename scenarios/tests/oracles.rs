//! Each oracle fires in a world in which just its own promise is broken, and is silent in the same world put right.

mod support;

use rusqlite::params;
use seedstorm_model::agent::AgentError;
use seedstorm_model::claims::{BoardVersion, DocumentSaved, Effect, Refused};
use seedstorm_model::config::Config;
use seedstorm_model::file::{Document, open_document, replace, seal};
use seedstorm_model::lock::{LockError, LockKind, LockName, Locks};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Operation, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::{Exit, Outcome, Plan, Seed};
use support::{Agent, MILLI_NS, fired, passed, plan, run_agents, with_database, write};

const DOCUMENT: &str = "/swarm/documents/document-0";

/// The same world twice: with the bug, and without it.
fn both(world: impl Fn(bool) -> Outcome, invariant: &str, words: &str) {
    fired(&world(true), invariant, words);
    passed(&world(false));
}

#[test]
fn calm_completes_wants_each_planned_kind_to_complete_in_the_calm() {
    let world = |gives_up| {
        let late = |number, kind: &str| Operation {
            id: number,
            process: "agent-0".into(),
            kind: kind.into(),
            not_before_ns: plan().chaos_ns,
            think_ns: 0,
            arguments: Default::default(),
        };
        let plan = Plan { operations: vec![late(2, "note"), late(3, "document")], ..plan() };
        run_agents(&plan, 1, move |agent, _| async move {
            // What completes before the calm doesn't count.
            agent.note(1, "FULL").await;
            agent.until_ms(1_100).await;
            if gives_up {
                agent.begin(2, "note").await;
            } else {
                agent.note(2, "FULL").await;
            }
            agent.begin(3, "document").await;
            save(&agent).await;
            Exit::success()
        })
    };
    both(world, "calm-completes", "no `note` completed");
}

#[test]
fn database_sound_finds_garbage_in_a_page() {
    let world = |garbles| {
        run_agents(&plan(), 1, move |agent, _| async move {
            let file = agent.sys.open("/swarm/state.db", OpenFlags::READ_WRITE).await.expect("it is there");
            let mut page = vec![0; 4096];
            file.read_at(&mut page, 4096).await.expect("it has a second page");
            if garbles {
                page.fill(0xa5);
            }
            file.write_at(&page, 4096).await.expect("the disk takes it");
            Exit::success()
        })
    };
    both(world, "database-sound", "");
}

/// Saves the next revision of the document, as it is now.
async fn save(agent: &Agent) {
    let mut document = open_document(&agent.sys, DOCUMENT).await.expect("it can be read").document;
    document.apply(&agent.name, 1, "text".into());
    save_it(agent, &document).await;
}

async fn save_it(agent: &Agent, document: &Document) {
    replace(&agent.sys, DOCUMENT, &seal(document).expect("plain data")).await.expect("it can be replaced");
    agent.sys.claim(&DocumentSaved { path: DOCUMENT.into(), revision: document.revision }).await;
}

#[test]
fn documents_kept_finds_a_revision_that_was_made_twice() {
    let world = |reads_too_early: bool| {
        run_agents(&plan(), 2, move |agent, index| async move {
            let turn_ms = 100 + 100 * u64::from(index);
            if !reads_too_early {
                agent.until_ms(turn_ms).await;
            }
            let mut document = open_document(&agent.sys, DOCUMENT).await.expect("it can be read").document;
            document.apply(&agent.name, 1, "text".into());
            agent.until_ms(turn_ms).await;
            save_it(&agent, &document).await;
            Exit::success()
        })
    };
    both(world, "documents-kept", "agent-0 and agent-1 both saved revision 1");
}

#[test]
fn documents_kept_finds_a_revision_that_is_gone() {
    let world = |unlinks| {
        run_agents(&plan(), 1, move |agent, _| async move {
            save(&agent).await;
            if unlinks {
                agent.sys.unlink(DOCUMENT).await.expect("it is there");
            }
            Exit::success()
        })
    };
    both(world, "documents-kept", "revision 1 was acknowledged, and the disk has no whole document");
}

#[test]
fn files_whole_finds_an_empty_document_and_a_torn_one() {
    let world = |keeps: fn(usize) -> usize| {
        run_agents(&plan(), 1, move |agent, _| async move {
            let aside = format!("{DOCUMENT}.tmp.1");
            let file = agent.sys.open(&aside, OpenFlags::WRITE.create_exclusive()).await.expect("it is new");
            let mut document = Document::default();
            document.apply(&agent.name, 1, "text".into());
            let sealed = seal(&document).expect("plain data");
            file.write_all(&sealed[..keeps(sealed.len())]).await.expect("the disk takes it");
            file.sync().await.expect("the disk takes it");
            agent.sys.rename(&aside, DOCUMENT).await.expect("both are there");
            Exit::success()
        })
    };
    fired(&world(|_| 0), "files-whole", "is empty");
    fired(&world(|len| len - 1), "files-whole", "is torn");
    passed(&world(|len| len));
}

#[test]
fn lock_timeouts_handled_finds_an_agent_that_ends_because_of_one() {
    let world = |ends| {
        run_agents(&plan(), 2, move |agent, index| async move {
            let locks = Locks::new(&Config { lock_timeout_ns: 50 * MILLI_NS, ..Config::default() });
            let lock = LockName::document("document-0");
            if index == 0 {
                let held = locks.acquire(&agent.sys, lock).await.expect("it is free");
                agent.until_ms(500).await;
                locks.release(&agent.sys, held).await.expect("it is ours");
                return Exit::success();
            }
            agent.until_ms(100).await;
            let error = locks.acquire(&agent.sys, lock).await.err().expect("it is held");
            assert!(matches!(error, LockError::TimedOut { .. }), "{error}");
            let error = AgentError::from(error);
            if ends { Exit { code: error.exit_code(), why: error.to_string() } } else { Exit::success() }
        })
    };
    both(world, "lock-timeouts-handled", "agent-1 ended with code 75: lock `");
}

#[test]
fn locks_free_finds_a_lock_of_a_process_that_ended_well() {
    let world = |forgets: bool| {
        run_agents(&plan(), 1, move |agent, _| async move {
            let locks = Locks::new(&Config { lock: LockKind::OwnerFile, ..Config::default() });
            let held = locks.acquire(&agent.sys, LockName::document("document-0")).await.expect("it is free");
            if !forgets {
                locks.release(&agent.sys, held).await.expect("it is ours");
            }
            Exit::success()
        })
    };
    both(world, "locks-free", "names agent-0 (pid 102), which ended well");
}

#[test]
fn locks_free_blames_nobody_for_what_a_crash_brings_back() {
    // The release may not be durable when the power goes: whether it was differs from seed to seed.
    for seed in 1..=20 {
        let crash = FaultPlan {
            id: 1,
            kind: FaultKind::MachineCrash,
            process: None,
            when: Trigger::AtNs(200 * MILLI_NS),
            for_ns: MILLI_NS,
            by_ns: 0,
            between: None,
        };
        let plan = Plan { seed: Seed(seed), persistence: Persistence::Posix, faults: vec![crash], ..plan() };
        let outcome = run_agents(&plan, 2, move |agent, index| async move {
            if index == 0 {
                let locks = Locks::new(&Config { lock: LockKind::OwnerFile, ..Config::default() });
                agent.until_ms(199).await;
                let held = locks.acquire(&agent.sys, LockName::document("document-0")).await.expect("it is free");
                // The record's name is durable, and its removal isn't yet.
                agent.sys.sync_dir("/swarm/.locks").await.expect("the disk takes it");
                locks.release(&agent.sys, held).await.expect("it is ours");
            } else {
                agent.until_ms(300).await;
            }
            Exit::success()
        });
        passed(&outcome);
    }
}

#[test]
fn no_unhandled_error_finds_an_agent_that_fails() {
    let world = |fails| {
        run_agents(&plan(), 1, move |agent, _| async move {
            let error = agent.sys.open("/swarm/nothing", OpenFlags::READ).await.err().expect("it isn't there");
            if fails { Exit::failure(error.to_string()) } else { Exit::success() }
        })
    };
    both(world, "no-unhandled-error", "agent-0 ended with code 1");
}

#[test]
fn acknowledged_durable_finds_a_commit_that_is_not_synced_and_one_that_is_not_there() {
    let world = |synchronous| {
        run_agents(&plan(), 1, move |agent, _| async move {
            agent.note(1, synchronous).await;
            Exit::success()
        })
    };
    fired(&world("OFF"), "acknowledged-durable", "were not durable");
    passed(&world("FULL"));
    let world = |is_early| {
        run_agents(&plan(), 1, move |agent, _| async move {
            agent.begin(1, "note").await;
            let noted = Effect::of_note("text");
            if is_early {
                agent.acknowledge(1, noted.clone()).await;
            }
            write(&agent.sys, "FULL", "INSERT INTO notes VALUES (NULL, 'agent-0', 1, 'text', 1)".into()).await;
            agent.acknowledge(1, noted).await;
            Exit::success()
        })
    };
    both(world, "acknowledged-durable", "there is no commit behind it");
}

#[test]
fn no_lost_write_finds_a_note_that_is_gone_and_one_that_is_there_twice() {
    let world = |then: &'static str| {
        run_agents(&plan(), 1, move |agent, _| async move {
            agent.note(1, "FULL").await;
            write(&agent.sys, "FULL", then.into()).await;
            Exit::success()
        })
    };
    fired(&world("DELETE FROM notes"), "no-lost-write", "agent-0#1: acknowledged, and lost");
    let again = "INSERT INTO notes SELECT NULL, agent, number, text, 2 FROM notes";
    fired(&world(again), "no-lost-write", "agent-0#1 took effect 2 times");
    passed(&world("UPDATE notes SET written_ns = 2"));
}

#[test]
fn board_serializable_finds_two_writers_of_one_version() {
    let world = |reads_too_early: bool| {
        run_agents(&plan(), 2, move |agent, index| async move {
            let turn_ms = 100 + 100 * u64::from(index);
            agent.begin(1, "board-write").await;
            if !reads_too_early {
                agent.until_ms(turn_ms).await;
            }
            let version: i64 = with_database(&agent.sys, "FULL", |connection| {
                connection.query_row("SELECT version FROM session_state WHERE key = 'key'", [], |row| row.get(0))
            })
            .await;
            agent.until_ms(turn_ms).await;
            let (to, name) = (version + 1, agent.name.clone());
            with_database(&agent.sys, "FULL", move |connection| {
                let sql = "UPDATE session_state SET version = ?1, updated_by = ?2 WHERE key = 'key'";
                connection.execute(sql, params![to, name])
            })
            .await;
            let at = |version: i64| vec![BoardVersion { key: "key".into(), version: version as u64 }];
            agent.acknowledge(1, Effect::Board { reads: at(version), writes: at(to) }).await;
            Exit::success()
        })
    };
    both(world, "board-serializable", "lost update: agent-0#1 and agent-1#1 both made version 1 of `key`");
}

/// Writes the claim of the task's first generation over whatever is there, or only if nobody has it. Gives whether it did.
async fn take_task(agent: &Agent, token: i64, looks: bool) -> bool {
    let name = agent.name.clone();
    let changed = with_database(&agent.sys, "FULL", move |connection| {
        connection.execute(
            "UPDATE tasks SET state = 'claimed', generation = 1, holder = ?1, token = ?2, expires_ns = 0
             WHERE name = 'task' AND (generation = 0 OR NOT ?3)",
            params![name, token, looks],
        )
    });
    changed.await == 1
}

fn task_claimed(token: i64) -> Effect {
    Effect::TaskClaimed { task: "task".into(), generation: 1, token: token as u64, took_over: false }
}

#[test]
fn claim_single_winner_finds_two_winners() {
    let world = |writes_over: bool| {
        run_agents(&plan(), 2, move |agent, index| async move {
            let token = i64::from(index) + 1;
            agent.until_ms(100 + 100 * u64::from(index)).await;
            agent.begin(1, "task-claim").await;
            if take_task(&agent, token, !writes_over).await {
                agent.acknowledge(1, task_claimed(token)).await;
            } else {
                agent.sys.claim(&Refused { key: agent.key(1), why: "lost-race".into() }).await;
            }
            Exit::success()
        })
    };
    both(world, "claim-single-winner", "task `task`, generation 1: won by agent-0#1 and by agent-1#1");
}

/// Ticks an item under the task's first claim, which it may or may not hold.
async fn tick(agent: &Agent, item: u64) {
    agent.begin(2, "task-check").await;
    write(&agent.sys, "FULL", format!("UPDATE checklist SET generation = 1 WHERE task = 'task' AND item = {item}"))
        .await;
    agent.acknowledge(2, Effect::ItemChecked { task: "task".into(), item, generation: 1 }).await;
}

#[test]
fn claim_single_winner_finds_work_without_a_claim_also_when_the_winner_never_said_so() {
    let world = |says_so, intrudes| {
        run_agents(&plan(), 2, move |agent, index| async move {
            agent.until_ms(100 + 100 * u64::from(index)).await;
            if index == 0 {
                agent.begin(1, "task-claim").await;
                take_task(&agent, 1, true).await;
                if says_so {
                    agent.acknowledge(1, task_claimed(1)).await;
                }
                tick(&agent, 0).await;
                if !says_so {
                    // As an agent that was killed after its commit: it finds out later that it had won.
                    agent.find(1, task_claimed(1)).await;
                }
            } else if intrudes {
                tick(&agent, 1).await;
            }
            Exit::success()
        })
    };
    let words = "agent-1#2 worked on task `task` under generation 1, which agent-0 had won";
    for says_so in [true, false] {
        both(|intrudes| world(says_so, intrudes), "claim-single-winner", words);
    }
}

#[test]
fn zero_byte_files_are_counted_among_documents_and_owners_records() {
    let world = |names: &'static [&'static str]| {
        let outcome = run_agents(&plan(), 1, move |agent, _| async move {
            for name in names {
                let path = format!("/swarm/{name}");
                agent.sys.open(&path, OpenFlags::WRITE.create_exclusive()).await.expect("it is new");
            }
            Exit::success()
        });
        passed(&outcome);
        outcome.observations.counters.get("zero_byte_files").copied()
    };
    assert_eq!(world(&["documents/a.tmp.1", "documents/a.corrupt.1", ".locks/a.owner"]), Some(3));
    assert_eq!(world(&[".locks/a.lock", ".locks/a.reclaim", "other"]), Some(0));
}
