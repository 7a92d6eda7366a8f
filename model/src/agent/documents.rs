//! Changing a document: load, change, save, under its lock, and past its fence where locks are leases.

use super::work::answer;
use super::{Agent, AgentError, Done};
use crate::claims::{DocumentLoaded, DocumentSaved, OperationKey};
use crate::file::{Fence, FileError, Opened, open_document_as, replace_as, seal};
use crate::lock::{Backoff, LockError, LockName};
use crate::mutant::{Mutant, is};
use seedstorm_sim::Sys;
use seedstorm_sim::sys::claim::{FencedWrite, Happened};

/// A history that is longer is worth a compaction.
const HISTORY_MAX: usize = 8;

/// How often a save is tried, the lock held all the while.
const SAVE_ATTEMPTS: u32 = 4;

/// What is to be done to a document.
enum Change<'a> {
    /// An agent's operation.
    Apply { key: &'a OperationKey, bytes: usize },
    /// Making it shorter.
    Compact,
}

/// What came of a save.
enum Saved {
    /// It is durable; the revision that it made, unless there was nothing to do.
    Durable(Option<u64>),
    /// It has had no effect.
    Refused(&'static str),
    /// It may have taken effect.
    Unknown,
}

impl Agent {
    /// Changes a document, as an operation.
    pub(super) async fn save_document(
        &mut self,
        sys: &Sys,
        key: OperationKey,
        name: &str,
        bytes: usize,
    ) -> Result<Done, AgentError> {
        let is_long = self.long_documents.remove(name);
        let compacts_late = is(self.config.mutant, Mutant::LockReEntered);
        if is_long && !compacts_late {
            self.compact_document(sys, name).await?;
        }
        let held = match self.locks.acquire(sys, LockName::document(name)).await {
            Ok(held) => held,
            Err(error) => return self.without_lock(sys, key, error).await,
        };
        if is_long && compacts_late {
            self.compact_document(sys, name).await?;
        }
        let (token, change) = (held.token(), Change::Apply { key: &key, bytes });
        let saved = if is(self.config.mutant, Mutant::LockReleasedBeforeDurable) {
            self.locks.release(sys, held).await?;
            self.change(sys, name, token, &change).await
        } else {
            let saved = self.change(sys, name, token, &change).await;
            self.locks.release(sys, held).await?;
            saved
        };
        match saved {
            Saved::Durable(revision) => {
                // The last thing, so that an agent that dies before it asks again, and one that dies after it doesn't.
                let revision = revision.unwrap_or_default();
                sys.claim(&DocumentSaved { path: self.document_path(name), revision }).await;
                Ok(Done::Acknowledged)
            }
            Saved::Refused(why) => answer(sys, key, Err(why)).await,
            Saved::Unknown => Ok(Done::Unanswered),
        }
    }

    async fn without_lock(&self, sys: &Sys, key: OperationKey, error: LockError) -> Result<Done, AgentError> {
        match error {
            LockError::TimedOut { .. } if !is(self.config.mutant, Mutant::LockTimeoutUnhandled) => {
                answer(sys, key, Err("lock-timeout")).await
            }
            LockError::Terminating { .. } => Ok(Done::Unanswered),
            error => Err(error.into()),
        }
    }

    /// Makes a document shorter: two locks, in the fixed order. It may as well be done another time.
    async fn compact_document(&mut self, sys: &Sys, name: &str) -> Result<(), AgentError> {
        let compaction = match self.locks.acquire(sys, LockName::compaction()).await {
            Ok(held) => held,
            Err(LockError::TimedOut { .. } | LockError::Terminating { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let saved = match self.locks.acquire(sys, LockName::document(name)).await {
            Ok(held) => {
                let saved = self.change(sys, name, held.token(), &Change::Compact).await;
                self.locks.release(sys, held).await.map(|()| saved)
            }
            Err(LockError::TimedOut { .. } | LockError::Terminating { .. }) => Ok(Saved::Unknown),
            Err(error) => Err(error),
        };
        self.locks.release(sys, compaction).await?;
        if let Saved::Durable(Some(revision)) = saved? {
            sys.claim(&DocumentSaved { path: self.document_path(name), revision }).await;
        }
        Ok(())
    }

    fn document_path(&self, name: &str) -> String {
        format!("{}/{name}", self.config.documents())
    }

    /// Changes a document whose lock is held: tries again when the disk fails, from the load on, since nobody knows then what is there.
    async fn change(&mut self, sys: &Sys, name: &str, token: Option<u64>, change: &Change<'_>) -> Saved {
        let mut backoff = Backoff::short();
        let mut is_unknown = false;
        for attempt in 1.. {
            let error = match self.change_once(sys, name, token, change).await {
                Ok(revision) => return Saved::Durable(revision),
                Err(error) => error,
            };
            is_unknown |= error.may_have_taken_effect();
            tracing::debug!(document = name, attempt, %error, "a document was not saved");
            if error.is_disk_full() {
                sys.claim(&Happened { what: "disk_full_handled".into() }).await;
            }
            let is_hopeless =
                matches!(error, FileError::Fenced { .. } | FileError::FenceBusy { .. } | FileError::Value { .. });
            if is_hopeless || attempt >= SAVE_ATTEMPTS || sys.is_terminating() {
                return if is_unknown { Saved::Unknown } else { Saved::Refused(why(&error)) };
            }
            // A sleep that a signal cuts short is a shorter one.
            let _ = sys.sleep(backoff.next_ns(&mut sys.entropy())).await;
        }
        Saved::Unknown
    }

    async fn change_once(
        &mut self,
        sys: &Sys,
        name: &str,
        token: Option<u64>,
        change: &Change<'_>,
    ) -> Result<Option<u64>, FileError> {
        let path = self.document_path(name);
        let beside = format!("{}/{}", self.config.locks(), LockName::document(name));
        let fence = Fence::new(&path, &beside, self.config.lock_timeout_ns, self.config.mutant);
        let opened = match token {
            Some(token) => {
                let (opened, passed) = fence.enter(sys, token).await?;
                sys.claim(&FencedWrite { resource: name.to_owned(), token, sequence: passed.place }).await;
                opened
            }
            None => open_document_as(sys, &path, self.config.mutant).await?,
        };
        if opened.quarantined.is_some() {
            sys.claim(&Happened { what: "quarantined".into() }).await;
        }
        let Opened { mut document, revision, quarantined } = opened;
        sys.claim(&DocumentLoaded { path: path.clone(), revision, quarantined }).await;
        let made = match change {
            Change::Compact if document.history.len() <= HISTORY_MAX => return Ok(None),
            Change::Compact => {
                document.compact();
                None
            }
            // An earlier try of ours is in place, and may not be durable: the same content is written once more, since a second fsync of a
            // directory whose first one failed proves nothing.
            Change::Apply { key, .. } => document.revision_made_by(&key.agent, key.number),
        };
        if is(self.config.mutant, Mutant::LocksOutOfOrder)
            && matches!(change, Change::Apply { .. })
            && document.history.len() > HISTORY_MAX + 1
            && let Ok(compaction) = self.locks.acquire(sys, LockName::compaction()).await
        {
            document.compact();
            let _ = self.locks.release(sys, compaction).await;
        }
        if let (Change::Apply { key, bytes }, None) = (change, made) {
            document.apply(&key.agent, key.number, ".".repeat(*bytes));
        }
        match token {
            Some(token) => {
                let passed = fence.write(sys, token, &mut document).await?;
                sys.claim(&FencedWrite { resource: name.to_owned(), token, sequence: passed.place }).await;
            }
            None => {
                document.sequence += 1;
                let sealed = seal(&document).map_err(|source| FileError::Value { path: path.clone(), source })?;
                replace_as(sys, &path, &sealed, self.config.mutant).await?;
            }
        }
        if document.history.len() > HISTORY_MAX {
            self.long_documents.insert(name.to_owned());
        }
        Ok(Some(made.unwrap_or(document.revision)))
    }
}

fn why(error: &FileError) -> &'static str {
    match error {
        FileError::Fenced { .. } => "fenced",
        FileError::FenceBusy { .. } => "fence-busy",
        _ if error.is_disk_full() => "disk-full",
        _ => "io-error",
    }
}
