//! Truth maintenance: what the swarm believes, why, and what follows when reasons come and go. A justification-based system (Doyle 1979, "A truth
//! maintenance system") whose labels are the well-founded semantics of its justifications (Van Gelder, Ross and Schlipf 1991): in, out or undecided;
//! unique, and so independent of the order of arrival. No I/O: the store keeps it in SQLite, see `store`.

mod base;
mod belief;
mod digest;
mod ingest;
mod label;
mod network;
mod record;
mod relabel;
mod supersession;
pub mod well_founded;

pub use base::{Base, Finding, Kept, KeptContradiction};
pub use belief::{Belief, Rank, Standing};
pub use ingest::{Ingested, Reason, Refusal, ingest, lay_down};
pub use label::Label;
pub use network::Network;
pub use record::{Batch, Contradiction, Justification, Record, Supersession, victim};
pub use relabel::Relabelled;
