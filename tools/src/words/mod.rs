//! Events in plain words, with the names of files that they touch and what claims say. Words without any memory are `sim`'s `trace::layer`.

mod body;
mod calls;
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
            _ if kind == CallKind::Join => format!("{kind} task {object}"),
            _ if kind == CallKind::ProcessQuery => format!("{kind} PID {object}"),
            (_, 0) => kind.name().to_owned(),
            (Some(file), _) if touches_file(kind) => format!("{kind} {file}"),
            _ => format!("{kind} #{object}"),
        }
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
            (call(CallKind::DatabaseLock, 7, [1, 0], Ok(1), b""), "db-lock /f to SHARED"),
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
            (call(CallKind::Close, 7, [3, 0], Ok(0), b""), "close /f"),
            (call(CallKind::Sync, 7, [1, 0], Ok(0), b""), "fsync /f and its name"),
            (call(CallKind::Stat, 7, [0; 2], Ok(4096), b""), "stat /f: 4096 bytes"),
            (call(CallKind::Stat, 7, [0; 2], Ok(0), b"/f"), "stat /f: 0 bytes"),
            (call(CallKind::Access, 0, [0; 2], Ok(1), b"/f"), "access /f: it is there"),
            (call(CallKind::Access, 0, [0; 2], Ok(0), b"/g"), "access /g: nothing is there"),
            (call(CallKind::ReadDirectory, 0, [0; 2], Ok(2), b"/d"), "readdir /d: 2 names"),
            (call(CallKind::Lock, 7, [1, 1], Ok(0), b""), "flock /f exclusive"),
            (
                call(CallKind::Lock, 7, [0, 0], Err(Errno::WouldBlock), b""),
                "flock /f shared, without waiting failed: would block (EAGAIN)",
            ),
            (call(CallKind::RangeLock, 7, [120, 8], Ok(0), b""), "range-lock /f bytes 120 to 127"),
            (call(CallKind::RangeUnlock, 7, [120, 0], Ok(0), b""), "range-unlock /f bytes from 120 on"),
            (call(CallKind::RangeQuery, 7, [0; 2], Ok(1), b""), "range-query /f: somebody has RESERVED"),
            (call(CallKind::DatabaseLock, 7, [2, 0], Ok(2), b""), "db-lock /f to RESERVED"),
            (call(CallKind::DatabaseLock, 7, [4, 0], Ok(3), b""), "db-lock /f to EXCLUSIVE: it is PENDING"),
            (call(CallKind::FileControl, 7, [21, 0], Ok(0), b""), "file-control /f SYNC"),
            (call(CallKind::FileControl, 7, [20, 0], Ok(1), b""), "file-control /f HAS_MOVED: it has"),
            (call(CallKind::FileControl, 7, [99, 0], Ok(0), b""), "file-control /f 99"),
            (call(CallKind::MapShared, 7, [1, 0], Ok(0), b""), "shm-map /f part 1: it is not there"),
            (call(CallKind::UnmapShared, 0, [1, 0], Ok(0), b""), "shm-unmap, and deletes it"),
            (
                call(CallKind::ProcessQuery, 104, [104, 0], Ok(18_961_413), b""),
                "process-query PID 104: it has run since 18.9 ms after the boot",
            ),
            (call(CallKind::ProcessQuery, 104, [104, 0], Ok(0), b""), "process-query PID 104: nobody has it"),
            (call(CallKind::Spawn, 0, [0; 2], Ok(3), b""), "spawn task 3"),
            (call(CallKind::Join, 3, [3, 0], Ok(0), b""), "join task 3"),
            (call(CallKind::Mutex, 5, [0, 0], Ok(0), b""), "mutex #5 lock"),
            (
                call(CallKind::Mutex, 5, [0, 2_000_000], Err(Errno::TimedOut), b""),
                "mutex #5 lock, within 2.00 ms failed: timed out (ETIMEDOUT)",
            ),
            (call(CallKind::Mutex, 5, [2, 0], Ok(0), b""), "mutex #5 unlock"),
            (call(CallKind::Condition, 7, [0, 5], Ok(0), b""), "condition #7 wait, with mutex #5"),
            (call(CallKind::Condition, 7, [0, 5], Ok(1), b""), "condition #7 wait, with mutex #5: the time was over"),
            (call(CallKind::Condition, 7, [2, 0], Ok(0), b""), "condition #7 notify all"),
            (call(CallKind::Channel, 9, [0, 0], Ok(2), b""), "channel #9 send: 2 in it"),
            (call(CallKind::Channel, 9, [2, 0], Ok(1), b""), "channel #9 receive"),
            (call(CallKind::Channel, 9, [2, 0], Ok(0), b""), "channel #9 receive: all senders are gone"),
            (call(CallKind::Cell, 11, [0, 0], Ok(41), b""), "cell #11 load: it was 41"),
            (call(CallKind::Cell, 11, [3, 42], Ok(41), b""), "cell #11 compare and exchange for 42: it was 41"),
            (call(CallKind::Sleep, 0, [5_952_373, 0], Ok(0), b""), "sleep 5.95 ms"),
        ];
        for (event, words) in told {
            assert_eq!(narrator.tell(&event), words);
        }
    }
}
