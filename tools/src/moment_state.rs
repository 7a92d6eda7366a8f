//! The state of the machine at a moment of a run, for people: processes, locks, files, tables, queues, and what programs last said that they believe. When to
//! look is `until`'s business.

use crate::report::{counted, grouped};
use seedstorm_sim::kernel::View;
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::schedule::Ready;
use seedstorm_sim::sqlite::{MAGIC, tables};
use seedstorm_sim::sys::claim::{LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use seedstorm_sim::sys::disk::{InodeId, LockMode, Owner, RangeLock, TO_INFINITY};
use seedstorm_sim::sys::net::MailboxKey;
use seedstorm_sim::trace::{Body, CallKind, Event, ProcessId};
use serde::Serialize;
use std::collections::BTreeMap;

/// So many rows of each table are shown.
const ROWS_MAX: usize = 8;

/// The longest value of a row that is shown whole.
const VALUE_CHARACTERS_MAX: usize = 40;

/// What is known at a moment, in lines by subject.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct MomentState {
    /// The step after which this holds.
    pub(crate) step: u64,
    /// Simulated time since the start of the run, in nanoseconds.
    pub(crate) time_ns: u64,
    /// Who is up, and what each will do next or waits for.
    pub(crate) processes: Vec<String>,
    /// Named locks, as programs believe to hold or await them.
    pub(crate) locks: Vec<String>,
    /// Locks on files and ranges of them, as the disk has them.
    pub(crate) file_locks: Vec<String>,
    /// Files, their lengths, and what of them a crash might lose.
    pub(crate) files: Vec<String>,
    /// The tables of each SQLite database, as a process would see them that opened it now.
    pub(crate) tables: Vec<String>,
    /// Mailboxes, and messages under way.
    pub(crate) queues: Vec<String>,
    /// The last claim of each kind of each process in its present life.
    pub(crate) beliefs: Vec<String>,
}

impl MomentState {
    /// Its subjects, each with its lines.
    pub(crate) fn subjects(&self) -> [(&'static str, &[String]); 7] {
        [
            ("processes", &self.processes),
            ("locks, as programs claim them", &self.locks),
            ("locks on files", &self.file_locks),
            ("files", &self.files),
            ("tables", &self.tables),
            ("queues", &self.queues),
            ("beliefs: the last claims of each process", &self.beliefs),
        ]
    }
}

/// What must be followed from the start of the run to know it.
#[derive(Default)]
pub(crate) struct Follower {
    holds: BTreeMap<String, Vec<ProcessId>>,
    waits: BTreeMap<ProcessId, (String, u64)>,
    claims: BTreeMap<(ProcessId, String), (u64, String)>,
}

impl Follower {
    /// Takes in the next event.
    pub(crate) fn observe(&mut self, event: &Event<'_>, words: &str) {
        let Some(process) = event.process else { return };
        match event.body {
            Body::Ended(_) => {
                self.waits.remove(&process);
                self.holds.values_mut().for_each(|holders| holders.retain(|holder| *holder != process));
                self.claims.retain(|(claimer, _), _| *claimer != process);
            }
            Body::Claim { kind, .. } => {
                self.claims.insert((process, kind.to_owned()), (event.step, words.to_owned()));
                self.observe_lock(process, event);
            }
            _ => {}
        }
    }

    fn observe_lock(&mut self, process: ProcessId, event: &Event<'_>) {
        if let Some(LockWaiting { lock, .. }) = event.claim() {
            self.waits.insert(process, (lock, event.time_ns));
        } else if let Some(LockAcquired { lock, .. }) = event.claim() {
            self.waits.remove(&process);
            self.holds.entry(lock).or_default().push(process);
        } else if let Some(LockReleased { lock }) = event.claim() {
            if let Some(holders) = self.holds.get_mut(&lock) {
                holders.retain(|holder| *holder != process);
            }
        } else if event.claim::<LockTimedOut>().is_some() {
            self.waits.remove(&process);
        }
    }

    /// The state now, just after an event took effect.
    pub(crate) fn look(&self, view: &View<'_>) -> MomentState {
        let looking = Looking { view, paths: paths(view) };
        MomentState {
            step: view.step(),
            time_ns: view.now_ns(),
            processes: looking.processes(),
            locks: self.locks(view),
            file_locks: looking.file_locks(),
            files: looking.files(),
            tables: looking.tables(),
            queues: looking.queues(),
            beliefs: self.beliefs(view),
        }
    }

    fn locks(&self, view: &View<'_>) -> Vec<String> {
        let name = |process: &ProcessId| view.process(*process).name;
        let held = self.holds.iter().filter(|(_, holders)| !holders.is_empty()).map(|(lock, holders)| {
            let holders: Vec<&str> = holders.iter().map(name).collect();
            format!("{lock}: held by {}", holders.join(", "))
        });
        let awaited = self.waits.iter().map(|(process, (lock, since_ns))| {
            let waited = Nanoseconds(view.now_ns().saturating_sub(*since_ns));
            format!("{lock}: {} has waited for {waited}", name(process))
        });
        held.chain(awaited).collect()
    }

    fn beliefs(&self, view: &View<'_>) -> Vec<String> {
        let line = |((process, _), (step, words)): (&(ProcessId, String), &(u64, String))| {
            format!("{:<14} {words}, at step {}", view.process(*process).name, grouped(*step))
        };
        self.claims.iter().map(line).collect()
    }
}

/// The first path of each file.
fn paths(view: &View<'_>) -> BTreeMap<InodeId, String> {
    let mut paths = BTreeMap::new();
    for (path, inode, _) in view.disk().files() {
        paths.entry(inode).or_insert(path);
    }
    paths
}

struct Looking<'a, 'b> {
    view: &'a View<'b>,
    paths: BTreeMap<InodeId, String>,
}

impl Looking<'_, '_> {
    fn object(&self, kind: CallKind, object: u64) -> String {
        let mailbox = MailboxKey(object);
        match self.paths.get(&InodeId(object)) {
            _ if matches!(kind, CallKind::Bind | CallKind::Unbind | CallKind::Receive) => {
                format!(" on port {}", mailbox.port())
            }
            // Before it takes effect.
            _ if kind == CallKind::Send => match mailbox.process() {
                Some(id) => format!(" to {}:{}", self.view.process(id).name, mailbox.port()),
                None => " to nobody".to_owned(),
            },
            Some(path) => format!(" {path}"),
            None if object == 0 => String::new(),
            None => format!(" #{object}"),
        }
    }

    fn processes(&self) -> Vec<String> {
        let view = self.view;
        let line = |process: seedstorm_sim::kernel::ProcessView<'_>| {
            let id = process.id;
            let task = |ordinal: u32| if ordinal == 0 { String::new() } else { format!("task {ordinal} ") };
            let next = |call: &Ready| {
                format!("{}will {}{}", task(call.ordinal), call.kind, self.object(call.kind, call.object))
            };
            let ready = view.ready().filter(|call| call.process == id).map(next);
            let waits = view.waiting().filter(|waiting| waiting.process == id).map(|waiting| {
                format!(
                    "{}waits in {}{}",
                    task(waiting.ordinal),
                    waiting.kind,
                    self.object(waiting.kind, waiting.object)
                )
            });
            let does = ready.chain(waits).collect::<Vec<_>>().join("; ");
            let life = match &process {
                process if process.is_paused => format!("paused, PID {}, boot {}", process.pid, process.boot),
                process if process.is_live => format!("up, PID {}, boot {}", process.pid, process.boot),
                process if process.is_done => "done".to_owned(),
                _ => "down".to_owned(),
            };
            format!("{:<14} {life}{}{does}", process.name, if does.is_empty() { "" } else { ": " })
        };
        view.processes().map(line).collect()
    }

    fn owner(&self, owner: Owner) -> String {
        let found = self.view.processes().find(|process| process.owner == owner && process.is_live);
        found.map_or_else(|| format!("nobody's ({})", owner.0), |process| process.name.to_owned())
    }

    fn file_locks(&self) -> Vec<String> {
        let mode = |mode: LockMode| if mode == LockMode::Shared { "shared" } else { "exclusive" };
        let mut lines = Vec::new();
        for (inode, path) in &self.paths {
            for holder in self.view.disk().flock_holders(*inode) {
                lines.push(format!("{path}: flock, {}, {}", mode(holder.mode), self.owner(holder.owner)));
            }
            for RangeLock { start, end, owner, mode: held } in self.view.disk().range_locks(*inode) {
                let end = if *end == TO_INFINITY { "the end".to_owned() } else { end.to_string() };
                lines.push(format!("{path}: bytes {start} to {end}, {}, {}", mode(*held), self.owner(*owner)));
            }
        }
        lines
    }

    fn files(&self) -> Vec<String> {
        let disk = self.view.disk();
        let line = |(path, inode, len_bytes): (String, InodeId, u64)| {
            let pending = disk.pending(inode).len();
            let data = match (disk.is_range_durable(inode, 0, len_bytes), pending) {
                (true, 0) => "durable".to_owned(),
                (true, 1) => "what it holds is durable, 1 operation is not".to_owned(),
                (true, count) => format!("what it holds is durable, {count} operations are not"),
                (false, count) => format!("NOT durable: {} pending", counted(count as u64, "operation")),
            };
            let name = if disk.is_entry_durable(&path) { "" } else { "; its name is NOT durable" };
            format!("{path}  {}, {data}{name}", counted(len_bytes, "byte"))
        };
        disk.files().map(line).collect()
    }

    fn tables(&self) -> Vec<String> {
        let disk = self.view.disk();
        let mut lines = Vec::new();
        for path in self.paths.values() {
            let has_wal = disk.inode_of(&format!("{path}-wal")).is_some();
            let is_database = has_wal || disk.visible_read(path).is_some_and(|bytes| bytes.starts_with(MAGIC));
            if !is_database {
                continue;
            }
            match tables(disk, path, ROWS_MAX) {
                Err(why) => lines.push(format!("{path}: it can't be read: {why}")),
                Ok(found) => {
                    for table in found {
                        let rows = counted(table.count, "row");
                        lines.push(format!("{path} {} ({}): {rows}", table.name, table.columns.join(", ")));
                        let row = |row: &Vec<String>| {
                            let values: Vec<String> = row.iter().map(|value| brief(value)).collect();
                            format!("    {}", values.join(" | "))
                        };
                        lines.extend(table.rows.iter().map(row));
                        let more = table.count.saturating_sub(table.rows.len() as u64);
                        if more > 0 {
                            lines.push(format!("    and {} more", grouped(more)));
                        }
                    }
                }
            }
        }
        lines
    }

    fn queues(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .view
            .mailboxes()
            .into_iter()
            .map(|mailbox| {
                let most = counted(mailbox.messages_max as u64, "message");
                format!("{}: {} of at most {most}", mailbox.address, mailbox.messages)
            })
            .collect();
        let under_way = self.view.messages_in_flight();
        if under_way > 0 || !lines.is_empty() {
            lines.push(format!("messages under way: {}", grouped(under_way as u64)));
        }
        lines
    }
}

/// A value in one line and not too long.
fn brief(value: &str) -> String {
    let line: String = value.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if line.chars().count() <= VALUE_CHARACTERS_MAX {
        return line;
    }
    line.chars().take(VALUE_CHARACTERS_MAX).chain("…".chars()).collect()
}
