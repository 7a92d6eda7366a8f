//! Which build this is: scenarios and models are a part of the program, and change without a new version and without a commit of seedstorm's.

use anyhow::Context;
use seedstorm_sim::sqlite;
use std::hash::Hasher;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::OnceLock;
use twox_hash::xxhash3_64;

/// The commit that seedstorm itself was built from, where that is known. A crate with scenarios of its own has others.
pub(crate) fn commit() -> Option<&'static str> {
    option_env!("SEEDSTORM_GIT_COMMIT").filter(|commit| !commit.is_empty())
}

/// Versions: of seedstorm, with its commit, and of SQLite.
pub(crate) fn versions() -> String {
    let commit = commit().map_or_else(String::new, |commit| format!(" of commit {commit}"));
    format!("seedstorm {}{commit} with SQLite {}", env!("CARGO_PKG_VERSION"), sqlite::source_id())
}

/// The versions, and what tells this build from others of them.
pub(crate) fn whole() -> String {
    let executable = digest().map_or_else(String::new, |digest| format!(", executable {digest}"));
    versions() + &executable
}

/// What tells this build from others: a digest of its executable file, which is the same wherever that was copied to. The whole file is read for it, once. `None` when it
/// can't be.
pub(crate) fn digest() -> Option<&'static str> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    DIGEST.get_or_init(|| read_digest().ok()).as_deref()
}

fn read_digest() -> anyhow::Result<String> {
    let mut file = std::fs::File::open(executable()?)?;
    let mut buffer = vec![0; 1 << 20];
    let mut hasher = xxhash3_64::Hasher::new();
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:016x}", hasher.finish())),
            Ok(read) => hasher.write(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// On Linux the program that runs now, even if a newer one has been built in its place meanwhile.
pub(crate) fn executable() -> anyhow::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { Ok(own) } else { std::env::current_exe().context("finding this program") }
}
