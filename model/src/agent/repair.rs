//! Repairing at a wake what an earlier life left half done: its locks, what it had sealed and not finished, what it had staged and not sealed.

use super::wake::Tries;
use super::{Agent, AgentError};
use crate::claims::OperationKey;
use crate::file::{FileError, Loaded, Seal, StagedName, StagedNote, load, quarantine};
use crate::lock::LockError;
use crate::mutant::{Mutant, is};
use crate::store::Outcome;
use seedstorm_sim::sys::claim::Happened;
use seedstorm_sim::{Errno, Sys};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::rc::Rc;

impl Agent {
    /// Finishes what earlier lives of this agent left. A life that dies in here leaves something that the next one finishes.
    pub(super) async fn repair(&mut self, sys: &Sys) -> Result<(), AgentError> {
        let mut tries = Tries::new(sys, "what the last life left");
        while !self.repair_once(sys).await? {
            tries.again(sys).await?;
        }
        Ok(())
    }

    async fn repair_once(&mut self, sys: &Sys) -> Result<bool, AgentError> {
        let mut is_done = match self.release_dead(sys).await {
            Ok(is_done) => is_done,
            Err(LockError::System { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let Some(left) = self.staged(sys).await else { return Ok(false) };
        for name in left.iter().filter(|name| name.note.is_none()) {
            is_done &= self.finish(sys, name).await?;
        }
        // What is still there now has no seal.
        let Some(left) = self.staged(sys).await else { return Ok(false) };
        let mut unsealed: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
        for StagedName { number, note, .. } in left {
            if let Some(note) = note {
                unsealed.entry(number).or_default().push((number, note));
            }
        }
        for (number, notes) in unsealed {
            if is(self.config.mutant, Mutant::NoteNeverSealed) {
                continue;
            }
            let key = OperationKey { agent: self.name.clone(), number };
            let sealed = Seal { key, notes, tasks: Vec::new(), closes_day: false };
            let name = StagedName::of_seal(&sealed.key);
            is_done &= self.put(sys, &name, &sealed).await && self.finish(sys, &name).await?;
        }
        Ok(is_done)
    }

    /// Takes away what earlier lives still hold. Gives whether nothing is left of it.
    async fn release_dead(&self, sys: &Sys) -> Result<bool, LockError> {
        if is(self.config.mutant, Mutant::OwnDeadLocksKept) {
            return Ok(true);
        }
        self.locks.release_dead(sys).await
    }

    /// Finishes a sealed batch. Gives whether it is finished.
    async fn finish(&mut self, sys: &Sys, name: &StagedName) -> Result<bool, AgentError> {
        let sealed: Seal = match self.load_staged(sys, name).await {
            Ok(Some(sealed)) => sealed,
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        };
        if sealed.closes_day {
            if is(self.config.mutant, Mutant::HalfDoneSleepNotResumed) {
                return Ok(true);
            }
            if !self.close_day(sys, &sealed).await? {
                return Ok(false);
            }
        } else {
            let Some(notes) = self.notes_of(sys, &sealed).await? else { return Ok(false) };
            // Whole, it is the operation itself, and whoever asks for it again finds it done. A part is kept, and the operation is still to do.
            let is_whole = notes.first().is_some_and(|note| note.of as usize == notes.len());
            let is_kept = match Rc::<[StagedNote]>::from(notes) {
                notes if is_whole => {
                    matches!(self.store.commit_notes(sys, &sealed.key, notes).await?, Outcome::Acknowledged(_))
                }
                notes => notes.is_empty() || self.store.keep_notes(sys, notes).await?,
            };
            if !is_kept {
                return Ok(false);
            }
        }
        self.release_staged(sys, &sealed).await;
        Ok(true)
    }

    /// The notes of a batch that are still in their files; `None` if one can't be read now.
    pub(super) async fn notes_of(&self, sys: &Sys, sealed: &Seal) -> Result<Option<Vec<StagedNote>>, AgentError> {
        let mut notes = Vec::new();
        for (number, note) in &sealed.notes {
            let key = OperationKey { agent: self.name.clone(), number: *number };
            match self.load_staged(sys, &StagedName::of_note(&key, note)).await {
                Ok(None) if is(self.config.mutant, Mutant::SealWithoutNotesRefused) => {
                    return Err(FileError::no_effect(
                        "open",
                        &StagedName::of_note(&key, note).path(&self.config.staged()),
                        Errno::NoEntry,
                    )
                    .into());
                }
                Ok(note) => notes.extend(note),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(notes))
    }

    /// Loads a staged file; `None` if it is gone, or damaged and put aside.
    async fn load_staged<T: DeserializeOwned>(&self, sys: &Sys, name: &StagedName) -> Result<Option<T>, FileError> {
        let path = name.path(&self.config.staged());
        Ok(match load(sys, &path).await? {
            Loaded::Whole(value) => Some(value),
            Loaded::Absent => None,
            Loaded::Damaged(damage) => {
                tracing::warn!(path, %damage, "a staged file is damaged");
                quarantine(sys, &path).await?;
                sys.claim(&Happened { what: "quarantined".into() }).await;
                None
            }
        })
    }

    /// The files that this agent has staged; `None` if the directory can't be read now.
    pub(super) async fn staged(&self, sys: &Sys) -> Option<Vec<StagedName>> {
        let names = sys.read_dir(&self.config.staged()).await.ok()?;
        let names = names.iter().filter_map(|name| StagedName::parse(name));
        Some(names.filter(|name| name.agent == self.name).collect())
    }
}
