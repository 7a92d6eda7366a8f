//! Supersedes is a directed acyclic graph: each new edge is checked as it is written, against what its older end supersedes, however far. A cycle is
//! refused, and its path named.
//!
//! Only what can be part of a cycle is read: nothing, where nobody supersedes the newer end. petgraph searches it without recursion: its `Acyclic`, which
//! keeps an order between insertions, would have to be filled anew for each batch, and goes as deep into the stack as a chain is long.

use super::base::Base;
use super::record::Supersession;
use crate::memory::Digest;
use petgraph::algo::has_path_connecting;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, VecDeque};

/// The part of the graph that a batch has met so far. Edges go from the newer to the older.
#[derive(Default)]
pub(super) struct Supersedes {
    graph: DiGraph<Digest, ()>,
    nodes: BTreeMap<Digest, NodeIndex>,
    /// Beliefs all of whose own edges are in the graph, and with them all that they lead to.
    read: BTreeSet<Digest>,
}

impl Supersedes {
    /// Adds an edge that isn't kept yet. The path of the cycle that it would close, from its newer end on and back to it, if it would.
    pub(super) fn add<B: Base>(&mut self, base: &mut B, new: &Supersession) -> Result<Option<Vec<Digest>>, B::Error> {
        let (newer, older) = (self.node(new.newer), self.node(new.older));
        // One that is read already must not lead to one that isn't: all that is reached from what is read is read.
        let is_read = self.read.contains(&new.newer);
        if newer == older || is_read || !base.successors_of(&new.newer)?.is_empty() {
            self.read_from(base, new.older)?;
            if has_path_connecting(&self.graph, older, newer, None) {
                return Ok(Some(self.path(newer, older)));
            }
        }
        self.graph.update_edge(newer, older, ());
        Ok(None)
    }

    /// Reads what a belief supersedes, directly or through others.
    fn read_from<B: Base>(&mut self, base: &mut B, belief: Digest) -> Result<(), B::Error> {
        let mut reached = vec![belief];
        while let Some(newer) = reached.pop() {
            if !self.read.insert(newer) {
                continue;
            }
            let node = self.node(newer);
            for older in base.superseded_by(&newer)? {
                let other = self.node(older);
                self.graph.update_edge(node, other, ());
                reached.push(older);
            }
        }
        Ok(())
    }

    /// The beliefs on the shortest way from `older` to `newer`, and `newer` before them.
    fn path(&self, newer: NodeIndex, older: NodeIndex) -> Vec<Digest> {
        let mut came_from: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
        let mut reached = VecDeque::from([older]);
        while let Some(node) = reached.pop_front().filter(|node| *node != newer) {
            for next in self.graph.neighbors(node).filter(|next| *next != older) {
                if let Entry::Vacant(new) = came_from.entry(next) {
                    new.insert(node);
                    reached.push_back(next);
                }
            }
        }
        let mut path = vec![newer];
        let mut last = newer;
        while let Some(before) = came_from.get(&last).filter(|_| last != older) {
            path.push(*before);
            last = *before;
        }
        path.push(newer);
        path.reverse();
        path.into_iter().map(|node| self.graph[node]).collect()
    }

    fn node(&mut self, belief: Digest) -> NodeIndex {
        let graph = &mut self.graph;
        *self.nodes.entry(belief).or_insert_with(|| graph.add_node(belief))
    }
}
