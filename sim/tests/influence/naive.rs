//! The naive account: for each event, which earlier ones lie directly before it, by tables that forget nothing; and a set of all that lies before it.
//! Nothing here knows clocks.

use seedstorm_sim::causality::{Influence, Past, happened_before};
use seedstorm_sim::trace::{CallKind, ProcessId, Record, RecordBody};
use std::collections::{BTreeMap, BTreeSet};

/// Something through which one event influences another: some leave something in it, others find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Content(u64),
    Name(String),
    Listing(String),
    /// Releases of a lock: of an inode, which lock, and whether of exclusive holders only.
    Lock(u64, u8, bool),
    WalIndex(u64),
    Message(u64),
    Pid(u64),
    Boot(u32),
    MachineStart,
}

/// What one event finds and leaves. It finds first.
#[derive(Default)]
struct Touched {
    finds: Vec<Way>,
    leaves: Vec<Way>,
}

const FLOCK: u8 = 100;
const RANGE: u8 = 101;
const DATABASE: u8 = 102;

/// What has to be known of the past to say what an event touches.
#[derive(Default)]
struct State {
    names: BTreeMap<String, Option<u64>>,
    /// By process: locks held, and whether exclusively.
    held: BTreeMap<u32, BTreeMap<(u64, u8), bool>>,
    pids: BTreeMap<u32, u64>,
}

impl State {
    fn acquire(&mut self, process: u32, inode: u64, lock: u8, exclusive: bool, touched: &mut Touched) {
        touched.finds.push(Way::Lock(inode, lock, !exclusive));
        let held = self.held.entry(process).or_default().entry((inode, lock)).or_insert(exclusive);
        *held = *held || exclusive;
    }

    fn release(&mut self, process: u32, inode: u64, lock: u8, touched: &mut Touched) {
        let Some(exclusive) = self.held.entry(process).or_default().remove(&(inode, lock)) else { return };
        touched.leaves.push(Way::Lock(inode, lock, false));
        if exclusive {
            touched.leaves.push(Way::Lock(inode, lock, true));
            if lock < 8 {
                touched.leaves.push(Way::WalIndex(inode));
            }
        }
    }

    fn look(path: &str, touched: &mut Touched) {
        if !path.is_empty() {
            touched.finds.push(Way::Name(path.to_owned()));
        }
    }

    fn change(&mut self, path: &str, leads: Option<Option<u64>>, touched: &mut Touched) {
        touched.leaves.push(Way::Name(path.to_owned()));
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        touched.leaves.push(Way::Listing(if directory.is_empty() { "/".to_owned() } else { directory.to_owned() }));
        match leads {
            Some(leads) => self.names.insert(path.to_owned(), leads),
            None => self.names.remove(path),
        };
    }

    /// What an event touches.
    fn touched(&mut self, record: &Record) -> Touched {
        let mut touched = Touched::default();
        let process = record.process.map_or(u32::MAX, |process| process.0);
        match &record.body {
            RecordBody::Call { kind, object, arguments, result, data, .. } => {
                let path = if *kind == CallKind::Send || *kind == CallKind::Receive {
                    String::new()
                } else {
                    String::from_utf8_lossy(data).into_owned()
                };
                self.call(process, *kind, *object, *arguments, result.is_ok(), &path, &mut touched);
            }
            RecordBody::MessageDropped { message, .. } => touched.finds.push(Way::Message(*message)),
            RecordBody::Started { pid } => {
                self.pids.insert(process, u64::from(*pid));
                touched.finds.extend([Way::Boot(process), Way::MachineStart]);
                touched.leaves.push(Way::Pid(u64::from(*pid)));
            }
            RecordBody::Ended(_) => {
                for (inode, lock) in self.held.entry(process).or_default().keys().copied().collect::<Vec<_>>() {
                    self.release(process, inode, lock, &mut touched);
                }
                touched.leaves.push(Way::Boot(process));
                touched.leaves.extend(self.pids.get(&process).map(|pid| Way::Pid(*pid)));
            }
            RecordBody::MachineStarted => touched.leaves.push(Way::MachineStart),
            RecordBody::MachineCrashed => self.names.clear(),
            _ => {}
        }
        touched
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one event")]
    fn call(
        &mut self,
        process: u32,
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        succeeded: bool,
        path: &str,
        touched: &mut Touched,
    ) {
        use CallKind as Kind;
        let two = || path.split_once('\0').unwrap_or((path, ""));
        match kind {
            Kind::Send if succeeded => touched.leaves.push(Way::Message(object)),
            Kind::Receive if arguments[0] != 0 => touched.finds.push(Way::Message(object)),
            Kind::ProcessQuery => touched.finds.push(Way::Pid(object)),
            Kind::Open => {
                State::look(path, touched);
                if !succeeded {
                    return;
                }
                let creates = arguments[0] & 4 != 0 && !self.names.contains_key(path);
                if creates && !path.is_empty() {
                    self.change(path, Some(Some(object)), touched);
                } else if !path.is_empty() {
                    self.names.insert(path.to_owned(), Some(object));
                }
                if arguments[0] & 8 != 0 {
                    touched.leaves.push(Way::Content(object));
                }
            }
            Kind::Close if succeeded => {
                self.release(process, object, FLOCK, touched);
                self.release(process, object, RANGE, touched);
            }
            Kind::Read | Kind::ReadAt if succeeded => touched.finds.push(Way::Content(object)),
            Kind::Write | Kind::WriteAt | Kind::SetLength if succeeded => touched.leaves.push(Way::Content(object)),
            Kind::Stat => {
                State::look(path, touched);
                if succeeded {
                    touched.finds.push(Way::Content(object));
                }
            }
            Kind::Access => {
                State::look(path, touched);
                touched.finds.extend(self.names.get(path).copied().flatten().map(Way::Content));
            }
            Kind::Rename => {
                let (from, to) = two();
                State::look(from, touched);
                State::look(to, touched);
                let leads = self.names.get(from).copied().flatten();
                let same = leads.is_some() && leads == self.names.get(to).copied().flatten();
                if succeeded && from != to && !same {
                    self.change(from, None, touched);
                    self.change(to, Some(leads), touched);
                }
            }
            Kind::Link => {
                let (existing, new) = two();
                State::look(existing, touched);
                State::look(new, touched);
                if succeeded {
                    let leads = self.names.get(existing).copied().flatten();
                    self.change(new, Some(leads), touched);
                }
            }
            Kind::Unlink | Kind::MakeDirectory => {
                State::look(path, touched);
                if succeeded {
                    self.change(path, (kind == Kind::MakeDirectory).then_some(None), touched);
                }
            }
            Kind::RemoveDirectory | Kind::ReadDirectory => {
                State::look(path, touched);
                touched.finds.push(Way::Listing(path.to_owned()));
                if succeeded && kind == Kind::RemoveDirectory {
                    self.change(path, None, touched);
                }
            }
            Kind::Lock if succeeded => self.acquire(process, object, FLOCK, arguments[0] == 1, touched),
            Kind::Unlock if succeeded => self.release(process, object, FLOCK, touched),
            Kind::RangeLock if succeeded => self.acquire(process, object, RANGE, true, touched),
            Kind::RangeUnlock if succeeded => self.release(process, object, RANGE, touched),
            Kind::DatabaseLock if succeeded => self.acquire(process, object, DATABASE, arguments[0] >= 2, touched),
            Kind::DatabaseUnlock if succeeded => {
                self.release(process, object, DATABASE, touched);
                if arguments[0] > 0 {
                    self.held.entry(process).or_default().insert((object, DATABASE), false);
                }
            }
            Kind::SharedLock if succeeded => {
                let (first, count) = ((arguments[0] >> 8) as u8, (arguments[0] & 255) as u8);
                if arguments[1] & 1 == 0 {
                    touched.finds.push(Way::WalIndex(object));
                }
                for slot in first..first + count {
                    if arguments[1] & 1 == 0 {
                        self.acquire(process, object, slot, arguments[1] & 8 != 0, touched);
                    } else {
                        self.release(process, object, slot, touched);
                    }
                }
            }
            Kind::UnmapShared if succeeded => (0..8).for_each(|slot| self.release(process, object, slot, touched)),
            _ => {}
        }
    }
}

/// A set of events.
#[derive(Clone, Default)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    fn add(&mut self, event: usize) {
        if self.0.len() <= event / 64 {
            self.0.resize(event / 64 + 1, 0);
        }
        self.0[event / 64] |= 1 << (event % 64);
    }

    fn add_all(&mut self, others: &Set) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&others.0) {
            *own |= other;
        }
    }

    pub(crate) fn has(&self, event: usize) -> bool {
        self.0.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
    }
}

/// Of each event, all that lie before it.
pub(crate) fn reachability(records: &[Record]) -> Vec<Set> {
    let mut state = State::default();
    let mut leavers: BTreeMap<Way, BTreeSet<usize>> = BTreeMap::new();
    let mut last: BTreeMap<Option<(ProcessId, u32)>, usize> = BTreeMap::new();
    let mut before: Vec<Set> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let is_of_message = matches!(record.body, RecordBody::MessageFault { .. } | RecordBody::MessageDropped { .. });
        let line = record.process.map(|process| (process, record.boot)).filter(|_| !is_of_message);
        let touched = state.touched(record);
        let found = touched.finds.iter().filter_map(|way| leavers.get(way)).flatten();
        let mut direct: BTreeSet<usize> = found.copied().chain(last.insert(line, index)).collect();
        if matches!(record.body, RecordBody::MachineCrashed) {
            direct.extend(0..index);
            leavers.clear();
        }
        let mut own = Set::default();
        for event in direct {
            own.add(event);
            own.add_all(&before[event]);
        }
        before.push(own);
        for way in touched.leaves {
            leavers.entry(way).or_default().insert(index);
        }
    }
    before
}

/// Demands that influence says of every two events what the naive account says. Gives how many pairs of events of different incarnations are ordered, and how
/// many are not.
pub(crate) fn agree(records: &[Record]) -> (u64, u64) {
    let expected = reachability(records);
    let mut influence = Influence::default();
    let pasts: Vec<Past> = records.iter().map(|record| influence.observe(&record.event())).collect();
    let (mut ordered, mut unordered) = (0, 0);
    for (later, past) in pasts.iter().enumerate() {
        for (earlier, other) in pasts.iter().enumerate() {
            let says = happened_before(other, past);
            let is = earlier < later && expected[later].has(earlier);
            assert_eq!(
                says, is,
                "whether event {earlier} lies before {later}: {:#?} and {:#?}",
                records[earlier], records[later]
            );
            if earlier < later && other.stamp().line != past.stamp().line {
                *(if is { &mut ordered } else { &mut unordered }) += 1;
            }
        }
    }
    (ordered, unordered)
}
