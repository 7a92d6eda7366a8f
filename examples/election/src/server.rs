//! A server: leader election as in Raft (Ongaro and Ousterhout 2014, sections 5.2 and 5.4), and a leader who gives out numbered tickets.
//!
//! Each message and each timeout is one change of `State`. It is saved before anybody hears of it.

use crate::bugs::{ANSWERS_EARLY, APPENDS_AGAIN, LOG_NOT_COMPARED, STAYS_LEADER, VOTE_NOT_SYNCED, VOTES_BY_MESSAGE};
use crate::claims::{Committed, Deposed, Elected, Voted};
use crate::message::{Body, Message, PORT};
use crate::state::{Entry, State, last};
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::{Draw, Errno, Exit, Sys};
use std::collections::BTreeMap;

const HEARTBEAT_NS: u64 = 50_000_000;
/// How long a server hears of no leader before it wants to be one: drawn anew each time, so that two seldom want it at once.
const PATIENCE_NS: (u64, u64) = (150_000_000, 300_000_000);

enum Role {
    Follower,
    Candidate {
        votes: Vec<String>,
    },
    Leader {
        /// How much of the log each other server is known to have.
        stored: BTreeMap<String, usize>,
        committed: usize,
    },
}

pub(crate) struct Server {
    sys: Sys,
    name: String,
    peers: Vec<String>,
    /// The planted one; empty is none.
    bug: String,
    state: State,
    role: Role,
    /// When it does something by itself, on the machine's monotonic clock: a wall clock may jump.
    due_ns: u64,
}

type Sends = Vec<(String, Body)>;

impl Server {
    pub(crate) async fn run(sys: Sys, servers: Vec<String>, bug: String) -> Exit {
        let state = match State::load(&sys).await {
            Ok(state) => state,
            Err(why) => return Exit::failure(why),
        };
        let name = sys.name();
        let peers = servers.into_iter().filter(|server| *server != name).collect();
        let mut server = Server { sys, name, peers, bug, state, role: Role::Follower, due_ns: 0 };
        match server.serve().await {
            Ok(()) => Exit::success(),
            Err(error) => Exit::failure(error.to_string()),
        }
    }

    async fn serve(&mut self) -> Result<(), Errno> {
        let mailbox = self.sys.bind(PORT).await?;
        self.restart_timer();
        loop {
            let wait_ns = self.due_ns.saturating_sub(self.sys.monotonic_ns());
            let received = if wait_ns > 0 { mailbox.receive_within(wait_ns).await? } else { None };
            let (state, led, committed) = (self.state.clone(), self.leads(), self.committed());
            let sends = match received {
                Some(received) => match Message::from_bytes(&received.bytes) {
                    Some(message) => self.take(&received.from.process, message),
                    None => continue,
                },
                None => self.time_out(),
            };
            if self.state != state {
                let is_synced = self.bug != VOTE_NOT_SYNCED || self.state.log != state.log;
                self.state.save(&self.sys, is_synced).await?;
            }
            self.tell(led, committed, &sends).await;
            for (to, body) in sends {
                let message = Message { term: self.state.term, body };
                mailbox.send(&Address::new(to, PORT), &message.to_bytes()).await?;
            }
        }
    }

    fn time_out(&mut self) -> Sends {
        if self.leads().is_none() {
            self.state.term += 1;
            self.state.vote = Some(self.name.clone());
            self.role = Role::Candidate { votes: vec![self.name.clone()] };
        }
        self.restart_timer();
        match self.role {
            Role::Leader { .. } => self.append(),
            _ => self.to_peers(|| Body::Campaign { last: last(&self.state.log) }),
        }
    }

    fn take(&mut self, from: &str, Message { term, body }: Message) -> Sends {
        if term > self.state.term {
            (self.state.term, self.state.vote) = (term, None);
            if self.bug != STAYS_LEADER {
                self.follow();
            }
        }
        let reply = |body| vec![(from.to_owned(), body)];
        match body {
            Body::Ask { request } => self.ask(from, request),
            Body::Campaign { .. } | Body::Append { .. } if term < self.state.term => reply(Body::Stale),
            // What answers an older term says nothing of this one.
            _ if term < self.state.term => Vec::new(),
            Body::Campaign { last: theirs } => {
                let is_free = self.state.vote.as_deref().is_none_or(|vote| vote == from);
                let is_complete = self.bug == LOG_NOT_COMPARED || theirs >= last(&self.state.log);
                if !is_free || !is_complete {
                    return Vec::new();
                }
                self.state.vote = Some(from.to_owned());
                self.restart_timer();
                reply(Body::Vote)
            }
            Body::Vote => self.count(from),
            Body::Append { log } => {
                self.follow();
                self.restart_timer();
                let length = log.len();
                // Of two logs of one leader one may have overtaken the other.
                if last(&log) > last(&self.state.log) {
                    self.state.log = log;
                }
                reply(Body::Stored { length })
            }
            Body::Stored { length } => self.commit(from, length),
            Body::Stale | Body::Ticket { .. } => Vec::new(),
        }
    }

    /// A vote for it has come.
    fn count(&mut self, from: &str) -> Sends {
        let majority = self.majority();
        let Role::Candidate { votes } = &mut self.role else { return Vec::new() };
        if self.bug == VOTES_BY_MESSAGE || votes.iter().all(|vote| vote != from) {
            votes.push(from.to_owned());
        }
        if votes.len() < majority {
            return Vec::new();
        }
        self.role = Role::Leader { stored: BTreeMap::new(), committed: 0 };
        self.restart_timer();
        // Entries of older terms are safe once one of its own is on a majority, and not before (5.4.2).
        self.state.log.push(Entry { term: self.state.term, client: self.name.clone(), request: 0 });
        self.append()
    }

    /// A client asks for a ticket. It asks again if it hears nothing, and must not get a second one.
    fn ask(&mut self, client: &str, request: u64) -> Sends {
        let Role::Leader { committed, .. } = self.role else { return Vec::new() };
        let is_it = |entry: &Entry| entry.client == client && entry.request == request;
        match self.state.log.iter().position(is_it) {
            Some(index) if self.bug != APPENDS_AGAIN => {
                let is_told = index < committed || self.bug == ANSWERS_EARLY;
                let ticket = Body::Ticket { request, number: index + 1 };
                if is_told { vec![(client.to_owned(), ticket)] } else { Vec::new() }
            }
            _ => {
                self.state.log.push(Entry { term: self.state.term, client: client.to_owned(), request });
                let early = Body::Ticket { request, number: self.state.log.len() };
                let early = Some((client.to_owned(), early)).filter(|_| self.bug == ANSWERS_EARLY);
                self.append().into_iter().chain(early).collect()
            }
        }
    }

    /// Another server has so much of the log. What a majority has is answered.
    fn commit(&mut self, from: &str, length: usize) -> Sends {
        let majority = self.majority();
        let Role::Leader { stored, committed } = &mut self.role else { return Vec::new() };
        let known = stored.entry(from.to_owned()).or_default();
        *known = length.max(*known);
        let mut lengths: Vec<usize> = stored.values().copied().chain([self.state.log.len()]).collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        let before = *committed;
        *committed = lengths.get(majority - 1).map_or(before, |length| before.max(*length));
        let answered = self.state.log[before..*committed].iter().zip(before + 1..);
        let answered = answered.filter(|(entry, _)| entry.request > 0);
        answered
            .map(|(entry, number)| (entry.client.clone(), Body::Ticket { request: entry.request, number }))
            .collect()
    }

    fn append(&self) -> Sends {
        self.to_peers(|| Body::Append { log: self.state.log.clone() })
    }

    fn to_peers(&self, body: impl Fn() -> Body) -> Sends {
        self.peers.iter().map(|peer| (peer.clone(), body())).collect()
    }

    fn follow(&mut self) {
        let led = self.leads().is_some();
        self.role = Role::Follower;
        if led {
            self.restart_timer();
        }
    }

    fn restart_timer(&mut self) {
        let within_ns = match self.role {
            Role::Leader { .. } => HEARTBEAT_NS,
            _ => self.sys.entropy().between(PATIENCE_NS.0, PATIENCE_NS.1),
        };
        self.due_ns = self.sys.monotonic_ns() + within_ns;
    }

    fn majority(&self) -> usize {
        let servers = self.peers.len() + 1;
        servers / 2 + 1
    }

    /// The term that it leads.
    fn leads(&self) -> Option<u64> {
        matches!(self.role, Role::Leader { .. }).then_some(self.state.term)
    }

    fn committed(&self) -> usize {
        if let Role::Leader { committed, .. } = self.role { committed } else { 0 }
    }

    /// Claims what has changed, before anybody hears of it.
    async fn tell(&self, led: Option<u64>, committed: usize, sends: &Sends) {
        let term = self.state.term;
        let log = |length| self.state.log.iter().take(length).map(|entry| entry.request).collect();
        let gives_vote = sends.iter().any(|(_, body)| matches!(body, Body::Vote | Body::Campaign { .. }));
        if let Some(candidate) = self.state.vote.clone().filter(|_| gives_vote) {
            self.sys.claim(&Voted { term, candidate }).await;
        }
        match (led, self.leads()) {
            (None, Some(term)) => self.sys.claim(&Elected { term, log: log(usize::MAX) }).await,
            (Some(term), None) => self.sys.claim(&Deposed { term }).await,
            _ => {}
        }
        if self.committed() > committed {
            self.sys.claim(&Committed { term, log: log(self.committed()) }).await;
        }
    }
}
