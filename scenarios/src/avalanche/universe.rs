//! The beliefs of an avalanche, by short names, and records in words: a plan holds `b3 <- b1 ! a0 @agent-2`, the engine gets digests.

use seedstorm_model::memory::Digest;
use seedstorm_model::tms::{Batch, Belief, Contradiction, Justification, Record, Standing, Supersession};
use std::collections::BTreeMap;

/// All beliefs that a name can mean: `c0`, `c1`, … are core memories, `a0`, … axioms, `b0`, … are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Universe {
    /// About how long the text of each belief is, in bytes.
    pub text_bytes: u64,
}

/// Beliefs are asserted at so many different times: some at the same one, so that content must decide.
const TIMES: u64 = 5;

impl Universe {
    /// The belief of a name; `None` if it is none.
    pub fn belief(&self, name: &str) -> Option<Belief> {
        let standing = match name.chars().next()? {
            'c' => Standing::Core,
            'a' => Standing::Axiom,
            'b' => Standing::Learned,
            _ => return None,
        };
        let number: u64 = name[1..].parse().ok().filter(|number: &u64| name[1..] == number.to_string())?;
        let mut text = format!("belief {name}");
        while (text.len() as u64) < self.text_bytes {
            text.push_str(" and so on");
        }
        // Scattered, so that names don't come in the order of time.
        Some(Belief { standing, asserted_ns: number.wrapping_mul(7) % TIMES, text })
    }

    /// So many core memories, as they are laid down at the beginning.
    pub fn core(&self, count: u64) -> Vec<Belief> {
        (0..count).filter_map(|number| self.belief(&format!("c{number}"))).collect()
    }

    /// The batch that these words say. Words that say nothing are the error.
    pub fn batch<'a>(&self, records: impl IntoIterator<Item = &'a str>) -> Result<Batch, String> {
        let mut beliefs = BTreeMap::new();
        let records: Result<Vec<Record>, String> =
            records.into_iter().map(|words| self.record(words, &mut beliefs).ok_or_else(|| words.to_owned())).collect();
        Ok(Batch { beliefs: beliefs.into_values().collect(), records: records? })
    }

    fn record(&self, words: &str, beliefs: &mut BTreeMap<Digest, Belief>) -> Option<Record> {
        if let Some(words) = words.strip_prefix("retract ") {
            return Some(Record::Retract(self.record(words, &mut BTreeMap::new())?.id()));
        }
        let mut named = |name: &str| {
            let belief = self.belief(name)?;
            let id = belief.id();
            beliefs.insert(id, belief);
            Some(id)
        };
        if let Some(name) = words.strip_prefix("forget ") {
            return Some(Record::Forget(named(name)?));
        }
        if let Some(names) = words.strip_prefix("contradiction ") {
            let members: Option<Vec<Digest>> = names.split(' ').map(named).collect();
            return Some(Record::Contradict(Contradiction::between(members?)));
        }
        if let Some((newer, older)) = words.split_once(" supersedes ") {
            return Some(Record::Supersede(Supersession { newer: named(newer)?, older: named(older)? }));
        }
        let (rest, source) = words.split_once(" @")?;
        let (consequent, body) = rest.split_once(" <-")?;
        let (ins, outs) = body.split_once('!').unwrap_or((body, ""));
        let consequent = named(consequent)?;
        let ins: Option<Vec<Digest>> = ins.split_whitespace().map(&mut named).collect();
        let outs: Option<Vec<Digest>> = outs.split_whitespace().map(&mut named).collect();
        Some(Record::Justify(Justification::new(consequent, ins?, outs?, source)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_records() {
        let universe = Universe { text_bytes: 20 };
        let id = |name: &str| universe.belief(name).expect("a name").id();
        let says = |words: &str| universe.batch([words]).map(|batch| batch.records);
        let justified = |ins, outs| Record::Justify(Justification::new(id("b3"), ins, outs, "agent-2"));
        assert_eq!(says("b3 <- b1 a0 ! b2 @agent-2"), Ok(vec![justified(vec![id("a0"), id("b1")], vec![id("b2")])]));
        assert_eq!(says("b3 <- @agent-2"), Ok(vec![justified(vec![], vec![])]));
        assert_eq!(says("b3 <- ! b3 @agent-2"), Ok(vec![justified(vec![], vec![id("b3")])]));
        let edge = Supersession { newer: id("b1"), older: id("c0") };
        assert_eq!(says("b1 supersedes c0"), Ok(vec![Record::Supersede(edge.clone())]));
        assert_eq!(says("retract b1 supersedes c0"), Ok(vec![Record::Retract(edge.id())]));
        assert_eq!(says("forget b3"), Ok(vec![Record::Forget(id("b3"))]));
        for nothing in ["", "b3", "d3 <- @agent-2", "b03 <- @agent-2", "forget", "contradiction ", "b1 supersedes"] {
            assert_eq!(says(nothing), Err(nothing.to_owned()));
        }
        let batch = universe.batch(["contradiction b1 b0", "b1 <- @agent-0", "retract b7 <- @agent-0"]).expect("words");
        assert_eq!(batch.beliefs.len(), 2, "what is retracted need not be known");
    }
}
