//! Sealed memories: each in a file that is named by what it holds, all of them under one Merkle root, which is stored with each transition. How the tree is
//! built is in `tree`, how it stands in SQLite in `seal`, the files in `folder`.
//!
//! Remembering goes in stages, so that a death anywhere leaves nothing acknowledged unsealed: [`Folder::open`] keeps sweepers away, [`Writing::write`]
//! makes the file durable, [`seal`] adds it to the tree inside the caller's own transaction, whose commit is the acknowledgement. A file that was
//! written and never sealed is an orphan: it harms nobody, and is swept when nobody is writing.

mod digest;
mod folder;
mod seal;
mod tree;
mod verify;

pub use digest::{Digest, NotADigest};
pub use folder::{Folder, Sweeping, Writing};
pub use seal::{Transition, is_sealed, latest, seal};
pub use verify::Damaged;

pub(crate) use verify::{Account, inspect, read_account};
