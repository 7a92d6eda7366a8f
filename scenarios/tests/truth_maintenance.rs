//! The engine of truth maintenance against the naive labeller, in memory: after each batch, whatever the order, and in the cases that are known to go wrong.

use seedstorm_model::memory::Digest;
use seedstorm_model::mutant::Mutant;
use seedstorm_model::tms::well_founded::{Program, Rule, solve, work_max};
use seedstorm_model::tms::{Batch, Label, Network, Reason, Record, Supersession};
use seedstorm_scenarios::avalanche::records::{STRUCTURES, Size, draw};
use seedstorm_scenarios::avalanche::universe::Universe;
use seedstorm_scenarios::oracle::beliefs::accepted::{Accepted, Expected};
use seedstorm_scenarios::oracle::beliefs::naive::{self, NaiveRule};
use seedstorm_sim::{Draw, Seed, Stream};
use std::collections::BTreeSet;

const UNIVERSE: Universe = Universe { text_bytes: 12 };

fn found(network: &Network) -> Expected {
    Expected {
        findings: network.findings().collect(),
        contradictions: network.contradictions().map(|(id, victim, flag)| (id, (victim, flag))).collect(),
    }
}

/// A seed's size, batches, and a stream for what comes after them.
fn batches(seed: u64) -> (Size, Vec<Batch>, Stream) {
    let mut stream = Seed(seed).stream("batches");
    let size = Size { core: stream.between(1, 3), axioms: stream.between(1, 4), learned: stream.between(2, 14) };
    let weights: Vec<u64> =
        STRUCTURES.iter().map(|(_, weight)| weight * [1, 4, 12][stream.below(3) as usize]).collect();
    let mut recorded = Vec::new();
    let batches = (0..stream.between(1, 8)).map(|number| {
        let source = format!("agent-{}", number % 3);
        let count = stream.between(1, 12);
        let words = draw(&mut stream, size, &weights, count, &source, &mut recorded);
        UNIVERSE.batch(words.iter().map(String::as_str)).expect("words")
    });
    (size, batches.collect(), stream)
}

#[test]
fn labels_agree_with_the_definition_after_each_batch_and_in_any_order() {
    let (mut undecided, mut flagged, mut cycles, mut attacks) = (0, 0, 0, 0);
    for seed in 0..1_500 {
        let (size, batches, mut stream) = batches(seed);
        let core = UNIVERSE.core(size.core);
        let (mut network, mut accepted) = (Network::new(&core, None), Accepted::of_core(&core));
        for (number, batch) in batches.iter().enumerate() {
            let ingested = network.ingest(batch);
            accepted.take(batch, &ingested.refused);
            assert_eq!(found(&network), accepted.expected(), "seed {seed}, batch {number}: {batch:#?}");
            assert!(is_acyclic(&accepted), "seed {seed}, batch {number}: {batch:#?}");
            let (atoms, size) = accepted.program_size();
            assert!(ingested.relabelled.work <= work_max(atoms, size), "seed {seed}");
            cycles += ingested.refused.iter().filter(|refusal| matches!(refusal.reason, Reason::Cycle(_))).count();
            attacks += ingested.refused.iter().filter(|refusal| refusal.reason == Reason::Core).count();
        }
        let expected = accepted.expected();
        undecided += expected.findings.values().filter(|finding| finding.label == Label::Undecided).count();
        flagged += expected.contradictions.values().filter(|(_, flag)| *flag == Label::In).count();
        for _ in 0..3 {
            let mut again = Network::new(&core, None);
            for batch in accepted.shuffled(&mut stream) {
                assert_eq!(again.ingest(&batch).refused, [], "seed {seed}: what was accepted is accepted");
            }
            assert_eq!(found(&again), expected, "seed {seed}");
        }
    }
    assert!(
        undecided > 500 && flagged > 150 && cycles > 150 && attacks > 150,
        "{undecided} {flagged} {cycles} {attacks}"
    );
}

/// Whether supersessions come to an end: those are taken away, again and again, whose older belief supersedes nothing any more.
fn is_acyclic(accepted: &Accepted) -> bool {
    let mut left: Vec<&Supersession> = accepted.live_supersessions().collect();
    loop {
        let newer: BTreeSet<&Digest> = left.iter().map(|edge| &edge.newer).collect();
        let count = left.len();
        left.retain(|edge| newer.contains(&edge.older));
        if left.len() == count {
            return left.is_empty();
        }
    }
}

/// A belief whose own edges a batch has read already gets an edge to one whose edges it hasn't.
#[test]
fn a_cycle_through_what_a_batch_has_not_read_is_refused() {
    let mut network = Network::new(&[], None);
    let mut refused = |words: &[&str]| {
        let batch = UNIVERSE.batch(words.iter().copied()).expect("words");
        network.ingest(&batch).refused.into_iter().map(|refusal| refusal.reason).collect::<Vec<_>>()
    };
    assert_eq!(refused(&["b1 supersedes b2"]), []);
    // The first one is refused, and b0 is read for it.
    let path =
        |names: &[&str]| Reason::Cycle(names.iter().map(|name| UNIVERSE.belief(name).expect("a name").id()).collect());
    let reasons = refused(&["b0 supersedes b0", "b0 supersedes b1", "b2 supersedes b0"]);
    assert_eq!(reasons, [path(&["b0", "b0"]), path(&["b2", "b0", "b1", "b2"])]);
}

fn rule(stream: &mut Stream, atoms: u64) -> Rule {
    let mut some = |least, most| {
        let count = stream.between(least, most);
        (0..count).map(|_| stream.below(atoms) as usize).collect::<Vec<_>>()
    };
    Rule { head: some(1, 1)[0], positive: some(0, 2), negative: some(0, 2) }
}

#[test]
fn the_solver_agrees_with_the_definition_on_programs_that_are_no_beliefs() {
    for seed in 0..20_000 {
        let mut stream = Seed(seed).stream("program");
        let atoms = stream.between(1, 12);
        let rules: Vec<Rule> = (0..stream.below(30)).map(|_| rule(&mut stream, atoms)).collect();
        let naive: Vec<NaiveRule> = rules
            .iter()
            .map(|Rule { head, positive, negative }| NaiveRule {
                head: *head,
                positive: positive.clone(),
                negative: negative.clone(),
            })
            .collect();
        let size = rules.iter().map(|rule| 1 + rule.positive.len() + rule.negative.len()).sum::<usize>() as u64;
        let model = solve(&Program { given: vec![None; atoms as usize], rules });
        let expected: Vec<Label> = naive::well_founded(atoms as usize, &naive)
            .into_iter()
            .map(|known| known.map_or(Label::Undecided, |holds| if holds { Label::In } else { Label::Out }))
            .collect();
        assert_eq!(model.labels, expected, "seed {seed}: {naive:?}");
        assert!(model.work <= work_max(atoms, size), "seed {seed}");
    }
}

/// Each planted bug makes the engine disagree with the definition, or accept what it must not.
#[test]
fn planted_bugs_show() {
    for mutant in [
        Mutant::PositiveLoopSupportsItself,
        Mutant::OverDeletion,
        Mutant::UnderDeletion,
        Mutant::VisitedSetPropagation,
        Mutant::ContradictionByArrival,
        Mutant::CoreGuardOnlyInCaller,
    ] {
        let shows = |seed: &u64| {
            let (size, batches, _) = batches(*seed);
            let core = UNIVERSE.core(size.core);
            let (mut network, mut accepted) = (Network::new(&core, Some(mutant)), Accepted::of_core(&core));
            batches.iter().any(|batch| {
                accepted.take(batch, &network.ingest(batch).refused);
                found(&network) != accepted.expected()
            })
        };
        let seeds = (0..300).filter(shows).count();
        assert!(seeds > 10, "{mutant:?}: {seeds} seeds of 300");
    }
}

#[test]
fn supersessions_name_the_path_of_a_cycle() {
    let mut network = Network::new(&[], None);
    let id = |name: &str| UNIVERSE.belief(name).expect("a name").id();
    let batch = |words: &[&str]| UNIVERSE.batch(words.iter().copied()).expect("words");
    let first = network.ingest(&batch(&["b1 supersedes b0", "b2 supersedes b1"]));
    assert_eq!(first.refused, []);
    let second = network.ingest(&batch(&["b0 supersedes b2", "b3 supersedes b2", "b3 supersedes b3"]));
    let reasons: Vec<&Reason> = second.refused.iter().map(|refusal| &refusal.reason).collect();
    let path = |names: &[&str]| Reason::Cycle(names.iter().map(|name| id(name)).collect());
    assert_eq!(reasons, [&path(&["b0", "b2", "b1", "b0"]), &path(&["b3", "b3"])]);
    let third = network.ingest(&batch(&["retract b2 supersedes b1", "b0 supersedes b2"]));
    assert_eq!(third.refused, [], "what is retracted closes no cycle");
}

/// Long chains take no more stack than short ones: in the store they are worked on in a coroutine's.
#[test]
fn long_chains_need_no_deep_stack() {
    const LENGTH: usize = 5_000;
    let chains = || {
        let mut network = Network::new(&[], None);
        let reasons = (0..LENGTH).map(|number| format!("b{} <- b{number} @x", number + 1));
        let edges = (0..LENGTH).map(|number| format!("a{} supersedes a{number}", number + 1));
        let words: Vec<String> = reasons.chain(edges).collect();
        network.ingest(&UNIVERSE.batch(words.iter().map(String::as_str)).expect("words"));
        let premises = ["b0 <- @x".to_owned(), format!("a{LENGTH} <- @x"), format!("a0 supersedes a{LENGTH}")];
        let ingested = network.ingest(&UNIVERSE.batch(premises.iter().map(String::as_str)).expect("words"));
        let [refusal] = ingested.refused.as_slice() else { panic!("one is refused: {:?}", ingested.refused) };
        let Reason::Cycle(path) = &refusal.reason else { panic!("{refusal:?}") };
        (path.len(), ingested.relabelled.changed)
    };
    let thread =
        std::thread::Builder::new().stack_size(256 << 10).spawn(chains).expect("the OS gives memory for a stack");
    let (path, changed) = thread.join().expect("it has room");
    assert_eq!((path, changed), (LENGTH + 2, LENGTH as u64 + 2));
}

/// The cost of a retraction follows what depends on it, not what there is.
#[test]
fn a_retraction_touches_what_depends_on_it() {
    let mut network = Network::new(&[], None);
    let premises = (0..300).map(|number| format!("b{number} <- @x"));
    let chain = (0..20).map(|number| format!("a{} <- a{number} @x", number + 1));
    let words: Vec<String> = premises.chain(chain).chain(["a0 <- b7 @x".to_owned()]).collect();
    network.ingest(&UNIVERSE.batch(words.iter().map(String::as_str)).expect("words"));
    let ingested = network.ingest(&UNIVERSE.batch(["retract b7 <- @x"]).expect("words"));
    assert_eq!((ingested.relabelled.touched, ingested.relabelled.changed), (22, 22));
    let idle = network.ingest(&UNIVERSE.batch(["retract b299 <- @y"]).expect("words"));
    assert_eq!(idle.relabelled.touched, 0, "nobody had said it");
    assert!(matches!(UNIVERSE.batch(["retract b7 <- @x"]).expect("words").records[..], [Record::Retract(_)]));
}
