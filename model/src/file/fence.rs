//! The fence of a file: it refuses writers whose lease has passed to another, by their tokens (Kleppmann 2016, "How to do distributed locking").
//!
//! A lease runs out by a clock, so its holder may be overtaken without knowing. What then protects the file is not the lease but the file itself:
//! it lets each holder in with its token, remembers the highest, and refuses lower ones from then on.

use super::document::{Document, Opened, open_document_as};
use super::envelope::{seal, unseal};
use super::replace::{replace_as, replace_volatile};
use super::{FileError, read_sealed};
use crate::lock::Backoff;
use crate::mutant::{Mutant, is};
use seedstorm_sim::sys::{File, LockMode, OpenFlags};
use seedstorm_sim::{Errno, Sys};
use serde::{Deserialize, Serialize};

/// The highest token that a file has let in. Meaningless after a crash of the machine: all holders are dead then, so it needn't be durable.
#[derive(Default, Serialize, Deserialize)]
struct Seen {
    token: u64,
    boot_id: u64,
}

/// The fence of one file.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The file that it protects.
    path: String,
    /// What `Seen` is kept in, and its lock, which is never replaced.
    seen_path: String,
    guard_path: String,
    timeout_ns: u64,
    mutant: Option<Mutant>,
}

/// What the fence let through, for the claim of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its place in the file's own order of entries and writes: a later one has a greater one.
    pub place: u64,
}

impl Passed {
    /// A write: its number among the file's writes.
    fn write(sequence: u64) -> Passed {
        Passed { place: sequence << TOKEN_BITS }
    }

    /// An entry: it comes after the last write, and among the entries since then in the order of the tokens, which only rise.
    fn entry(sequence: u64, token: u64) -> Passed {
        Passed { place: sequence << TOKEN_BITS | token }
    }
}

/// Tokens rise by one for each acquisition: no lease has more of them in its life.
const TOKEN_BITS: u32 = 32;

impl Fence {
    /// The fence of `path`, whose own files stand at `beside` with further endings.
    pub fn new(path: &str, beside: &str, timeout_ns: u64, mutant: Option<Mutant>) -> Fence {
        let (seen_path, guard_path) = (format!("{beside}.fence"), format!("{beside}.fence-guard"));
        Fence { path: path.to_owned(), seen_path, guard_path, timeout_ns, mutant }
    }

    /// Lets the holder of a token in: from here on lower tokens are refused, so that the document that it gets is not changed behind its back.
    ///
    /// # Errors
    /// [`FileError::Fenced`], [`FileError::FenceBusy`], or what the system says.
    pub async fn enter(&self, sys: &Sys, token: u64) -> Result<(Opened, Passed), FileError> {
        let guard = self.close_gate(sys).await?;
        let newest = self.newest(sys).await?;
        self.check(token, newest)?;
        let opened = open_document_as(sys, &self.path, self.mutant).await?;
        self.check(token, opened.document.token)?;
        if token > newest {
            let seen = Seen { token, boot_id: sys.boot_id() };
            let sealed = seal(&seen).map_err(|source| FileError::Value { path: self.seen_path.clone(), source })?;
            replace_volatile(sys, &self.seen_path, &self.seen_path, &sealed).await?;
        }
        let passed = Passed::entry(opened.document.sequence, token);
        self.open_gate(guard).await?;
        Ok((opened, passed))
    }

    /// Replaces the document, if no higher token has been let in. Check and write are one: nobody else writes in between.
    ///
    /// # Errors
    /// As [`Fence::enter`], and those of [`super::replace`].
    pub async fn write(&self, sys: &Sys, token: u64, document: &mut Document) -> Result<Passed, FileError> {
        let guard = self.close_gate(sys).await?;
        let newest = self.newest(sys).await?;
        let found = open_document_as(sys, &self.path, self.mutant).await?.document;
        if !is(self.mutant, Mutant::LeaseWithoutFencing) {
            self.check(token, newest.max(found.token))?;
        }
        document.token = token;
        document.sequence = found.sequence + 1;
        let sealed = seal(document).map_err(|source| FileError::Value { path: self.path.clone(), source })?;
        replace_as(sys, &self.path, &sealed, self.mutant).await?;
        let passed = Passed::write(document.sequence);
        self.open_gate(guard).await?;
        Ok(passed)
    }

    fn check(&self, token: u64, newest: u64) -> Result<(), FileError> {
        if token >= newest { Ok(()) } else { Err(FileError::Fenced { path: self.path.clone(), token, newest }) }
    }

    async fn newest(&self, sys: &Sys) -> Result<u64, FileError> {
        let Some(bytes) = read_sealed(sys, &self.seen_path).await? else { return Ok(0) };
        // It is replaced atomically: only a crash of the machine can have damaged it.
        let seen: Seen = unseal(&bytes).unwrap_or_default();
        Ok(if seen.boot_id == sys.boot_id() { seen.token } else { 0 })
    }

    /// One at a time: an flock that dies with its holder. It is held for a few calls, not for the time of a lease.
    async fn close_gate(&self, sys: &Sys) -> Result<File, FileError> {
        let opened = sys.open(&self.guard_path, OpenFlags::READ_WRITE.create()).await;
        let guard = opened.map_err(|error| FileError::no_effect("open", &self.guard_path, error))?;
        let since_ns = sys.monotonic_ns();
        let mut backoff = Backoff::short();
        loop {
            match guard.try_lock(LockMode::Exclusive).await {
                Ok(()) => return Ok(guard),
                Err(Errno::WouldBlock) => {}
                Err(error) => return Err(FileError::no_effect("flock", &self.guard_path, error)),
            }
            let waited_ns = sys.monotonic_ns() - since_ns;
            if waited_ns >= self.timeout_ns || sys.is_terminating() {
                return Err(FileError::FenceBusy { path: self.path.clone(), waited_ns });
            }
            // An interrupted sleep is a short one.
            let _ = sys.sleep(backoff.next_ns(&mut sys.entropy()).min(self.timeout_ns - waited_ns)).await;
        }
    }

    async fn open_gate(&self, guard: File) -> Result<(), FileError> {
        guard.close().await.map_err(|error| FileError::no_effect("close", &self.guard_path, error))
    }
}
