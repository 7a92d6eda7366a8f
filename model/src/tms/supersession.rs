//! Supersedes is a directed acyclic graph: each new edge is checked as it is written, against what its older end supersedes, however far. A cycle is
//! refused, and its path named.

use super::base::Base;
use super::record::Supersession;
use crate::memory::Digest;
use petgraph::acyclic::Acyclic;
use petgraph::data::Build;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use std::collections::{BTreeMap, BTreeSet};

/// The part of the graph that a batch has met so far. Edges go from the newer to the older.
#[derive(Default)]
pub(super) struct Supersedes {
    graph: Acyclic<StableDiGraph<Digest, ()>>,
    nodes: BTreeMap<Digest, NodeIndex>,
    /// Beliefs all of whose own edges are in the graph.
    read: BTreeSet<Digest>,
}

impl Supersedes {
    /// Adds an edge. The path of the cycle that it would close, from its newer end on and back to it, if it would.
    pub(super) fn add<B: Base>(&mut self, base: &mut B, new: &Supersession) -> Result<Option<Vec<Digest>>, B::Error> {
        self.read_from(base, new.older)?;
        let (newer, older) = (self.node(new.newer), self.node(new.older));
        if self.graph.try_update_edge(newer, older, ()).is_ok() {
            return Ok(None);
        }
        let path = petgraph::algo::astar(self.graph.inner(), older, |node| node == newer, |_| 1u32, |_| 0);
        let path = path.map(|(_, path)| path).unwrap_or_default();
        let beliefs = path.into_iter().map(|node| self.graph[node]);
        Ok(Some([new.newer].into_iter().chain(beliefs).collect()))
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
                // What is kept was checked when it was written. Where a planted bug let a cycle in, it stays outside of the check.
                let _ = self.graph.try_update_edge(node, other, ());
                reached.push(older);
            }
        }
        Ok(())
    }

    fn node(&mut self, belief: Digest) -> NodeIndex {
        let graph = &mut self.graph;
        *self.nodes.entry(belief).or_insert_with(|| graph.add_node(belief))
    }
}
