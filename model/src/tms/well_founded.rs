//! The well-founded model of a normal logic program (Van Gelder, Ross and Schlipf 1991, "The well-founded semantics for general logic programs"): unique,
//! in polynomial time. Knows rules over atoms, not beliefs.
//!
//! Components of the dependency graph are solved one after the other, those that others depend on first (Lifschitz and Turner 1994, "Splitting a logic
//! program"; the well-founded model may be computed along such a split). Within a component it is the alternating fixpoint (Van Gelder 1993): what
//! surely holds bounds what may hold, and the other way round. Each bound is a least fixpoint, so nothing holds itself up.
//!
//! The work (rules and literals looked at) is bounded: a component of `a` atoms and size `s` takes at most `a + 2` rounds of two least fixpoints, each
//! of which looks at each rule and literal at most twice. See [`work_max`].

use super::label::Label;
use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::{BTreeMap, BTreeSet};

/// A rule: the head holds if all positive atoms hold and no negative one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The atom that it is for.
    pub head: usize,
    /// Atoms that must hold.
    pub positive: Vec<usize>,
    /// Atoms that must not.
    pub negative: Vec<usize>,
}

/// A program over atoms 0, 1, 2, …
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// By atom: its label, where it is known beforehand. Rules for such an atom don't count.
    pub given: Vec<Option<Label>>,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// The model, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// By atom.
    pub labels: Vec<Label>,
    /// Rules and literals looked at.
    pub work: u64,
    /// Odd loops: the undecided atoms of components in which some undecided atom depends on itself through an odd number of negations.
    pub odd_loops: Vec<Vec<usize>>,
}

/// The most work that a program of so many atoms and of this size can take; the size is the number of rules and of literals in them.
pub const fn work_max(atoms: u64, size: u64) -> u64 {
    4 * (atoms + 2) * size
}

/// Whether a planted bug is on: what was in stays in as long as some rule holds, founded or not.
#[derive(Clone, Copy)]
pub(super) struct KeepsItself<'a>(pub(super) Option<&'a [Label]>);

/// Solves a program.
pub fn solve(program: &Program) -> Model {
    solve_with(program, KeepsItself(None))
}

pub(super) fn solve_with(program: &Program, keeps_itself: KeepsItself<'_>) -> Model {
    let atoms = program.given.len();
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(atoms, program.rules.len());
    for _ in 0..atoms {
        graph.add_node(());
    }
    let mut rules_of: Vec<Vec<usize>> = vec![Vec::new(); atoms];
    for (number, rule) in program.rules.iter().enumerate().filter(|(_, rule)| program.given[rule.head].is_none()) {
        rules_of[rule.head].push(number);
        for atom in rule.positive.iter().chain(&rule.negative).filter(|atom| program.given[**atom].is_none()) {
            graph.add_edge(NodeIndex::new(rule.head), NodeIndex::new(*atom), ());
        }
    }
    let mut solver = Solver {
        program,
        rules_of,
        model: Model {
            labels: program.given.iter().map(|given| given.unwrap_or_default()).collect(),
            ..Model::default()
        },
        place: vec![usize::MAX; atoms],
        keeps_itself,
    };
    // Those that others depend on come first.
    for component in kosaraju_scc(&graph) {
        let is_given = |node: &NodeIndex| program.given[node.index()].is_some();
        if component.iter().any(is_given) {
            continue;
        }
        let is_loop = component.len() > 1 || {
            let mut rested_on = graph.neighbors_directed(component[0], Direction::Outgoing);
            rested_on.any(|node| node == component[0])
        };
        if is_loop {
            solver.solve_component(component.iter().map(|node| node.index()).collect());
        } else {
            solver.solve_atom(component[0].index());
        }
    }
    solver.model
}

struct Solver<'a> {
    program: &'a Program,
    rules_of: Vec<Vec<usize>>,
    model: Model,
    /// By atom: its place in the component that is being solved; `usize::MAX` outside of it.
    place: Vec<usize>,
    keeps_itself: KeepsItself<'a>,
}

/// A rule of a component, by what its atoms outside are known to be. Atoms are places in the component.
struct Local {
    head: usize,
    positive: Vec<usize>,
    negative: Vec<usize>,
    /// Whether something outside is undecided: it may hold, but not surely.
    is_weak: bool,
}

impl Solver<'_> {
    /// What the rule's body is, by the labels so far.
    fn body(&mut self, rule: &Rule) -> Label {
        self.model.work += 1 + rule.positive.len() as u64 + rule.negative.len() as u64;
        let labels = &self.model.labels;
        let positive = rule.positive.iter().map(|atom| labels[*atom]);
        positive.chain(rule.negative.iter().map(|atom| not(labels[*atom]))).fold(Label::In, Label::and)
    }

    /// An atom that doesn't depend on itself.
    fn solve_atom(&mut self, atom: usize) {
        let program = self.program;
        let mut label = Label::Out;
        for number in std::mem::take(&mut self.rules_of[atom]) {
            label = or(label, self.body(&program.rules[number]));
        }
        self.model.labels[atom] = label;
    }

    fn solve_component(&mut self, mut component: Vec<usize>) {
        component.sort_unstable();
        for (place, atom) in component.iter().enumerate() {
            self.place[*atom] = place;
        }
        let rules = self.rules_within(&component);
        let dependents = Dependents::of(component.len(), &rules);
        let before = self.keeps_itself.0.map(|labels| component.iter().map(|atom| labels[*atom]).collect::<Vec<_>>());
        let nothing = vec![false; component.len()];
        let mut surely = nothing.clone();
        let possibly = loop {
            let work = &mut self.model.work;
            let possibly = least(&rules, &dependents, |_| true, &surely, work);
            let next = least(&rules, &dependents, |rule| !rule.is_weak, &possibly, work);
            let is_stable = next == surely;
            surely = next;
            if is_stable {
                break possibly;
            }
        };
        for (place, atom) in component.iter().enumerate() {
            self.model.labels[*atom] = match (surely[place], possibly[place]) {
                (true, _) => Label::In,
                (false, true) => Label::Undecided,
                (false, false) => Label::Out,
            };
        }
        if let Some(before) = before {
            self.keep_what_keeps_itself(&component, &rules, &before);
        }
        let labels = &self.model.labels;
        if component.iter().any(|atom| labels[*atom] == Label::Undecided) {
            let undecided = |place: usize| labels[component[place]] == Label::Undecided;
            if is_odd(component.len(), &rules, undecided) {
                let odd_loop = component.iter().copied().filter(|atom| labels[*atom] == Label::Undecided).collect();
                self.model.odd_loops.push(odd_loop);
            }
        }
        for atom in &component {
            self.place[*atom] = usize::MAX;
        }
    }

    /// The component's rules, but for those that can't hold by what is known outside.
    fn rules_within(&mut self, component: &[usize]) -> Vec<Local> {
        let program = self.program;
        let mut rules = Vec::new();
        for (head, atom) in component.iter().enumerate() {
            for number in std::mem::take(&mut self.rules_of[*atom]) {
                let Rule { positive, negative, .. } = &program.rules[number];
                self.model.work += 1 + positive.len() as u64 + negative.len() as u64;
                let is_inside = |atom: &usize| self.place[*atom] != usize::MAX;
                let outside = positive.iter().filter(|atom| !is_inside(atom)).map(|atom| self.model.labels[*atom]);
                let outside_not = negative.iter().filter(|atom| !is_inside(atom));
                let outside_not = outside_not.map(|atom| not(self.model.labels[*atom]));
                let known = outside.chain(outside_not).fold(Label::In, Label::and);
                if known == Label::Out {
                    continue;
                }
                let inside = |atoms: &[usize]| -> Vec<usize> {
                    atoms.iter().filter(|atom| is_inside(atom)).map(|atom| self.place[*atom]).collect()
                };
                rules.push(Local {
                    head,
                    positive: inside(positive),
                    negative: inside(negative),
                    is_weak: known == Label::Undecided,
                });
            }
        }
        rules
    }

    /// The planted bug: an atom that was in stays in as long as the body of some rule of it is in.
    fn keep_what_keeps_itself(&mut self, component: &[usize], rules: &[Local], before: &[Label]) {
        let mut kept: Vec<bool> = before.iter().map(|label| *label == Label::In).collect();
        loop {
            let holds = |rule: &&Local| {
                !rule.is_weak
                    && rule.positive.iter().all(|place| kept[*place])
                    && rule.negative.iter().all(|place| self.model.labels[component[*place]] == Label::Out)
            };
            let mut supported = vec![false; component.len()];
            rules.iter().filter(holds).for_each(|rule| supported[rule.head] = true);
            let next: Vec<bool> = kept.iter().zip(&supported).map(|(kept, supported)| *kept && *supported).collect();
            if next == kept {
                break;
            }
            kept = next;
        }
        for (atom, _) in component.iter().zip(kept).filter(|(_, kept)| *kept) {
            self.model.labels[*atom] = Label::In;
        }
    }
}

fn not(label: Label) -> Label {
    match label {
        Label::Out => Label::In,
        Label::In => Label::Out,
        Label::Undecided => Label::Undecided,
    }
}

fn or(one: Label, other: Label) -> Label {
    not(not(one).and(not(other)))
}

/// By place: the rules in whose positive body it stands.
struct Dependents(Vec<Vec<usize>>);

impl Dependents {
    fn of(places: usize, rules: &[Local]) -> Dependents {
        let mut dependents = vec![Vec::new(); places];
        for (number, rule) in rules.iter().enumerate() {
            rule.positive.iter().for_each(|place| dependents[*place].push(number));
        }
        Dependents(dependents)
    }
}

/// The least set that the wanted rules are closed under, where a negative atom counts as absent unless it is in `against`. Each rule fires when the last of
/// its positive atoms has come (Dowling and Gallier 1984).
fn least(
    rules: &[Local],
    dependents: &Dependents,
    is_wanted: impl Fn(&Local) -> bool,
    against: &[bool],
    work: &mut u64,
) -> Vec<bool> {
    let mut holds = vec![false; against.len()];
    let mut missing: Vec<usize> = Vec::with_capacity(rules.len());
    let mut reached = Vec::new();
    for rule in rules {
        *work += 1 + rule.negative.len() as u64;
        let is_possible = is_wanted(rule) && !rule.negative.iter().any(|place| against[*place]);
        missing.push(if is_possible { rule.positive.len() } else { usize::MAX });
        if is_possible && rule.positive.is_empty() && !holds[rule.head] {
            holds[rule.head] = true;
            reached.push(rule.head);
        }
    }
    while let Some(place) = reached.pop() {
        for number in &dependents.0[place] {
            *work += 1;
            if missing[*number] == usize::MAX {
                continue;
            }
            missing[*number] -= 1;
            let head = rules[*number].head;
            if missing[*number] == 0 && !holds[head] {
                holds[head] = true;
                reached.push(head);
            }
        }
    }
    holds
}

/// Whether some of these atoms depends on itself through an odd number of negations: whether the signed graph has no two sides such that positive
/// dependencies stay on one and negative ones change it.
fn is_odd(places: usize, rules: &[Local], is_among: impl Fn(usize) -> bool) -> bool {
    let mut graph: DiGraph<(), bool> = DiGraph::with_capacity(places, rules.len());
    for _ in 0..places {
        graph.add_node(());
    }
    for rule in rules.iter().filter(|rule| is_among(rule.head)) {
        let signed = rule.positive.iter().map(|place| (*place, false));
        for (place, negates) in signed.chain(rule.negative.iter().map(|place| (*place, true))) {
            if is_among(place) {
                graph.add_edge(NodeIndex::new(rule.head), NodeIndex::new(place), negates);
            }
        }
    }
    kosaraju_scc(&graph).iter().any(|component| {
        let mut side: BTreeMap<NodeIndex, bool> = BTreeMap::from([(component[0], false)]);
        let mut reached = vec![component[0]];
        let inside: BTreeSet<NodeIndex> = component.iter().copied().collect();
        while let Some(node) = reached.pop() {
            let own = side[&node];
            for edge in graph.edges(node) {
                if !inside.contains(&edge.target()) {
                    continue;
                }
                let expected = own != *edge.weight();
                match side.get(&edge.target()) {
                    Some(found) if *found != expected => return true,
                    Some(_) => {}
                    None => {
                        side.insert(edge.target(), expected);
                        reached.push(edge.target());
                    }
                }
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves rules such as `a :- b, not c`, and gives the labels as `a=in b=out …`, in the order of the alphabet.
    fn solved(text: &str) -> (String, usize) {
        let mut names: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        names.retain(|name| !name.is_empty() && *name != "not");
        names.sort_unstable();
        names.dedup();
        let atom = |name: &str| names.iter().position(|known| *known == name.trim()).expect("it was found");
        let mut program = Program { given: vec![None; names.len()], rules: Vec::new() };
        for clause in text.split('.').filter(|clause| !clause.trim().is_empty()) {
            let (head, body) = clause.split_once(":-").unwrap_or((clause, ""));
            let mut rule = Rule { head: atom(head), ..Rule::default() };
            for literal in body.split(',').map(str::trim).filter(|literal| !literal.is_empty()) {
                match literal.strip_prefix("not ") {
                    Some(negated) => rule.negative.push(atom(negated)),
                    None => rule.positive.push(atom(literal)),
                }
            }
            program.rules.push(rule);
        }
        let model = solve(&program);
        let size = program.rules.iter().map(|rule| 1 + rule.positive.len() + rule.negative.len()).sum::<usize>();
        assert!(model.work <= work_max(names.len() as u64, size as u64), "{}", model.work);
        let words = names.iter().zip(&model.labels).map(|(name, label)| format!("{name}={label:?}"));
        (words.collect::<Vec<_>>().join(" ").to_lowercase(), model.odd_loops.len())
    }

    #[test]
    fn loops_are_founded_undecided_or_nothing() {
        let check = |text, labels: &str, odd_loops| assert_eq!(solved(text), (labels.to_owned(), odd_loops), "{text}");
        check("a :- b. b :- a.", "a=out b=out", 0);
        check("p. a :- p. a :- c. b :- a. c :- b.", "a=in b=in c=in p=in", 0);
        check("a :- not a.", "a=undecided", 1);
        check("a :- not b. b :- not a.", "a=undecided b=undecided", 0);
        check("a :- not b. b :- not c. c :- not a.", "a=undecided b=undecided c=undecided", 1);
        // What is undecided elsewhere makes no loop of what rests on it.
        check("a :- not a. b :- a. c :- not a.", "a=undecided b=undecided c=undecided", 1);
        // An odd loop that something else decides is none.
        check("a :- not a. a.", "a=in", 0);
        check("a :- not a, b. b :- c. c :- b.", "a=out b=out c=out", 0);
        // Out because unfounded, and so its negation is in.
        check("a :- b. b :- a. c :- not a.", "a=out b=out c=in", 0);
    }

    #[test]
    fn what_is_given_stays() {
        let rule = |head, positive: &[usize], negative: &[usize]| Rule {
            head,
            positive: positive.to_vec(),
            negative: negative.to_vec(),
        };
        let program = Program {
            given: vec![Some(Label::Undecided), None, None, Some(Label::Out)],
            rules: vec![rule(1, &[0], &[]), rule(2, &[2], &[]), rule(2, &[], &[3]), rule(3, &[], &[])],
        };
        assert_eq!(solve(&program).labels, [Label::Undecided, Label::Undecided, Label::In, Label::Out]);
    }
}
