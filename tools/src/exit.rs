//! Exit codes, and the problems that end a command before it has a verdict. Which verdict a run has is in `report`.

use crate::hang::Hang;
use crate::interrupt::Reached;
use crate::refused;
use seedstorm_sim::plan::Refusal;
use std::io;
use std::process::ExitCode;

/// How the program ends. The numbers are a contract: scripts and CI read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every invariant held.
    Pass = 0,
    /// An invariant was violated.
    Violated = 1,
    /// The command line or an input file is wrong, or an output can't be written.
    Usage = 2,
    /// A latency is over its budget.
    OverBudget = 3,
    /// Nothing ran, something that must happen sometimes never did, or a part of what was to be judged is missing.
    Vacuous = 4,
    /// One plan gave two different runs.
    Nondeterministic = 5,
    /// The harness itself is broken.
    Internal = 70,
    /// `replay --git-bisect`: this commit can't be judged (what `git bisect run` skips).
    Unclear = 125,
    /// `replay --git-bisect`: our own error (what ends `git bisect run`).
    Broken = 128,
    /// A signal ended a command before it had its verdict (128 and SIGINT, as shells say it). A sweep that had found a failure by then has one.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command has no verdict.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The person who called must change something. The text says what.
    Usage(String),
    /// The same, of something in a plan that only its run could tell: whoever knows where the plan came from says the line.
    Refused(Box<Refusal>),
    /// Whoever read the output has closed it: nothing is left to say, and nobody to say it to.
    OutputClosed,
    /// A signal ended it.
    Interrupted(Interrupted),
    /// Code that makes no system call: what it hangs in is a violation, and nothing else can be run.
    Hung(Box<Hang>),
    /// The harness or the machine it runs on is broken.
    Internal(anyhow::Error),
}

/// When a signal ended a command.
#[derive(Clone, Debug)]
pub(crate) enum Interrupted {
    /// While something was run.
    Running(Reached),
    /// At something else, in words.
    Else(&'static str),
}

impl From<Reached> for Interrupted {
    fn from(reached: Reached) -> Interrupted {
        Interrupted::Running(reached)
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Interrupted::Running(reached) => write!(f, "the run was ended {reached}"),
            Interrupted::Else(words) => f.write_str(words),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Usage(message) => f.write_str(message),
            Problem::Refused(refusal) => f.write_str(&refused::in_plan(refusal)),
            Problem::OutputClosed => f.write_str("the output was closed"),
            Problem::Interrupted(when) => write!(f, "interrupted: {when}"),
            Problem::Hung(hang) => hang.fmt(f),
            Problem::Internal(error) => write!(f, "{error:#}"),
        }
    }
}

impl Problem {
    /// A usage problem.
    pub(crate) fn usage(message: impl Into<String>) -> Problem {
        Problem::Usage(message.into())
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Problem {
        Problem::Internal(error)
    }
}

/// For writes to the standard output, the one place where an error without a context of its own comes from.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Problem::OutputClosed,
            _ => Problem::Usage(format!("the standard output can't be written: {error}")),
        }
    }
}

/// Ends a command that has told everything: with its verdict, or with what could not be written beside it.
///
/// # Errors
/// Something could not be written.
pub(crate) fn unless_unwritten(exit: Exit, unwritten: Option<String>) -> Result<Exit> {
    match unwritten {
        None => Ok(exit),
        Some(why) => Err(Problem::Usage(why)),
    }
}

/// Lets a command go on that nobody listens to any more: its exit code still tells.
///
/// # Errors
/// Any other error.
pub(crate) fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// What a command gives.
pub(crate) type Result<T> = std::result::Result<T, Problem>;
