//! What an agent of a scenario is to do, and how its lives end. How it is done is in `swarm` and `flood`.

use seedstorm_model::agent::AgentError;
use seedstorm_sim::plan::Operation;
use seedstorm_sim::{Exit, Plan};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The exit code of an agent that was asked to end: 128 and SIGTERM, as shells count.
pub const TERMINATED: u8 = 128 + 15;

/// The exit code of an agent of a recovery that got awake and could do nothing then (sysexits.h: EX_UNAVAILABLE).
pub const NOT_WELL_AWAKE: u8 = 69;

/// So many failures of an agent are final, as for a service manager: no further start heals a database that a lying disk has damaged. Where
/// nothing excuses a failure, the first one is a violation, and nobody gets here.
const FAILURES_MAX: u32 = 100;

/// What an agent is to do, and how far it has got. It outlives the agent's deaths, as a person at a terminal would: an operation that was not
/// answered is asked for again.
pub(crate) struct Script<W> {
    operations: Vec<Planned<W>>,
    next: Cell<usize>,
    /// How often the agent has ended by itself.
    failures: Cell<u32>,
}

/// One operation of a script.
pub(crate) struct Planned<W> {
    /// Its id in the plan.
    pub(crate) id: u64,
    /// When it is due at the earliest, in nanoseconds.
    pub(crate) not_before_ns: u64,
    /// How long its agent pauses before it, in nanoseconds.
    pub(crate) think_ns: u64,
    /// What to do, as the agent is asked for it.
    pub(crate) work: W,
}

impl<W> Script<W> {
    /// The scripts of so many agents, `agent-0` first.
    pub(crate) fn of_agents(plan: &Plan, workers: u32, work: impl Fn(&Operation) -> W) -> Vec<Rc<Script<W>>> {
        let mut operations: BTreeMap<&str, Vec<Planned<W>>> = BTreeMap::new();
        for operation in &plan.operations {
            let Operation { id, not_before_ns, think_ns, .. } = *operation;
            let planned = Planned { id, not_before_ns, think_ns, work: work(operation) };
            operations.entry(&operation.process).or_default().push(planned);
        }
        let script = |index| {
            let operations = operations.remove(format!("agent-{index}").as_str()).unwrap_or_default();
            Rc::new(Script { operations, next: Cell::new(0), failures: Cell::new(0) })
        };
        (0..workers).map(script).collect()
    }

    /// What comes next; `None` when all is done.
    pub(crate) fn next(&self) -> Option<&Planned<W>> {
        self.operations.get(self.next.get())
    }

    /// What came next is done.
    pub(crate) fn advance(&self) {
        self.next.set(self.next.get() + 1);
    }

    /// How the process of an agent ends that has carried out what it could.
    pub(crate) fn exit(&self, carried_out: Result<(), End>) -> Exit {
        match carried_out {
            Ok(()) => Exit::success(),
            Err(End::Terminated) => Exit { code: TERMINATED, why: "asked to end".into() },
            Err(End::Failed(error)) => {
                self.failures.set(self.failures.get() + 1);
                if self.failures.get() < FAILURES_MAX {
                    return exit(&error);
                }
                Exit { code: 0, why: format!("given up: {error}") }
            }
        }
    }
}

/// Why an agent ended before its script did.
pub(crate) enum End {
    Terminated,
    Failed(AgentError),
}

impl From<AgentError> for End {
    fn from(error: AgentError) -> End {
        End::Failed(error)
    }
}

/// How a process ends with an error of the engine.
pub(crate) fn exit(error: &AgentError) -> Exit {
    Exit { code: error.exit_code(), why: error.to_string() }
}
