//! What must hold, judged from what servers claim, what clients hear and what is on the disk: a vote a term, a leader a term, no ticket lost or given twice.

use crate::claims::{Committed, Deposed, Elected, Voted};
use crate::message::{Body as Says, Message};
use crate::state::{State, path};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Recovered, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ONE_VOTE: &str = "one-vote-per-term";
pub(crate) const ONE_LEADER: &str = "one-leader-per-term";
pub(crate) const TICKETS_KEPT: &str = "tickets-kept";
pub(crate) const TICKETS_TOLD: &str = "tickets-told";

/// What a server would find if it came up now.
fn state_on(disk: &Disk, server: &str) -> Option<State> {
    serde_json::from_slice(&disk.visible_read(&path(server))?).ok()
}

fn violated(invariant: &str, object: &'static str, loss: &'static str, message: String) -> Result<(), Violation> {
    Err(Violation::new(invariant, message).object(object).role("server").loss(loss))
}

/// A server votes once in a term, also if it is killed or loses power in between.
#[derive(Default)]
pub(crate) struct OneVote {
    /// By server, then by term.
    votes: BTreeMap<String, BTreeMap<u64, String>>,
}

impl OneVote {
    /// What has been claimed is on the disk, unless the server has gone on to a newer term.
    fn judge(&self, disk: &Disk) -> Result<(), Violation> {
        for (server, votes) in &self.votes {
            let Some((term, candidate)) = votes.last_key_value() else { continue };
            let found = state_on(disk, server);
            let is_kept =
                |state: &State| state.term > *term || state.term == *term && state.vote.as_ref() == Some(candidate);
            if !found.as_ref().is_some_and(is_kept) {
                let found =
                    found.map_or("nothing".to_owned(), |state| format!("term {}, vote {:?}", state.term, state.vote));
                let message = format!("{server} voted for {candidate} in term {term}, and its disk has {found}");
                return violated(ONE_VOTE, "vote", "lost", message);
            }
        }
        Ok(())
    }
}

impl Invariant for OneVote {
    fn id(&self) -> &'static str {
        ONE_VOTE
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if matches!(event.body, Body::MachineCrashed) {
            return self.judge(view.disk());
        }
        let (Some(Voted { term, candidate }), Some(process)) = (event.claim(), event.process) else { return Ok(()) };
        let server = view.process(process).name;
        let mut others = self.votes.values().filter_map(|votes| votes.get(&term));
        if others.any(|other| *other != candidate) {
            view.cover("split_vote");
        }
        let vote = self.votes.entry(server.to_owned()).or_default().entry(term).or_insert_with(|| candidate.clone());
        if *vote == candidate {
            return Ok(());
        }
        violated(ONE_VOTE, "vote", "doubled", format!("{server} voted for {vote} and for {candidate} in term {term}"))
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Voted::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk())
    }

    fn unrecovered(&self, failed: &Recovered) -> Result<(), Violation> {
        let message = format!("{} can't tell how it voted: {}", failed.name, failed.exit.why);
        violated(ONE_VOTE, "vote", "lost", message)
    }
}

/// A term has one leader, whom a majority has voted for.
pub(crate) struct OneLeader {
    majority: usize,
    /// Term, voter, candidate.
    votes: BTreeSet<(u64, ProcessId, String)>,
    /// By term.
    leaders: BTreeMap<u64, ProcessId>,
    /// Who believes now to be a leader.
    leading: BTreeSet<ProcessId>,
}

impl OneLeader {
    pub(crate) fn of(servers: usize) -> OneLeader {
        let (votes, leaders, leading) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        OneLeader { majority: servers / 2 + 1, votes, leaders, leading }
    }

    fn elected(&mut self, term: u64, process: ProcessId, name: &str) -> Result<(), Violation> {
        let votes = self.votes.iter().filter(|(of, _, candidate)| *of == term && candidate == name).count();
        if votes < self.majority {
            let message = format!("{name} leads term {term} with {votes} votes; a majority is {}", self.majority);
            return violated(ONE_LEADER, "term", "usurped", message);
        }
        match self.leaders.insert(term, process) {
            Some(other) if other != process => {
                violated(ONE_LEADER, "term", "doubled", format!("{name} leads term {term}, which has a leader"))
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for OneLeader {
    fn id(&self) -> &'static str {
        ONE_LEADER
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES).and(Interest::FAULTS)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if matches!(event.body, Body::PartitionHealed { .. }) && self.leading.len() > 1 {
            view.cover("healed_with_old_leader");
        }
        let Some(process) = event.process else { return Ok(()) };
        let name = view.process(process).name;
        if let Some(Voted { term, candidate }) = event.claim() {
            self.votes.insert((term, process, candidate));
        } else if let Some(Elected { term, .. }) = event.claim() {
            view.cover("elected");
            if !self.leading.is_empty() {
                view.cover("two_leaders_of_two_terms");
            }
            self.leading.insert(process);
            return self.elected(term, process, name);
        } else if let Some(Committed { term, .. }) = event.claim()
            && self.leaders.get(&term) != Some(&process)
        {
            let message = format!("{name} answers as the leader of term {term}, in which nobody elected it");
            return violated(ONE_LEADER, "term", "usurped", message);
        } else if let Some(Deposed { .. }) = event.claim() {
            view.cover("deposed");
            self.leading.remove(&process);
        } else if matches!(event.body, Body::Ended(_)) {
            self.leading.remove(&process);
        }
        Ok(())
    }
}

/// What a leader has committed is in the log of each later one (Raft's leader completeness), on the disks of a majority, and there once.
pub(crate) struct TicketsKept {
    servers: Vec<String>,
    /// By the term of the leader who said so.
    committed: BTreeMap<u64, Vec<u64>>,
    /// The logs that leaders began with, by term.
    leaders: BTreeMap<u64, Vec<u64>>,
}

impl TicketsKept {
    pub(crate) fn of(servers: Vec<String>) -> TicketsKept {
        TicketsKept { servers, committed: BTreeMap::new(), leaders: BTreeMap::new() }
    }
}

impl Invariant for TicketsKept {
    fn id(&self) -> &'static str {
        TICKETS_KEPT
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Elected { term, log }) = event.claim() {
            self.leaders.insert(term, log);
        } else if let Some(Committed { term, log }) = event.claim() {
            let mut seen = BTreeSet::new();
            if let Some(request) = log.iter().find(|request| **request > 0 && !seen.insert(**request)) {
                let message = format!("request {request} has more than one ticket in {log:?}");
                return violated(TICKETS_KEPT, "ticket", "doubled", message);
            }
            self.committed.insert(term, log);
        } else {
            return Ok(());
        }
        // A claim may come late, so each is held against all of later terms.
        for (term, log) in &self.committed {
            let lacks = |theirs: &Vec<u64>| !theirs.starts_with(log);
            if let Some((later, theirs)) = self.leaders.range(term + 1..).find(|(_, theirs)| lacks(theirs)) {
                let message =
                    format!("the leader of term {term} committed {log:?}, and that of term {later} has {theirs:?}");
                return violated(TICKETS_KEPT, "ticket", "lost", message);
            }
        }
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let logs = self.servers.iter().filter_map(|server| state_on(survivor.disk(), server)).map(|state| state.log);
        let logs: Vec<Vec<u64>> = logs.map(|log| log.iter().map(|entry| entry.request).collect()).collect();
        for (term, log) in &self.committed {
            let disks = logs.iter().filter(|found| found.starts_with(log)).count();
            if disks < self.servers.len() / 2 + 1 {
                let message = format!("the leader of term {term} committed {log:?}, and {disks} disks have it");
                return violated(TICKETS_KEPT, "ticket", "lost", message);
            }
        }
        Ok(())
    }
}

/// What a client has been told is so for ever, whoever leads. Judged from what it receives, whatever servers claim: a server that believes too early that a
/// majority has a ticket is found by this one.
#[derive(Default)]
pub(crate) struct TicketsTold {
    /// Request, the ticket's number, and the term of the leader who told it.
    tickets: BTreeSet<(u64, usize, u64)>,
    /// The logs that leaders began with, by term.
    leaders: BTreeMap<u64, Vec<u64>>,
}

impl TicketsTold {
    /// An answer may come long after it was sent, so each is held against all of later terms.
    fn judge(&self) -> Result<(), Violation> {
        for (request, number, term) in &self.tickets {
            let lacks = |log: &Vec<u64>| log.get(number.wrapping_sub(1)) != Some(request);
            if let Some((later, log)) = self.leaders.range(term + 1..).find(|(_, log)| lacks(log)) {
                let message = format!(
                    "in term {term} request {request} was told ticket {number}, and the leader of term {later} has {log:?}"
                );
                return violated(TICKETS_TOLD, "ticket", "lost", message);
            }
        }
        let differs = |one: (u64, usize), other: (u64, usize)| (one.0 == other.0) != (one.1 == other.1);
        let told = || self.tickets.iter().map(|(request, number, _)| (*request, *number));
        match told().find_map(|one| told().find(|other| differs(one, *other)).map(|other| (one, other))) {
            None => Ok(()),
            Some(((request, number), (other, another))) => {
                let message = format!("request {request} was told ticket {number}, and request {other} {another}");
                violated(TICKETS_TOLD, "ticket", "doubled", message)
            }
        }
    }
}

impl Invariant for TicketsTold {
    fn id(&self) -> &'static str {
        TICKETS_TOLD
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::call(CallKind::Receive))
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Elected { term, log }) = event.claim() {
            self.leaders.insert(term, log);
        } else if let Body::Call { kind: CallKind::Receive, result: Ok(1..), data, .. } = event.body
            && let Some(Message { term, body: Says::Ticket { request, number } }) = Message::from_bytes(data)
        {
            if !self.tickets.insert((request, number, term)) {
                return Ok(());
            }
        } else {
            return Ok(());
        }
        self.judge()
    }
}
