//! The order that the model's clocks claim, united with send → delivery: a graph of events that must stay acyclic. Events that every agent has in its past are
//! dropped: nothing that comes can point to them, so the graph stays as large as what is under way.

use petgraph::acyclic::Acyclic;
use petgraph::data::Build;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use seedstorm_sim::causality::signals::{SignalEvent, SignalOrder};
use seedstorm_sim::sys::claim::signal::{ClockReading, Life};
use std::collections::BTreeMap;
use std::fmt;

/// An event, as clocks name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EventName {
    life: Life,
    counter: u64,
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} of {}", self.counter, self.life)
    }
}

/// Why one event comes before another.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// The other's clock says so.
    Claimed,
    /// It sent what the other delivered.
    Sent,
}

/// The graph.
#[derive(Default)]
pub(super) struct ClaimedOrder {
    graph: Acyclic<StableDiGraph<EventName, Why>>,
    nodes: BTreeMap<EventName, NodeIndex>,
    /// By life: every event up to this one has been dropped.
    dropped: BTreeMap<Life, u64>,
    added: usize,
}

/// Events between two looks at what can be dropped, at least.
const PRUNE_EVERY: usize = 64;

impl ClaimedOrder {
    /// Adds an event. `last` is the clock of the agent's event before it, `of_signal` that of the signal which it delivers: what the event's clock claims beyond
    /// these is drawn, since the rest follows from them.
    ///
    /// # Errors
    /// The whole cycle.
    pub(super) fn add(
        &mut self,
        life: Life,
        clock: &ClockReading,
        last: Option<&ClockReading>,
        event: &SignalEvent,
        of_signal: Option<&ClockReading>,
    ) -> Result<(), String> {
        self.added += 1;
        let name = EventName { life, counter: clock.counter(life).unwrap_or(0) };
        let node = self.node(name);
        if let SignalEvent::Delivered { delivery, .. } = event
            && let Some(counter) = of_signal.and_then(|of_signal| of_signal.counter(delivery.signal.sender))
        {
            self.order(EventName { life: delivery.signal.sender, counter }, node, Why::Sent)?;
        }
        for &(of, counter) in &clock.counters {
            // Its own entry names the event itself: what it claims is the one before.
            let counter = if of == life { counter - 1 } else { counter };
            let is_claimed_by = |other: Option<&ClockReading>| other.is_some_and(|other| other.knows(of, counter));
            let follows = of != life && of.agent != life.agent && (is_claimed_by(last) || is_claimed_by(of_signal));
            if counter > 0 && !follows {
                self.order(EventName { life: of, counter }, node, Why::Claimed)?;
            }
        }
        Ok(())
    }

    /// Drops what every agent has in its past. From time to time: it looks at all agents.
    pub(super) fn prune(&mut self, order: &SignalOrder) {
        if self.added < PRUNE_EVERY.max(order.agents()) {
            return;
        }
        self.added = 0;
        let mut known: BTreeMap<Life, u64> = BTreeMap::new();
        let stable: Vec<EventName> = self
            .nodes
            .keys()
            .copied()
            .filter(|name| name.counter <= *known.entry(name.life).or_insert_with(|| order.known_to_all(name.life)))
            .collect();
        for name in stable {
            if let Some(node) = self.nodes.remove(&name) {
                self.graph.remove_node(node);
            }
            let dropped = self.dropped.entry(name.life).or_default();
            *dropped = name.counter.max(*dropped);
        }
    }

    fn node(&mut self, name: EventName) -> NodeIndex {
        *self.nodes.entry(name).or_insert_with(|| self.graph.add_node(name))
    }

    fn order(&mut self, before: EventName, after: NodeIndex, why: Why) -> Result<(), String> {
        if self.dropped.get(&before.life).is_some_and(|dropped| before.counter <= *dropped) {
            return Ok(());
        }
        // An event that hasn't come yet has a place all the same: a clock that knows of it knows the future.
        let before = self.node(before);
        if before == after || self.graph.try_add_edge(before, after, why).is_ok() {
            return Ok(());
        }
        Err(self.cycle(before, after, why))
    }

    /// The path that already leads from `after` back to `before`, in words, with the edge that would close it.
    fn cycle(&self, before: NodeIndex, after: NodeIndex, why: Why) -> String {
        let graph = self.graph.inner();
        let words = |why: Why| match why {
            Why::Claimed => "its clock says so",
            Why::Sent => "sent and delivered",
        };
        let mut cycle = format!("{} before {} ({})", graph[before], graph[after], words(why));
        let path = petgraph::algo::astar(graph, after, |node| node == before, |_| 1u32, |_| 0).map(|(_, path)| path);
        for pair in path.unwrap_or_default().windows(2) {
            let why = graph.edges_connecting(pair[0], pair[1]).next().map_or("", |edge| words(*edge.weight()));
            cycle += &format!(", before {} ({why})", graph[pair[1]]);
        }
        cycle
    }

    /// How many events are kept.
    #[cfg(test)]
    fn size(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::sys::claim::signal::IncarnationBeginning;

    fn life(agent: u32) -> Life {
        Life { agent, incarnation: 1 }
    }

    fn clock(counters: &[(u32, u64)]) -> ClockReading {
        let counters = counters.iter().map(|(agent, counter)| (life(*agent), *counter)).collect();
        ClockReading { counters, pruned_below: Vec::new() }
    }

    fn add(graph: &mut ClaimedOrder, of: u32, counters: &[(u32, u64)]) -> Result<(), String> {
        let (life, clock) = (life(of), clock(counters));
        let event = SignalEvent::Began(IncarnationBeginning { life, clock: clock.clone(), ended: None });
        graph.add(life, &clock, None, &event, None)
    }

    #[test]
    fn a_clock_that_knows_the_future_closes_a_cycle_and_all_of_it_is_told() {
        let mut graph = ClaimedOrder::default();
        add(&mut graph, 1, &[(1, 1)]).expect("nothing is odd yet");
        add(&mut graph, 2, &[(1, 3), (2, 1)]).expect("the third event of 1 may come from anywhere");
        add(&mut graph, 1, &[(1, 2), (2, 1)]).expect("the second isn't the third");
        let cycle = add(&mut graph, 1, &[(1, 3), (2, 1)]).expect_err("2 knew of this one before");
        for part in ["event 3 of 1.1", "event 1 of 2.1", "event 2 of 1.1"] {
            assert!(cycle.contains(part), "{cycle}");
        }
        assert_eq!(graph.size(), 4);
    }
}
