//! The oracles of sealed memories, each seen to fire in a world in which just its own promise is broken, and silent in the same world put right.

mod support;

use rusqlite::Connection;
use seedstorm_model::claims::{Effect, MemoriesVerified};
use seedstorm_model::config::Config;
use seedstorm_model::memory::{Damaged, Digest, Folder, Transition, latest, seal};
use seedstorm_model::mutant::Mutant;
use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_scenarios::oracle::{Auditor, MemoriesKept, OrphansSwept, SealAccount};
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Faults, OptionsError, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, World, run};
use support::{Agent, MILLI_NS, fired, passed, plan, run_memories, with_database, write};

/// The same world twice: with the bug, and without it.
fn both(world: impl Fn(bool) -> Outcome, invariant: &str, words: &str) {
    fired(&world(true), invariant, words);
    passed(&world(false));
}

const TEXT: &str = "what I know";

fn memory() -> Digest {
    Digest::of(TEXT.as_bytes())
}

fn folder() -> Folder {
    Folder::new(&Config::default())
}

fn path() -> String {
    folder().path_of(&memory())
}

/// Seals memories and commits, in the way of the engine, perhaps with a planted bug.
async fn sealed(agent: &Agent, memories: Vec<Digest>, mutant: Option<Mutant>) -> Transition {
    let work = move |connection: &mut Connection| {
        let transaction = connection.transaction()?;
        let transition = seal(&transaction, &memories, 1, mutant)?;
        transaction.commit()?;
        Ok(transition)
    };
    with_database(&agent.sys, "FULL", work).await
}

/// Writes a text's file.
async fn filed(agent: &Agent, text: &str) -> Digest {
    let writing = folder().open(&agent.sys).await.expect("nobody sweeps");
    writing.write(&agent.sys, text.as_bytes()).await.expect("there is room")
}

/// Remembers a text, as one operation.
async fn remember(agent: &Agent, number: u64, text: &str, mutant: Option<Mutant>) {
    agent.begin(number, "remember").await;
    let memory = filed(agent, text).await;
    let transition = sealed(agent, vec![memory], mutant).await;
    agent.acknowledge(number, Effect::Remembered { memory, transition }).await;
}

async fn claim_verified(agent: &Agent, damaged: &[&str]) {
    let transition = with_database(&agent.sys, "FULL", |connection| latest(connection)).await;
    let damaged =
        damaged.iter().map(|path| Damaged { path: (*path).to_owned(), what: "it is missing".into() }).collect();
    agent.sys.claim(&MemoriesVerified { key: agent.key(99), transition: Some(transition), damaged }).await;
}

#[test]
fn memories_kept_finds_a_file_that_was_removed() {
    let world = |removes| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            if removes {
                agent.sys.unlink(&path()).await.expect("it is there");
            }
            Exit::success()
        })
    };
    both(world, "memories-kept", "is sealed, and its file was removed");
}

#[test]
fn memories_kept_finds_a_file_that_was_written_over() {
    let world = |writes| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            let file = agent.sys.open(&path(), OpenFlags::READ_WRITE).await.expect("it is there");
            let byte = if writes { b"W" } else { b"w" };
            file.write_at(byte, 0).await.expect("there is room");
            Exit::success()
        })
    };
    both(world, "memories-kept", "was kept, and its file is gone or holds something else");
}

#[test]
fn memories_kept_finds_another_text_under_a_memory_s_name() {
    let world = |renames| {
        run_memories(&plan(), move |agent, _| async move {
            let other = folder().path_of(&filed(&agent, "something else").await);
            let to = if renames { path() } else { format!("{other}.tmp.old") };
            agent.sys.rename(&other, &to).await.expect("there is room");
            let _ = agent.sys.unlink(&format!("{other}.tmp.old")).await;
            Exit::success()
        })
    };
    both(world, "memories-kept", "got a file that holds something else");
}

#[test]
fn memories_kept_finds_a_seal_without_a_file() {
    let world = |is_early: bool| {
        run_memories(&plan(), move |agent, _| async move {
            if !is_early {
                filed(&agent, TEXT).await;
            }
            sealed(&agent, vec![memory()], None).await;
            Exit::success()
        })
    };
    both(world, "memories-kept", "is sealed, and has no whole file");
}

#[test]
fn memories_kept_finds_an_acknowledgement_without_a_file() {
    let world = |is_early: bool| {
        run_memories(&plan(), move |agent, _| async move {
            agent.begin(1, "remember").await;
            let transition = sealed(&agent, vec![memory()], None).await;
            if !is_early {
                filed(&agent, TEXT).await;
            }
            agent.acknowledge(1, Effect::Remembered { memory: memory(), transition }).await;
            filed(&agent, TEXT).await;
            Exit::success()
        })
    };
    both(world, "memories-kept", "is acknowledged, and its file is gone");
}

#[test]
fn seal_true_finds_a_root_that_stays() {
    let world = |stays: bool| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            remember(&agent, 2, "more", stays.then_some(Mutant::SealNotUpdated)).await;
            Exit::success()
        })
    };
    both(world, "seal-true", "transition 2 has root");
}

#[test]
fn seal_true_finds_a_root_that_nobody_claimed() {
    let world = |stays: bool| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            let unclaimed = filed(&agent, "more").await;
            sealed(&agent, vec![unclaimed], stays.then_some(Mutant::SealNotUpdated)).await;
            Exit::success()
        })
    };
    both(world, "seal-true", "transition 2 has root");
}

#[test]
fn seal_true_finds_a_stored_root_that_was_changed_since() {
    let world = |changes| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            remember(&agent, 2, "more", None).await;
            if changes {
                let sql = "DROP TRIGGER merkle_roots_dont_change; UPDATE merkle_roots SET root = zeroblob(32) WHERE transition = 1;";
                write(&agent.sys, "FULL", sql.into()).await;
            }
            Exit::success()
        })
    };
    both(world, "seal-true", "the root after transition 1 is said to be 0000");
}

#[test]
fn seal_true_finds_a_verification_that_claims_another_root() {
    let world = |lies| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            let mut transition = with_database(&agent.sys, "FULL", |connection| latest(connection)).await;
            if lies {
                transition.root = memory();
            }
            let (key, transition) = (agent.key(99), Some(transition));
            agent.sys.claim(&MemoriesVerified { key, transition, damaged: Vec::new() }).await;
            Exit::success()
        })
    };
    both(world, "seal-true", "the root after transition 1 is said to be");
}

#[test]
fn an_account_goes_by_numbers_and_not_by_the_order_of_claims() {
    let [one, two, three] = ["1", "2", "3"].map(|text| Digest::of(text.as_bytes()));
    let made = |number, memories: &[Digest]| {
        let mut set = seedstorm_scenarios::oracle::MemorySet::default();
        memories.iter().for_each(|memory| assert!(set.insert(*memory)));
        Transition { number, root: set.root(), memories: set.len() }
    };
    let mut account = SealAccount::default();
    account.claim(&[three], made(3, &[one, two, three])).expect("not known yet");
    account.claim(&[one], made(1, &[one])).expect("true");
    account.compare(made(2, &[one, three])).expect("not known yet");
    account.claim(&[two], made(2, &[one, two])).expect("true, and the third is, too");
    assert!(account.compare(made(2, &[one, three])).is_err());
    assert!(account.claim(&[three], made(3, &[one, three])).is_err());
    let mut account = SealAccount::default();
    account.claim(&[three], made(2, &[one, two])).expect("not known yet");
    assert!(account.claim(&[one], made(1, &[one])).is_err(), "the second was untrue");
}

#[test]
fn damage_named_finds_an_alarm_for_nothing() {
    let world = |invents| {
        run_memories(&plan(), move |agent, _| async move {
            remember(&agent, 1, TEXT, None).await;
            claim_verified(&agent, if invents { &["/swarm/state.db"] } else { &[] }).await;
            Exit::success()
        })
    };
    both(world, "damage-named", "named /swarm/state.db, which is whole");
}

/// An agent that remembers on a disk that lies about its file; the power fails; in its second life it claims what it found.
fn damaged_by_a_crash(seed: u64, claims: fn() -> Vec<String>) -> Outcome {
    let fault = |id, kind, when| FaultPlan {
        id,
        kind,
        process: Some("agent-0".into()),
        when,
        for_ns: 100 * MILLI_NS,
        by_ns: 0,
        between: None,
    };
    let lie = fault(1, FaultKind::LyingSync, Trigger::Call { kind: CallKind::Sync, nth: 1 });
    let crash = fault(2, FaultKind::MachineCrash, Trigger::AtNs(500 * MILLI_NS));
    let plan = Plan { seed: Seed(seed), faults: vec![lie, crash], ..plan() };
    run_memories(&plan, move |agent, _| async move {
        if agent.sys.simulated_ns() < 500 * MILLI_NS {
            remember(&agent, 1, TEXT, None).await;
            agent.until_ms(900).await;
        }
        let claims = claims();
        claim_verified(&agent, &claims.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // Whoever heals it may still be told of it by one who looked before.
        filed(&agent, TEXT).await;
        claim_verified(&agent, &claims.iter().map(String::as_str).collect::<Vec<_>>()).await;
        Exit::success()
    })
}

#[test]
fn damage_named_finds_damage_that_nobody_named() {
    // Not every crash damages what a lie has left to it.
    let seed = (0..50).find(|seed| !damaged_by_a_crash(*seed, Vec::new).passed()).expect("one does");
    fired(&damaged_by_a_crash(seed, Vec::new), "damage-named", "is damaged, and a verification didn't name it");
    passed(&damaged_by_a_crash(seed, || vec![path()]));
    let two = || vec![path(), folder().path_of(&Digest::of(b"whole"))];
    fired(&damaged_by_a_crash(seed, two), "damage-named", "which is whole");
}

/// The storm, with a recovery that sweeps nothing.
struct Unswept;

impl Scenario for Unswept {
    fn name(&self) -> &'static str {
        ConcurrencyStorm.name()
    }

    fn about(&self) -> &'static str {
        ConcurrencyStorm.about()
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        ConcurrencyStorm.plan(seed, options)
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        seedstorm_scenarios::swarm::populate(plan, world);
        world.invariant(MemoriesKept::new(Auditor::default()));
        world.invariant(OrphansSwept);
    }

    fn recover(&self, _plan: &Plan, world: &mut World) {
        world.process("agent", 0, |_| async move { Exit::success() });
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

#[test]
fn orphans_swept_finds_a_file_that_nobody_sealed() {
    let options = Options { workers: Some(4), faults: Faults::None, ..Options::default() };
    let settings = || Settings { crash_points: CrashPoints::All, ..Settings::default() };
    for seed in 0..3 {
        let plan = Unswept.plan(Seed(seed), &options).expect("right options");
        let outcome = run(&Unswept, &plan, settings()).expect("the plan can be run");
        fired(&outcome, "orphans-swept", "has a file, is not sealed, and nobody is alive");
        let outcome = run(&ConcurrencyStorm, &plan, settings()).expect("the plan can be run");
        passed(&outcome);
    }
}
