//! Shrinking: from a run that fails to a smaller one that fails alike. Passes in a fixed order take away processes, faults, operations, time, settings and
//! changes of task, as long as the run keeps its fingerprint (MacIver and Donaldson 2020: test-case reduction in Hypothesis; Musuvathi and Qadeer 2007: few
//! preemptions). How pieces of a list are chosen is in `reduce`, what is plainer about a configuration in `plainer`.

mod plainer;
mod reduce;

use super::{Hit, Runner, Stopped, Trial, Tried};
use crate::invariant::{CrashPoints, Violation};
use crate::plan::{FaultPlan, Plan, Trigger};
use crate::schedule::{Guide, Turn, Turns};
use crate::seed::Seed;
use crate::trace::CallKind;
use crate::trace::codec;
use reduce::Reduction;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// A failing run, as far as it has been cut down.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// What runs.
    pub plan: Plan,
    /// Who goes when.
    pub turns: Turns,
    /// How many crash points are explored.
    pub crash_points: CrashPoints,
    /// Whether the scenario's invariants are left out.
    pub without_invariants: bool,
    /// How it fails.
    pub violation: Violation,
    /// Its hash; `None` if it doesn't come to an end.
    pub trace_hash: Option<String>,
    /// How many steps it takes.
    pub steps: u64,
    /// Which processes run.
    pub processes: Vec<String>,
    /// Where faults fell that are planned for a time.
    pub hits: Vec<Hit>,
}

/// How large a failing run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Faults of the plan.
    pub faults: usize,
    /// Processes that run.
    pub processes: usize,
    /// Operations of the plan.
    pub operations: usize,
    /// How often a task was left in the chaos that could have gone on.
    pub preemptions: u64,
}

impl Shrunk {
    /// How large it is.
    pub fn size(&self) -> Size {
        Size {
            faults: self.plan.faults.len(),
            processes: self.processes.len(),
            operations: self.plan.operations.len(),
            preemptions: self.turns.preemptions,
        }
    }
}

/// How often other schedules are tried for a plan under which the turns no longer lead to the failure, when the piece that was left out is large.
const SCHEDULES_LARGE: u64 = 12;

/// The same for a single item.
const SCHEDULES_SMALL: u64 = 3;

/// How many rounds of all passes there are at most.
const ROUNDS_MAX: usize = 6;

/// Cuts a failing run down, and calls `watch` with each smaller one that it finds. The last of them is the result, even if the search was stopped.
///
/// # Errors
/// Nothing can be run.
pub fn shrink(
    runner: &mut dyn Runner,
    first: Shrunk,
    plain_settings: BTreeMap<String, toml::Value>,
    watch: &mut dyn FnMut(&Shrunk),
) -> Result<Shrunk, String> {
    let fingerprint = first.violation.fingerprint.clone();
    let mut shrink = Shrink { runner, watch, fingerprint, best: first, known: BTreeSet::new(), plain_settings };
    match shrink.passes() {
        Ok(()) | Err(Stopped::Interrupted) => Ok(shrink.best),
        Err(Stopped::Broken(why)) => Err(why),
    }
}

struct Shrink<'a> {
    runner: &'a mut dyn Runner,
    watch: &'a mut dyn FnMut(&Shrunk),
    fingerprint: String,
    best: Shrunk,
    /// Hashes of trials that did not fail alike.
    known: BTreeSet<u128>,
    plain_settings: BTreeMap<String, toml::Value>,
}

/// A run that may replace the best one.
struct Candidate {
    plan: Plan,
    guide: Guide,
    /// Only with fewer preemptions than this.
    preemptions_below: Option<u64>,
    /// Other crash points than so far.
    crash_points: Option<CrashPoints>,
}

impl Shrink<'_> {
    fn passes(&mut self) -> Result<(), Stopped> {
        self.cheaper()?;
        self.pins()?;
        for round in 0..ROUNDS_MAX {
            let before = (self.best.size(), self.best.plan.clone(), self.best.turns.turns.len());
            self.processes()?;
            self.faults()?;
            self.operations()?;
            self.run_length()?;
            self.configuration()?;
            self.schedule()?;
            let after = (self.best.size(), self.best.plan.clone(), self.best.turns.turns.len());
            if round > 0 && before == after {
                break;
            }
        }
        Ok(())
    }

    /// Explores no crash points, if the failure is none of a crash that only might have happened: each run takes half as long then.
    fn cheaper(&mut self) -> Result<(), Stopped> {
        let guide = Guide { turns: self.best.turns.clone(), ..Guide::default() };
        let candidate =
            Candidate { crash_points: Some(CrashPoints::None), ..Candidate::of(self.best.plan.clone(), guide) };
        self.attempt(vec![candidate])?;
        Ok(())
    }

    /// Has faults wait for a call instead of a time: they fall where they fell, whatever goes before.
    fn pins(&mut self) -> Result<(), Stopped> {
        let pinned = |plan: &Plan, hits: &[Hit]| {
            let mut plan = plan.clone();
            for hit in hits {
                plan.faults.iter_mut().filter(|fault| fault.id == hit.id).for_each(|fault| pin(fault, hit));
            }
            plan
        };
        let hits = self.best.hits.clone();
        let hits: Vec<Hit> = hits.into_iter().filter(|hit| is_of_a_program(hit.kind)).collect();
        if hits.is_empty() {
            return Ok(());
        }
        let next = |hit: &Hit| Hit { nth: hit.nth + 1, ..hit.clone() };
        let later: Vec<Hit> = hits.iter().map(next).collect();
        let plans = vec![pinned(&self.best.plan, &hits), pinned(&self.best.plan, &later)];
        if self.first_that_fails(plans, false)?.is_some() {
            return Ok(());
        }
        for hit in hits {
            let alone = [hit.clone()];
            let plans = vec![pinned(&self.best.plan, &alone), pinned(&self.best.plan, &[next(&hit)])];
            self.first_that_fails(plans, false)?;
        }
        Ok(())
    }

    /// Takes agents away, with their operations and faults.
    fn processes(&mut self) -> Result<(), Stopped> {
        let mut names = self.best.processes.clone();
        // The last first: the first ones are what people look for.
        names.reverse();
        self.reduce(names, |plan, gone: &[String]| {
            plan.operations.retain(|operation| !gone.contains(&operation.process));
            plan.faults.retain(|fault| fault.process.as_ref().is_none_or(|process| !gone.contains(process)));
            plan.clock_skew_ns.retain(|process, _| !gone.contains(process));
            plan.absent.extend(gone.iter().cloned());
            plan.absent.sort_unstable();
        })
    }

    fn faults(&mut self) -> Result<(), Stopped> {
        let ids: Vec<u32> = self.best.plan.faults.iter().map(|fault| fault.id).collect();
        self.reduce(ids, |plan, gone: &[u32]| plan.faults.retain(|fault| !gone.contains(&fault.id)))
    }

    fn operations(&mut self) -> Result<(), Stopped> {
        // Those of one agent next to each other: most are needed by nobody but their agent. The last ones first: what came after the failure goes at once.
        let mut ids: Vec<(&str, u64)> =
            self.best.plan.operations.iter().map(|operation| (operation.process.as_str(), operation.id)).collect();
        ids.sort_unstable();
        let ids: Vec<u64> = ids.into_iter().rev().map(|(_, id)| id).collect();
        self.reduce(ids, |plan, gone: &[u64]| plan.operations.retain(|operation| !gone.contains(&operation.id)))
    }

    /// Leaves pieces of a list out of the plan, large ones first.
    fn reduce<T: Clone>(&mut self, mut items: Vec<T>, without: impl Fn(&mut Plan, &[T])) -> Result<(), Stopped> {
        let mut reduction = Reduction::new(items.len());
        loop {
            let pieces = reduction.pieces(self.runner.width());
            if pieces.is_empty() {
                return Ok(());
            }
            let plans: Vec<Plan> = pieces
                .iter()
                .map(|piece| {
                    let mut plan = self.best.plan.clone();
                    without(&mut plan, &items[piece.clone()]);
                    plan
                })
                .collect();
            let is_large = reduction.piece() * 4 >= items.len();
            let found = self.first_that_fails(plans, is_large)?;
            if let Some(index) = found {
                items.drain(pieces[index].clone());
            }
            reduction.told(&pieces, found);
        }
    }

    /// The first of several plans that still fails alike, which is the best one then: by the turns so far, or under another schedule.
    fn first_that_fails(&mut self, plans: Vec<Plan>, is_large: bool) -> Result<Option<usize>, Stopped> {
        let by_turns = Guide { turns: self.best.turns.clone(), ..Guide::default() };
        let candidates = plans.iter().map(|plan| Candidate::of(plan.clone(), by_turns.clone())).collect();
        if let Some(index) = self.attempt(candidates)? {
            return Ok(Some(index));
        }
        let schedules = if is_large { SCHEDULES_LARGE } else { SCHEDULES_SMALL };
        for (index, plan) in plans.into_iter().enumerate() {
            let others = std::iter::once(Guide::default()).chain((1..schedules).map(at_random));
            if self.attempt(others.map(|guide| Candidate::of(plan.clone(), guide)).collect())?.is_some() {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Ends the chaos earlier.
    fn run_length(&mut self) -> Result<(), Stopped> {
        let until_ns = self.best.violation.time_ns + 1;
        let mut lengths: Vec<u64> = vec![until_ns];
        lengths.extend((1..6).map(|halvings| self.best.plan.chaos_ns >> halvings));
        lengths.retain(|length_ns| *length_ns > 0 && *length_ns < self.best.plan.chaos_ns);
        lengths.sort_unstable();
        let plans = lengths.into_iter().map(|chaos_ns| Plan { chaos_ns, ..self.best.plan.clone() });
        for plan in plans.collect::<Vec<_>>() {
            if self.first_that_fails(vec![plan], false)?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Brings each part of the configuration nearer to its plainest.
    fn configuration(&mut self) -> Result<(), Stopped> {
        let all = plainer::all(&self.best.plan, &self.plain_settings);
        // All at once, then one after the other.
        let mut plan = self.best.plan.clone();
        all.iter().for_each(|change| change.apply(&mut plan));
        if plan != self.best.plan && self.first_that_fails(vec![plan], true)?.is_some() {
            return Ok(());
        }
        for change in all {
            let mut plan = self.best.plan.clone();
            change.apply(&mut plan);
            if plan != self.best.plan {
                self.first_that_fails(vec![plan], false)?;
            }
        }
        Ok(())
    }

    /// Leaves out changes of task, and delays, until hardly any is left that was not forced.
    fn schedule(&mut self) -> Result<(), Stopped> {
        let without_delays = Turns { delays: Arc::default(), ..self.best.turns.clone() };
        let plain = [Turns::default(), without_delays];
        for turns in plain {
            self.attempt_turns(vec![turns])?;
        }
        let mut reduction = Reduction::new(self.best.turns.turns.len());
        loop {
            let pieces = reduction.pieces(self.runner.width() * 2);
            if pieces.is_empty() || self.best.turns.preemptions == 0 {
                return Ok(());
            }
            let base = &self.best.turns;
            let shorter = pieces.iter().map(|piece| without_turns(base, piece)).collect();
            match self.attempt_turns(shorter)? {
                None => reduction.told(&pieces, None),
                Some(index) => {
                    reduction.told(&pieces, Some(index));
                    // What is recorded now has turns of its own.
                    reduction = reduction.resized(self.best.turns.turns.len());
                }
            }
        }
    }

    fn attempt_turns(&mut self, turns: Vec<Turns>) -> Result<Option<usize>, Stopped> {
        let below = Some(self.best.turns.preemptions);
        let candidate = |turns| Candidate {
            plan: self.best.plan.clone(),
            guide: Guide { turns, ..Guide::default() },
            preemptions_below: below,
            crash_points: None,
        };
        let candidates = turns.into_iter().map(candidate).collect();
        self.attempt(candidates)
    }

    /// Tries candidates; the first one that fails alike is the best run from then on.
    fn attempt(&mut self, candidates: Vec<Candidate>) -> Result<Option<usize>, Stopped> {
        let mut fresh = Vec::new();
        for (index, Candidate { plan, guide, preemptions_below, crash_points }) in candidates.into_iter().enumerate() {
            let crash_points = crash_points.unwrap_or(self.best.crash_points);
            let without_invariants = self.best.without_invariants;
            let trial = Trial { plan, guide: Some(guide), crash_points, without_invariants };
            let key = key(&trial);
            if !self.known.contains(&key) {
                fresh.push((index, key, preemptions_below, trial));
            }
        }
        if fresh.is_empty() {
            return Ok(None);
        }
        let tried = self.runner.run(fresh.iter().map(|(.., trial)| trial.clone()).collect())?;
        let mut found = None;
        for ((index, key, below, trial), tried) in fresh.into_iter().zip(tried) {
            let fails = tried.filter(|tried| tried.failed_as(&self.fingerprint));
            let fails = fails.filter(|tried| below.is_none_or(|below| tried.preemptions < below));
            match fails {
                Some(tried) if found.is_none() => {
                    found = Some(index);
                    self.improve(trial, tried);
                }
                Some(_) => {}
                None => {
                    self.known.insert(key);
                }
            }
        }
        Ok(found)
    }

    fn improve(&mut self, trial: Trial, tried: Tried) {
        let Tried { violation: Some(violation), turns: Some(turns), trace_hash, steps, processes, hits, .. } = tried
        else {
            return;
        };
        let Trial { plan, crash_points, without_invariants, .. } = trial;
        self.best =
            Shrunk { plan, turns, crash_points, without_invariants, violation, trace_hash, steps, processes, hits };
        (self.watch)(&self.best);
    }
}

impl Candidate {
    fn of(plan: Plan, guide: Guide) -> Candidate {
        Candidate { plan, guide, preemptions_below: None, crash_points: None }
    }
}

/// No turns: at random from the first step of the chaos.
fn at_random(seed: u64) -> Guide {
    Guide { turns: Turns::default(), leave_after: Some(0), then: Some(Seed(seed)) }
}

/// Turns without some: whoever went in them goes on in its next one.
fn without_turns(turns: &Turns, piece: &Range<usize>) -> Turns {
    let kept: Vec<Turn> = turns.turns[..piece.start].iter().chain(&turns.turns[piece.end..]).copied().collect();
    Turns { turns: kept, ..turns.clone() }
}

/// What tells a trial from others.
fn key(trial: &Trial) -> u128 {
    XxHash3_128::oneshot(&codec::encode(trial))
}

/// Has a fault wait for the call that it fell upon.
fn pin(fault: &mut FaultPlan, hit: &Hit) {
    fault.when = Trigger::Call { kind: hit.kind, nth: hit.nth };
    fault.process.get_or_insert_with(|| hit.process.clone());
}

/// Whether a fault can wait for such a call.
fn is_of_a_program(kind: CallKind) -> bool {
    !matches!(kind, CallKind::Boot | CallKind::Start | CallKind::Wake)
}
