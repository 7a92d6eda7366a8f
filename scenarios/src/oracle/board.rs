//! `board-serializable`: transactions on the board have a serial order. Versions give the dependencies, in the manner of Elle (Kingsbury and
//! Alvaro 2020, "Elle: inferring isolation anomalies from experimental observations").

use petgraph::acyclic::Acyclic;
use petgraph::data::Build;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use seedstorm_model::claims::{BoardVersion, Committed, Effect, OperationKey, SnapshotRead};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest};
use std::collections::BTreeMap;
use std::fmt;

/// Why one transaction must come before another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Dependency {
    /// It wrote the version before the other's.
    WriteWrite(BoardVersion),
    /// The other read what it wrote.
    WriteRead(BoardVersion),
    /// It read a version that the other replaced.
    ReadWrite(BoardVersion),
    /// The same agent saw its end before it began the other.
    Session,
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, at) = match self {
            Dependency::WriteWrite(at) => ("write-write", at),
            Dependency::WriteRead(at) => ("write-read", at),
            Dependency::ReadWrite(at) => ("read-write", at),
            Dependency::Session => return f.write_str("same agent"),
        };
        write!(f, "{kind} on `{}` version {}", at.key, at.version)
    }
}

/// Transactions on the board have a serial order that agrees with what each of them read and wrote, and with each agent's own order.
#[derive(Default)]
pub struct BoardSerializable {
    graph: Acyclic<StableDiGraph<OperationKey, Dependency>>,
    nodes: BTreeMap<OperationKey, NodeIndex>,
    /// Who made a version.
    writers: BTreeMap<BoardVersion, NodeIndex>,
    /// Who read it.
    readers: BTreeMap<BoardVersion, Vec<NodeIndex>>,
    /// The last transaction of each agent.
    last: BTreeMap<String, NodeIndex>,
}

impl Invariant for BoardSerializable {
    fn id(&self) -> &'static str {
        "board-serializable"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(SnapshotRead { key, reads }) = event.claim() {
            return self.add(key, &reads, &[]);
        }
        match event.claim() {
            Some(Committed { key, effect: Effect::Board { reads, writes }, .. }) => self.add(key, &reads, &writes),
            _ => Ok(()),
        }
    }
}

impl BoardSerializable {
    fn add(&mut self, key: OperationKey, reads: &[BoardVersion], writes: &[BoardVersion]) -> Result<(), Violation> {
        if self.nodes.contains_key(&key) {
            // Acknowledged again after a restart: the first account of it stands.
            return Ok(());
        }
        let node = self.graph.add_node(key.clone());
        self.nodes.insert(key.clone(), node);
        for written in writes {
            if let Some(other) = self.writers.insert(written.clone(), node) {
                let message = format!(
                    "lost update: {} and {} both made version {} of `{}`",
                    Name(&self.graph[other]),
                    Name(&key),
                    written.version,
                    written.key
                );
                return Err(Violation::new(self.id(), message).object("board-key").role("agent").loss("lost-update"));
            }
        }
        for written in writes {
            let before = step(written, -1);
            let after = step(written, 1);
            if let Some(&other) = self.writers.get(&before) {
                self.order(other, node, Dependency::WriteWrite(before.clone()))?;
            }
            if let Some(&other) = self.writers.get(&after) {
                self.order(node, other, Dependency::WriteWrite(written.clone()))?;
            }
            for other in self.readers.get(written).cloned().unwrap_or_default() {
                self.order(node, other, Dependency::WriteRead(written.clone()))?;
            }
            for other in self.readers.get(&before).cloned().unwrap_or_default() {
                self.order(other, node, Dependency::ReadWrite(before.clone()))?;
            }
        }
        for read in reads {
            if let Some(&other) = self.writers.get(read) {
                self.order(other, node, Dependency::WriteRead(read.clone()))?;
            }
            if let Some(&other) = self.writers.get(&step(read, 1)) {
                self.order(node, other, Dependency::ReadWrite(read.clone()))?;
            }
            self.readers.entry(read.clone()).or_default().push(node);
        }
        match self.last.insert(key.agent, node) {
            Some(before) => self.order(before, node, Dependency::Session),
            None => Ok(()),
        }
    }

    fn order(&mut self, before: NodeIndex, after: NodeIndex, why: Dependency) -> Result<(), Violation> {
        // A transaction that read the version it replaced depends on itself; that is no cycle.
        if before == after || self.graph.try_add_edge(before, after, why.clone()).is_ok() {
            return Ok(());
        }
        let message = format!("no serial order: {}", self.cycle(before, after, &why));
        Err(Violation::new(self.id(), message).object("board-key").role("agent").loss("cycle"))
    }

    /// The path that already leads from `after` back to `before`, in words, with the edge that would close it.
    fn cycle(&self, before: NodeIndex, after: NodeIndex, why: &Dependency) -> String {
        let graph = self.graph.inner();
        let mut words = format!("{} before {} ({why})", Name(&graph[before]), Name(&graph[after]));
        let path = petgraph::algo::astar(graph, after, |node| node == before, |_| 1u32, |_| 0)
            .map(|(_, path)| path)
            .unwrap_or_default();
        for pair in path.windows(2) {
            let why = graph
                .edges_connecting(pair[0], pair[1])
                .map(|edge| edge.weight().to_string())
                .next()
                .unwrap_or_default();
            words += &format!(", before {} ({why})", Name(&graph[pair[1]]));
        }
        words
    }
}

fn step(at: &BoardVersion, by: i64) -> BoardVersion {
    // Version 0 is absence, and nobody wrote it: stepping below it gives a version that has no writer either.
    BoardVersion { key: at.key.clone(), version: at.version.wrapping_add_signed(by) }
}

struct Name<'a>(&'a OperationKey);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.0.agent, self.0.number)
    }
}
