//! The truth about a swarm: who works, who has died at work, who is asleep. What the store says of a process is checked against the process itself.

use super::work::answer;
use super::{Agent, AgentError, Done};
use crate::claims::{AgentSeen, AgentState, OperationKey, StatusSeen};
use crate::mutant::{Mutant, is};
use crate::store::Found;
use seedstorm_sim::Sys;

impl Agent {
    /// Says what each agent is, as an operation.
    pub(super) async fn report(&mut self, sys: &Sys, key: OperationKey) -> Result<Done, AgentError> {
        let found = match self.store.survey(sys, &self.name).await? {
            Ok(found) => found,
            Err(why) => return answer(sys, key, Err(why)).await,
        };
        let mut agents = Vec::new();
        for Found { agent, asleep } in found {
            let state = match asleep {
                Some(number) => AgentState::Asleep(number),
                None if agent.status != "active" => AgentState::Stopped,
                None if is(self.config.mutant, Mutant::StatusByTheRow) => AgentState::Working,
                None if agent.process.is_alive(sys, self.config.mutant).await => AgentState::Working,
                None => AgentState::Dead,
            };
            agents.push(AgentSeen { agent: agent.name, state, process: agent.process });
        }
        sys.claim(&StatusSeen { key, agents }).await;
        Ok(Done::Acknowledged)
    }
}
