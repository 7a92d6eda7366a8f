//! Beliefs in the store, by way of agents that are killed: a batch takes effect once, with its labels and its root, or not at all.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{WorkKind, lay_down, prepare};
use seedstorm_model::claims::{Committed, Effect};
use seedstorm_model::config::Config;
use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{
    Batch, Belief, Contradiction, Finding, Justification, Network, Record, Standing, Supersession,
};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, Position, Trigger};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Exit, Sys, World};
use std::rc::Rc;
use support::{Diary, agent, ask, fault, pass, plan};

fn config() -> Config {
    Config { keeps_memories: true, keeps_beliefs: true, page_bytes: 1024, autocheckpoint_pages: 5, ..Config::default() }
}

fn belief(number: u64) -> Belief {
    Belief { standing: Standing::Learned, asserted_ns: number, text: format!("belief {number}") }
}

fn id(number: u64) -> Digest {
    belief(number).id()
}

fn core() -> Belief {
    Belief { standing: Standing::Core, asserted_ns: 1, text: "what we are".into() }
}

/// The batches of an agent: a chain on a premise of its own, a contradiction and a supersession with the other agent's, and a retraction.
fn batches(agent: u64) -> Vec<Batch> {
    let (own, other) = (10 * agent, 10 * (1 - agent));
    let because = |consequent, ins: &[u64], outs: &[u64]| {
        let ids = |numbers: &[u64]| numbers.iter().map(|number| id(*number)).collect();
        Record::Justify(Justification::new(id(consequent), ids(ins), ids(outs), format!("agent-{agent}")))
    };
    let batch =
        |beliefs: &[u64], records| Batch { beliefs: beliefs.iter().map(|number| belief(*number)).collect(), records };
    vec![
        batch(
            &[own, own + 1, own + 2],
            vec![because(own, &[], &[]), because(own + 1, &[own], &[]), because(own + 2, &[own + 1], &[])],
        ),
        batch(
            &[own + 1, own + 3, other + 1],
            vec![
                because(own + 3, &[], &[other + 1]),
                Record::Contradict(Contradiction::between(vec![id(own + 1), id(other + 1)])),
            ],
        ),
        batch(
            &[own + 2, other + 3],
            vec![Record::Supersede(Supersession { newer: id(other + 3), older: id(own + 2) })],
        ),
        batch(&[], vec![Record::Retract(Justification::premise(id(own), format!("agent-{agent}")).id())]),
    ]
}

/// Counts what is acknowledged by a commit just now, and notes the last root.
struct Roots(Diary);

impl Invariant for Roots {
    fn id(&self) -> &'static str {
        "roots"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Committed { effect: Effect::Ingested { transition, .. }, .. }) = event.claim() {
            self.0.note(format!("transition {} over {}", transition.number, transition.memories));
        }
        Ok(())
    }
}

async fn count(sys: &Sys, sql: &'static str) -> i64 {
    let read = move |_: &_| Connection::open(config().database())?.query_row(sql, [], |row| row.get(0));
    sys.blocking(read).await.expect("a sound database")
}

#[test]
fn a_batch_takes_effect_once_whatever_dies() {
    let expected: Vec<Option<Finding>> = {
        let mut network = Network::new(&[core()], None);
        (0..2).flat_map(batches).for_each(|batch| drop(network.ingest(&batch)));
        let all: std::collections::BTreeMap<Digest, Finding> = network.findings().collect();
        let named: Vec<u64> = (0..4).chain(10..14).collect();
        named.into_iter().map(|number| all.get(&id(number)).copied()).collect()
    };
    let mut killed = 0;
    for seed in 0..60 {
        let diary = Diary::default();
        let position = [Position::InTransaction, Position::BetweenEffectAndClaim, Position::BetweenTempAndRename];
        let when = Trigger::While { position: position[seed as usize % 3], nth: 1 + seed / 3 };
        let mut plan = plan(seed);
        plan.faults.push(fault(FaultKind::Kill, Some("agent-0"), when, 0));
        let outcome = pass(&plan, |world: &mut World| {
            world.prepare(|sys| async move {
                prepare(&sys, &config(), &[], &[], 0).await.expect("nothing goes wrong yet");
                lay_down(&sys, &config(), &[core()]).await.expect("nothing goes wrong yet");
                Exit::success()
            });
            world.invariant(Roots(diary.clone()));
            for index in 0..2 {
                let (diary, expected) = (diary.clone(), Rc::new(expected.clone()));
                agent(world, index, &config(), move |sys, mut agent, _| {
                    let (diary, expected) = (diary.clone(), expected.clone());
                    async move {
                        for (number, batch) in (1..).zip(batches(u64::from(index))) {
                            ask(&sys, &mut agent, number, WorkKind::Ingest { batch }).await;
                        }
                        diary.note(format!("agent-{index} is through"));
                        while (0..2).any(|index| diary.count(&format!("agent-{index} is through")) == 0) {
                            sys.sleep(1_000_000).await.expect("nobody sends signals here");
                        }
                        let ids: Vec<Digest> = (0..4).chain(10..14).map(id).collect();
                        let found = agent.findings(&sys, &ids).await.expect("a sound store");
                        assert_eq!(found.as_ref(), Some(&*expected), "seed {seed}");
                        // One root for the core memories, and one for each batch.
                        assert_eq!(count(&sys, "SELECT count(*) FROM merkle_roots").await, 1 + 8);
                        assert_eq!(count(&sys, "SELECT count(*) FROM justifications").await, 8);
                        diary.note("looked");
                    }
                });
            }
        });
        killed += outcome.observations.faults.get(&FaultKind::Kill).copied().unwrap_or(0);
        diary.expect("looked");
        diary.expect("transition 9 over 9");
    }
    assert!(killed > 40, "{killed} of 60 were killed");
}
