//! Influence: which events may have influenced which, told from events alone. A vector clock for each incarnation of a process; what is remembered of
//! files, locks and messages goes with them, so memory grows with incarnations and live objects, not with events.
//!
//! One event lies before another
//! - if it is an earlier one of the same incarnation: its tasks share memory, so all of its steps are one line, spawn and join included;
//! - from a process's end to its next start;
//! - from a `send` to each `receive` of that message;
//! - from a write, or a change of length, to each read of that inode, and to each `stat` or `access` of it;
//! - from the making, renaming or removing of a name to each call that names it; in a directory, to each listing of it;
//! - from the release of a lock (by unlocking, closing or dying) to each acquisition that it could have stood in the way of: shared ones stand in the
//!   way of exclusive ones only;
//! - in SQLite's wal-index, from the release of any exclusive lock to each acquisition of any: whoever takes a lock there reads memory that whoever had
//!   an exclusive one may have written;
//! - from a process's start and end to each query of its PID;
//! - from everything to the machine's loss of power, and from its start to all starts after it.
//!
//! It errs on the side of more: a read of one byte is influenced by a write of another of the same file. What a refusal tells is left out: that a lock
//! is taken, that nothing has come. Names are told apart by their text; those below a directory that is renamed are taken for new.

use super::clock::{Line, Past};
use super::files::{Called, Files};
use crate::plan::FaultKind;
use crate::trace::{Body, CallKind, Event, ProcessId};
use std::collections::BTreeMap;

/// The line of the machine: its crashes and starts, and what befalls messages.
pub const MACHINE_LINE: u32 = 0;

struct Incarnation {
    boot: u32,
    line: u32,
    pid: u64,
}

/// A message that may still be received.
struct Message {
    sent: Past,
    /// How many copies are under way or unread.
    copies: i32,
}

/// The relation, kept up event by event.
pub struct Influence {
    lines: Vec<Line>,
    /// By line; the machine's has none.
    of_line: Vec<Option<(ProcessId, u32)>>,
    /// The last incarnation of each process.
    incarnations: BTreeMap<ProcessId, Incarnation>,
    messages: BTreeMap<u64, Message>,
    /// Copies more or less of the message whose `send` comes next: what befalls it at once is told before it.
    befallen: BTreeMap<u64, i32>,
    files: Files,
    /// The last start or end of a process of this PID.
    pids: BTreeMap<u64, Past>,
    machine_started: Option<Past>,
}

impl Default for Influence {
    fn default() -> Self {
        Influence {
            lines: vec![Line::new(MACHINE_LINE)],
            of_line: vec![None],
            incarnations: BTreeMap::new(),
            messages: BTreeMap::new(),
            befallen: BTreeMap::new(),
            files: Files::default(),
            pids: BTreeMap::new(),
            machine_started: None,
        }
    }
}

/// Whether one event lies before another.
pub fn happened_before(one: &Past, other: &Past) -> bool {
    other.is_after(one.stamp())
}

impl Influence {
    /// Takes in the next event of a run. Gives the event with all that lies before it.
    pub fn observe(&mut self, event: &Event<'_>) -> Past {
        let line = self.line_of(event);
        let own = &mut self.lines[line as usize];
        own.tick();
        match event.body {
            Body::Call { kind: CallKind::Send, object, result: Ok(_), .. } => {
                let copies = 1 + self.befallen.remove(&object).unwrap_or(0);
                if copies > 0 {
                    self.messages.insert(object, Message { sent: own.past().clone(), copies });
                }
            }
            Body::Call { kind: CallKind::Receive, object, .. } => self.take_copy(line, object),
            Body::Call { kind: CallKind::ProcessQuery, object, .. } => {
                if let Some(life) = self.pids.get(&object) {
                    own.join(life);
                }
            }
            Body::Call { kind, object, arguments, result, data, .. } => {
                self.files.called(own, &Called { kind, object, arguments, result, data });
            }
            Body::MessageFault { kind: FaultKind::MessageDuplicate, message, .. } => {
                *self.befallen.entry(message).or_default() += 1;
            }
            Body::MessageFault { kind: FaultKind::MessageLoss, message, .. } => {
                *self.befallen.entry(message).or_default() -= 1;
            }
            Body::MessageDropped { message, .. } if self.messages.contains_key(&message) => {
                self.take_copy(line, message);
            }
            Body::MessageDropped { message, .. } => *self.befallen.entry(message).or_default() -= 1,
            Body::Started { pid } => self.started(line, event, pid),
            Body::Ended(_) => self.ended(line, event),
            Body::MachineCrashed => self.crashed(),
            Body::MachineStarted => self.machine_started = Some(own.past().clone()),
            _ => {}
        }
        self.lines[line as usize].past().clone()
    }

    /// Whose line it is, and in which boot; nothing for the machine's.
    pub fn incarnation(&self, line: u32) -> Option<(ProcessId, u32)> {
        *self.of_line.get(line as usize)?
    }

    /// How many lines there are: incarnations so far, and the machine.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// How many objects are remembered: files, names, messages under way, PIDs.
    pub fn objects(&self) -> usize {
        self.messages.len() + self.befallen.len() + self.files.len() + self.pids.len()
    }

    fn line_of(&mut self, event: &Event<'_>) -> u32 {
        let Some(process) = event.process else { return MACHINE_LINE };
        // Those of a message are its sender's, who may be dead by then, or another.
        if matches!(event.body, Body::MessageFault { .. } | Body::MessageDropped { .. }) {
            return MACHINE_LINE;
        }
        if let Some(known) = self.incarnations.get(&process)
            && known.boot == event.boot
        {
            return known.line;
        }
        let line = self.lines.len() as u32;
        self.lines.push(Line::new(line));
        self.of_line.push(Some((process, event.boot)));
        if let Some(before) = self.incarnations.insert(process, Incarnation { boot: event.boot, line, pid: 0 }) {
            let past = self.lines[before.line as usize].past().clone();
            self.lines[line as usize].join(&past);
        }
        line
    }

    /// A copy of a message is received, or will never be.
    fn take_copy(&mut self, line: u32, message: u64) {
        let Some(known) = self.messages.get_mut(&message) else { return };
        self.lines[line as usize].join(&known.sent);
        known.copies -= 1;
        if known.copies == 0 {
            self.messages.remove(&message);
        }
    }

    fn started(&mut self, line: u32, event: &Event<'_>, pid: u32) {
        let own = &mut self.lines[line as usize];
        if let Some(started) = &self.machine_started {
            own.join(started);
        }
        let pid = u64::from(pid);
        self.pids.insert(pid, own.past().clone());
        if let Some(incarnation) = event.process.and_then(|process| self.incarnations.get_mut(&process)) {
            incarnation.pid = pid;
        }
    }

    fn ended(&mut self, line: u32, event: &Event<'_>) {
        let own = &mut self.lines[line as usize];
        self.files.ended(own);
        if let Some(incarnation) = event.process.and_then(|process| self.incarnations.get(&process)) {
            self.pids.insert(incarnation.pid, own.past().clone());
        }
    }

    fn crashed(&mut self) {
        let (machine, others) = self.lines.split_at_mut(1);
        for line in others {
            machine[0].join(line.past());
        }
        // Whoever starts from now on has the crash behind it, and with it all that lies before: nothing of it need be remembered.
        self.files = Files::default();
        self.messages.clear();
        self.befallen.clear();
        self.pids.clear();
    }
}
