//! The clients of sqlite-wal: plain rusqlite code on one database in WAL mode, with no engine between. The scenario itself is in `sqlite_wal`, what must
//! hold in `oracle::wal`.

pub mod claims;
pub mod client;
pub(crate) mod connection;
pub mod content;
mod error;
mod looking;
pub mod schema;
pub mod workload;
mod writing;
