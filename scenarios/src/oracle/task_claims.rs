//! `claim-single-winner`: each claim has one winner in each generation, and only the winner works under it.

use seedstorm_model::claims::{Committed, Effect, OperationKey, Refused};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Event, Interest};
use std::collections::BTreeMap;

/// One winner for each generation of a task's claim.
#[derive(Default)]
pub struct ClaimSingleWinner {
    /// By task and generation.
    winners: BTreeMap<(String, u64), (OperationKey, u64)>,
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
        if let Some(Refused { why, .. }) = event.claim()
            && why == "lost-race"
        {
            view.cover("claim_lost_race");
        }
        let Some(Committed { key, effect, .. }) = event.claim() else { return Ok(()) };
        match effect {
            Effect::TaskClaimed { task, generation, token, took_over } => {
                if took_over {
                    view.cover("claim_expired_and_retaken");
                }
                let winner = self.winners.entry((task.clone(), generation)).or_insert_with(|| (key.clone(), token));
                if *winner == (key.clone(), token) {
                    return Ok(());
                }
                let message = format!(
                    "task `{task}`, generation {generation}: won by {}#{} and by {}#{}",
                    winner.0.agent, winner.0.number, key.agent, key.number
                );
                Err(Violation::new(self.id(), message).object("task").role("agent").loss("two-winners"))
            }
            Effect::ItemChecked { task, generation, .. } | Effect::TaskLeft { task, generation, .. } => {
                let winner = self.winners.get(&(task.clone(), generation));
                // A winner that died before it could claim is not known: its own later work under the claim is.
                match winner {
                    Some((winner, _)) if winner.agent != key.agent => {
                        let message = format!(
                            "{}#{} worked on task `{task}` under generation {generation}, which {} had won",
                            key.agent, key.number, winner.agent
                        );
                        Err(Violation::new(self.id(), message).object("task").role("agent").loss("work-without-claim"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
