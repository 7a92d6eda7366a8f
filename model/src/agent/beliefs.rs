//! Taking batches of beliefs in, and laying down core memories. Each belief is a memory: its file is durable before the transaction that names it.

use super::wake::Tries;
use super::{Agent, AgentError, Done};
use crate::claims::OperationKey;
use crate::config::Config;
use crate::memory::{Digest, Folder};
use crate::tms::{Batch, Belief, Finding, Standing};
use seedstorm_sim::Sys;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Lays down the core memories of a swarm, before anybody works: from then on there are no others.
///
/// # Errors
/// What can't be made.
pub async fn lay_down(sys: &Sys, config: &Config, core: &[Belief]) -> Result<(), AgentError> {
    let mut agent = Agent::new(sys, config);
    let folder = Folder::new(config);
    let mut tries = Tries::new(sys, "the folder of memories");
    let writing = loop {
        match folder.open(sys).await {
            Ok(writing) => break writing,
            Err(_) => tries.again(sys).await?,
        }
    };
    for belief in core {
        while writing.write(sys, &belief.encode()).await.is_err() {
            tries.again(sys).await?;
        }
    }
    let core: Rc<[Belief]> = core.into();
    while !agent.store.lay_down(sys, core.clone()).await? {
        tries.again(sys).await?;
    }
    agent.store.close(sys).await;
    Ok(())
}

impl Agent {
    /// What is found of some beliefs, at one moment; `None` for one that isn't known. The outer `None`: the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn findings(
        &mut self,
        sys: &Sys,
        beliefs: &[Digest],
    ) -> Result<Option<Vec<Option<Finding>>>, AgentError> {
        Ok(self.store.findings(sys, beliefs.into()).await?)
    }

    /// What stands in the place of a belief: itself, or what superseded it and holds, and so on; of several the one of the greatest rank. The inner
    /// `None`: it isn't known. The outer one: the store can't be reached now.
    ///
    /// # Errors
    /// What no retry heals.
    pub async fn current(&mut self, sys: &Sys, belief: Digest) -> Result<Option<Option<Digest>>, AgentError> {
        Ok(self.store.current(sys, belief).await?)
    }

    /// Takes a batch in, as an operation. A yes says what was refused of it; the rest is accepted, and everything is labelled.
    pub(super) async fn ingest(&mut self, sys: &Sys, key: OperationKey, batch: &Batch) -> Result<Done, AgentError> {
        // Core memories are laid down, not taken in.
        let ordinary = batch.beliefs.iter().filter(|belief| belief.standing != Standing::Core);
        let named: Vec<(Digest, &Belief)> = ordinary.map(|belief| (belief.id(), belief)).collect();
        let ids: Rc<[Digest]> = named.iter().map(|(id, _)| *id).collect();
        let folder = Folder::new(&self.config);
        let Ok(writing) = folder.open(sys).await else { return Ok(Done::Unanswered) };
        let Some(unsealed) = self.store.unsealed(sys, ids).await? else { return Ok(Done::Unanswered) };
        let unsealed: BTreeSet<Digest> = unsealed.into_iter().collect();
        for (_, belief) in named.iter().filter(|(id, _)| unsealed.contains(id)) {
            let bytes = belief.encode();
            if self.tried(sys, "a belief", || writing.write(sys, &bytes)).await.is_none() {
                return Ok(Done::Unanswered);
            }
        }
        let outcome = self.store.ingest(sys, &key, Rc::new(batch.clone())).await;
        drop(writing);
        self.answer_outcome(sys, key, outcome).await
    }
}
