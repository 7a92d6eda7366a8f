//! `claim-single-winner`: each claim has one winner in each generation, and only the winner works under it.

use seedstorm_model::claims::{Committed, Effect, Refused};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest};
use std::collections::BTreeMap;

/// One winner for each generation of a task's claim.
#[derive(Default)]
pub struct ClaimSingleWinner {
    /// By task and generation.
    winners: BTreeMap<(String, u64), Winner>,
}

/// Who won a generation.
struct Winner {
    agent: String,
    /// The operation that won, and its token. `None` while only work under the claim has been seen: a winner that died after its commit says
    /// later that it won, or never.
    claim: Option<(u64, u64)>,
}

impl Invariant for ClaimSingleWinner {
    fn id(&self) -> &'static str {
        "claim-single-winner"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if view.claim::<Refused>(event).is_some_and(|refused| refused.why == "lost-race") {
            view.cover("claim_lost_race");
        }
        let Some(committed) = view.claim::<Committed>(event) else { return Ok(()) };
        let Committed { key, effect, .. } = &*committed;
        match effect {
            Effect::TaskClaimed { task, generation, token, took_over } => {
                if *took_over {
                    view.cover("claim_expired_and_retaken");
                }
                let claim = (key.number, *token);
                let winner = self
                    .winners
                    .entry((task.clone(), *generation))
                    .or_insert_with(|| Winner { agent: key.agent.clone(), claim: None });
                if winner.agent == key.agent && *winner.claim.get_or_insert(claim) == claim {
                    return Ok(());
                }
                let operation = winner.claim.map_or_else(String::new, |(number, _)| format!("#{number}"));
                let message = format!(
                    "task `{task}`, generation {generation}: won by {}{operation} and by {}#{}",
                    winner.agent, key.agent, key.number
                );
                Err(Violation::new(self.id(), message).object("task").role("agent").loss("two-winners"))
            }
            Effect::ItemChecked { task, generation, .. } | Effect::TaskLeft { task, generation, .. } => {
                let winner = self
                    .winners
                    .entry((task.clone(), *generation))
                    .or_insert_with(|| Winner { agent: key.agent.clone(), claim: None });
                if winner.agent == key.agent {
                    return Ok(());
                }
                let message = format!(
                    "{}#{} worked on task `{task}` under generation {generation}, which {} had won",
                    key.agent, key.number, winner.agent
                );
                Err(Violation::new(self.id(), message).object("task").role("agent").loss("work-without-claim"))
            }
            _ => Ok(()),
        }
    }
}
