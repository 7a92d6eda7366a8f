//! The accepted set: what the swarm has recorded and not refused, and what follows from it by the naive labeller. It doesn't look at the engine's labels.

use super::naive::{Known, NaiveRule, well_founded};
use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{
    Batch, Belief, Contradiction, Finding, Justification, Label, Rank, Record, Refusal, Standing, Supersession,
};
use seedstorm_sim::Stream;
use std::collections::{BTreeMap, BTreeSet};

/// What has been recorded, by name. Order has no place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Beliefs.
    pub beliefs: BTreeMap<Digest, Belief>,
    /// Those of them that were consolidated away.
    pub forgotten: BTreeSet<Digest>,
    /// Justifications, retracted ones too.
    pub justifications: BTreeMap<Digest, Justification>,
    /// Contradictions, retracted ones too.
    pub contradictions: BTreeMap<Digest, Contradiction>,
    /// Supersessions, retracted ones too.
    pub supersessions: BTreeMap<Digest, Supersession>,
    /// Names of records that don't count.
    pub retracted: BTreeSet<Digest>,
}

/// What follows from an accepted set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// By belief.
    pub findings: BTreeMap<Digest, Finding>,
    /// By live contradiction: who yields, and whether it is flagged.
    pub contradictions: BTreeMap<Digest, (Option<Digest>, Label)>,
}

impl Accepted {
    /// A set that has nothing but core memories.
    pub fn of_core(core: &[Belief]) -> Accepted {
        let beliefs = core.iter().map(|belief| (belief.id(), belief.clone())).collect();
        Accepted { beliefs, ..Accepted::default() }
    }

    /// Takes in a batch but for what was refused of it.
    pub fn take(&mut self, batch: &Batch, refused: &[Refusal]) {
        let is_refused = |id: Digest| refused.iter().any(|refusal| refusal.id == id);
        for belief in batch.beliefs.iter().filter(|belief| !is_refused(belief.id())) {
            self.beliefs.entry(belief.id()).or_insert_with(|| belief.clone());
        }
        for record in &batch.records {
            let id = record.id();
            // A retraction is never refused, and may name what is.
            if is_refused(id) && !matches!(record, Record::Retract(_)) {
                continue;
            }
            match record {
                Record::Justify(new) => drop(self.justifications.insert(id, new.clone())),
                Record::Contradict(new) => drop(self.contradictions.insert(id, new.clone())),
                Record::Supersede(new) => drop(self.supersessions.insert(id, new.clone())),
                Record::Retract(_) => drop(self.retracted.insert(id)),
                Record::Forget(_) => drop(self.forgotten.insert(id)),
            }
        }
    }

    /// What counts of the set, one record to a batch, in an order that is drawn. Retractions come with what they retract, before or after it; only
    /// supersessions come without: one that doesn't count might close a cycle before its retraction has come.
    pub fn shuffled(&self, stream: &mut Stream) -> Vec<Batch> {
        let mut records: Vec<Record> = self.justifications.values().cloned().map(Record::Justify).collect();
        records.extend(self.contradictions.values().cloned().map(Record::Contradict));
        records.extend(self.live_supersessions().cloned().map(Record::Supersede));
        records.extend(self.retracted.iter().copied().map(Record::Retract));
        records.extend(self.forgotten.iter().copied().map(Record::Forget));
        stream.shuffle(&mut records);
        let mut batches: Vec<Batch> = records
            .into_iter()
            .map(|record| {
                let mut named = record.beliefs();
                stream.shuffle(&mut named);
                let beliefs = named.iter().filter_map(|belief| self.beliefs.get(belief)).cloned().collect();
                Batch { beliefs, records: vec![record] }
            })
            .collect();
        // Beliefs that no record names.
        batches.push(Batch { beliefs: self.beliefs.values().cloned().collect(), records: Vec::new() });
        batches
    }

    /// Something of another set that isn't in this one, in words.
    pub fn lacks(&self, other: &Accepted) -> Option<String> {
        let belief = other.beliefs.keys().find(|id| !self.beliefs.contains_key(id));
        let forgotten = other.forgotten.iter().find(|id| !self.forgotten.contains(id));
        let justification = other.justifications.keys().find(|id| !self.justifications.contains_key(id));
        let contradiction = other.contradictions.keys().find(|id| !self.contradictions.contains_key(id));
        let supersession = other.supersessions.keys().find(|id| !self.supersessions.contains_key(id));
        let retraction = other.retracted.iter().find(|id| !self.retracted.contains(id));
        let lacking = [
            ("belief", belief),
            ("forgetting of", forgotten),
            ("justification", justification),
            ("contradiction", contradiction),
            ("supersession", supersession),
            ("retraction of", retraction),
        ];
        lacking.into_iter().find_map(|(what, id)| id.map(|id| format!("the {what} {id}")))
    }

    /// How many atoms the naive program has at most, and how large it is: rules and literals, of whatever was ever recorded.
    pub fn program_size(&self) -> (u64, u64) {
        let count = |map: usize| map as u64;
        let contradictions = count(self.contradictions.len());
        let members = self.contradictions.values().map(|found| count(found.members().len())).sum::<u64>();
        let bodies = self.justifications.values().map(|found| count(1 + found.ins().len() + found.outs().len()));
        let beliefs = count(self.beliefs.len());
        // Held, supported and taken for each belief, with rules that name one another; one atom for each contradiction, named twice more; a rule for each
        // supersession, named once more.
        let size =
            bodies.sum::<u64>() + 7 * beliefs + 3 * count(self.supersessions.len()) + 3 * contradictions + members;
        // What lies outside of a region is two atoms.
        (3 * beliefs + contradictions + 2 * beliefs, size)
    }

    /// The live justifications.
    pub fn live_justifications(&self) -> impl Iterator<Item = &Justification> {
        let live = self.justifications.iter().filter(|(id, _)| !self.retracted.contains(id));
        live.map(|(_, justification)| justification)
            .filter(|justification| !self.forgotten.contains(&justification.consequent))
    }

    /// The live supersessions.
    pub fn live_supersessions(&self) -> impl Iterator<Item = &Supersession> {
        self.supersessions.iter().filter(|(id, _)| !self.retracted.contains(id)).map(|(_, supersession)| supersession)
    }

    /// The live contradictions.
    pub fn live_contradictions(&self) -> impl Iterator<Item = (&Digest, &Contradiction)> {
        self.contradictions.iter().filter(|(id, _)| !self.retracted.contains(id))
    }

    /// Who supersedes a belief, live.
    pub fn successors<'a>(&'a self, belief: &'a Digest) -> impl Iterator<Item = &'a Digest> {
        self.live_supersessions().filter(|supersession| supersession.older == *belief).map(|found| &found.newer)
    }

    fn rank(&self, belief: &Digest) -> Option<Rank> {
        self.beliefs.get(belief).map(Belief::rank)
    }

    fn is_core(&self, belief: &Digest) -> bool {
        self.beliefs.get(belief).is_some_and(|belief| belief.standing == Standing::Core)
    }

    /// Who yields in a contradiction: of those that aren't core memories the weakest, as the rule has it.
    pub fn yields(&self, contradiction: &Contradiction) -> Option<Digest> {
        let of = |member: &Digest| {
            let belief = self.beliefs.get(member)?;
            let standing = match belief.standing {
                Standing::Core => return None,
                Standing::Axiom => 1,
                Standing::Learned => 0,
            };
            Some((standing, std::cmp::Reverse(belief.asserted_ns), std::cmp::Reverse(*member)))
        };
        contradiction.members().iter().filter_map(of).min().map(|(_, _, id)| id.0)
    }

    /// By belief: all that supersede it, directly or through others.
    fn over(&self) -> BTreeMap<Digest, BTreeSet<Digest>> {
        let mut over: BTreeMap<Digest, BTreeSet<Digest>> =
            self.beliefs.keys().map(|id| (*id, BTreeSet::new())).collect();
        loop {
            let mut is_complete = true;
            for supersession in self.live_supersessions() {
                let mut more = over[&supersession.newer].clone();
                more.insert(supersession.newer);
                let found = over.get_mut(&supersession.older).expect("a supersession names beliefs");
                let before = found.len();
                found.extend(more);
                is_complete &= found.len() == before;
            }
            if is_complete {
                return over;
            }
        }
    }

    /// What follows from it.
    pub fn expected(&self) -> Expected {
        let atoms: BTreeMap<Digest, usize> = self.beliefs.keys().enumerate().map(|(atom, id)| (*id, atom)).collect();
        let places = |beliefs: &[Digest]| -> Vec<usize> {
            beliefs.iter().filter_map(|belief| atoms.get(belief).copied()).collect()
        };
        let mut rules = Vec::new();
        // Whether it holds but for what supersedes it, is a second atom of each belief.
        let stands = |atom: usize| atoms.len() + atom;
        let over = self.over();
        // What keeps a belief from standing: for each contradiction in which it yields an atom that says that the others hold.
        let mut against: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut others_of: BTreeMap<Digest, usize> = BTreeMap::new();
        let mut count = 2 * atoms.len();
        for (id, contradiction) in self.live_contradictions() {
            let Some(victim) = self.yields(contradiction) else { continue };
            let others: Vec<Digest> =
                contradiction.members().iter().copied().filter(|member| *member != victim).collect();
            rules.push(NaiveRule { head: count, positive: places(&others), negative: Vec::new() });
            against.entry(atoms[&victim]).or_default().push(count);
            others_of.insert(*id, count);
            count += 1;
        }
        for (id, atom) in &atoms {
            if self.is_core(id) {
                rules.push(NaiveRule { head: *atom, ..NaiveRule::default() });
                rules.push(NaiveRule { head: stands(*atom), ..NaiveRule::default() });
            }
        }
        for justification in self.live_justifications() {
            let head = atoms[&justification.consequent];
            let mut negative = places(justification.outs());
            negative.extend(against.get(&head).into_iter().flatten());
            let positive = places(justification.ins());
            rules.push(NaiveRule { head: stands(head), positive: positive.clone(), negative: negative.clone() });
            negative.extend(over[&justification.consequent].iter().map(|over| stands(atoms[over])));
            rules.push(NaiveRule { head, positive, negative });
        }
        let known = well_founded(count, &rules);
        let label = |atom: usize| label_of(known[atom]);
        let mut findings: BTreeMap<Digest, Finding> = BTreeMap::new();
        for (id, atom) in &atoms {
            let label = label(*atom);
            let support = if self.is_core(id) { Label::In } else { Label::Out };
            let places = over[id].iter().map(|over| atoms[over]).chain([*atom]);
            let free = places.map(|atom| negated(label_of(known[stands(atom)]))).fold(Label::In, Label::and);
            let heirs = over[id].iter().filter(|over| label_of(known[atoms[*over]]) == Label::In);
            let heir = heirs.max_by_key(|heir| self.rank(heir)).copied();
            findings.insert(*id, Finding { label, support, taken: negated(free), heir });
        }
        for justification in self.live_justifications() {
            let body = places(justification.ins()).into_iter().map(label);
            let body = body.chain(places(justification.outs()).into_iter().map(|atom| negated(label(atom))));
            let body = body.fold(Label::In, Label::and);
            if let Some(finding) = findings.get_mut(&justification.consequent) {
                finding.support = negated(negated(finding.support).and(negated(body)));
            }
        }
        let flag = |id: &Digest, contradiction: &Contradiction| match self.yields(contradiction) {
            Some(victim) => (Some(victim), label(others_of[id]).and(findings[&victim].support)),
            None => (None, Label::In),
        };
        let contradictions = self.live_contradictions().map(|(id, found)| (*id, flag(id, found))).collect();
        Expected { findings, contradictions }
    }
}

fn label_of(known: Known) -> Label {
    match known {
        Some(true) => Label::In,
        Some(false) => Label::Out,
        None => Label::Undecided,
    }
}

fn negated(label: Label) -> Label {
    match label {
        Label::In => Label::Out,
        Label::Out => Label::In,
        Label::Undecided => Label::Undecided,
    }
}
