//! The fault vocabulary: what may go wrong, and when. The injector that carries it out is in `kernel::inject`.

use crate::sys::disk::SECTOR_BYTES;
use crate::trace::CallKind;
use serde::{Deserialize, Serialize};

macro_rules! fault_kinds {
    ($($(#[doc = $about:literal])* $name:ident = $text:literal voids $voids:literal,)*) => {
        /// The kind of a fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum FaultKind { $($(#[doc = $about])* $name,)* }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &[FaultKind] = &[$(FaultKind::$name,)*];

            /// The name that plans, options and people use.
            pub const fn name(self) -> &'static str {
                match self { $(FaultKind::$name => $text,)* }
            }

            /// One line that says what it does.
            pub const fn about(self) -> &'static str {
                match self { $(FaultKind::$name => concat!($($about),*),)* }
            }

            /// Whether it voids durability: what an fsync has acknowledged may be lost. Invariants that rest on durability are not judged from then on
            /// ([`crate::invariant::Invariant::rests_on_durability`]); the others stay checked.
            pub const fn voids_durability(self) -> bool {
                match self { $(FaultKind::$name => $voids,)* }
            }
        }
    };
}

fault_kinds! {
    /// SIGKILL: the process, its descriptors and its locks are gone at once.
    Kill = "kill" voids false,
    /// SIGTERM, then SIGKILL after a grace (`for_ns`).
    Terminate = "terminate" voids false,
    /// SIGSTOP for `for_ns`, then SIGCONT.
    Pause = "pause" voids false,
    /// Power loss: every process dies, the disk keeps what its persistence profile allows; up again after `for_ns`.
    MachineCrash = "machine-crash" voids false,
    /// One call takes `for_ns` longer.
    Delay = "delay" voids false,
    /// The machine's wall clock jumps by `by_ns`.
    ClockJump = "clock-jump" voids false,
    /// A read or write fails with EIO and has no effect.
    IoError = "io-error" voids false,
    /// A write fails with ENOSPC.
    NoSpace = "no-space" voids false,
    /// fsync fails once; what it should have kept counts as clean and is not durable.
    // Told to the caller, and yet more than SQLite can bear: a partial checkpoint counts its pages as moved without an fsync (wal.c, walCheckpoint), so the
    // pages that a later fsync loses are never written again.
    FailedSync = "failed-sync" voids true,
    /// fsync returns success and makes nothing durable.
    LyingSync = "lying-sync" voids true,
    /// Power fails inside a write: some of its sectors reach the disk.
    TornWrite = "torn-write" voids false,
    /// A write takes in only its first bytes and says so.
    ShortWrite = "short-write" voids false,
    /// SIGKILL, and a bystander gets the dead process's PID for `for_ns`.
    PidReuse = "pid-reuse" voids false,
    /// A message never arrives.
    MessageLoss = "message-loss" voids false,
    /// A message arrives twice, the second time `for_ns` later; under weather up to that.
    MessageDuplicate = "message-duplicate" voids false,
    /// A message takes `for_ns` longer; under weather up to that.
    MessageDelay = "message-delay" voids false,
    /// A message is held back until a later one of its sender to the same receiver has overtaken it, for `for_ns` (or one second) at most.
    MessageReorder = "message-reorder" voids false,
    /// One bit of a message arrives as the other.
    MessageGarble = "message-garble" voids false,
    /// Messages between two sets of processes are lost, both ways or one, for `for_ns` (or until the calm).
    Partition = "partition" voids false,
}

impl FaultKind {
    /// The kind of that name.
    pub fn parse(name: &str) -> Option<FaultKind> {
        FaultKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it happens to a call, rather than to a process or to the machine at a time.
    pub const fn needs_call(self) -> bool {
        match self {
            FaultKind::IoError
            | FaultKind::NoSpace
            | FaultKind::TornWrite
            | FaultKind::ShortWrite
            | FaultKind::FailedSync
            | FaultKind::LyingSync
            | FaultKind::Delay
            | FaultKind::MessageLoss
            | FaultKind::MessageDuplicate
            | FaultKind::MessageDelay
            | FaultKind::MessageReorder
            | FaultKind::MessageGarble => true,
            FaultKind::Kill
            | FaultKind::Terminate
            | FaultKind::Pause
            | FaultKind::MachineCrash
            | FaultKind::ClockJump
            | FaultKind::PidReuse
            | FaultKind::Partition => false,
        }
    }

    /// Whether it happens to a message. Such a fault may be weather, and several may hit one message.
    pub const fn hits_messages(self) -> bool {
        matches!(
            self,
            FaultKind::MessageLoss
                | FaultKind::MessageDuplicate
                | FaultKind::MessageDelay
                | FaultKind::MessageReorder
                | FaultKind::MessageGarble
        )
    }

    /// What can happen where nobody sends messages: all but what needs some.
    pub const WITHOUT_MESSAGES: &[FaultKind] = &[
        FaultKind::Kill,
        FaultKind::Terminate,
        FaultKind::Pause,
        FaultKind::MachineCrash,
        FaultKind::Delay,
        FaultKind::ClockJump,
        FaultKind::IoError,
        FaultKind::NoSpace,
        FaultKind::FailedSync,
        FaultKind::LyingSync,
        FaultKind::TornWrite,
        FaultKind::ShortWrite,
        FaultKind::PidReuse,
    ];

    /// Whether it is the machine's own, so that no process need be named.
    pub const fn is_of_machine(self) -> bool {
        matches!(self, FaultKind::MachineCrash | FaultKind::ClockJump | FaultKind::Partition)
    }

    /// The kinds of call that it can hit; `None` is any.
    pub const fn calls(self) -> Option<&'static [CallKind]> {
        match self {
            FaultKind::IoError => Some(&[CallKind::Read, CallKind::ReadAt, CallKind::Write, CallKind::WriteAt]),
            FaultKind::NoSpace | FaultKind::TornWrite | FaultKind::ShortWrite => {
                Some(&[CallKind::Write, CallKind::WriteAt])
            }
            FaultKind::FailedSync | FaultKind::LyingSync => Some(&[CallKind::Sync]),
            _ if self.hits_messages() => Some(&[CallKind::Send]),
            _ => None,
        }
    }

    /// Whether it can hit a call: one byte can't be written short, nor can one sector be torn.
    pub(crate) fn can_hit_call(self, kind: CallKind, arguments: [u64; 2]) -> bool {
        let [offset, len_bytes] = arguments;
        self.calls().is_none_or(|calls| calls.contains(&kind))
            && match self {
                FaultKind::ShortWrite => len_bytes > 1,
                FaultKind::TornWrite if kind == CallKind::WriteAt => {
                    len_bytes > 1 && offset / SECTOR_BYTES != offset.saturating_add(len_bytes - 1) / SECTOR_BYTES
                }
                // Where the cursor stands is not known here: so many bytes touch two sectors wherever they go.
                FaultKind::TornWrite => len_bytes > SECTOR_BYTES,
                _ => true,
            }
    }
}

/// One fault of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Unique in the plan.
    pub id: u32,
    /// What goes wrong.
    pub kind: FaultKind,
    /// The process that it hits, by name; not for the machine's own faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// When.
    pub when: Trigger,
    /// How long it lasts, where that has a meaning, in simulated nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub for_ns: u64,
    /// How far a clock jumps, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero_signed")]
    pub by_ns: i64,
    /// Whose messages a partition cuts, or weather hits; for weather, absent is everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
}

impl FaultPlan {
    /// A fault that lasts for no time and moves no clock.
    pub fn new(id: u32, kind: FaultKind, process: Option<String>, when: Trigger) -> FaultPlan {
        FaultPlan { id, kind, process, when, for_ns: 0, by_ns: 0, between: None }
    }
}

/// Messages between two sets of processes. A process's messages to itself are never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// The processes of one side, by name.
    pub from: Vec<String>,
    /// The processes of the other side, by name; none named is all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Only messages from `from` to `to`, none of the other direction.
    #[serde(default, skip_serializing_if = "is_false")]
    pub one_way: bool,
}

impl Between {
    fn check(&self) -> Result<(), String> {
        if self.from.is_empty() {
            return Err("`between.from` names nobody: whose messages are meant?".into());
        }
        match self.from.iter().find(|name| self.to.contains(name)) {
            Some(name) => Err(format!("`between` has `{name}` on both sides")),
            None => Ok(()),
        }
    }
}

impl FaultPlan {
    /// Whether the fault can ever happen.
    ///
    /// # Errors
    /// Which key is wrong, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        let (call, nth) = match self.when {
            Trigger::AtNs(_) => (None, None),
            Trigger::Call { kind, nth } => (Some(kind), Some(nth)),
            Trigger::While { nth, .. } => (None, Some(nth)),
            Trigger::Weather { .. } => return self.check_weather(),
        };
        self.check_between()?;
        if self.process.is_none() && !(self.kind.is_of_machine() && nth.is_none()) {
            return Err("`process` is missing: whose call or life is meant?".into());
        }
        if self.kind.hits_messages() && matches!(self.when, Trigger::While { .. }) {
            return Err("no position is of use to it; allowed: `call` with kind `send`, `at-ns`, `weather`".into());
        }
        if nth == Some(0) {
            return Err("`nth` is 0; the first call is 1".into());
        }
        let Some(call) = call else { return Ok(()) };
        let names = |calls: &[CallKind]| calls.iter().map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
        match self.kind.calls() {
            _ if matches!(call, CallKind::Boot | CallKind::Start | CallKind::Wake) => {
                Err(format!("`{call}` is a step of the harness, no call of a program: no fault can wait for it"))
            }
            Some(calls) if !calls.contains(&call) => {
                Err(format!("it can't hit a `{call}` call; allowed: {}", names(calls)))
            }
            _ => Ok(()),
        }
    }

    fn check_between(&self) -> Result<(), String> {
        match (&self.between, self.kind) {
            (None, FaultKind::Partition) => {
                Err("`between` is missing: whose messages are cut? For example `between = { from = [\"a-0\"] }`".into())
            }
            (Some(between), FaultKind::Partition) => between.check(),
            (Some(_), kind) if kind.hits_messages() => {
                Err("`between` is for weather; a fault that is aimed at one message names its sender in `process`"
                    .into())
            }
            (Some(_), _) => {
                Err("it knows no `between`; allowed: partition, and faults of messages under weather".into())
            }
            (None, _) => Ok(()),
        }
    }

    fn check_weather(&self) -> Result<(), String> {
        let Trigger::Weather { from_ns, until_ns, per_mille } = self.when else { return Ok(()) };
        if !self.kind.hits_messages() {
            let messages = FaultKind::ALL.iter().filter(|kind| kind.hits_messages());
            let names: Vec<String> = messages.map(|kind| format!("`{}`", kind.name())).collect();
            return Err(format!("it can't be weather; allowed: {}", names.join(", ")));
        }
        if self.process.is_some() {
            return Err("weather has no `process`; allowed: `between`".into());
        }
        if until_ns <= from_ns {
            return Err(format!("`until_ns` is {until_ns}: weather ends after it has begun, at {from_ns}"));
        }
        if !(1..=1000).contains(&per_mille) {
            return Err(format!("`per_mille` is {per_mille}; allowed: 1 to 1000"));
        }
        self.between.as_ref().map_or(Ok(()), Between::check)
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_zero_signed(value: &i64) -> bool {
    *value == 0
}

/// When a fault fires. Each fires once, but for weather.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trigger {
    /// At a time since the start of the run, in simulated nanoseconds.
    AtNs(u64),
    /// At the n-th call of a kind that the process makes, over all its boots; the first is 1.
    Call {
        /// The kind.
        kind: CallKind,
        /// Which one.
        nth: u64,
    },
    /// At the n-th call that the process makes while it is in a position, over all its boots; the first is 1.
    While {
        /// The position.
        position: Position,
        /// Which call in it.
        nth: u64,
    },
    /// For a time, at a share of the messages that are sent: which, depends on the seed, the fault and the message alone.
    Weather {
        /// When it begins, in simulated nanoseconds since the start of the run.
        from_ns: u64,
        /// When it is over. The calm ends it too.
        until_ns: u64,
        /// The share, in thousandths.
        per_mille: u32,
    },
}

/// Where a process can be. The harness knows it from system calls and claims; the model carries no hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// It holds a lock that it claimed.
    HoldingLock,
    /// It has created a file exclusively and neither renamed nor removed it yet.
    BetweenTempAndRename,
    /// It holds the write lock of a SQLite database in WAL mode.
    InTransaction,
    /// It has a write's effect behind it that it hasn't claimed yet: the first claim after a transaction's end.
    BetweenEffectAndClaim,
}

impl Position {
    /// The position's bit in a process's set.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}
