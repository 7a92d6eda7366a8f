//! Remembering, and verifying what is remembered. A memory's file is durable before it is sealed, and the seal's commit is the acknowledgement; what was
//! written and never sealed is swept when an agent wakes.

use super::wake::Tries;
use super::work::answer;
use super::{Agent, AgentError, Done};
use crate::claims::{MemoriesVerified, OperationKey};
use crate::memory::{Damaged, Digest, Folder, inspect};
use crate::mutant::{Mutant, is};
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Agent {
    /// Remembers a text, as an operation. Asked again, it writes the same file and finds its own seal.
    pub(super) async fn remember(&mut self, sys: &Sys, key: OperationKey, text: &str) -> Result<Done, AgentError> {
        let folder = Folder::new(&self.config);
        // An earlier try may have been sealed: where its file can't be written once more, that is no reason to say no.
        let Ok(writing) = folder.open(sys).await else { return Ok(Done::Unanswered) };
        let written = self.tried(sys, "a memory", || writing.write(sys, text.as_bytes())).await;
        let Some(memory) = written else { return Ok(Done::Unanswered) };
        if is(self.config.mutant, Mutant::RightToWriteGivenBackEarly) {
            drop(writing);
            let outcome = self.store.remember(sys, &key, memory).await;
            return self.answer_outcome(sys, key, outcome).await;
        }
        let outcome = self.store.remember(sys, &key, memory).await;
        drop(writing);
        self.answer_outcome(sys, key, outcome).await
    }

    /// Verifies all memories, as an operation, and names the files that aren't as they were sealed.
    pub(super) async fn verify(&mut self, sys: &Sys, key: OperationKey) -> Result<Done, AgentError> {
        let account = match self.store.account(sys, &key).await? {
            Ok(account) => account,
            Err(why) => return answer(sys, key, Err(why)).await,
        };
        let damaged = match inspect(sys, &account, &Folder::new(&self.config), &self.config.database()).await {
            Ok(damaged) => damaged,
            Err(error) => {
                tracing::debug!(%error, "not verified");
                return answer(sys, key, Err("io-error")).await;
            }
        };
        for Damaged { path, what } in &damaged {
            tracing::warn!(path, what, "a memory is damaged");
        }
        sys.claim(&MemoriesVerified { key, transition: account.transition, damaged }).await;
        Ok(Done::Acknowledged)
    }

    /// Removes files that nobody has sealed and nobody is about to seal. Who finds somebody writing leaves them to a later wake.
    pub(super) async fn sweep_memories(&mut self, sys: &Sys) -> Result<(), AgentError> {
        let folder = Folder::new(&self.config);
        let Ok(Some(sweeping)) = folder.try_sweep(sys).await else { return Ok(()) };
        let Ok(listed) = folder.list(sys).await else { return Ok(()) };
        if listed.is_empty() {
            return Ok(());
        }
        let mut tries = Tries::new(sys, "what is sealed");
        let suspected = loop {
            match self.store.unsealed(sys, Rc::from(listed.as_slice())).await? {
                Some(unsealed) => break unsealed,
                None => tries.again(sys).await?,
            }
        };
        if suspected.is_empty() {
            return Ok(());
        }
        let orphans: Vec<Digest> = loop {
            match self.store.unsealed_for_good(sys, &self.name, Rc::from(suspected.as_slice())).await? {
                Some(unsealed) => break unsealed,
                None => tries.again(sys).await?,
            }
        };
        if is(self.config.mutant, Mutant::OrphansLeft) {
            return Ok(());
        }
        for orphan in &orphans {
            if let Err(error) = sweeping.remove(sys, orphan).await {
                tracing::debug!(%error, "an orphan stays");
            }
        }
        Ok(())
    }
}
