//! What servers and clients send each other, as JSON.

use crate::state::Entry;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where everybody is reached.
pub(crate) const PORT: u16 = 1;

#[derive(Serialize, Deserialize)]
pub(crate) struct Message {
    /// The sender's; 0 from clients, who have none.
    pub(crate) term: u64,
    pub(crate) body: Body,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Body {
    /// A candidate asks for a vote. Its log ends like this.
    Campaign { last: (u64, usize) },
    /// It gets it.
    Vote,
    /// A leader is there, and this is its log. A longer one would be sent in parts (5.3).
    Append { log: Vec<Entry> },
    /// So much of it is durable here.
    Stored { length: usize },
    /// Whoever sends in an older term hears of the newer one.
    Stale,
    /// A client asks for a ticket, again and again until it has one.
    Ask { request: u64 },
    /// Its number.
    Ticket { request: u64, number: usize },
}

impl Message {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data")
    }

    /// `None`: it is nothing that we know, and is passed over as if it had been lost.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Message> {
        serde_json::from_slice(bytes).ok()
    }
}

/// As events of runs are told (`Scenario::message_in_words`).
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { term, body } = self;
        match body {
            Body::Campaign { last: (last, length) } => {
                write!(f, "asks for a vote in term {term}, with a log of {length} that ends in term {last}")
            }
            Body::Vote => write!(f, "a vote in term {term}"),
            Body::Append { log } => write!(f, "leads term {term}, with a log of {}", log.len()),
            Body::Stored { length } => write!(f, "has stored {length} of the log, in term {term}"),
            Body::Stale => write!(f, "knows of term {term}"),
            Body::Ask { request } => write!(f, "asks for a ticket, request {request}"),
            Body::Ticket { request, number } => write!(f, "ticket {number} for request {request}"),
        }
    }
}
