//! The invariants that judge the database of beliefs as it stands: after each acknowledged batch, after each crash of the machine, at the end, and after
//! the recovery at a crash point. Each is a function of one reading; what needs an account of the past is in files of its own.

use super::reading::{Judged, Planned, Reader, Reading, Shared};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use seedstorm_model::claims::Committed;
use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{Batch, Finding, Justification, Label, Network, Standing};
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Draw, Seed, View};
use std::collections::{BTreeMap, BTreeSet};

/// What an invariant looks at.
pub struct Case<'a> {
    /// The database, and what should follow.
    pub judged: &'a Judged,
    /// The disk.
    pub disk: &'a Disk,
    /// What the plan says of beliefs.
    pub plan: &'a Planned,
}

/// What is wrong: in words, with which kind of object, and what happened to it.
#[derive(Debug)]
pub struct Wrong {
    /// In words.
    pub message: String,
    object: &'static str,
    loss: &'static str,
}

fn wrong(message: String, object: &'static str, loss: &'static str) -> Result<(), Wrong> {
    Err(Wrong { message, object, loss })
}

/// An invariant of the database of beliefs.
pub struct OfBeliefs {
    id: &'static str,
    reader: Reader,
    judge: fn(&Case<'_>) -> Result<(), Wrong>,
    /// Whether it judges survivors and acknowledged states, too, or crashes and the end only.
    is_often: bool,
}

impl OfBeliefs {
    /// An invariant that is judged at each acknowledgement, too.
    pub fn new(id: &'static str, reader: &Reader, judge: fn(&Case<'_>) -> Result<(), Wrong>) -> OfBeliefs {
        OfBeliefs { id, reader: reader.clone(), judge, is_often: true }
    }

    /// An invariant that costs too much to be judged at each acknowledgement.
    pub fn rarely(id: &'static str, reader: &Reader, judge: fn(&Case<'_>) -> Result<(), Wrong>) -> OfBeliefs {
        OfBeliefs { is_often: false, ..OfBeliefs::new(id, reader, judge) }
    }

    fn look(&self, shared: &Shared, disk: &Disk) -> Result<(), Violation> {
        // Whether it can be read at all is `database-sound`'s to say.
        let Ok(Some(judged)) = &**shared else { return Ok(()) };
        let case = Case { judged, disk, plan: &self.reader.plan };
        (self.judge)(&case).map_err(|Wrong { message, object, loss }| {
            Violation::new(self.id, message).object(object).role("agent").loss(loss)
        })
    }
}

impl Invariant for OfBeliefs {
    fn id(&self) -> &'static str {
        self.id
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        if self.is_often { Reader::INTEREST } else { Interest::LIVES }
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.reader.at(event, view).map_or(Ok(()), |shared| self.look(&shared, view.disk()))
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.look(&self.reader.read(view), view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        self.is_often.then_some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let shared: Shared = survivor.reading(|disk| Judged::of(disk, &self.reader.plan));
        self.look(&shared, survivor.disk())
    }
}

/// `supersedes-acyclic`: no belief supersedes itself, directly or through others.
pub fn supersedes_acyclic(case: &Case<'_>) -> Result<(), Wrong> {
    let mut graph: DiGraph<Digest, ()> = DiGraph::new();
    let mut nodes: BTreeMap<Digest, NodeIndex> = BTreeMap::new();
    for edge in case.judged.reading.accepted.live_supersessions() {
        let [newer, older] =
            [edge.newer, edge.older].map(|belief| *nodes.entry(belief).or_insert_with(|| graph.add_node(belief)));
        graph.add_edge(newer, older, ());
    }
    let is_cycle = |component: &&Vec<NodeIndex>| component.len() > 1 || graph.contains_edge(component[0], component[0]);
    match kosaraju_scc(&graph).iter().find(is_cycle) {
        None => Ok(()),
        Some(component) => {
            let names: Vec<String> = round(&graph, component).iter().map(|node| name(case, &graph[*node])).collect();
            wrong(format!("supersedes has a cycle: {}", names.join(", which supersedes ")), "supersession", "cycle")
        }
    }
}

/// A way through a component from its first node back to it.
fn round(graph: &DiGraph<Digest, ()>, component: &[NodeIndex]) -> Vec<NodeIndex> {
    let first = component[0];
    let next = graph.neighbors(first).find(|next| component.contains(next)).unwrap_or(first);
    let back = petgraph::algo::astar(graph, next, |node| node == first, |_| 1u32, |_| 0);
    std::iter::once(first).chain(back.map(|(_, path)| path).unwrap_or_default()).collect()
}

fn name(case: &Case<'_>, belief: &Digest) -> String {
    let known = case.plan.beliefs.get(belief).and_then(|belief| belief.text.split(' ').nth(1));
    known.map_or_else(|| belief.to_string(), str::to_owned)
}

/// `core-kept`: each core memory is there, as it was laid down, byte for byte; it is in, and there are no others.
pub fn core_kept(case: &Case<'_>) -> Result<(), Wrong> {
    let reading = &case.judged.reading;
    // They are laid down in the transaction that comes before all others.
    if reading.findings.is_empty() {
        return Ok(());
    }
    let is_core = |id: &&Digest| reading.accepted.beliefs[*id].standing == Standing::Core;
    if let Some(id) = reading.accepted.beliefs.keys().filter(is_core).find(|id| !case.plan.core.contains_key(id)) {
        let message = format!("{} was never laid down, and is a core memory", name(case, id));
        return wrong(message, "core-memory", "invented");
    }
    if let Some(edge) = reading.accepted.supersessions.values().find(|edge| case.plan.core.contains_key(&edge.older)) {
        let message = format!(
            "{} was recorded as what supersedes core memory {}",
            name(case, &edge.newer),
            name(case, &edge.older)
        );
        return wrong(message, "core-memory", "overruled");
    }
    for (id, belief) in &case.plan.core {
        if !reading.accepted.beliefs.contains_key(id) {
            return wrong(format!("core memory {} is gone", name(case, id)), "core-memory", "lost");
        }
        let finding = reading.findings.get(id).copied().unwrap_or_default();
        if reading.accepted.forgotten.contains(id) {
            return wrong(format!("core memory {} was consolidated away", name(case, id)), "core-memory", "overruled");
        }
        if finding.label != Label::In || finding.heir.is_some() {
            let message = format!("core memory {} is {:?}", name(case, id), finding.label);
            return wrong(message, "core-memory", "overruled");
        }
        let path = format!("{}{id}", crate::oracle::paths::MEMORIES);
        if case.disk.visible_read(&path).as_deref() != Some(&belief.encode()[..]) {
            return wrong(
                format!("the file of core memory {} has other bytes", name(case, id)),
                "core-memory",
                "changed",
            );
        }
    }
    Ok(())
}

/// `isolation-by-rank`: who yields in a contradiction is the weakest of its members, whatever came when.
pub fn isolation_by_rank(case: &Case<'_>) -> Result<(), Wrong> {
    for (id, found) in &case.judged.reading.contradictions {
        let expected = case.judged.expected.contradictions.get(id).and_then(|(victim, _)| *victim);
        if found.victim != expected {
            let names = [found.victim, expected].map(|one| one.map_or("nobody".into(), |one| name(case, &one)));
            let message = format!("in contradiction {id} {} yields, and {} is the weakest", names[0], names[1]);
            return wrong(message, "contradiction", "wrong-victim");
        }
    }
    Ok(())
}

fn label(reading: &Reading, id: &Digest) -> Label {
    reading.findings.get(id).map(|finding| finding.label).unwrap_or_default()
}

/// Whether a reason holds, as labels are stored.
fn holds(reading: &Reading, reason: &Justification) -> bool {
    reason.ins().iter().all(|belief| label(reading, belief) == Label::In)
        && reason.outs().iter().all(|belief| label(reading, belief) == Label::Out)
}

/// A belief that counts as supported, and has no reason that holds by the labels that are stored: whatever they should be, this one contradicts them.
fn supported_by_nothing(reading: &Reading) -> Option<Digest> {
    let reasons = reading.accepted.live_justifications().filter(|reason| holds(reading, reason));
    let supported: BTreeSet<Digest> = reasons.map(|reason| reason.consequent).collect();
    let is_core =
        |id: &Digest| reading.accepted.beliefs.get(id).is_some_and(|belief| belief.standing == Standing::Core);
    let is_wrong =
        |(id, finding): &(&Digest, &Finding)| finding.support == Label::In && !supported.contains(*id) && !is_core(id);
    reading.findings.iter().find(is_wrong).map(|(id, _)| *id)
}

/// `support-well-founded`: what is in and has a justification that holds rests in the end on premises and core memories, not on itself.
pub fn support_well_founded(case: &Case<'_>) -> Result<(), Wrong> {
    let reading = &case.judged.reading;
    // Where something has been kept that doesn't even rest on itself, `labels-agree` says what is wrong, and a loop is part of that.
    if supported_by_nothing(reading).is_some() {
        return Ok(());
    }
    let label = |id: &Digest| label(reading, id);
    let holding: Vec<_> = reading.accepted.live_justifications().filter(|reason| holds(reading, reason)).collect();
    let core = reading.accepted.beliefs.iter().filter(|(_, belief)| belief.standing == Standing::Core);
    let mut founded: BTreeSet<Digest> = core.map(|(id, _)| *id).collect();
    loop {
        let is_new = |justification: &&&Justification| {
            !founded.contains(&justification.consequent)
                && justification.ins().iter().all(|belief| founded.contains(belief))
        };
        let new: Vec<Digest> = holding.iter().filter(is_new).map(|justification| justification.consequent).collect();
        if new.is_empty() {
            break;
        }
        founded.extend(new);
    }
    let unfounded = holding.iter().map(|justification| justification.consequent);
    let mut unfounded = unfounded.filter(|belief| label(belief) == Label::In && !founded.contains(belief));
    match unfounded.next() {
        None => Ok(()),
        Some(belief) => {
            let message = format!("{} is in, and what it rests on rests on it", name(case, &belief));
            wrong(message, "belief", "unfounded")
        }
    }
}

/// `labels-agree`: labels, supports and heirs are those of the naive labeller.
pub fn labels_agree(case: &Case<'_>) -> Result<(), Wrong> {
    let found = &case.judged.reading.findings;
    for (id, expected) in &case.judged.expected.findings {
        match found.get(id) {
            Some(found) if found == expected => {}
            found => {
                let message = format!("{} has {found:?}, and should have {expected:?}", name(case, id));
                // Which belief is met first, and what became of it, is chance: what follows from a wrong label is as wrong as that.
                return wrong(message, "belief", "mislabelled");
            }
        }
    }
    Ok(())
}

/// `contradictions-flagged`: a contradiction is flagged if all its members but the one that yields hold, and that one has a reason that holds, superseded
/// or not; and only then.
pub fn contradictions_flagged(case: &Case<'_>) -> Result<(), Wrong> {
    for (id, (_, expected)) in &case.judged.expected.contradictions {
        let found = case.judged.reading.contradictions.get(id).map(|found| found.flag);
        if found != Some(*expected) {
            let message = format!("contradiction {id} is flagged {found:?}, and should be {expected:?}");
            return wrong(message, "contradiction", "not-flagged");
        }
    }
    Ok(())
}

/// `labels-order-free`: the engine itself, fresh, comes to the same when it takes the same records in in another order.
pub fn labels_order_free(case: &Case<'_>) -> Result<(), Wrong> {
    let reading = &case.judged.reading;
    let core: Vec<_> = case.plan.core.values().cloned().collect();
    // The order is drawn from what was recorded: the same for the same set.
    let seed = reading.accepted.retracted.len() as u64 * 1_000 + reading.accepted.justifications.len() as u64;
    let mut stream = Seed(seed).stream("shuffle");
    let mut network = Network::new(&core, case.plan.mutant);
    let records = reading.accepted.shuffled(&mut stream);
    let mut records = records.into_iter();
    loop {
        let chunk: Vec<Batch> = records.by_ref().take(stream.between(1, 16) as usize).collect();
        if chunk.is_empty() {
            break;
        }
        let beliefs = chunk.iter().flat_map(|batch| batch.beliefs.clone()).collect();
        let batch = Batch { beliefs, records: chunk.into_iter().flat_map(|batch| batch.records).collect() };
        if let Some(refused) = network.ingest(&batch).refused.first() {
            let message = format!("{:?} was accepted, and is refused in another order", refused);
            return wrong(message, "belief", "order");
        }
    }
    for (id, found) in network.findings() {
        if reading.findings.get(&id) != Some(&found) {
            let message =
                format!("{} has {:?}, and in another order {found:?}", name(case, &id), reading.findings.get(&id));
            return wrong(message, "belief", "order");
        }
    }
    Ok(())
}
