//! Truth maintenance at scale, counted: beliefs that retractions touch, against those that depend on what is retracted. Nothing is timed.

use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{Batch, Belief, Justification, Network, Record, Standing};
use seedstorm_sim::{Draw, Seed};

/// Beliefs of one subject: they rest on each other.
const SUBJECT: usize = 500;
/// So many of them, the first, rest on no other.
const PREMISES: usize = 20;
/// One reason in so many names a belief of another subject.
const ACROSS: u64 = 2_000;
/// How many premises are retracted, each alone.
const RETRACTED: usize = 40;

/// The beliefs that so many retractions touch, over those that depend on what is retracted, in a network of so many beliefs: each rests on two or
/// three that came before it, by one or two justifications.
pub(super) fn touched_vs_dependents(count: usize) -> f64 {
    let mut stream = Seed(1).stream("beliefs");
    let belief = |number: usize| Belief {
        standing: Standing::Learned,
        asserted_ns: number as u64,
        text: format!("belief {number}"),
    };
    let ids: Vec<Digest> = (0..count).map(|number| belief(number).id()).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut network = Network::new(&[], None);
    for first in (0..count).step_by(1_000) {
        let numbers = first..count.min(first + 1_000);
        let mut batch = Batch { beliefs: numbers.clone().map(belief).collect(), records: Vec::new() };
        for number in numbers {
            let first_of_subject = number - number % SUBJECT;
            if number - first_of_subject < PREMISES {
                batch.records.push(Record::Justify(Justification::premise(ids[number], "a")));
                continue;
            }
            for _ in 0..stream.between(1, 2) {
                let mut rests_on = || {
                    let from = if stream.chance(1, ACROSS) { 0 } else { first_of_subject };
                    stream.between(from as u64, number as u64 - 1) as usize
                };
                let ins: Vec<usize> = vec![rests_on(), rests_on()];
                let outs: Vec<usize> = if number % 7 == 0 { vec![rests_on()] } else { Vec::new() };
                ins.iter().chain(&outs).for_each(|named| dependents[*named].push(number));
                let [ins, outs] = [ins, outs].map(|named| named.into_iter().map(|named| ids[named]).collect());
                batch.records.push(Record::Justify(Justification::new(ids[number], ins, outs, "a")));
            }
        }
        network.ingest(&batch);
    }
    let (mut touched, mut depending) = (0, 0);
    for number in (0..RETRACTED).map(|place| place * (count / RETRACTED / SUBJECT) * SUBJECT + place % PREMISES) {
        let retraction = Record::Retract(Justification::premise(ids[number], "a").id());
        let batch = Batch { beliefs: Vec::new(), records: vec![retraction] };
        touched += network.ingest(&batch).relabelled.touched;
        depending += reach(&dependents, number);
    }
    touched as f64 / depending as f64
}

/// How many beliefs depend on one, however far, itself among them.
fn reach(dependents: &[Vec<usize>], from: usize) -> u64 {
    let mut reached = vec![false; dependents.len()];
    reached[from] = true;
    let mut left = vec![from];
    let mut count = 0;
    while let Some(number) = left.pop() {
        count += 1;
        for dependent in &dependents[number] {
            if !std::mem::replace(&mut reached[*dependent], true) {
                left.push(*dependent);
            }
        }
    }
    count
}
