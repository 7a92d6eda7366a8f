//! Each oracle of truth maintenance fires where just its own promise is broken, and is silent where all is right.

mod support;

use seedstorm_model::agent::{Done, Work, WorkKind, lay_down, prepare, wake};
use seedstorm_model::claims::{Committed, Effect, OperationBegun, OperationKey};
use seedstorm_model::config::Config;
use seedstorm_model::memory::{Digest, Transition};
use seedstorm_model::mutant::Mutant;
use seedstorm_model::tms::{Batch, Label, Network, Relabelled, Supersession};
use seedstorm_scenarios::avalanche::universe::Universe;
use seedstorm_scenarios::oracle::beliefs::accepted::Accepted;
use seedstorm_scenarios::oracle::beliefs::judge::{self, Case, Wrong};
use seedstorm_scenarios::oracle::beliefs::reading::{Judged, Planned, Reading, StoredContradiction};
use seedstorm_scenarios::oracle::beliefs::watch_beliefs;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::OptionsError;
use seedstorm_sim::sys::disk::{Disk, DiskOptions, Persistence};
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, World, run};
use support::{fired, passed};

const UNIVERSE: Universe = Universe { text_bytes: 12 };

fn id(name: &str) -> Digest {
    UNIVERSE.belief(name).expect("a name").id()
}

fn batch(words: &[&str]) -> Batch {
    UNIVERSE.batch(words.iter().copied()).expect("words")
}

/// A loop that has lost its premise, a contradiction, a supersession; `b4` rests on `b3`.
const WORDS: &[&str] = &[
    "b0 <- @x",
    "b1 <- b0 @x",
    "b1 <- b2 @x",
    "b2 <- b1 @x",
    "retract b0 <- @x",
    "b3 <- @x",
    "b4 <- b3 @x",
    "b5 <- @x",
    "contradiction b4 b5",
    "a0 <- @x",
    "a0 supersedes b6",
    "b6 <- @x",
];

fn planned() -> Planned {
    let named = |belief: seedstorm_model::tms::Belief| (belief.id(), belief);
    let core = UNIVERSE.core(1).into_iter().map(named).collect();
    let batches = [(1, batch(WORDS)), (2, batch(&["b3 <- @y"]))].into();
    let beliefs = batch(WORDS).beliefs.into_iter().chain(UNIVERSE.core(1)).map(named).collect();
    Planned { beliefs, core, batches, mutant: None }
}

/// What the engine makes of the words, and then something broken in it.
fn judged(judge: fn(&Case<'_>) -> Result<(), Wrong>, breaks: impl FnOnce(&mut Reading)) -> Result<(), Wrong> {
    judged_with(judge, None, breaks)
}

fn judged_with(
    judge: fn(&Case<'_>) -> Result<(), Wrong>,
    mutant: Option<Mutant>,
    breaks: impl FnOnce(&mut Reading),
) -> Result<(), Wrong> {
    let core = UNIVERSE.core(1);
    let (mut network, mut accepted) = (Network::new(&core, None), Accepted::of_core(&core));
    accepted.take(&batch(WORDS), &network.ingest(&batch(WORDS)).refused);
    let contradictions =
        network.contradictions().map(|(id, victim, flag)| (id, StoredContradiction { victim, flag })).collect();
    let mut reading = Reading { accepted, findings: network.findings().collect(), contradictions, strange: Vec::new() };
    breaks(&mut reading);
    let plan = Planned { mutant, ..planned() };
    let judged = Judged { expected: reading.accepted.expected(), reading };
    judge(&Case { judged: &judged, disk: &Disk::new(Persistence::Strict, DiskOptions::default()), plan: &plan })
}

#[track_caller]
fn fires(judge: fn(&Case<'_>) -> Result<(), Wrong>, words: &str, breaks: impl FnOnce(&mut Reading)) {
    assert!(judged(judge, |_| {}).is_ok(), "silent where all is right");
    let message = judged(judge, breaks).expect_err("it fires").message;
    assert!(message.contains(words), "{message}");
}

fn set(reading: &mut Reading, name: &str, label: Label) {
    reading.findings.get_mut(&id(name)).expect("it is there").label = label;
}

#[test]
fn labels_agree_finds_a_label_that_is_wrong() {
    fires(judge::labels_agree, "b3", |reading| set(reading, "b3", Label::Out));
    fires(judge::labels_agree, "b6", |reading| {
        reading.findings.get_mut(&id("b6")).expect("it is there").heir = None;
    });
}

#[test]
fn support_well_founded_finds_a_loop_and_nothing_else() {
    fires(judge::support_well_founded, "rests on it", |reading| {
        set(reading, "b1", Label::In);
        set(reading, "b2", Label::In);
    });
    // In without any reason that holds: that is for `labels-agree` to say.
    assert!(judged(judge::support_well_founded, |reading| set(reading, "b0", Label::In)).is_ok());
}

#[test]
fn contradictions_flagged_finds_one_that_is_not() {
    fires(judge::contradictions_flagged, "should be In", |reading| {
        reading.contradictions.values_mut().for_each(|found| found.flag = Label::Out);
    });
}

#[test]
fn isolation_by_rank_finds_the_wrong_victim() {
    // b4 was asserted at 3, b5 at 0: b4 yields.
    fires(judge::isolation_by_rank, "b5 yields, and b4 is the weakest", |reading| {
        reading.contradictions.values_mut().for_each(|found| found.victim = Some(id("b5")));
    });
}

#[test]
fn supersedes_acyclic_finds_a_cycle() {
    fires(judge::supersedes_acyclic, "which supersedes", |reading| {
        let edge = Supersession { newer: id("b6"), older: id("a0") };
        reading.accepted.supersessions.insert(edge.id(), edge);
    });
}

#[test]
fn labels_order_free_finds_labels_that_another_order_does_not_give() {
    fires(judge::labels_order_free, "in another order", |reading| set(reading, "b3", Label::Out));
    // An engine that depends on the order: here the fresh one, which takes the records in as they are drawn.
    let by_arrival = judged_with(judge::labels_order_free, Some(Mutant::VisitedSetPropagation), |_| {});
    assert!(by_arrival.is_err());
}

#[test]
fn core_kept_wants_the_files_too() {
    let missing = judged(judge::core_kept, |_| {}).expect_err("the disk is empty").message;
    assert!(missing.contains("other bytes"), "{missing}");
    let gone = judged(judge::core_kept, |reading| drop(reading.accepted.beliefs.remove(&id("c0"))));
    assert!(gone.expect_err("it is gone").message.contains("is gone"));
}

/// A world of one agent that takes batch 1 in, and then claims something.
struct Claims(fn(Effect) -> Option<Committed>);

impl Scenario for Claims {
    fn name(&self) -> &'static str {
        "case"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan { seed, ..support::plan() })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let config = Config { keeps_memories: true, keeps_beliefs: true, ..Config::default() };
        let (prepared, claim) = (config.clone(), self.0);
        world.prepare(move |sys| {
            let config = prepared.clone();
            async move {
                prepare(&sys, &config, &[], &[], 0).await.expect("nothing goes wrong here");
                lay_down(&sys, &config, &UNIVERSE.core(1)).await.expect("nothing goes wrong here");
                Exit::success()
            }
        });
        world.process_with("agent", 0, RestartPolicy::Never, move |sys| ingest_and_claim(sys, config.clone(), claim));
        watch_beliefs(planned(), world);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

async fn ingest_and_claim(sys: Sys, config: Config, claim: fn(Effect) -> Option<Committed>) -> Exit {
    let mut agent = wake(&sys, &config).await.expect("nothing goes wrong here");
    let work = Work { number: 1, kind: WorkKind::Ingest { batch: batch(WORDS) } };
    assert_eq!(agent.work(&sys, &work).await.expect("nothing goes wrong here"), Done::Acknowledged);
    let (refused, sealed) = Default::default();
    let transition = Transition { number: 2, root: id("b0"), memories: 9 };
    let effect = Effect::Ingested { refused, relabelled: Relabelled::default(), sealed, transition };
    if let Some(committed) = claim(effect) {
        sys.claim(&OperationBegun { key: committed.key.clone(), kind: "ingest".into() }).await;
        sys.claim(&committed).await;
    }
    Exit::success()
}

fn outcome(claim: fn(Effect) -> Option<Committed>) -> Outcome {
    run(&Claims(claim), &support::plan(), Settings::default()).expect("the plan can be run")
}

fn committed(number: u64, effect: Effect) -> Option<Committed> {
    Some(Committed { key: OperationKey { agent: "agent-0".into(), number }, effect, was_found: true })
}

#[test]
fn batches_kept_finds_an_acknowledgement_with_nothing_behind_it() {
    passed(&outcome(|_| None));
    passed(&outcome(|effect| committed(1, effect)));
    fired(&outcome(|effect| committed(2, effect)), "batches-kept", "was acknowledged, and is lost");
}

#[test]
fn relabel_bounded_finds_work_without_bound() {
    let endless = |effect| match effect {
        Effect::Ingested { refused, sealed, transition, relabelled } => {
            let relabelled = Relabelled { work: 1_000_000, ..relabelled };
            committed(1, Effect::Ingested { refused, sealed, transition, relabelled })
        }
        _ => None,
    };
    fired(&outcome(endless), "relabel-bounded", "took 1000000");
}
