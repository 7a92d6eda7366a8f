//! The oracles of truth maintenance: a naive labeller of their own, the accepted set, and what must hold of the engine's labels.

pub mod accepted;
pub mod naive;
