//! What is missing of the sweeps that files are of: shards that nobody ran, seeds that one didn't come to, files that were cut off.

use super::sections::{Key, Sections};
use crate::report::{Missing, counted};
use crate::seeds::Seeds;
use crate::shard::Shard;
use crate::sweep::Commands;
use std::collections::{BTreeMap, BTreeSet};

/// The most parts that are named: a sweep may have any number of shards.
const NAMED_MAX: usize = 100;

/// A sweep that was asked for, with all of its shards.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Whole {
    seeds: Seeds,
    shards: u64,
    scenarios: Vec<u32>,
}

impl Whole {
    fn holds(&self, other: &Whole) -> bool {
        self.seeds.hold(other.seeds) && other.scenarios.iter().all(|scenario| self.scenarios.contains(scenario))
    }
}

/// Names what is missing.
pub(super) fn missing(all: &Sections, commands: &Commands) -> Vec<Missing> {
    let place = |name: &String| all.scenarios.iter().position(|known| known == name).map(|place| place as u32);
    let mut wholes: BTreeSet<Whole> = BTreeSet::new();
    for end in all.sections.iter().filter_map(|section| section.end.as_ref()) {
        let scenarios = end.asked.scenarios.iter().filter_map(place).collect();
        wholes.insert(Whole { seeds: end.seeds, shards: end.shard().count(), scenarios });
    }
    let mut found = cut_off(all);
    if wholes.is_empty() {
        let what = "no file has a summary: how plans were drawn is not known, and commands can't say it".to_owned();
        found.push(Missing { what, runs: None, command: None });
    }
    let mut told: Vec<Whole> = Vec::new();
    // The widest first: what goes on after an interruption is a part of the sweep that was interrupted.
    let mut wholes: Vec<Whole> = wholes.into_iter().collect();
    wholes.sort_by_key(|whole| std::cmp::Reverse((whole.seeds.count, whole.shards)));
    for whole in wholes {
        if told.iter().any(|wider| wider.holds(&whole)) {
            continue;
        }
        of_whole(all, &whole, commands, &mut found);
        told.push(whole);
    }
    found
}

/// Files without a summary at their end.
fn cut_off(all: &Sections) -> Vec<Missing> {
    let cut = all.sections.iter().filter(|section| section.end.is_none());
    let cut = cut.map(|section| {
        let name = &all.sources[section.source].name;
        let runs = match section.keys.last() {
            None => "without any run".to_owned(),
            Some((seed, _)) => format!("after {}, at seed {seed}", counted(section.keys.len() as u64, "run")),
        };
        let what = format!("{name}: it ends {runs}, without a summary: its sweep was killed, or goes on");
        Missing { what, runs: None, command: None }
    });
    cut.collect()
}

/// What is missing of one sweep.
fn of_whole(all: &Sections, whole: &Whole, commands: &Commands, found: &mut Vec<Missing>) {
    let Whole { seeds, shards, scenarios } = whole;
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let first = (seeds.first, 0);
    let here = all.runs.range(first..).take_while(|((seed, _), _)| seeds.has(*seed));
    for (seed, _) in here.map(|(key, _)| *key).filter(|(_, scenario)| scenarios.contains(scenario)) {
        *seen.entry((seed - seeds.first) % shards).or_default() += 1;
    }
    let names: Vec<String> = scenarios.iter().map(|scenario| all.scenarios[*scenario as usize].clone()).collect();
    for index in 1..=*shards {
        let Some(shard) = Shard::new(index, *shards) else { return };
        let len = shard.len(*seeds);
        if found.len() >= NAMED_MAX || len == 0 {
            // Later ones have no more.
            return;
        }
        let (expected, runs) =
            (len.saturating_mul(scenarios.len() as u64), seen.get(&(index - 1)).copied().unwrap_or(0));
        if runs >= expected {
            continue;
        }
        let has = |index: u64| {
            scenarios.iter().all(|scenario| all.runs.contains_key(&Key::from((shard.nth(*seeds, index), *scenario))))
        };
        let done = (0..len).take_while(|index| has(*index)).count() as u64;
        let part = (*shards > 1).then_some(shard);
        let of = format!(
            "{}{seeds} of {}",
            part.map_or_else(|| "seeds ".to_owned(), |part| format!("shard {part} of seeds ")),
            names.join(", ")
        );
        let missing = counted(expected - runs, "run");
        let what = match runs {
            0 => format!("{of}: all of it, {missing}"),
            _ => format!("{of}: {missing} of {expected}, from seed {} on", shard.nth(*seeds, done)),
        };
        let command = commands.sweep(&names, shard.after(*seeds, done), part, &["--json"]);
        found.push(Missing { what, runs: Some(expected - runs), command: Some(command) });
    }
}
