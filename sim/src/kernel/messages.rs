//! How messages go: sent, under way, delivered by timers, lost; partitions that begin and heal. The network's state is in `sys::net`.

use super::core::{Core, Phase};
use super::task::{Timer, WaitKey};
use crate::plan::FaultKind;
use crate::sys::disk::Owner;
use crate::sys::net::{Flight, Hit, MailboxKey, MessageId, Refused, Seen, Sent};
use crate::trace::{Body, Dropped, ProcessId};
use std::rc::Rc;
use twox_hash::XxHash3_64;

impl Core {
    /// A process sends a message. Events of what hits it come before that of its `send`, in the same step.
    pub(crate) fn send(
        &mut self,
        sender: ProcessId,
        from: MailboxKey,
        to: Option<MailboxKey>,
        bytes: &[u8],
    ) -> MessageId {
        let id = self.network.next_id(sender);
        let bits = self.processes[sender.0 as usize].message_bits(self.seed, self.stream_keys);
        let cut_by = to.and_then(|to| self.network.cut_by(sender, to));
        let hits = self.hits(sender, to.filter(|_| cut_by.is_none()), bits);
        let Some(to) = to else {
            self.dropped(id, Dropped::Nobody);
            return id;
        };
        if let Some(partition) = cut_by {
            self.cut(id, to, partition);
            return id;
        }
        let is_garbled = hits.iter().any(|hit| hit.kind == FaultKind::MessageGarble);
        let sent =
            if is_garbled { Sent::new(id, from, to, &garbled(bytes, bits)) } else { Sent::new(id, from, to, bytes) };
        // The bits that decide about faults are hashed, so that they tell nothing of these.
        let due_ns = self.now_ns + self.latencies.message_ns(bits as u32);
        let mut own = Flight { sent: sent.clone(), due_ns, is_late: false, is_held: false };
        let mut is_lost = false;
        for Hit { kind, id: fault, by_ns } in hits {
            self.hit(id, kind, fault);
            match kind {
                FaultKind::MessageLoss => is_lost = true,
                FaultKind::MessageGarble => {}
                FaultKind::MessageDuplicate => {
                    let due_ns = due_ns.saturating_add(by_ns);
                    self.take_off(Flight { sent: sent.clone(), due_ns, is_late: true, is_held: false });
                }
                FaultKind::MessageReorder => {
                    own.due_ns = own.due_ns.saturating_add(by_ns);
                    (own.is_late, own.is_held) = (true, true);
                }
                _ => {
                    own.due_ns = own.due_ns.saturating_add(by_ns);
                    own.is_late = true;
                }
            }
        }
        if !is_lost {
            self.take_off(own);
        }
        id
    }

    /// What faults do to a message.
    fn hits(&mut self, sender: ProcessId, to: Option<MailboxKey>, bits: u64) -> Vec<Hit> {
        let (phase, now_ns) = (self.phase, self.now_ns);
        let faults = self.injector.messages();
        if phase != Phase::Chaos || faults.is_empty() {
            return Vec::new();
        }
        faults.judge(now_ns, sender, to.and_then(MailboxKey::process), bits)
    }

    fn hit(&mut self, message: MessageId, kind: FaultKind, id: u32) {
        self.fault_counts(kind);
        self.emit_of(message.sender(), Body::MessageFault { kind, id, message: message.0 });
    }

    fn dropped(&mut self, message: MessageId, why: Dropped) {
        let name = match why {
            Dropped::Nobody => "messages_to_nobody",
            Dropped::Full => "messages_to_full_mailbox",
            Dropped::Unread => "messages_unread",
            Dropped::Cut(_) => "messages_cut",
            Dropped::PowerLoss => "messages_lost_with_power",
        };
        self.count(name, 1);
        self.emit_of(message.sender(), Body::MessageDropped { message: message.0, why });
    }

    /// Says of messages that their mailboxes have gone.
    pub(crate) fn drop_unread(&mut self) {
        for id in self.network.take_unread() {
            self.dropped(id, Dropped::Unread);
        }
    }

    fn cut(&mut self, id: MessageId, to: MailboxKey, partition: u32) {
        self.network.was_cut(id, to);
        self.dropped(id, Dropped::Cut(partition));
    }

    fn take_off(&mut self, flight: Flight) {
        let due_ns = flight.due_ns;
        let number = self.network.take_off(flight);
        self.timers.insert(due_ns, Timer::Deliver(number));
    }

    /// A message comes to its mailbox, and after it those that it has overtaken.
    pub(super) fn deliver(&mut self, number: u64) {
        let Some(flight) = self.network.land(number) else { return };
        if !self.arrive(&flight.sent) {
            return;
        }
        for number in self.network.overtaken_by(&flight.sent) {
            if let Some(overtaken) = self.network.land(number) {
                self.timers.remove(overtaken.due_ns, Timer::Deliver(number));
                self.arrive(&overtaken.sent);
            }
        }
    }

    /// Whether a message gets into its mailbox.
    fn arrive(&mut self, sent: &Rc<Sent>) -> bool {
        if let Some(partition) = self.network.cut_by(sent.id.sender(), sent.to) {
            self.cut(sent.id, sent.to, partition);
            return false;
        }
        let put = self.network.put(sent);
        match put {
            Ok(()) => {
                self.wake(WaitKey::Mailbox(sent.to));
            }
            Err(Refused::Nobody) => self.dropped(sent.id, Dropped::Nobody),
            Err(Refused::Full) => self.dropped(sent.id, Dropped::Full),
        }
        put.is_ok()
    }

    /// A process takes a message out of its mailbox.
    pub(crate) fn receive(&mut self, key: MailboxKey, owner: Owner) -> Option<Rc<Sent>> {
        let (sent, seen) = self.network.take(key, owner)?;
        if seen != Seen::default() {
            let observations = self.observations.get_mut();
            for (is_seen, name) in [
                (seen.is_duplicate, "duplicated"),
                (seen.was_overtaken, "reordered"),
                (seen.is_after_partition, "partition_healed"),
            ] {
                if is_seen {
                    observations.cover(name);
                }
            }
        }
        Some(sent)
    }

    /// A partition begins: the fault of this index.
    pub(super) fn begin_partition(&mut self, index: usize) {
        let Some((id, sides, for_ns)) = self.injector.partition(index) else { return };
        self.network.partition(id, sides);
        if for_ns > 0 {
            self.timers.insert(self.now_ns.saturating_add(for_ns), Timer::Heal(id));
        }
    }

    pub(super) fn heal(&mut self, id: u32) {
        if self.network.heal(id) {
            self.emit(None, Body::PartitionHealed { id });
        }
    }

    /// The calm begins: partitions heal, and what faults hold back comes.
    pub(super) fn calm_network(&mut self) {
        for id in self.network.partitions() {
            self.heal(id);
        }
        for (number, due_ns) in self.network.late() {
            if due_ns > self.now_ns {
                self.timers.remove(due_ns, Timer::Deliver(number));
                self.timers.insert(self.now_ns, Timer::Deliver(number));
            }
            self.network.hasten(number, due_ns.min(self.now_ns));
        }
    }

    /// The machine has lost power: what was under way is lost.
    pub(super) fn lose_messages(&mut self) {
        self.timers.retain(|timer| !matches!(timer, Timer::Deliver(_)));
        for id in self.network.power_loss() {
            self.dropped(id, Dropped::PowerLoss);
        }
    }
}

/// A message with one bit that is another; which, its own bits decide.
fn garbled(bytes: &[u8], bits: u64) -> Vec<u8> {
    let mut garbled = bytes.to_vec();
    let drawn = XxHash3_64::oneshot(&bits.to_le_bytes());
    let at = (u128::from(drawn) * garbled.len() as u128) >> 64;
    if let Some(byte) = garbled.get_mut(at as usize) {
        *byte ^= 1 << (drawn & 7);
    }
    garbled
}
