//! Vector clocks of lines: a stamp says which event, a past says what lies before one. What makes one event lie before another is in `influence`.

use std::sync::Arc;

/// Which event: its line, and its place in it. A line is one incarnation of a process, or the machine; its events are one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The line.
    pub line: u32,
    /// The event's place in the line; the first is 1.
    pub tick: u64,
}

/// An event with all that lies before it, as a vector clock (Mattern 1988): of each line, how many of its events do. A copy shares it.
#[derive(Clone, Debug)]
pub struct Past {
    own: Stamp,
    /// By line; those beyond the end are 0. The own line's is not kept up.
    seen: Arc<Vec<u64>>,
}

impl Past {
    /// The event itself.
    pub fn stamp(&self) -> Stamp {
        self.own
    }

    /// Whether an event is this one, or lies before it.
    pub fn has(&self, event: Stamp) -> bool {
        if event.line == self.own.line {
            return event.tick <= self.own.tick;
        }
        self.seen.get(event.line as usize).is_some_and(|seen| event.tick <= *seen)
    }

    /// The vector clock: of each line that has a part in it, how many of its events lie before this one or are it.
    pub fn counters(&self) -> impl Iterator<Item = Stamp> {
        let lines = self.seen.len().max(self.own.line as usize + 1);
        let tick = |line: u32| match line == self.own.line {
            true => self.own.tick,
            false => self.seen.get(line as usize).copied().unwrap_or(0),
        };
        (0..lines as u32).map(move |line| Stamp { line, tick: tick(line) }).filter(|stamp| stamp.tick > 0)
    }

    /// Whether another event lies before this one.
    pub fn is_after(&self, event: Stamp) -> bool {
        self.own != event && self.has(event)
    }
}

/// Where a line is.
#[derive(Clone, Debug)]
pub(super) struct Line(Past);

impl Line {
    pub(super) fn new(line: u32) -> Line {
        Line(Past { own: Stamp { line, tick: 0 }, seen: Arc::default() })
    }

    /// The next event of the line.
    pub(super) fn tick(&mut self) {
        self.0.own.tick += 1;
    }

    pub(super) fn past(&self) -> &Past {
        &self.0
    }

    /// What lies before `past`, and its event, lie before the line's last event from now on.
    pub(super) fn join(&mut self, past: &Past) {
        // Whoever has seen an event has seen all that lies before it.
        if self.0.has(past.own) {
            return;
        }
        let seen = Arc::make_mut(&mut self.0.seen);
        let least = past.seen.len().max(past.own.line as usize + 1);
        if seen.len() < least {
            seen.resize(least, 0);
        }
        for (own, other) in seen.iter_mut().zip(past.seen.iter()) {
            *own = (*own).max(*other);
        }
        let own = &mut seen[past.own.line as usize];
        *own = (*own).max(past.own.tick);
    }
}

/// Events of which none lies before another: the latest of all that did something. At most one of each line.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest(Vec<Past>);

impl Latest {
    pub(super) fn add(&mut self, past: &Past) {
        self.0.retain(|other| !past.has(other.own));
        self.0.push(past.clone());
    }

    pub(super) fn add_all(&mut self, others: &Latest) {
        for other in &others.0 {
            if !self.0.iter().any(|own| own.has(other.own)) {
                self.add(other);
            }
        }
    }

    pub(super) fn join_into(&self, line: &mut Line) {
        for past in &self.0 {
            line.join(past);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
