//! Going to sleep: the day is closed in stages. Notes of what is held are staged, all is sealed, the notes are committed, the tasks given back, and
//! last of all the agent is marked as asleep. A sleep that was cut short after its seal is finished at the next wake: see `repair`.

use super::{Agent, AgentError, Done};
use crate::claims::OperationKey;
use crate::file::{Seal, StagedName, StagedNote};
use crate::store::{HeldTask, Outcome};
use seedstorm_sim::Sys;
use std::rc::Rc;

impl Agent {
    /// Closes the day, as an operation. After a yes the agent is asleep: it must be woken before it is asked for anything else.
    pub(super) async fn sleep(&mut self, sys: &Sys, key: OperationKey) -> Result<Done, AgentError> {
        let tasks: Vec<(String, HeldTask)> = self.tasks.iter().map(|(task, held)| (task.clone(), *held)).collect();
        for (task, held) in &tasks {
            let generation = held.generation;
            let text = format!("{task}: handed back, generation {generation}");
            let note = StagedNote { key: key.clone(), note: format!("{task}@{generation}"), of: 0, text };
            if !self.stage(sys, &note).await {
                return Ok(Done::Unanswered);
            }
        }
        let Some(left) = self.staged(sys).await else { return Ok(Done::Unanswered) };
        let notes = left.into_iter().filter_map(|name| name.note.map(|note| (name.number, note))).collect();
        let sealed = Seal { key: key.clone(), notes, tasks, closes_day: true };
        if !self.put(sys, &StagedName::of_seal(&key), &sealed).await || !self.close_day(sys, &sealed).await? {
            return Ok(Done::Unanswered);
        }
        match self.store.fall_asleep(sys, &key).await? {
            Outcome::Acknowledged(_) => {
                self.release_staged(sys, &sealed).await;
                self.leave(sys).await;
                Ok(Done::Acknowledged)
            }
            Outcome::Refused(_) | Outcome::Unanswered => Ok(Done::Unanswered),
        }
    }

    /// What a sealed sleep still has to do before anybody may call it done: the notes into the store, the tasks back. Gives whether both are durable.
    pub(super) async fn close_day(&mut self, sys: &Sys, sealed: &Seal) -> Result<bool, AgentError> {
        let Some(notes) = self.notes_of(sys, sealed).await? else { return Ok(false) };
        if !notes.is_empty() && !self.store.keep_notes(sys, Rc::from(notes)).await? {
            return Ok(false);
        }
        if !self.store.hand_back(sys, &self.name, sealed.tasks.clone()).await? {
            return Ok(false);
        }
        for (task, held) in &sealed.tasks {
            // Not a claim that it has won since.
            if self.tasks.get(task) == Some(held) {
                self.tasks.remove(task);
            }
        }
        Ok(true)
    }
}
