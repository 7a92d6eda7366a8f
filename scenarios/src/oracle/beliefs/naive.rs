//! The well-founded semantics once more, written for the check: slow, and as its definition has it, so that it can be read against the paper. It shares
//! nothing with the engine's.
//!
//! Van Gelder, Ross and Schlipf 1991, "The well-founded semantics for general logic programs", section 3: of a program and a set of
//! literals that are known so far, T gives the atoms with a rule whose body is known, U the greatest unfounded set: atoms each of whose rules has a body
//! that is known to fail or rests positively on the set itself. The well-founded model is the least fixpoint of both, from nothing known.

/// A rule: the head holds if all positive atoms hold and no negative one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveRule {
    /// The atom that it is for.
    pub head: usize,
    /// Atoms that must hold.
    pub positive: Vec<usize>,
    /// Atoms that must not.
    pub negative: Vec<usize>,
}

/// What is known of an atom: it is true, false, or (`None`) undefined.
pub type Known = Option<bool>;

/// The well-founded model of a program over so many atoms.
pub fn well_founded(atoms: usize, rules: &[NaiveRule]) -> Vec<Known> {
    let mut known: Vec<Known> = vec![None; atoms];
    loop {
        let follows = immediate(&known, rules);
        let unfounded = greatest_unfounded(&known, rules);
        let next: Vec<Known> = (0..atoms)
            .map(|atom| match (follows[atom], unfounded[atom]) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            })
            .collect();
        if next == known {
            return known;
        }
        known = next;
    }
}

/// T: the atoms that have a rule all of whose literals are known to hold.
fn immediate(known: &[Known], rules: &[NaiveRule]) -> Vec<bool> {
    let holds = |rule: &&NaiveRule| {
        rule.positive.iter().all(|atom| known[*atom] == Some(true))
            && rule.negative.iter().all(|atom| known[*atom] == Some(false))
    };
    let mut follows = vec![false; known.len()];
    rules.iter().filter(holds).for_each(|rule| follows[rule.head] = true);
    follows
}

/// U: what is left of all atoms when those are taken away, one after the other, that have a rule with no witness of its uselessness.
fn greatest_unfounded(known: &[Known], rules: &[NaiveRule]) -> Vec<bool> {
    let mut unfounded = vec![true; known.len()];
    loop {
        let is_useless = |rule: &NaiveRule| {
            rule.positive.iter().any(|atom| known[*atom] == Some(false) || unfounded[*atom])
                || rule.negative.iter().any(|atom| known[*atom] == Some(true))
        };
        let founded = rules.iter().find(|rule| unfounded[rule.head] && !is_useless(rule)).map(|rule| rule.head);
        match founded {
            Some(atom) => unfounded[atom] = false,
            None => return unfounded,
        }
    }
}
