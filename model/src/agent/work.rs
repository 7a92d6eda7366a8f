//! One operation at a time: begun, carried out, and answered with yes, no, or not known yet. Expected refusals are answers, not errors.

use super::{Agent, AgentError, Done, Work, WorkKind};
use crate::claims::{Effect, OperationBegun, OperationKey, Refused};
use crate::store::{HeldTask, Needed, Outcome, StoreError};
use seedstorm_sim::Sys;

impl Agent {
    /// Carries out one operation. Asked again with the same number, after a restart too, it finds out what became of the first try.
    ///
    /// # Errors
    /// What it can't handle: the agent should end.
    pub async fn work(&mut self, sys: &Sys, work: &Work) -> Result<Done, AgentError> {
        let key = OperationKey { agent: self.name.clone(), number: work.number };
        sys.claim(&OperationBegun { key: key.clone(), kind: work.kind.name().into() }).await;
        let outcome = match &work.kind {
            WorkKind::BoardWrite { keys, bytes } => self.store.write_board(sys, &key, keys, *bytes).await,
            WorkKind::Note { bytes } => self.store.append_note(sys, &key, *bytes).await,
            WorkKind::TaskClaim { task } => self.store.claim_task(sys, &key, task).await,
            WorkKind::TaskCheck { task, item } => {
                self.store.check_item(sys, &key, task, *item, self.tasks.get(task).copied()).await
            }
            WorkKind::TaskNeeds { task, needed } => return self.set_needs(sys, key, task, needed).await,
            WorkKind::TaskLeave { task } => self.store.leave_task(sys, &key, task, self.tasks.get(task).copied()).await,
            WorkKind::BoardRead { keys } => {
                let read = self.store.read_board(sys, &key, keys).await?;
                return answer(sys, key, read.map(drop)).await;
            }
            WorkKind::Checkpoint => {
                let checkpointed = self.store.checkpoint(sys, &key).await?;
                return answer(sys, key, checkpointed.map(drop)).await;
            }
            WorkKind::Document { name, bytes } => return self.save_document(sys, key, name, *bytes).await,
            WorkKind::Introspect { notes, bytes } => return self.introspect(sys, key, *notes, *bytes).await,
            WorkKind::Sleep => return self.sleep(sys, key).await,
            WorkKind::Remember { text } => return self.remember(sys, key, text).await,
            WorkKind::Ingest { batch } => return self.ingest(sys, key, batch).await,
            WorkKind::Verify => return self.verify(sys, key).await,
            WorkKind::Status => return self.report(sys, key).await,
        };
        self.answer_outcome(sys, key, outcome).await
    }

    async fn set_needs(
        &mut self,
        sys: &Sys,
        key: OperationKey,
        task: &str,
        needed: &[String],
    ) -> Result<Done, AgentError> {
        match self.store.set_needs(sys, &key, task, needed).await? {
            Needed::Answered(outcome) => self.answer_outcome(sys, key, Ok(outcome)).await,
            Needed::Cyclic(cycle) => {
                sys.claim(&Refused { key, why: cycle.to_string() }).await;
                Ok(Done::Refused)
            }
        }
    }

    pub(super) async fn answer_outcome(
        &mut self,
        sys: &Sys,
        key: OperationKey,
        outcome: Result<Outcome, StoreError>,
    ) -> Result<Done, AgentError> {
        match outcome? {
            Outcome::Acknowledged(effect) => {
                self.note_effect(effect);
                Ok(Done::Acknowledged)
            }
            Outcome::Refused(why) => answer(sys, key, Err(why)).await,
            Outcome::Unanswered => Ok(Done::Unanswered),
        }
    }

    fn holds(&self, task: &str, generation: u64) -> bool {
        self.tasks.get(task).is_some_and(|held| held.generation == generation)
    }

    /// Keeps its own account of the tasks that it holds.
    fn note_effect(&mut self, effect: Effect) {
        match effect {
            Effect::TaskClaimed { task, generation, token, .. } => {
                self.tasks.insert(task, HeldTask { generation, token });
            }
            // Not a claim that it has won since.
            Effect::TaskLeft { task, generation, .. } if self.holds(&task, generation) => {
                self.tasks.remove(&task);
            }
            _ => {}
        }
    }
}

/// An answer that is yes or no; the yes has been claimed already.
pub(super) async fn answer(
    sys: &Sys,
    key: OperationKey,
    outcome: Result<(), &'static str>,
) -> Result<Done, AgentError> {
    match outcome {
        Ok(()) => Ok(Done::Acknowledged),
        Err(why) => {
            sys.claim(&Refused { key, why: why.into() }).await;
            Ok(Done::Refused)
        }
    }
}
