//! What faults do to messages: which are hit, by what, by how much. A message's draws come from its own bits and the fault's id, so no fault and no
//! other process shifts them. The vocabulary is in `plan`.

use crate::plan::{Between, FaultKind, FaultPlan, Trigger};
use crate::trace::ProcessId;
use twox_hash::XxHash3_64;

/// Two sets of processes, resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sides {
    /// By process.
    from: Vec<bool>,
    to: Vec<bool>,
    both_ways: bool,
}

impl Sides {
    /// Finds the processes by their names.
    ///
    /// # Errors
    /// A name that no process has.
    pub(crate) fn of(
        between: &Between,
        processes: usize,
        resolve: impl Fn(&str) -> Option<ProcessId>,
    ) -> Result<Sides, String> {
        let set = |names: &[String]| {
            let mut set = vec![false; processes];
            for name in names {
                let process = resolve(name).ok_or_else(|| format!("no process is named `{name}`"))?;
                set[process.0 as usize] = true;
            }
            Ok::<_, String>(set)
        };
        let from = set(&between.from)?;
        let to = if between.to.is_empty() { from.iter().map(|is_in| !is_in).collect() } else { set(&between.to)? };
        Ok(Sides { from, to, both_ways: !between.one_way })
    }

    /// Whether messages of one process to another go between the two sets.
    pub(crate) fn have(&self, from: ProcessId, to: ProcessId) -> bool {
        let (from, to) = (from.0 as usize, to.0 as usize);
        from != to && (self.from[from] && self.to[to] || self.both_ways && self.from[to] && self.to[from])
    }

    /// Whether there is anybody on both sides.
    pub(crate) fn have_any(&self) -> bool {
        self.from.contains(&true) && self.to.contains(&true)
    }
}

/// What a fault does to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) kind: FaultKind,
    pub(crate) id: u32,
    /// How much later the message or its copy comes, or how long it waits at most to be overtaken.
    pub(crate) by_ns: u64,
}

/// How long a message waits to be overtaken if the plan doesn't say.
const HELD_NS: u64 = 1_000_000_000;

struct Aimed {
    kind: FaultKind,
    id: u32,
    for_ns: u64,
    sender: ProcessId,
    /// The number of the send; `None` is the first after a time.
    nth: Option<u64>,
    at_ns: u64,
    counted: u64,
    fired: bool,
}

impl Aimed {
    /// Counts a send. Whether the fault can hit it.
    fn counts(&mut self, now_ns: u64) -> bool {
        self.counted += 1;
        !self.fired && self.nth.map_or(now_ns >= self.at_ns, |nth| self.counted >= nth)
    }
}

struct Weather {
    kind: FaultKind,
    id: u32,
    for_ns: u64,
    from_ns: u64,
    until_ns: u64,
    per_mille: u32,
    /// `None` is everybody's messages.
    sides: Option<Sides>,
}

impl Weather {
    /// What it does to a message with these bits, if anything.
    fn hit(&self, bits: u64) -> Option<Hit> {
        let own = |salt: u64| XxHash3_64::oneshot_with_seed(u64::from(self.id) << 1 | salt, &bits.to_le_bytes());
        let below = |bound: u64, salt: u64| ((u128::from(own(salt)) * u128::from(bound)) >> 64) as u64;
        if below(1000, 0) >= u64::from(self.per_mille) {
            return None;
        }
        let by_ns = match self.kind {
            FaultKind::MessageReorder => self.for_ns,
            _ if self.for_ns == 0 => 0,
            _ => 1 + below(self.for_ns, 1),
        };
        Some(Hit { kind: self.kind, id: self.id, by_ns })
    }
}

/// The faults of a plan that hit messages.
#[derive(Default)]
pub(crate) struct MessageFaults {
    aimed: Vec<Aimed>,
    weather: Vec<Weather>,
}

impl MessageFaults {
    /// Arms a fault. `sender` is the process that an aimed one names.
    pub(crate) fn arm(&mut self, plan: &FaultPlan, sender: Option<ProcessId>, sides: Option<Sides>) {
        let &FaultPlan { kind, id, for_ns, .. } = plan;
        let for_ns = if kind == FaultKind::MessageReorder && for_ns == 0 { HELD_NS } else { for_ns };
        let aimed =
            |nth, at_ns| sender.map(|sender| Aimed { kind, id, for_ns, sender, nth, at_ns, counted: 0, fired: false });
        match plan.when {
            Trigger::Weather { from_ns, until_ns, per_mille } => {
                self.weather.push(Weather { kind, id, for_ns, from_ns, until_ns, per_mille, sides });
            }
            Trigger::AtNs(at_ns) => self.aimed.extend(aimed(None, at_ns)),
            Trigger::Call { nth, .. } | Trigger::While { nth, .. } => self.aimed.extend(aimed(Some(nth), 0)),
        }
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.aimed.is_empty() && self.weather.is_empty()
    }

    /// What happens to a message that a process sends now. One that has no receiver, or is cut off, is counted and hit by nothing. A lost message is hit by
    /// nothing else.
    pub(crate) fn judge(&mut self, now_ns: u64, from: ProcessId, to: Option<ProcessId>, bits: u64) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut firing = Vec::new();
        for (index, aimed) in self.aimed.iter_mut().enumerate().filter(|(_, aimed)| aimed.sender == from) {
            if aimed.counts(now_ns) && to.is_some() {
                firing.push((aimed.id, index));
                hits.push(Hit { kind: aimed.kind, id: aimed.id, by_ns: aimed.for_ns });
            }
        }
        if let Some(to) = to {
            let is_here = |weather: &&Weather| {
                (weather.from_ns..weather.until_ns).contains(&now_ns)
                    && weather.sides.as_ref().is_none_or(|sides| sides.have(from, to))
            };
            hits.extend(self.weather.iter().filter(is_here).filter_map(|weather| weather.hit(bits)));
        }
        if let Some(loss) = hits.iter().find(|hit| hit.kind == FaultKind::MessageLoss).copied() {
            hits = vec![loss];
        }
        for (id, index) in firing {
            self.aimed[index].fired |= hits.iter().any(|hit| hit.id == id);
        }
        hits
    }
}
