//! Agents that flood each other with signals: the processes of signal-flood. The bus itself is in `model`.

use crate::plans::workers_of;
use crate::script::{End, Script, exit};
use crate::swarm;
use seedstorm_model::agent::{self, AgentError};
use seedstorm_model::bus::{BusConfig, From, Member, Outgoing, RateLimit, SendOutcome, To};
use seedstorm_model::config::Config;
use seedstorm_sim::plan::Operation;
use seedstorm_sim::{Draw, Exit, Plan, Sys, World};
use std::rc::Rc;
use toml::Value;

/// What all agents of a flood know.
struct Flood {
    config: Config,
    workers: u32,
    /// How long an agent leaves the durable queue alone while it is busy, in nanoseconds.
    poll_ns: u64,
}

/// Adds the preparation, and an agent for each process that the plan's settings name.
pub fn populate(plan: &Plan, world: &mut World) {
    let flood = Rc::new(Flood::of(plan));
    let prepared = flood.clone();
    world.prepare(move |sys| {
        let flood = prepared.clone();
        async move {
            match agent::prepare(&sys, &flood.config, &[], &[], 0).await {
                Ok(()) => Exit::success(),
                Err(error) => exit(&error),
            }
        }
    });
    for (index, script) in (0..).zip(Script::of_agents(plan, flood.workers, Operation::clone)) {
        let flood = flood.clone();
        world.process("agent", index, move |sys| run(sys, flood.clone(), script.clone()));
    }
}

/// Adds agents of a plan as they come up after a crash, so many at most: each begins a life on the bus, and leaves it.
pub fn recover(plan: &Plan, agents_max: u32, world: &mut World) {
    let flood = Rc::new(Flood::of(plan));
    for index in 0..flood.workers.min(agents_max) {
        let flood = flood.clone();
        world.process("agent", index, move |sys| {
            let flood = flood.clone();
            async move {
                let joined = Member::join(&sys, &flood.config).await;
                let left = match joined {
                    Ok(member) => member.leave(&sys).await,
                    Err(error) => Err(error),
                };
                left.map_or_else(|error| exit(&error), |()| Exit::success())
            }
        });
    }
}

impl Flood {
    fn of(plan: &Plan) -> Flood {
        let default = BusConfig::default();
        let size = |key: &str, default: usize| plan.setting_u64(key, default as u64) as usize;
        let per_minute = plan.setting_u64("signals_per_minute", 0);
        let within_ns = 60 * SECOND_NS;
        let bus = BusConfig {
            queue_max: plan.setting_u64("queue_max", default.queue_max),
            copies_max: size("copies_max", default.copies_max),
            mailbox_max: size("mailbox_max", default.mailbox_max),
            batch_max: size("batch_max", default.batch_max),
            rate_limit: (per_minute > 0).then_some(RateLimit { signals: per_minute as u32, within_ns }),
        };
        Flood {
            config: Config { bus: Some(bus), ..swarm::config(plan) },
            workers: workers_of(plan),
            poll_ns: plan.setting_u64("poll_ms", 20) * MS,
        }
    }
}

const MS: u64 = 1_000_000;
const SECOND_NS: u64 = 1000 * MS;

async fn run(sys: Sys, flood: Rc<Flood>, script: Rc<Script<Operation>>) -> Exit {
    script.exit(carry_out(&sys, &flood, &script).await)
}

/// Something that is tried again, a little later each time.
struct Retry {
    at_ns: u64,
    pause_ns: u64,
}

impl Retry {
    const FIRST_NS: u64 = MS;
    const LONGEST_NS: u64 = 256 * MS;

    fn new() -> Retry {
        Retry { at_ns: 0, pause_ns: Retry::FIRST_NS }
    }

    fn succeeded(&mut self) {
        *self = Retry::new();
    }

    /// Plans the next try: not before so many nanoseconds, with jitter of the agent's own, so that those who wait for one queue don't come together.
    fn failed(&mut self, sys: &Sys, least_ns: u64) {
        let pause_ns = self.pause_ns / 2 + sys.entropy().below(self.pause_ns);
        self.at_ns = sys.simulated_ns().saturating_add(pause_ns.max(least_ns));
        self.pause_ns = (self.pause_ns * 2).min(Retry::LONGEST_NS);
    }
}

/// An idle agent polls more and more seldom: at least this often, in nanoseconds, or as often as a busy one if that is more seldom.
const IDLE_LONGEST_NS: u64 = 400 * MS;

async fn carry_out(sys: &Sys, flood: &Flood, script: &Script<Operation>) -> Result<(), End> {
    let mut member = Member::join(sys, &flood.config).await?;
    let (mut sending, mut answering, mut finishing) = (Retry::new(), Retry::new(), Retry::new());
    let mut poll = Poll { at_ns: 0, pause_ns: flood.poll_ns };
    let mut begun = None;
    let mut is_finished = false;
    loop {
        if sys.is_terminating() {
            member.leave(sys).await?;
            return Err(End::Terminated);
        }
        let mut due_ns = poll.at_ns;
        if let Some(operation) = script.next() {
            let at_ns = operation.not_before_ns.max(sending.at_ns);
            if at_ns <= sys.simulated_ns() {
                if begun.replace(operation.id) != Some(operation.id) {
                    sys.begin_operation(operation.id);
                }
                if try_to(sys, &mut sending, member.send(sys, &outgoing(&operation.work)).await?) {
                    script.advance();
                    due_ns = 0;
                }
            }
            due_ns = due_ns.min(operation.not_before_ns.max(sending.at_ns));
        } else if !is_finished && finishing.at_ns <= sys.simulated_ns() {
            is_finished = member.finish(sys).await?;
            if !is_finished {
                finishing.failed(sys, 0);
            }
        }
        // Who waits for room in a queue goes on receiving: two with full queues must not wait for each other.
        if member.owes_answers() {
            if answering.at_ns <= sys.simulated_ns() {
                let answered = member.answer(sys).await?;
                try_to(sys, &mut answering, answered);
            }
            due_ns = due_ns.min(answering.at_ns);
        }
        member.listen(sys, due_ns.saturating_sub(sys.simulated_ns())).await;
        if member.has_news() && member.deliver(sys, From::Copies).await?.is_some_and(|done| !done.signals.is_empty()) {
            poll.pause_ns = flood.poll_ns;
        }
        if poll.at_ns > sys.simulated_ns() {
            continue;
        }
        if poll.now(sys, flood, &mut member).await?
            && is_finished
            && let Some(survey) = member.survey(sys).await?
            && (survey.finished, survey.queued, survey.owed) == (u64::from(flood.workers), 0, 0)
        {
            break;
        }
    }
    member.leave(sys).await?;
    Ok(())
}

/// When the durable queue is looked into next.
struct Poll {
    at_ns: u64,
    pause_ns: u64,
}

impl Poll {
    /// Gives whether nothing waits there any more.
    async fn now(&mut self, sys: &Sys, flood: &Flood, member: &mut Member) -> Result<bool, AgentError> {
        let done = member.deliver(sys, From::Queue).await?;
        let was_idle = done.as_ref().is_some_and(|done| done.signals.is_empty());
        let is_empty = done.as_ref().is_some_and(|done| done.waiting == 0);
        self.pause_ns =
            if was_idle { (self.pause_ns * 2).min(flood.poll_ns.max(IDLE_LONGEST_NS)) } else { flood.poll_ns };
        // What didn't fit into one transaction follows at once.
        let pause_ns = if was_idle || is_empty { self.pause_ns } else { 0 };
        self.at_ns = sys.simulated_ns() + pause_ns;
        Ok(is_empty)
    }
}

/// Whether it was sent; if not, when it is tried again.
fn try_to(sys: &Sys, retry: &mut Retry, outcome: SendOutcome) -> bool {
    match outcome {
        SendOutcome::Sent => {
            retry.succeeded();
            return true;
        }
        SendOutcome::Limited { wait_ns } => retry.failed(sys, wait_ns),
        SendOutcome::Full { .. } | SendOutcome::NoSuchMember | SendOutcome::NotNow => retry.failed(sys, 0),
    }
    false
}

fn outgoing(operation: &Operation) -> Outgoing {
    let text = |key: &str| operation.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let bytes = swarm::number(operation, "bytes") as usize;
    let mut content = format!("{}#{} ", operation.process, operation.id).into_bytes();
    content.resize(content.len().max(bytes), b'.');
    let to = text("to").map_or(To::All, To::Agent);
    Outgoing { to, content: content.into(), answer_by: text("answer_by"), operation: operation.id }
}
