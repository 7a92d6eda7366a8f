//! Kinds of events, and the classes of them that a page can filter by.

use seedstorm_sim::trace::{Body, CallKind, Ended, Event};

/// What events are filtered by. The numbers are those of the page's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Lives = 0,
    Faults = 1,
    Locks = 2,
    Messages = 3,
    Files = 4,
    Sqlite = 5,
    Claims = 6,
    Tasks = 7,
}

impl Class {
    /// Every class, in the order of their numbers, with the name that people read.
    pub(super) const ALL: [(Class, &str); 8] = [
        (Class::Lives, "lives"),
        (Class::Faults, "faults"),
        (Class::Locks, "locks"),
        (Class::Messages, "messages"),
        (Class::Files, "files"),
        (Class::Sqlite, "SQLite"),
        (Class::Claims, "claims"),
        (Class::Tasks, "tasks"),
    ];
}

/// The kind of an event, and its class.
pub(super) fn kind<'a>(event: &Event<'a>) -> (&'a str, Class) {
    match &event.body {
        Body::Call { kind, .. } => (kind.name(), class_of_call(*kind)),
        Body::Blocked { kind, .. } => (kind.name(), class_of_call(*kind)),
        Body::Claim { kind, .. } if kind.starts_with("lock-") || *kind == "fenced-write" => (kind, Class::Locks),
        Body::Claim { kind, .. } => (kind, Class::Claims),
        Body::Fault { kind, .. } | Body::MessageFault { kind, .. } => (kind.name(), Class::Faults),
        Body::MachineCrashed => ("power-lost", Class::Faults),
        Body::PartitionHealed { .. } => ("partition-healed", Class::Faults),
        Body::ClockJumped(_) => ("clock-jumped", Class::Faults),
        Body::MessageDropped { .. } => ("message-dropped", Class::Messages),
        Body::Started { .. } if event.boot > 1 => ("restarted", Class::Lives),
        Body::Started { .. } => ("started", Class::Lives),
        Body::Ended(Ended::Exited { .. }) => ("exited", Class::Lives),
        Body::Ended(Ended::Killed) => ("killed", Class::Lives),
        Body::Ended(Ended::Crashed) => ("crashed", Class::Lives),
        Body::Paused => ("paused", Class::Lives),
        Body::Resumed => ("resumed", Class::Lives),
        Body::TerminationRequested => ("asked-to-end", Class::Lives),
        Body::MachineStarted => ("machine-started", Class::Lives),
        Body::CalmBegan => ("calm-began", Class::Lives),
    }
}

fn class_of_call(kind: CallKind) -> Class {
    use CallKind as Kind;
    match kind {
        Kind::Lock | Kind::Unlock | Kind::RangeLock | Kind::RangeUnlock | Kind::RangeQuery => Class::Locks,
        Kind::Send | Kind::Receive | Kind::Bind | Kind::Unbind => Class::Messages,
        Kind::MapShared | Kind::SharedLock | Kind::SharedBarrier | Kind::UnmapShared | Kind::DatabaseLock => {
            Class::Sqlite
        }
        Kind::DatabaseUnlock | Kind::FileControl | Kind::Unfetch => Class::Sqlite,
        Kind::Boot | Kind::Start | Kind::Yield | Kind::Sleep | Kind::Wake | Kind::Spawn | Kind::Join => Class::Tasks,
        Kind::ProcessQuery | Kind::Mutex | Kind::Condition | Kind::Channel | Kind::Cell => Class::Tasks,
        Kind::Claim => Class::Claims,
        _ => Class::Files,
    }
}
