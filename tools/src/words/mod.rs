//! Events in plain words, with the names of files that they touch and what claims say. Words without any memory are `sim`'s `trace::layer`.

mod body;
mod claims;
mod clients;
mod cut;
mod files;
mod messages;

pub(crate) use body::beginning;
pub(crate) use cut::cut;

use crate::catalogue::Known;
use files::FileNames;
use seedstorm_sim::errno::Errno;
use seedstorm_sim::kernel::View;
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::net::MailboxKey;
use seedstorm_sim::trace::{Body, CallKind, Dropped, Ended, Event, layer};

/// Learns how the scenarios of this program say what claims and messages are, once. What is told depends on the program, not on the run.
pub(crate) fn learn(scenarios: &'static [Known]) {
    claims::learn(scenarios.iter().flat_map(|scenario| scenario.claims()).collect());
    messages::learn(scenarios);
}

/// The most characters that are told of what a scenario says of a claim or a message.
const OF_SCENARIO_MAX: usize = 120;

/// Tells the events of one run, one after the other: it remembers which file has which name.
#[derive(Default)]
pub(crate) struct Narrator {
    /// The run's, if this program knows it.
    scenario: Option<Known>,
    processes: Vec<String>,
    files: FileNames,
}

/// Levels of a lock on a SQLite database (sqlite.org/lockingv3.html).
const DATABASE_LEVELS: [&str; 5] = ["NONE", "SHARED", "RESERVED", "PENDING", "EXCLUSIVE"];

/// Names of the bits of an `open` call's first argument, beside reading and writing.
const OPEN_BITS: [(u64, &str); 4] = [(2, "create"), (3, "truncate"), (4, "exclusive"), (5, "append")];

impl Narrator {
    /// A narrator of a run of a scenario of this name, with these processes, by id.
    pub(crate) fn new(scenario: &str, processes: &[String]) -> Narrator {
        let scenario = messages::scenario(scenario);
        Narrator { scenario, processes: processes.to_vec(), files: FileNames::default() }
    }

    /// A narrator of the run that is seen.
    pub(crate) fn of(view: &View<'_>) -> Narrator {
        let names: Vec<String> = view.processes().map(|process| process.name.to_owned()).collect();
        Narrator::new(&view.plan().scenario, &names)
    }

    /// Sees the next event of the run, which nobody wants to read.
    pub(crate) fn pass_by(&mut self, event: &Event<'_>) {
        self.files.observe(event);
    }

    /// The next event of the run in one line, without time and process.
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> String {
        self.files.observe(event);
        match &event.body {
            Body::Call { kind, object, arguments, result, data, .. } => {
                self.call(*kind, *object, *arguments, *result, data)
            }
            Body::Blocked { kind, object } => format!("{} must wait", self.of_object(*kind, *object)),
            Body::Claim { kind, bytes } => claims::in_words(event, kind, bytes),
            Body::Fault { kind, .. } => match short(kind.about()) {
                Some(about) => format!("FAULT {}: {about}", kind.name()),
                None => format!("FAULT {}", kind.name()),
            },
            Body::Started { pid } if event.boot > 1 => format!("restarted with PID {pid}, boot {}", event.boot),
            Body::Ended(Ended::Killed) => "was killed".to_owned(),
            Body::Ended(Ended::Crashed) => "died with the machine".to_owned(),
            Body::Ended(Ended::Exited { code: 0, .. }) => "ended well".to_owned(),
            Body::Ended(Ended::Exited { code, why }) => format!("ended with code {code}: {why}"),
            Body::MachineCrashed => "the machine loses its power".to_owned(),
            Body::MachineStarted => "the machine is up again".to_owned(),
            Body::ClockJumped(by_ns) => {
                let sign = if *by_ns < 0 { "back" } else { "ahead" };
                format!("the wall clock jumps {sign} by {}", Nanoseconds(by_ns.unsigned_abs()))
            }
            Body::MessageDropped { why, .. } => match why {
                Dropped::Nobody => "its message finds nobody".to_owned(),
                Dropped::Full => "its message finds a full mailbox".to_owned(),
                Dropped::Unread => "its message was never taken out of its mailbox".to_owned(),
                Dropped::Cut(_) => "its message is cut off by a partition".to_owned(),
                Dropped::PowerLoss => "its message is lost with the machine's power".to_owned(),
            },
            Body::MessageFault { kind, .. } => format!("FAULT {} hits its message", kind.name()),
            _ => layer::Words(event).to_string(),
        }
    }

    /// The name that a file has, or had last; nothing for what no event has named.
    pub(crate) fn file(&self, inode: u64) -> Option<&str> {
        self.files.name(inode)
    }

    /// A call and what it touches.
    pub(crate) fn of_object(&self, kind: CallKind, object: u64) -> String {
        match (self.file(object), object) {
            _ if matches!(kind, CallKind::Receive | CallKind::Send) => kind.name().to_owned(),
            _ if matches!(kind, CallKind::Bind | CallKind::Unbind) => {
                format!("{kind} port {}", MailboxKey(object).port())
            }
            (_, 0) => kind.name().to_owned(),
            (Some(file), _) if touches_file(kind) => format!("{kind} {file}"),
            _ => format!("{kind} #{object}"),
        }
    }

    fn call(
        &self,
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &[u8],
    ) -> String {
        let [first, second] = arguments;
        let mut text = match kind {
            CallKind::Open => {
                let bits: Vec<_> =
                    OPEN_BITS.iter().filter(|(bit, _)| first >> bit & 1 == 1).map(|(_, name)| *name).collect();
                let how = if bits.is_empty() { String::new() } else { format!(" ({})", bits.join(", ")) };
                format!("open {}{how}", path(data))
            }
            CallKind::Rename | CallKind::Link => format!("{kind} {}", path(data)),
            CallKind::Unlink | CallKind::MakeDirectory | CallKind::RemoveDirectory => format!("{kind} {}", path(data)),
            CallKind::ReadDirectory | CallKind::Access => format!("{kind} {}", path(data)),
            CallKind::Stat if !data.is_empty() => format!("{kind} {}", path(data)),
            CallKind::ReadAt | CallKind::WriteAt => {
                format!("{} {second} bytes at {first}", self.of_object(kind, object))
            }
            CallKind::Read | CallKind::Write => format!("{} {second} bytes", self.of_object(kind, object)),
            CallKind::SetLength => format!("{} to {first} bytes", self.of_object(kind, object)),
            CallKind::Sleep => format!("sleep {}", Nanoseconds(first)),
            CallKind::Lock => {
                let mode = if first == 1 { "exclusive" } else { "shared" };
                format!("{} {mode}", self.of_object(kind, object))
            }
            CallKind::DatabaseLock | CallKind::DatabaseUnlock => {
                let level = DATABASE_LEVELS.get(first as usize).copied().unwrap_or("?");
                format!("{} to {level}", self.of_object(kind, object))
            }
            CallKind::SharedLock => {
                format!("{} {}", self.of_object(kind, object), slots(SharedLockCall::of(arguments)))
            }
            CallKind::Bind => format!("{}, for {second} messages", self.of_object(kind, object)),
            CallKind::Unbind => self.of_object(kind, object),
            CallKind::Send | CallKind::Receive => return self.message(kind, object, arguments, result, data),
            _ if first == object && second == 0 => self.of_object(kind, object),
            _ if arguments != [0; 2] => format!("{} ({first}, {second})", self.of_object(kind, object)),
            _ => self.of_object(kind, object),
        };
        let is_as_asked = match kind {
            CallKind::ReadAt | CallKind::WriteAt | CallKind::Read | CallKind::Write => result == Ok(second),
            // Their numbers say nothing that the words don't.
            CallKind::Open | CallKind::Boot | CallKind::Start | CallKind::MapShared => result.is_ok(),
            _ => result == Ok(0),
        };
        match result {
            Ok(_) if is_as_asked => {}
            Ok(value) => text.push_str(&format!(" = {value}")),
            Err(error) => text.push_str(&format!(" failed: {error}")),
        }
        text
    }

    fn message(
        &self,
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &[u8],
    ) -> String {
        let [from, to] = arguments.map(MailboxKey);
        let end = |key: MailboxKey| match key.process() {
            None => "nobody".to_owned(),
            Some(id) => self.processes.get(id.0 as usize).cloned().unwrap_or_else(|| format!("process {}", id.0)),
        };
        let says = || messages::after_colon(self.scenario, data);
        match (kind, result) {
            (CallKind::Send, Ok(len)) => format!("send {len} bytes to {}{}", end(to), says()),
            (CallKind::Send, Err(error)) => format!("send to {} failed: {error}", end(to)),
            (_, Err(error)) => format!("receive failed: {error}"),
            (_, Ok(_)) if object == to.0 => "receive: nothing has come".to_owned(),
            (_, Ok(len)) => format!("receive {len} bytes from {}{}", end(from), says()),
        }
    }
}

/// An event as people read it: time, step, process (`None`: the machine), and its words.
pub(crate) fn line(time_ns: u64, step: u64, process: Option<&str>, words: &str) -> String {
    let (seconds, rest_ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    format!("{seconds:>4}.{rest_ns:09}s step {step:<8} {:<14} {words}", process.unwrap_or(MACHINE))
}

/// The machine's name among those of processes.
pub(crate) const MACHINE: &str = "machine";

/// The first clause of a description; nothing where it goes by fields of the plan.
fn short(about: &str) -> Option<&str> {
    about.trim().split([';', ':', '(', '.', ',']).next().map(str::trim).filter(|clause| !clause.contains('`'))
}

fn touches_file(kind: CallKind) -> bool {
    use CallKind as Kind;
    !matches!(
        kind,
        Kind::Boot
            | Kind::Start
            | Kind::Yield
            | Kind::Sleep
            | Kind::Wake
            | Kind::ProcessQuery
            | Kind::Spawn
            | Kind::Join
            | Kind::Claim
            | Kind::Mutex
            | Kind::Condition
            | Kind::Channel
            | Kind::Cell
            | Kind::Bind
            | Kind::Unbind
            | Kind::Send
            | Kind::Receive
    )
}

/// The path or paths of a call.
fn path(data: &[u8]) -> String {
    String::from_utf8_lossy(data).replace('\0', " → ")
}

/// Slots of a wal-index (sqlite.org/walformat.html, "WAL Locks").
fn slots(call: SharedLockCall) -> String {
    let name = |slot: usize| match slot {
        SharedLockCall::WRITE => "WRITE".to_owned(),
        SharedLockCall::CHECKPOINT => "CHECKPOINT".to_owned(),
        2 => "RECOVER".to_owned(),
        slot => format!("READ{}", slot - SharedLockCall::FIRST_READ),
    };
    let names: Vec<String> = (call.first..).take(call.count).map(name).collect();
    let how = match (call.releases, call.excludes) {
        (true, _) => "gives back",
        (false, true) => "takes alone",
        (false, false) => "shares",
    };
    format!("{how} {}", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::trace::{ProcessId, TaskId};

    fn call<'a>(
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &'a [u8],
    ) -> Event<'a> {
        let body = Body::Call { kind, object, arguments, result, data, took_ns: 1 };
        Event { step: 1, time_ns: 1, process: Some(ProcessId(0)), task: Some(TaskId(0)), boot: 1, body }
    }

    #[test]
    fn files_are_told_by_the_names_that_they_have_by_then() {
        let mut narrator = Narrator::new("of another program", &["a-0".to_owned(), "a-1".to_owned()]);
        let told = [
            (call(CallKind::Open, 7, [0b10110, 0], Ok(3), b"/f.tmp"), "open /f.tmp (create, exclusive)"),
            (call(CallKind::WriteAt, 7, [16, 24], Ok(24), b""), "pwrite /f.tmp 24 bytes at 16"),
            (call(CallKind::WriteAt, 7, [16, 24], Ok(3), b""), "pwrite /f.tmp 24 bytes at 16 = 3"),
            (call(CallKind::Rename, 0, [0; 2], Ok(0), b"/f.tmp\0/f"), "rename /f.tmp → /f"),
            (call(CallKind::Sync, 7, [0; 2], Ok(0), b""), "fsync /f"),
            (call(CallKind::Sync, 9, [0; 2], Err(Errno::Io), b""), "fsync #9 failed: input/output error (EIO)"),
            (call(CallKind::SharedLock, 9, [1, 10], Ok(0), b""), "shm-lock #9 takes alone WRITE"),
            (call(CallKind::SharedLock, 9, [0x301, 9], Ok(0), b""), "shm-lock #9 gives back READ0"),
            (call(CallKind::DatabaseLock, 7, [1, 0], Ok(0), b""), "db-lock /f to SHARED"),
            (
                call(CallKind::Send, 1 << 40 | 1, [1 << 16 | 7, 2 << 16 | 7], Ok(5), b"hello"),
                "send 5 bytes to a-1: \"hello\"",
            ),
            (
                call(CallKind::Receive, 1 << 40 | 1, [1 << 16 | 7, 2 << 16 | 7], Ok(5), b"\x85\0\0\0\0"),
                "receive 5 bytes from a-0: 0x8500000000",
            ),
            (call(CallKind::Receive, 2 << 16 | 7, [0, 2 << 16 | 7], Ok(0), b""), "receive: nothing has come"),
            (call(CallKind::Bind, 1 << 16 | 7, [7, 128], Ok(0), b""), "bind port 7, for 128 messages"),
            (call(CallKind::Unbind, 1 << 16 | 7, [7, 0], Ok(0), b""), "unbind port 7"),
            (call(CallKind::Sleep, 0, [5_952_373, 0], Ok(0), b""), "sleep 5.95 ms"),
        ];
        for (event, words) in told {
            assert_eq!(narrator.tell(&event), words);
        }
    }
}
