//! `board-serializable`: transactions on the board have a serial order. Versions give the dependencies, in the manner of Elle (Kingsbury and
//! Alvaro 2020, "Elle: inferring isolation anomalies from experimental observations").

use petgraph::acyclic::Acyclic;
use petgraph::data::Build;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use seedstorm_model::claims::{BoardVersion, Committed, Effect, OperationKey, SnapshotRead};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

/// A key of the board, shared by all who name it.
type Key = Rc<str>;

/// Why one transaction must come before another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Dependency {
    /// It wrote the version before the other's.
    WriteWrite(Key, u64),
    /// The other read what it wrote.
    WriteRead(Key, u64),
    /// It read a version that the other replaced.
    ReadWrite(Key, u64),
    /// The same agent saw its end before it began the other.
    Session,
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key, version) = match self {
            Dependency::WriteWrite(key, version) => ("write-write", key, version),
            Dependency::WriteRead(key, version) => ("write-read", key, version),
            Dependency::ReadWrite(key, version) => ("read-write", key, version),
            Dependency::Session => return f.write_str("same agent"),
        };
        write!(f, "{kind} on `{key}` version {version}")
    }
}

/// Transactions on the board have a serial order that agrees with what each of them read and wrote, and with each agent's own order.
#[derive(Default)]
pub struct BoardSerializable {
    graph: Acyclic<StableDiGraph<OperationKey, Dependency>>,
    agents: BTreeMap<String, Session>,
    board: BTreeMap<Key, BTreeMap<u64, Version>>,
}

/// The transactions of one agent.
#[derive(Default)]
struct Session {
    /// The operations whose first account has been taken.
    seen: BTreeSet<u64>,
    last: Option<NodeIndex>,
}

/// A version of a key. Nobody wrote version 0, which is absence.
#[derive(Default)]
struct Version {
    writer: Option<NodeIndex>,
    readers: Vec<NodeIndex>,
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

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Some(SnapshotRead { key, reads }) = event.claim() {
            return self.add(&key, &reads, &[]);
        }
        match view.claim(event).as_deref() {
            Some(Committed { key, effect: Effect::Board { reads, writes }, .. }) => self.add(key, reads, writes),
            _ => Ok(()),
        }
    }
}

impl BoardSerializable {
    fn add(&mut self, key: &OperationKey, reads: &[BoardVersion], writes: &[BoardVersion]) -> Result<(), Violation> {
        if !self.agents.contains_key(&key.agent) {
            self.agents.insert(key.agent.clone(), Session::default());
        }
        let Some(session) = self.agents.get_mut(&key.agent) else { return Ok(()) };
        if !session.seen.insert(key.number) {
            // Acknowledged again after a restart: the first account of it stands.
            return Ok(());
        }
        let node = self.graph.add_node(key.clone());
        let before = session.last.replace(node);
        for written in writes {
            let other = self.versions(&written.key).1.entry(written.version).or_default().writer.replace(node);
            if let Some(other) = other {
                let message = format!(
                    "lost update: {} and {} both made version {} of `{}`",
                    Name(&self.graph[other]),
                    Name(&self.graph[node]),
                    written.version,
                    written.key
                );
                return Err(Violation::new(self.id(), message).object("board-key").role("agent").loss("lost-update"));
            }
        }
        for written in writes {
            self.wrote(node, written)?;
        }
        for read in reads {
            self.read(node, read)?;
        }
        before.map_or(Ok(()), |before| self.order(before, node, Dependency::Session))
    }

    /// The versions of a key, and its shared name.
    fn versions(&mut self, key: &str) -> (Key, &mut BTreeMap<u64, Version>) {
        let shared = self.board.get_key_value(key).map_or_else(|| key.into(), |(shared, _)| shared.clone());
        (shared.clone(), self.board.entry(shared).or_default())
    }

    fn wrote(&mut self, node: NodeIndex, written: &BoardVersion) -> Result<(), Violation> {
        // Version 0 is absence, and nobody wrote it: stepping below it gives a version that has no writer either.
        let (at, below, above) = (written.version, written.version.wrapping_sub(1), written.version.wrapping_add(1));
        let (key, versions) = self.versions(&written.key);
        let writer_of = |version: u64| versions.get(&version).and_then(|version| version.writer);
        let readers_of = |version: u64| versions.get(&version).map_or_else(Vec::new, |version| version.readers.clone());
        let (writer_below, writer_above) = (writer_of(below), writer_of(above));
        let (readers, readers_below) = (readers_of(at), readers_of(below));
        if let Some(other) = writer_below {
            self.order(other, node, Dependency::WriteWrite(key.clone(), below))?;
        }
        if let Some(other) = writer_above {
            self.order(node, other, Dependency::WriteWrite(key.clone(), at))?;
        }
        for other in readers {
            self.order(node, other, Dependency::WriteRead(key.clone(), at))?;
        }
        for other in readers_below {
            self.order(other, node, Dependency::ReadWrite(key.clone(), below))?;
        }
        Ok(())
    }

    fn read(&mut self, node: NodeIndex, read: &BoardVersion) -> Result<(), Violation> {
        let (at, above) = (read.version, read.version.wrapping_add(1));
        let (key, versions) = self.versions(&read.key);
        let replacer = versions.get(&above).and_then(|version| version.writer);
        let version = versions.entry(at).or_default();
        version.readers.push(node);
        if let Some(other) = version.writer {
            self.order(other, node, Dependency::WriteRead(key.clone(), at))?;
        }
        if let Some(other) = replacer {
            self.order(node, other, Dependency::ReadWrite(key, at))?;
        }
        Ok(())
    }

    fn order(&mut self, before: NodeIndex, after: NodeIndex, why: Dependency) -> Result<(), Violation> {
        // A transaction that read the version it replaced depends on itself; that is no cycle. One reason for an order is enough.
        if before == after || self.graph.contains_edge(before, after) {
            return Ok(());
        }
        if self.graph.try_add_edge(before, after, why.clone()).is_ok() {
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

struct Name<'a>(&'a OperationKey);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.0.agent, self.0.number)
    }
}
