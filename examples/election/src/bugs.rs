//! The bugs that can be planted. Those after one that real software had say which, in `PlantedBug::row`.

use crate::invariants::{ONE_LEADER, ONE_VOTE, TICKETS_KEPT, TICKETS_TOLD};
use seedstorm_sim::plan::PlantedBug;

pub(crate) const VOTE_NOT_SYNCED: &str = "vote-not-synced";
pub(crate) const VOTES_BY_MESSAGE: &str = "votes-by-message";
pub(crate) const STAYS_LEADER: &str = "stays-leader";
pub(crate) const LOG_NOT_COMPARED: &str = "log-not-compared";
pub(crate) const APPENDS_AGAIN: &str = "appends-again";
pub(crate) const ANSWERS_EARLY: &str = "answers-early";

pub(crate) fn all() -> Vec<PlantedBug> {
    let bug = PlantedBug::new;
    vec![
        bug(VOTE_NOT_SYNCED, "a vote is answered without fsync", ONE_VOTE).row("robustmq #2039, nodedb #161"),
        bug(VOTES_BY_MESSAGE, "a vote that comes twice counts twice", ONE_LEADER).row("xraft #27, akka-raft #45"),
        bug(STAYS_LEADER, "a leader that hears of a newer term takes it and leads on", ONE_LEADER)
            // Its log may take a committed one's place before it answers anybody.
            .also(&[TICKETS_KEPT])
            .row("akka-raft #52"),
        bug(LOG_NOT_COMPARED, "a vote is given to whoever asks, whatever is in its log", TICKETS_KEPT)
            .row("akka-raft #51"),
        bug(APPENDS_AGAIN, "a request that is asked again gets another ticket", TICKETS_KEPT).row("curvine #676"),
        bug(ANSWERS_EARLY, "a ticket is told before a majority has it", TICKETS_TOLD),
    ]
}
