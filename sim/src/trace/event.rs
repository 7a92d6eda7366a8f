//! Events: one for each step and for each thing that the harness does to a process or to the machine.

use crate::errno::Errno;
use crate::plan::FaultKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A process of the plan, in the order in which the scenario created them. It outlives the process's deaths; a PID doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub u32);

/// A task of a process. Slots are used again after a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub u32);

macro_rules! call_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a system call. The number is part of the trace format: add at the end only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum CallKind {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl CallKind {
            /// Every kind, in the order of their numbers.
            pub const ALL: &[CallKind] = &[$(CallKind::$name,)*];

            /// The name that plans, traces and people use.
            pub const fn name(self) -> &'static str {
                match self { $(CallKind::$name => $text,)* }
            }
        }
    };
}

call_kinds! {
    /// A process's main task runs for the first time in this boot.
    Boot = "boot",
    /// A spawned task runs for the first time.
    Start = "start",
    /// sched_yield(2)
    Yield = "yield",
    /// nanosleep(2)
    Sleep = "sleep",
    /// A task that awaited something other than a system call was woken by another task.
    Wake = "wake",
    /// open(2)
    Open = "open",
    /// close(2)
    Close = "close",
    /// read(2)
    Read = "read",
    /// write(2)
    Write = "write",
    /// pread(2)
    ReadAt = "pread",
    /// pwrite(2)
    WriteAt = "pwrite",
    /// ftruncate(2)
    SetLength = "truncate",
    /// fsync(2)
    Sync = "fsync",
    /// rename(2)
    Rename = "rename",
    /// link(2)
    Link = "link",
    /// unlink(2)
    Unlink = "unlink",
    /// mkdir(2)
    MakeDirectory = "mkdir",
    /// rmdir(2)
    RemoveDirectory = "rmdir",
    /// readdir(3)
    ReadDirectory = "readdir",
    /// stat(2)
    Stat = "stat",
    /// flock(2), to lock
    Lock = "flock",
    /// flock(2), to unlock
    Unlock = "funlock",
    /// fcntl(2) F_SETLK, to lock
    RangeLock = "range-lock",
    /// fcntl(2) F_SETLK, to unlock
    RangeUnlock = "range-unlock",
    /// fcntl(2) F_GETLK
    RangeQuery = "range-query",
    /// kill(pid, 0) and /proc/PID/stat
    ProcessQuery = "process-query",
    /// A task starts another task of its process.
    Spawn = "spawn",
    /// A task waits for the end of another.
    Join = "join",
    /// A program says what it believes.
    Claim = "claim",
    /// A mutex between tasks.
    Mutex = "mutex",
    /// A condition variable between tasks.
    Condition = "condition",
    /// A channel between tasks.
    Channel = "channel",
    /// An atomic cell between tasks.
    Cell = "cell",
    /// mmap(2) of shared memory: SQLite's xShmMap
    MapShared = "shm-map",
    /// SQLite's xShmLock
    SharedLock = "shm-lock",
    /// SQLite's xShmBarrier
    SharedBarrier = "shm-barrier",
    /// SQLite's xShmUnmap
    UnmapShared = "shm-unmap",
    /// SQLite's xLock
    DatabaseLock = "db-lock",
    /// SQLite's xUnlock
    DatabaseUnlock = "db-unlock",
    /// SQLite's xFileControl
    FileControl = "file-control",
    /// SQLite's xUnfetch
    Unfetch = "unfetch",
    /// access(2)
    Access = "access",
    /// bind(2): a mailbox for messages
    Bind = "bind",
    /// close(2) of a mailbox
    Unbind = "unbind",
    /// sendto(2)
    Send = "send",
    /// recvfrom(2)
    Receive = "receive",
}

impl CallKind {
    /// Whether its data is the path or paths that it names. A stat of an open file names none.
    pub const fn names_paths(self) -> bool {
        matches!(
            self,
            CallKind::Open
                | CallKind::Rename
                | CallKind::Link
                | CallKind::Unlink
                | CallKind::MakeDirectory
                | CallKind::RemoveDirectory
                | CallKind::ReadDirectory
                | CallKind::Stat
                | CallKind::Access
        )
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It returned. Code 0 is success.
    Exited {
        /// The exit status.
        code: u8,
        /// The program's own words.
        why: String,
    },
    /// It was killed.
    Killed,
    /// The machine went down under it.
    Crashed,
}

/// One event. It borrows: an observer copies what it wants to keep, as a [`super::Record`].
#[derive(Clone, Debug, Serialize)]
pub struct Event<'a> {
    /// The number of the step that made it; the first step is 1.
    pub step: u64,
    /// Simulated time since the start of the run, in nanoseconds.
    pub time_ns: u64,
    /// The process that it happened to; `None` when it happened to the machine.
    pub process: Option<ProcessId>,
    /// The task that made the call, if one did.
    pub task: Option<TaskId>,
    /// The process's boot: 1 at first, one more after each restart; 0 for the machine.
    pub boot: u32,
    /// What happened.
    pub body: Body<'a>,
}

/// What happened. Closed: a new kind of event is a change of the trace format.
#[derive(Clone, Debug, Serialize)]
pub enum Body<'a> {
    /// A system call took effect.
    Call {
        /// Which.
        kind: CallKind,
        /// What it touched: an inode, a lock, a key; 0 for nothing.
        object: u64,
        /// Its arguments, as far as they are numbers.
        arguments: [u64; 2],
        /// What it returned.
        result: Result<u64, Errno>,
        /// Bytes read or written, or the path or paths (separated by a NUL) that it named.
        #[serde(serialize_with = "super::record::bytes::serialize")]
        data: &'a [u8],
        /// How long it took, from its announcement, in simulated nanoseconds.
        took_ns: u64,
    },
    /// A call must wait: for a lock, a message, a task.
    Blocked {
        /// Which call.
        kind: CallKind,
        /// What it waits for.
        object: u64,
    },
    /// A program said what it believes. Decode with [`Event::claim`].
    Claim {
        /// The claim's kind.
        kind: &'a str,
        /// Its encoded body.
        #[serde(serialize_with = "super::record::bytes::serialize")]
        bytes: &'a [u8],
    },
    /// A planned fault fired.
    Fault {
        /// Its kind.
        kind: FaultKind,
        /// Its id in the plan.
        id: u32,
    },
    /// A process started (again).
    Started {
        /// Its PID in this boot.
        pid: u32,
    },
    /// A process ended.
    Ended(&'a Ended),
    /// A process was stopped, as by SIGSTOP.
    Paused,
    /// A process went on, as by SIGCONT.
    Resumed,
    /// A process was asked to end, as by SIGTERM.
    TerminationRequested,
    /// The machine lost power. The disk already shows what survived.
    MachineCrashed,
    /// The machine is up again.
    MachineStarted,
    /// The wall clock jumped by so many nanoseconds.
    ClockJumped(i64),
    /// The chaos is over: no more faults, all processes up, time in order.
    CalmBegan,
    /// A planned fault hit a message, just after it was sent. Its sender is the event's process.
    MessageFault {
        /// Its kind.
        kind: FaultKind,
        /// Its id in the plan.
        id: u32,
        /// The message's id: the object of its `send`.
        message: u64,
    },
    /// A message, or one copy of it, will not arrive, and no fault of messages is to blame. Its sender is the event's process.
    MessageDropped {
        /// The message's id.
        message: u64,
        /// Why.
        why: Dropped,
    },
    /// A partition is over.
    PartitionHealed {
        /// The id of the fault in the plan.
        id: u32,
    },
}

/// Why a message doesn't arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dropped {
    /// There is no mailbox at its address.
    Nobody,
    /// The mailbox is full.
    Full,
    /// It was in a mailbox that was closed, or died, before anybody took it out.
    Unread,
    /// A partition cuts it off: the fault of this id.
    Cut(u32),
    /// The machine lost power while it was under way.
    PowerLoss,
}

impl<'a> Event<'a> {
    /// The claim's body, if this is a claim of kind `C`.
    pub fn claim<C: crate::sys::claim::Claim>(&self) -> Option<C> {
        match self.body {
            Body::Claim { kind, bytes } if kind == C::KIND => crate::sys::claim::decode(bytes),
            _ => None,
        }
    }
}

/// Which events an observer wants. The driver calls it for no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(u64);

impl Interest {
    const FIRST_BODY: u32 = 56;
    /// Nothing.
    pub const NONE: Interest = Interest(0);
    /// Everything.
    pub const ALL: Interest = Interest(u64::MAX);
    /// Claims.
    pub const CLAIMS: Interest = Interest(1 << CallKind::Claim as u64);
    /// Calls that had to wait.
    pub const BLOCKED: Interest = Interest(1 << Self::FIRST_BODY);
    /// Faults that fired, partitions that healed.
    pub const FAULTS: Interest = Interest(1 << (Self::FIRST_BODY + 1));
    /// Starts, ends, pauses of processes, and of the machine; the beginning of the calm phase.
    pub const LIVES: Interest = Interest(1 << (Self::FIRST_BODY + 2));
    /// Messages that don't arrive, but for those that a fault of messages has hit: these are among [`Interest::FAULTS`].
    pub const DROPPED: Interest = Interest(1 << (Self::FIRST_BODY + 3));

    /// Calls of one kind.
    pub const fn call(kind: CallKind) -> Interest {
        Interest(1 << kind as u64)
    }

    /// Both.
    pub const fn and(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Whether the two have something in common.
    #[inline]
    pub const fn meets(self, other: Interest) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has the kind of event with this number.
    pub(crate) const fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    /// The number of its kind of event, of one that has only one.
    #[inline]
    pub(crate) const fn bit(self) -> u32 {
        self.0.trailing_zeros() & 63
    }

    /// What `body` belongs to.
    #[inline]
    pub fn of(body: &Body<'_>) -> Interest {
        match body {
            Body::Call { kind, .. } => Interest::call(*kind),
            Body::Blocked { .. } => Interest::BLOCKED,
            Body::Claim { .. } => Interest::CLAIMS,
            Body::Fault { .. } | Body::MessageFault { .. } | Body::PartitionHealed { .. } => Interest::FAULTS,
            Body::MessageDropped { .. } => Interest::DROPPED,
            _ => Interest::LIVES,
        }
    }
}

const _: () =
    assert!(CallKind::ALL.len() <= Interest::FIRST_BODY as usize, "call kinds have outgrown the interest mask");
