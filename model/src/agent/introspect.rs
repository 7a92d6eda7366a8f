//! Introspecting: notes are staged in files, sealed, committed to the store, and their files released. Each stage may be done again; whoever finds
//! a stage half done goes on from there: see `repair`.

use super::{Agent, AgentError, Done};
use crate::claims::{NoteStaged, OperationKey, digest_of};
use crate::file::{FileError, Seal, StagedName, StagedNote, replace, seal};
use crate::lock::Backoff;
use crate::store::Outcome;
use seedstorm_sim::Sys;
use seedstorm_sim::sys::claim::Happened;
use serde::Serialize;
use std::rc::Rc;

/// How often a file is tried.
const ATTEMPTS: u32 = 4;

impl Agent {
    /// Writes down so many notes, as an operation. What has been staged is never given up, so the only answers are yes and not yet.
    pub(super) async fn introspect(
        &mut self,
        sys: &Sys,
        key: OperationKey,
        notes: u32,
        bytes: usize,
    ) -> Result<Done, AgentError> {
        let mut staged = Vec::new();
        for index in 0..notes {
            let mut text = format!("{}#{}/{index} ", key.agent, key.number);
            text.extend(std::iter::repeat_n('.', bytes.saturating_sub(text.len())));
            let note = StagedNote { key: key.clone(), note: index.to_string(), of: notes, text };
            if !self.stage(sys, &note).await {
                return Ok(Done::Unanswered);
            }
            staged.push(note);
        }
        let sealed = Seal {
            notes: staged.iter().map(|note| (key.number, note.note.clone())).collect(),
            key: key.clone(),
            tasks: Vec::new(),
            closes_day: false,
        };
        if !self.put(sys, &StagedName::of_seal(&key), &sealed).await {
            return Ok(Done::Unanswered);
        }
        match self.store.commit_notes(sys, &key, Rc::from(staged)).await? {
            Outcome::Acknowledged(_) => {
                self.release_staged(sys, &sealed).await;
                Ok(Done::Acknowledged)
            }
            // The seal stands: it is too late for a no.
            Outcome::Refused(_) | Outcome::Unanswered => Ok(Done::Unanswered),
        }
    }

    /// Stages a note, and acknowledges it. Gives whether it is in its file, durably.
    pub(super) async fn stage(&self, sys: &Sys, note: &StagedNote) -> bool {
        let is_staged = self.put(sys, &StagedName::of_note(&note.key, &note.note), note).await;
        if is_staged {
            let StagedNote { key, note, text, .. } = note;
            let digest = digest_of(text);
            sys.claim(&NoteStaged { key: key.clone(), note: note.clone(), digest }).await;
        }
        is_staged
    }

    /// Writes a file of the staged ones. Gives whether it is there, durably: what failed to become durable is written once more, since a second
    /// fsync proves nothing.
    pub(super) async fn put<T: Serialize>(&self, sys: &Sys, name: &StagedName, value: &T) -> bool {
        let path = name.path(&self.config.staged());
        let Ok(sealed) = seal(value) else { return false };
        self.tried(sys, &path, || replace(sys, &path, &sealed)).await.is_some()
    }

    /// Tries to write a file, a bounded number of times. `None`: it may be there, and may not.
    pub(super) async fn tried<T>(
        &self,
        sys: &Sys,
        what: &str,
        write: impl AsyncFn() -> Result<T, FileError>,
    ) -> Option<T> {
        let mut backoff = Backoff::short();
        for attempt in 1.. {
            let error = match write().await {
                Ok(written) => return Some(written),
                Err(error) => error,
            };
            tracing::debug!(what, attempt, %error, "not written");
            if error.is_disk_full() {
                sys.claim(&Happened { what: "disk_full_handled".into() }).await;
            }
            if attempt >= ATTEMPTS || sys.is_terminating() {
                return None;
            }
            // A sleep that a signal cuts short is a shorter one.
            let _ = sys.sleep(backoff.next_ns(&mut sys.entropy())).await;
        }
        None
    }

    /// Removes the files of a batch that is in the store: the notes first, since a seal without notes still says what to do, and notes without a
    /// seal are sealed again. What can't be removed now, or comes back with a crash, is found at the next wake, and is in the store already.
    pub(super) async fn release_staged(&self, sys: &Sys, sealed: &Seal) {
        let directory = self.config.staged();
        for (number, note) in &sealed.notes {
            let key = OperationKey { agent: sealed.key.agent.clone(), number: *number };
            crate::file::remove(sys, &StagedName::of_note(&key, note).path(&directory)).await;
        }
        crate::file::remove(sys, &StagedName::of_seal(&sealed.key).path(&directory)).await;
    }
}
