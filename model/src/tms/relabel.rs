//! Labelling anew after a change, at a cost that follows it: the beliefs whose definition has changed and those that depend on them, however far, are
//! read and solved; what none of them is stays as it is, and is what they are solved against.
//!
//! A belief's definition as a logic program, with one atom for its support, one for its place, and one for each contradiction whose victim it is:
//!
//! - supported ← ins, not outs, for each live justification; for a core memory always;
//! - others(c) ← the members of contradiction c but for its victim;
//! - taken ← supported, not others(c) for each contradiction c whose victim it is; taken ← taken(s) for each s that supersedes it: what is outdated twice
//!   stays outdated;
//! - held ← supported, not others(c) for each such c, not taken(s) for each s that supersedes it; for a core memory always.
//!
//! So isolation is no procedure that comes after the labels but a part of the one program: labels, isolation and supersession have one well-founded
//! model, whatever the order in which things arrived. A victim comes back by itself when the others fall. A contradiction that would isolate what the
//! others rest on is a loop through negation: undecided, and reported.

use super::base::{Base, Finding, Kept, KeptContradiction};
use super::belief::Rank;
use super::label::Label;
use super::record::Justification;
use super::well_founded::{KeepsItself, Program, Rule, solve_with};
use crate::memory::Digest;
use crate::mutant::{Mutant, is};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Beliefs whose definition has changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// For whatever reason.
    pub(super) beliefs: BTreeSet<Digest>,
    /// By a retraction.
    pub(super) by_retraction: BTreeSet<Digest>,
}

/// What labelling anew came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relabelled {
    /// Beliefs that were read to be labelled.
    pub touched: u64,
    /// Beliefs whose label is another now.
    pub changed: u64,
    /// Rules and literals looked at; bounded, see [`work_max`](super::well_founded::work_max).
    pub work: u64,
    /// Odd loops among what was touched: the undecided beliefs of each.
    pub odd_loops: Vec<Vec<Digest>>,
}

/// A belief of the region, with what it is defined by.
struct Definition {
    id: Digest,
    kept: Kept,
    justifications: Vec<Justification>,
    successors: Vec<Digest>,
    /// Those whose victim it is.
    contradictions: Vec<KeptContradiction>,
    /// Its place among the atoms: held, then supported, then taken, then one for each contradiction.
    atom: usize,
}

/// Where a belief's atoms are, counted from its first.
const SUPPORTED: usize = 1;
const TAKEN: usize = 2;
const OTHERS: usize = 3;

/// Labels anew what has changed and what depends on it.
pub(super) fn relabel<B: Base>(
    base: &mut B,
    changed: &Changed,
    mutant: Option<Mutant>,
) -> Result<Relabelled, B::Error> {
    let region = region(base, changed, mutant)?;
    let mut definitions = Vec::with_capacity(region.len());
    let mut atoms = 0;
    for id in region {
        let Some(kept) = base.belief(&id)? else { continue };
        let is_founded = !kept.is_forgotten && !over_deletes(&id, changed, mutant);
        let justifications = if is_founded { base.justifications_of(&id)? } else { Vec::new() };
        let successors = base.successors_of(&id)?;
        let contradictions = base.contradictions_with(&id)?;
        let contradictions: Vec<_> = contradictions.into_iter().filter(|kept| kept.victim == Some(id)).collect();
        let atom = atoms;
        atoms += OTHERS + contradictions.len();
        definitions.push(Definition { id, kept, justifications, successors, contradictions, atom });
    }
    let mut translation = Translation::new(base, &definitions, atoms, mutant)?;
    definitions.iter().try_for_each(|definition| translation.define(definition))?;
    let Translation { program, .. } = translation;
    let model = if is(mutant, Mutant::VisitedSetPropagation) {
        visited_once(&program, &definitions)
    } else {
        let before = labels_before(&program, &definitions);
        let keeps_itself = is(mutant, Mutant::PositiveLoopSupportsItself).then_some(before.as_slice());
        solve_with(&program, KeepsItself(keeps_itself))
    };
    let changed = write(base, &definitions, &model.labels, mutant)?;
    let belief_of: BTreeMap<usize, Digest> = definitions.iter().map(|found| (found.atom, found.id)).collect();
    let beliefs = |atoms: &Vec<usize>| -> Vec<Digest> {
        let mut beliefs: Vec<Digest> = atoms.iter().filter_map(|atom| belief_of.get(atom).copied()).collect();
        beliefs.sort_unstable();
        beliefs
    };
    let mut odd_loops: Vec<Vec<Digest>> = model.odd_loops.iter().map(beliefs).collect();
    odd_loops.sort_unstable();
    Ok(Relabelled { touched: definitions.len() as u64, changed, work: model.work, odd_loops })
}

fn over_deletes(id: &Digest, changed: &Changed, mutant: Option<Mutant>) -> bool {
    is(mutant, Mutant::OverDeletion) && changed.by_retraction.contains(id)
}

/// What has changed and all that depends on it, in the order in which it was reached.
fn region<B: Base>(base: &mut B, changed: &Changed, mutant: Option<Mutant>) -> Result<Vec<Digest>, B::Error> {
    let mut reached: BTreeSet<Digest> = changed.beliefs.clone();
    let mut queue: VecDeque<Digest> = changed.beliefs.iter().copied().collect();
    let mut region = Vec::new();
    while let Some(id) = queue.pop_front() {
        let is_met_again = region.contains(&id);
        region.push(id);
        if is(mutant, Mutant::UnderDeletion) && changed.by_retraction.contains(&id) {
            continue;
        }
        let mut dependents = base.resting_on(&id)?;
        dependents.extend(base.superseded_by(&id)?);
        let victims = base.contradictions_with(&id)?.into_iter().filter_map(|kept| kept.victim);
        dependents.extend(victims);
        if is(mutant, Mutant::LabelledByWays) {
            // What waits in the queue counts as not reached.
            let is_new = |dependent: &Digest| !is_met_again && !region.contains(dependent);
            queue.extend(dependents.into_iter().filter(is_new));
            continue;
        }
        queue.extend(dependents.into_iter().filter(|dependent| reached.insert(*dependent)));
    }
    Ok(region)
}

/// The region as a logic program; what is outside of it has the label that is kept.
struct Translation<'a, B> {
    base: &'a mut B,
    program: Program,
    /// By belief: its atom.
    atoms: BTreeMap<Digest, usize>,
    /// By belief: the atom of its place.
    taken: BTreeMap<Digest, usize>,
    guards_core: bool,
}

impl<'a, B: Base> Translation<'a, B> {
    fn new(
        base: &'a mut B,
        definitions: &[Definition],
        atoms: usize,
        mutant: Option<Mutant>,
    ) -> Result<Translation<'a, B>, B::Error> {
        let program = Program { given: vec![None; atoms], rules: Vec::new() };
        let atoms = definitions.iter().map(|definition| (definition.id, definition.atom)).collect();
        let taken = definitions.iter().map(|definition| (definition.id, definition.atom + TAKEN)).collect();
        Ok(Translation { base, program, atoms, taken, guards_core: !is(mutant, Mutant::CoreGuardOnlyInCaller) })
    }

    /// A belief's atom; one with the label that is kept, if it is outside of the region.
    fn held(&mut self, id: &Digest) -> Result<usize, B::Error> {
        if let Some(atom) = self.atoms.get(id) {
            return Ok(*atom);
        }
        let label = self.base.belief(id)?.map(|kept| kept.label).unwrap_or_default();
        let atom = self.program.given.len();
        self.program.given.push(Some(label));
        self.atoms.insert(*id, atom);
        Ok(atom)
    }

    /// The atom of a belief's place, as [`Translation::held`].
    fn taken(&mut self, id: &Digest) -> Result<usize, B::Error> {
        if let Some(atom) = self.taken.get(id) {
            return Ok(*atom);
        }
        let label = self.base.belief(id)?.map(|kept| kept.taken).unwrap_or_default();
        let atom = self.program.given.len();
        self.program.given.push(Some(label));
        self.taken.insert(*id, atom);
        Ok(atom)
    }

    fn all_held(&mut self, ids: &[Digest]) -> Result<Vec<usize>, B::Error> {
        ids.iter().map(|id| self.held(id)).collect()
    }

    fn define(&mut self, definition: &Definition) -> Result<(), B::Error> {
        let (held, supported) = (definition.atom, definition.atom + SUPPORTED);
        let taken = definition.atom + TAKEN;
        let is_core = definition.kept.rank.is_core();
        if is_core {
            self.program.rules.push(Rule { head: supported, ..Rule::default() });
            if self.guards_core {
                self.program.rules.push(Rule { head: held, ..Rule::default() });
                self.program.rules.push(Rule { head: taken, ..Rule::default() });
            }
        }
        for justification in &definition.justifications {
            let (positive, negative) = (self.all_held(justification.ins())?, self.all_held(justification.outs())?);
            self.program.rules.push(Rule { head: supported, positive, negative });
        }
        let mut negative = Vec::new();
        for (others, kept) in (definition.atom + OTHERS..).zip(&definition.contradictions) {
            let members = kept.contradiction.members();
            let members: Vec<Digest> = members.iter().copied().filter(|member| *member != definition.id).collect();
            let positive = self.all_held(&members)?;
            self.program.rules.push(Rule { head: others, positive, negative: Vec::new() });
            negative.push(others);
        }
        self.program.rules.push(Rule { head: taken, positive: vec![supported], negative: negative.clone() });
        for successor in &definition.successors {
            let over = self.taken(successor)?;
            self.program.rules.push(Rule { head: taken, positive: vec![over], negative: Vec::new() });
            negative.push(over);
        }
        self.program.rules.push(Rule { head: held, positive: vec![supported], negative });
        Ok(())
    }
}

/// By atom: the label that is kept, of a support and of others as far as it follows from it.
fn labels_before(program: &Program, definitions: &[Definition]) -> Vec<Label> {
    let mut before: Vec<Label> = program.given.iter().map(|given| given.unwrap_or_default()).collect();
    for definition in definitions {
        before[definition.atom] = definition.kept.label;
        before[definition.atom + SUPPORTED] = definition.kept.label;
        before[definition.atom + TAKEN] = definition.kept.taken;
    }
    before
}

/// The planted bug: each belief is labelled once, in the order in which it was reached, by what the labels are at that moment.
fn visited_once(program: &Program, definitions: &[Definition]) -> super::well_founded::Model {
    let mut labels = labels_before(program, definitions);
    for definition in definitions {
        let first = definition.atom;
        let own = first + OTHERS..first + OTHERS + definition.contradictions.len();
        for head in own.chain([first + SUPPORTED, first + TAKEN, first]) {
            let mut rules = program.rules.iter().filter(|rule| rule.head == head);
            let is_in = rules.any(|rule| {
                let has = |label| move |labels: &[Label], atom: &usize| labels[*atom] == label;
                let positive = rule.positive.iter().all(|atom| has(Label::In)(&labels, atom));
                positive && rule.negative.iter().all(|atom| has(Label::Out)(&labels, atom))
            });
            labels[head] = if is_in { Label::In } else { Label::Out };
        }
    }
    super::well_founded::Model { labels, ..Default::default() }
}

/// Keeps what was found. Gives how many beliefs have another label now.
fn write<B: Base>(
    base: &mut B,
    definitions: &[Definition],
    labels: &[Label],
    mutant: Option<Mutant>,
) -> Result<u64, B::Error> {
    let heirs = heirs(base, definitions, labels)?;
    let mut changed = 0;
    for definition in definitions {
        let label = labels[definition.atom];
        let (support, taken) = (labels[definition.atom + SUPPORTED], labels[definition.atom + TAKEN]);
        let heir = heirs.get(&definition.id).copied().flatten().map(|rank| rank.belief());
        base.set_finding(&definition.id, &Finding { label, support, taken, heir })?;
        for (others, kept) in (definition.atom + OTHERS..).zip(&definition.contradictions) {
            let flag = labels[others].and(support);
            if !(is(mutant, Mutant::FlagNeverLowered) && flag == Label::Out) {
                base.set_flag(&kept.id, flag)?;
            }
        }
        changed += u64::from(label != definition.kept.label);
    }
    Ok(changed)
}

/// By belief: the greatest rank among what supersedes it, directly or through others, and holds. Successors come before those that they supersede.
fn heirs<B: Base>(
    base: &mut B,
    definitions: &[Definition],
    labels: &[Label],
) -> Result<BTreeMap<Digest, Option<Rank>>, B::Error> {
    let found: BTreeMap<Digest, &Definition> = definitions.iter().map(|found| (found.id, found)).collect();
    let mut heirs: BTreeMap<Digest, Option<Rank>> = BTreeMap::new();
    let mut entered: BTreeSet<Digest> = BTreeSet::new();
    for definition in definitions {
        let mut path = vec![definition];
        while let Some(top) = path.last().copied() {
            let is_new = entered.insert(top.id);
            let above = top.successors.iter().filter_map(|successor| found.get(successor).copied());
            // A cycle is refused when it is written; one that is there all the same is gone round once.
            let waits: Vec<&Definition> = above.filter(|above| is_new && !entered.contains(&above.id)).collect();
            if !waits.is_empty() {
                path.extend(waits);
                continue;
            }
            path.pop();
            if heirs.contains_key(&top.id) {
                continue;
            }
            let mut best = None;
            for successor in &top.successors {
                let Some(kept) = base.belief(successor)? else { continue };
                let (label, above) = match found.get(successor) {
                    Some(above) => (labels[above.atom], heirs.get(successor).copied().flatten()),
                    None => (kept.label, heir_of(base, &kept)?),
                };
                best = best.max(above).max((label == Label::In).then_some(kept.rank));
            }
            heirs.insert(top.id, best);
        }
    }
    Ok(heirs)
}

fn heir_of<B: Base>(base: &mut B, kept: &Kept) -> Result<Option<Rank>, B::Error> {
    let Some(heir) = &kept.heir else { return Ok(None) };
    Ok(base.belief(heir)?.map(|kept| kept.rank))
}
