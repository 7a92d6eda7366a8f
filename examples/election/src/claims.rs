//! What servers believe, for invariants to judge. A log is told by the requests in it.

use seedstorm_sim::sys::claim::Claim;
use serde::{Deserialize, Serialize};

/// Its vote in this term is this candidate's, durably. Claimed before the vote is sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Voted {
    pub(crate) term: u64,
    pub(crate) candidate: String,
}

/// It leads this term, and this is its log.
#[derive(Serialize, Deserialize)]
pub(crate) struct Elected {
    pub(crate) term: u64,
    pub(crate) log: Vec<u64>,
}

/// It led this term, and does so no more.
#[derive(Serialize, Deserialize)]
pub(crate) struct Deposed {
    pub(crate) term: u64,
}

/// As the leader of this term it knows that a majority has these requests: they are about to be answered, and stay whatever comes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Committed {
    pub(crate) term: u64,
    pub(crate) log: Vec<u64>,
}

impl Claim for Voted {
    const KIND: &'static str = "voted";
}

impl Claim for Elected {
    const KIND: &'static str = "elected";
}

impl Claim for Deposed {
    const KIND: &'static str = "deposed";
}

impl Claim for Committed {
    const KIND: &'static str = "committed";
}
