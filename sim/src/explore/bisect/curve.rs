//! The curve: how often runs fail that keep the first so many steps. Where it is looked at next is decided in `bisect`.

use super::super::share::Share;
use super::RUNS_MAX;
use std::collections::{BTreeMap, BTreeSet};

/// A few runs may show so much less of a rise than there is, as a part of it: then there are more of them before it is left alone.
const DOUBTFUL: f64 = 0.6;

/// A place of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// How many steps of the chaos are kept.
    pub kept: u64,
    /// How many of the runs failed alike.
    pub share: Share,
}

pub(super) struct Curve {
    places: BTreeMap<u64, Share>,
    /// All steps kept: nothing is left to chance.
    end: u64,
    /// Pairs whose ends have had as many runs as they get before they are confirmed.
    known: BTreeSet<(u64, u64)>,
    confirmed: BTreeSet<(u64, u64)>,
}

impl Curve {
    /// Nothing is known but that the run fails when all is kept.
    pub(super) fn new(end: u64) -> Curve {
        let places = BTreeMap::from([(end, Share { count: 1, of: 1 })]);
        Curve { places, end, known: BTreeSet::new(), confirmed: BTreeSet::new() }
    }

    pub(super) fn is_certain(&self, kept: u64) -> bool {
        kept == self.end
    }

    pub(super) fn share(&self, kept: u64) -> Share {
        // One run is as good as any number where all of them are the same.
        if self.is_certain(kept) {
            return Share { count: RUNS_MAX, of: RUNS_MAX };
        }
        self.places.get(&kept).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, kept: u64, told: &[bool]) {
        if self.is_certain(kept) {
            return;
        }
        let share = self.places.entry(kept).or_default();
        told.iter().for_each(|failed| share.add(*failed));
    }

    /// Neighbouring places.
    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.places.keys().copied().zip(self.places.keys().copied().skip(1))
    }

    fn rise(&self, (before, after): (u64, u64)) -> f64 {
        self.share(after).value() - self.share(before).value()
    }

    /// The pair of neighbours with the greatest rise, if it is so great, or may turn out to be; pairs that were confirmed or refuted are left out.
    pub(super) fn steepest(&self, rise_min: f64) -> Option<(u64, u64)> {
        let is_open = |pair: &(u64, u64)| {
            let least = if self.known.contains(pair) { rise_min } else { rise_min * DOUBTFUL };
            !self.confirmed.contains(pair) && self.rise(*pair) >= least
        };
        let pairs = self.pairs().filter(is_open);
        pairs.max_by(|one, other| self.rise(*one).total_cmp(&self.rise(*other)).then(other.cmp(one)))
    }

    /// Whether a pair's ends are known well enough for a search between them: their intervals are apart, or have had their runs.
    pub(super) fn is_known(&self, before: u64, after: u64) -> bool {
        self.known.contains(&(before, after)) || self.share(before).is_clearly_below(self.share(after))
    }

    pub(super) fn note_known(&mut self, before: u64, after: u64) {
        self.known.insert((before, after));
    }

    /// Fresh runs of both ends of a pair join what is known of them.
    pub(super) fn note_confirmed(&mut self, before: u64, after: u64, fresh_before: Share, fresh_after: Share) {
        self.confirmed.insert((before, after));
        for (kept, fresh) in [(before, fresh_before), (after, fresh_after)] {
            if !self.is_certain(kept) {
                let share = self.places.entry(kept).or_default();
                share.count += fresh.count;
                share.of += fresh.of;
            }
        }
    }

    /// The shortest stretch over which it rises from a quarter of its whole rise to three quarters; `None` if it doesn't rise so much in all.
    pub(super) fn stretch(&self, rise_min: f64) -> Option<(u64, u64)> {
        let (&first, &last) = (self.places.keys().next()?, self.places.keys().next_back()?);
        let whole = self.rise((first, last));
        if whole < rise_min {
            return None;
        }
        let level = |part: f64| self.share(first).value() + whole * part;
        let low = self.places.keys().filter(|kept| self.share(**kept).value() <= level(0.25));
        let stretch = |kept: &u64| {
            let mut later = self.places.range(kept + 1..).map(|(kept, _)| *kept);
            Some((*kept, later.find(|kept| self.share(*kept).value() >= level(0.75))?))
        };
        low.filter_map(stretch).min_by_key(|(before, after)| (after - before, *before))
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.places.iter().map(|(kept, share)| Place { kept: *kept, share: *share }).collect()
    }
}
