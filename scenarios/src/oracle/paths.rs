//! Where the swarm keeps its things, as the oracles look for them.

/// The database.
pub const DATABASE: &str = "/swarm/state.db";
/// Documents that are replaced atomically, with the slash.
pub const DOCUMENTS: &str = "/swarm/documents/";
/// Staged notes and seals, with the slash.
pub const STAGED: &str = "/swarm/staged/";
/// Sealed memories, with the slash.
pub const MEMORIES: &str = "/swarm/memories/";
/// Lock files, with the slash.
pub const LOCKS: &str = "/swarm/.locks/";
