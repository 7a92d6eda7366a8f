//! A call in words: what it asked for and what it got, with no number of which only its place would say what it means. Messages have theirs in `messages`.

use super::Narrator;
use seedstorm_sim::errno::Errno;
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::trace::CallKind;

/// Levels of a lock on a SQLite database (sqlite.org/lockingv3.html).
const DATABASE_LEVELS: [&str; 5] = ["NONE", "SHARED", "RESERVED", "PENDING", "EXCLUSIVE"];

/// Names of the bits of an `open` call's first argument, beside reading and writing.
const OPEN_BITS: [(u64, &str); 4] = [(2, "create"), (3, "truncate"), (4, "exclusive"), (5, "append")];

/// What SQLite asks a file with xFileControl (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html): those that are a step.
const FILE_CONTROLS: [(u64, &str); 6] = [
    (11, "OVERWRITE"),
    (HAS_MOVED, "HAS_MOVED"),
    (21, "SYNC"),
    (22, "COMMIT_PHASETWO"),
    (37, "CKPT_DONE"),
    (39, "CKPT_START"),
];

const HAS_MOVED: u64 = 20;

/// What the first argument of calls between tasks says, by its number.
const MUTEX: [&str; 3] = ["lock", "try-lock", "unlock"];
const CONDITION: [&str; 4] = ["wait", "notify one", "notify all", "wait taken back"];
const CHANNEL: [&str; 5] = ["send", "try-send", "receive", "try-receive", "close"];
const CELL: [&str; 5] = ["load", "store", "swap", "compare and exchange for", "add"];

impl Narrator {
    /// A call with what it touches.
    pub(super) fn call(
        &self,
        kind: CallKind,
        object: u64,
        arguments: [u64; 2],
        result: Result<u64, Errno>,
        data: &[u8],
    ) -> String {
        if matches!(kind, CallKind::Send | CallKind::Receive) {
            return self.message(kind, object, arguments, result, data);
        }
        let asked = self.asked(kind, object, arguments, data);
        match result {
            Ok(value) => asked + &got(kind, arguments, value),
            Err(error) => format!("{asked} failed: {error}"),
        }
    }

    fn asked(&self, kind: CallKind, object: u64, arguments: [u64; 2], data: &[u8]) -> String {
        let [first, second] = arguments;
        let of_object = || self.of_object(kind, object);
        match kind {
            CallKind::Open => {
                let bits: Vec<_> =
                    OPEN_BITS.iter().filter(|(bit, _)| first >> bit & 1 == 1).map(|(_, name)| *name).collect();
                let how = if bits.is_empty() { String::new() } else { format!(" ({})", bits.join(", ")) };
                format!("open {}{how}", path(data))
            }
            _ if kind.names_paths() && !data.is_empty() => format!("{kind} {}", path(data)),
            CallKind::ReadAt | CallKind::WriteAt => format!("{} {second} bytes at {first}", of_object()),
            CallKind::Read | CallKind::Write => format!("{} {second} bytes", of_object()),
            CallKind::SetLength => format!("{} to {first} bytes", of_object()),
            CallKind::Sync if first == 1 => format!("{} and its name", of_object()),
            CallKind::Sleep => format!("sleep {}", Nanoseconds(first)),
            CallKind::Lock => {
                let mode = if first == 1 { "exclusive" } else { "shared" };
                let how = if second == 0 { ", without waiting" } else { "" };
                format!("{} {mode}{how}", of_object())
            }
            CallKind::RangeLock | CallKind::RangeUnlock => match second {
                0 => format!("{} bytes from {first} on", of_object()),
                len_bytes => format!("{} bytes {first} to {}", of_object(), first.saturating_add(len_bytes - 1)),
            },
            CallKind::DatabaseLock | CallKind::DatabaseUnlock => format!("{} to {}", of_object(), level(first)),
            CallKind::SharedLock => format!("{} {}", of_object(), slots(SharedLockCall::of(arguments))),
            CallKind::FileControl => match FILE_CONTROLS.iter().find(|(number, _)| *number == first) {
                Some((_, name)) => format!("{} {name}", of_object()),
                None => format!("{} {first}", of_object()),
            },
            CallKind::MapShared => format!("{} part {first}", of_object()),
            CallKind::UnmapShared if first == 1 => format!("{}, and deletes it", of_object()),
            CallKind::Bind => format!("{}, for {second} messages", of_object()),
            CallKind::Mutex => format!("{} {}{}", of_object(), named(&MUTEX, first), within(second)),
            CallKind::Condition if first == 0 => format!("{} {}, with mutex #{second}", of_object(), CONDITION[0]),
            CallKind::Condition => format!("{} {}", of_object(), named(&CONDITION, first)),
            CallKind::Channel => format!("{} {}{}", of_object(), named(&CHANNEL, first), within(second)),
            CallKind::Cell if first == 0 => format!("{} {}", of_object(), CELL[0]),
            CallKind::Cell => format!("{} {} {second}", of_object(), named(&CELL, first)),
            // What else there is besides the object is a descriptor, or says the object once more.
            _ => of_object(),
        }
    }
}

/// What a call got, where that is more than what it asked for.
fn got(kind: CallKind, [first, second]: [u64; 2], value: u64) -> String {
    match kind {
        CallKind::ReadAt | CallKind::WriteAt | CallKind::Read | CallKind::Write if value == second => String::new(),
        // Their numbers say nothing that the words don't.
        CallKind::Open | CallKind::Boot | CallKind::Start => String::new(),
        CallKind::MapShared if value == 0 => ": it is not there".to_owned(),
        CallKind::MapShared => String::new(),
        CallKind::Stat => format!(": {value} bytes"),
        CallKind::ReadDirectory => format!(": {value} {}", if value == 1 { "name" } else { "names" }),
        CallKind::Access => (if value == 0 { ": nothing is there" } else { ": it is there" }).to_owned(),
        CallKind::RangeQuery => format!(": {} has RESERVED", if value == 0 { "nobody" } else { "somebody" }),
        CallKind::DatabaseLock | CallKind::DatabaseUnlock if value == first => String::new(),
        CallKind::DatabaseLock | CallKind::DatabaseUnlock => format!(": it is {}", level(value)),
        CallKind::FileControl if first == HAS_MOVED && value == 1 => ": it has".to_owned(),
        CallKind::FileControl if first == HAS_MOVED => ": it has not".to_owned(),
        CallKind::ProcessQuery => match value.checked_sub(1) {
            None => ": nobody has it".to_owned(),
            Some(started_ns) => format!(": it has run since {} after the boot", Nanoseconds(started_ns)),
        },
        CallKind::Spawn => format!(" task {value}"),
        CallKind::Condition if first == 0 && value == 1 => ": the time was over".to_owned(),
        CallKind::Channel => match (named(&CHANNEL, first), value) {
            ("send" | "try-send", waiting) => format!(": {waiting} in it"),
            ("receive" | "try-receive", 0) => ": all senders are gone".to_owned(),
            _ => String::new(),
        },
        CallKind::Cell => format!(": it was {value}"),
        _ if value == 0 => String::new(),
        _ => format!(" = {value}"),
    }
}

fn named(names: &[&'static str], number: u64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or("?")
}

fn level(number: u64) -> &'static str {
    named(&DATABASE_LEVELS, number)
}

/// Until when a call waits at most; nothing where that isn't said.
fn within(for_ns: u64) -> String {
    if for_ns == 0 { String::new() } else { format!(", within {}", Nanoseconds(for_ns)) }
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
