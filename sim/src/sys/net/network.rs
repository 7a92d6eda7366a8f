//! The network's state: mailboxes, messages under way, partitions, and what is remembered of each pair. A plain data structure: the clock and
//! the timers are the kernel's (`kernel::messages`).

use super::{Address, MailboxKey, MessageId, Sides};
use crate::errno::Errno;
use crate::kernel::Mailbox;
use crate::sys::Result;
use crate::sys::disk::Owner;
use crate::trace::ProcessId;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// A message as it was sent. Its copies share it.
pub(crate) struct Sent {
    pub(crate) id: MessageId,
    pub(crate) from: MailboxKey,
    pub(crate) to: MailboxKey,
    pub(crate) bytes: Vec<u8>,
    /// Who has received one of its copies last.
    received_by: Cell<Option<Owner>>,
}

impl Sent {
    pub(crate) fn new(id: MessageId, from: MailboxKey, to: MailboxKey, bytes: &[u8]) -> Rc<Sent> {
        Rc::new(Sent { id, from, to, bytes: bytes.to_vec(), received_by: Cell::new(None) })
    }

    /// From whom to where: what order means something on.
    fn route(&self) -> Route {
        (self.id.sender(), self.to)
    }
}

type Route = (ProcessId, MailboxKey);

/// A message under way, or a copy of one.
pub(crate) struct Flight {
    pub(crate) sent: Rc<Sent>,
    pub(crate) due_ns: u64,
    /// Whether a fault has made it later than the network alone would have.
    pub(crate) is_late: bool,
    /// Whether it waits to be overtaken.
    pub(crate) is_held: bool,
}

struct Queue {
    owner: Owner,
    messages_max: usize,
    messages: VecDeque<Rc<Sent>>,
}

/// What is remembered of a route.
#[derive(Default)]
struct Past {
    /// The last message that was received, in the order in which they were sent.
    last_received: u64,
    /// The last that a partition has cut off, if none came through since.
    last_cut: u64,
}

struct Partition {
    id: u32,
    sides: Sides,
}

/// What a reception shows of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The same process has received it before.
    pub(crate) is_duplicate: bool,
    /// A later one of the route has been received before.
    pub(crate) was_overtaken: bool,
    /// Messages of the route had been cut off, and this one was sent after them.
    pub(crate) is_after_partition: bool,
}

/// Why a message that came to its mailbox doesn't get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Nobody,
    Full,
}

#[derive(Default)]
pub(crate) struct Network {
    names: Vec<Rc<str>>,
    /// By rising name.
    by_name: Vec<(Rc<str>, ProcessId)>,
    /// How many messages each process has sent; none of those beyond its end.
    sent: Vec<u64>,
    mailboxes: BTreeMap<MailboxKey, Queue>,
    flights: BTreeMap<u64, Flight>,
    next_flight: u64,
    /// Messages that wait to be overtaken.
    held: BTreeMap<Route, Vec<u64>>,
    past: BTreeMap<Route, Past>,
    partitions: Vec<Partition>,
    /// Messages that were in mailboxes that have gone.
    unread: Vec<MessageId>,
}

impl Network {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Network {
        let names: Vec<Rc<str>> = names.map(Rc::from).collect();
        let mut by_name: Vec<_> = names.iter().cloned().zip((0..).map(ProcessId)).collect();
        by_name.sort_unstable();
        Network { names, by_name, ..Network::default() }
    }

    /// Makes it that of a run that begins. Names stay where they are the same, as in most runs that follow each other.
    pub(crate) fn begin_again<'a>(&mut self, names: impl Iterator<Item = &'a str> + Clone) {
        if !self.names.iter().map(Rc::as_ref).eq(names.clone()) {
            *self = Network::new(names);
        } else if !self.is_unused() {
            let (names, by_name) = (std::mem::take(&mut self.names), std::mem::take(&mut self.by_name));
            *self = Network { names, by_name, ..Network::default() };
        }
    }

    /// Whether nobody has ever sent or awaited anything.
    fn is_unused(&self) -> bool {
        // Each by its name, so that none can be forgotten.
        let Network { names: _, by_name: _, sent, mailboxes, flights, next_flight, held, past, partitions, unread } =
            self;
        let is_silent =
            sent.is_empty() && flights.is_empty() && *next_flight == 0 && held.is_empty() && past.is_empty();
        is_silent && mailboxes.is_empty() && partitions.is_empty() && unread.is_empty()
    }

    /// The mailbox at an address, whether somebody is there or not; `None` if no process has the name.
    pub(crate) fn find(&self, address: &Address) -> Option<MailboxKey> {
        let place = self.by_name.binary_search_by(|(name, _)| name.cmp(&address.process)).ok()?;
        Some(MailboxKey::new(self.by_name[place].1, address.port))
    }

    pub(crate) fn address(&self, key: MailboxKey) -> Option<Address> {
        let name = self.names.get(key.process()?.0 as usize)?;
        Some(Address { process: name.clone(), port: key.port() })
    }

    pub(crate) fn bind(&mut self, key: MailboxKey, owner: Owner, messages_max: usize) -> Result<()> {
        if self.mailboxes.contains_key(&key) {
            return Err(Errno::AddressInUse);
        }
        self.mailboxes.insert(key, Queue { owner, messages_max, messages: VecDeque::new() });
        Ok(())
    }

    /// What is bound, and how full it is.
    pub(crate) fn mailboxes(&self) -> Vec<Mailbox> {
        let told = |(key, queue): (&MailboxKey, &Queue)| {
            let address = self.address(*key)?;
            Some(Mailbox { address, messages: queue.messages.len(), messages_max: queue.messages_max })
        };
        self.mailboxes.iter().filter_map(told).collect()
    }

    pub(crate) fn is_bound(&self, key: MailboxKey, owner: Owner) -> bool {
        self.mailboxes.get(&key).is_some_and(|queue| queue.owner == owner)
    }

    pub(crate) fn unbind(&mut self, key: MailboxKey, owner: Owner) -> Result<()> {
        if !self.is_bound(key, owner) {
            return Err(Errno::BadDescriptor);
        }
        if let Some(queue) = self.mailboxes.remove(&key) {
            self.unread.extend(queue.messages.iter().map(|sent| sent.id));
        }
        Ok(())
    }

    /// A process has died: its mailboxes are gone, with what is in them.
    pub(crate) fn release_owner(&mut self, owner: Owner) {
        let of_owner = self.mailboxes.iter().filter(|(_, queue)| queue.owner == owner);
        for key in of_owner.map(|(key, _)| *key).collect::<Vec<_>>() {
            // Its owner's it is.
            let _: Result<()> = self.unbind(key, owner);
        }
    }

    /// Takes what was in mailboxes that have gone.
    pub(crate) fn take_unread(&mut self) -> Vec<MessageId> {
        std::mem::take(&mut self.unread)
    }

    pub(crate) fn next_id(&mut self, sender: ProcessId) -> MessageId {
        let place = sender.0 as usize;
        if self.sent.len() <= place {
            self.sent.resize(place + 1, 0);
        }
        let sent = &mut self.sent[place];
        *sent += 1;
        MessageId::new(sender, *sent)
    }

    /// A message is under way; the number of its flight.
    pub(crate) fn take_off(&mut self, flight: Flight) -> u64 {
        self.next_flight += 1;
        if flight.is_held {
            self.held.entry(flight.sent.route()).or_default().push(self.next_flight);
        }
        self.flights.insert(self.next_flight, flight);
        self.next_flight
    }

    /// A message is under way no more.
    pub(crate) fn land(&mut self, number: u64) -> Option<Flight> {
        let flight = self.flights.remove(&number)?;
        if flight.is_held {
            let route = flight.sent.route();
            if let Some(held) = self.held.get_mut(&route) {
                held.retain(|other| *other != number);
                if held.is_empty() {
                    self.held.remove(&route);
                }
            }
        }
        Some(flight)
    }

    /// Messages that waited for this one to overtake them, in the order in which they were sent.
    pub(crate) fn overtaken_by(&self, sent: &Sent) -> Vec<u64> {
        let Some(held) = self.held.get(&sent.route()) else { return Vec::new() };
        held.iter().copied().filter(|number| self.flights[number].sent.id < sent.id).collect()
    }

    /// Flights that faults have made late: their numbers and when they are due.
    pub(crate) fn late(&self) -> Vec<(u64, u64)> {
        let late = self.flights.iter().filter(|(_, flight)| flight.is_late);
        late.map(|(number, flight)| (*number, flight.due_ns)).collect()
    }

    /// Makes a flight due at another time. It waits for nobody any more.
    pub(crate) fn hasten(&mut self, number: u64, due_ns: u64) {
        if let Some(flight) = self.land(number) {
            self.flights.insert(number, Flight { due_ns, is_late: false, is_held: false, ..flight });
        }
    }

    /// The power is gone: nothing is under way any more.
    pub(crate) fn power_loss(&mut self) -> Vec<MessageId> {
        self.held.clear();
        std::mem::take(&mut self.flights).into_values().map(|flight| flight.sent.id).collect()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Puts a message that came to its mailbox into it.
    pub(crate) fn put(&mut self, sent: &Rc<Sent>) -> std::result::Result<(), Refused> {
        let queue = self.mailboxes.get_mut(&sent.to).ok_or(Refused::Nobody)?;
        if queue.messages.len() >= queue.messages_max {
            return Err(Refused::Full);
        }
        queue.messages.push_back(sent.clone());
        Ok(())
    }

    /// Takes the first message out of a mailbox.
    pub(crate) fn take(&mut self, key: MailboxKey, owner: Owner) -> Option<(Rc<Sent>, Seen)> {
        let sent = self.mailboxes.get_mut(&key)?.messages.pop_front()?;
        let is_cut = self.cut_by(sent.id.sender(), key).is_some();
        let is_duplicate = sent.received_by.replace(Some(owner)) == Some(owner);
        let past = self.past.entry(sent.route()).or_default();
        let number = sent.id.number();
        let is_after_partition = past.last_cut != 0 && number > past.last_cut && !is_cut;
        let seen =
            Seen { is_duplicate, was_overtaken: !is_duplicate && number < past.last_received, is_after_partition };
        past.last_received = past.last_received.max(number);
        if is_after_partition {
            past.last_cut = 0;
        }
        Some((sent, seen))
    }

    /// Notes that a partition has cut a message off.
    pub(crate) fn was_cut(&mut self, id: MessageId, to: MailboxKey) {
        let past = self.past.entry((id.sender(), to)).or_default();
        past.last_cut = past.last_cut.max(id.number());
    }

    pub(crate) fn partition(&mut self, id: u32, sides: Sides) {
        self.partitions.push(Partition { id, sides });
    }

    /// Ends a partition. False if there is none of that id.
    pub(crate) fn heal(&mut self, id: u32) -> bool {
        let before = self.partitions.len();
        self.partitions.retain(|partition| partition.id != id);
        self.partitions.len() < before
    }

    /// The ids of all partitions that there are now.
    pub(crate) fn partitions(&self) -> Vec<u32> {
        self.partitions.iter().map(|partition| partition.id).collect()
    }

    /// The partition that cuts messages of a process to a mailbox off now.
    pub(crate) fn cut_by(&self, from: ProcessId, to: MailboxKey) -> Option<u32> {
        let to = to.process()?;
        self.partitions.iter().find(|partition| partition.sides.have(from, to)).map(|partition| partition.id)
    }
}
