//! The scenario: how a seed becomes a plan, who runs, what goes wrong, what must hold.

use crate::claims::{Committed, Deposed, Elected, Voted};
use crate::invariants::{ONE_LEADER, ONE_VOTE, OneLeader, OneVote};
use crate::invariants::{TICKETS_KEPT, TICKETS_TOLD, TicketsKept, TicketsTold};
use crate::message::Message;
use crate::server::Server;
use crate::state::{State, folder};
use crate::{bugs, client};
use seedstorm_sim::plan::{Between, FaultKind, FaultPlan, Operation, OptionsError, Place, PlantedBug};
use seedstorm_sim::plan::{Refusal, Trigger};
use seedstorm_sim::seed::Stream;
use seedstorm_sim::sys::claim::ClaimKind;
use seedstorm_sim::{Draw, Errno, Exit, Options, Plan, Scenario, Seed, Sys, World};
use std::ops::RangeInclusive;

const MS: u64 = 1_000_000;
const CLIENTS: u64 = 3;
const TICKETS: u64 = 8;
/// The setting that says how many servers there are.
const SERVERS: &str = "servers";
const SERVERS_ALLOWED: RangeInclusive<u64> = 3..=9;
/// A run without any fault takes about as long.
const FAULTS_UNTIL_NS: u64 = 1_500 * MS;
/// Once nothing fails any more, all clients have their tickets within that, or `progress` is violated.
const CALM_NS: u64 = 30_000 * MS;
/// More or less.
const STEPS: u64 = 3_000;

pub(crate) struct Election;

fn servers_of(plan: &Plan) -> Vec<String> {
    (0..plan.setting_u64(SERVERS, 3)).map(|index| format!("server-{index}")).collect()
}

fn servers_allowed() -> String {
    format!("{} to {}", SERVERS_ALLOWED.start(), SERVERS_ALLOWED.end())
}

fn client_name(index: u64) -> String {
    format!("client-{index}")
}

const LIVES: [FaultKind; 4] = [FaultKind::Kill, FaultKind::Pause, FaultKind::MachineCrash, FaultKind::Partition];
const MESSAGES: [FaultKind; 4] =
    [FaultKind::MessageLoss, FaultKind::MessageDuplicate, FaultKind::MessageDelay, FaultKind::MessageReorder];

/// What goes wrong. Each kind hits some seeds only: where everything fails at once, nothing else happens.
fn faults(stream: &mut Stream, mut servers: Vec<String>) -> Vec<FaultPlan> {
    let minority_most = (servers.len() as u64 - 1) / 2;
    let mut drawn = Vec::new();
    for (kind, most) in LIVES.into_iter().zip([3, 2, 1, 3]) {
        for _ in 0..stream.between(0, most) {
            stream.shuffle(&mut servers);
            let mut fault = FaultPlan::new(0, kind, None, Trigger::AtNs(stream.below(FAULTS_UNTIL_NS)));
            fault.for_ns = stream.between(50, 900) * MS;
            match kind {
                FaultKind::Partition => {
                    let from = servers[..stream.between(1, minority_most) as usize].to_vec();
                    fault.between = Some(Between { from, to: Vec::new(), one_way: stream.chance(1, 4) });
                }
                FaultKind::MachineCrash => {}
                _ => fault.process = Some(servers[0].clone()),
            }
            drawn.push(fault);
        }
    }
    for kind in MESSAGES {
        if stream.chance(1, 2) {
            let per_mille = stream.between(20, 400) as u32;
            let when = Trigger::Weather { from_ns: 0, until_ns: FAULTS_UNTIL_NS, per_mille };
            let for_ns = stream.between(1, 100) * MS;
            drawn.push(FaultPlan { for_ns, ..FaultPlan::new(0, kind, None, when) });
        }
    }
    drawn.into_iter().zip(1..).map(|(fault, id)| FaultPlan { id, ..fault }).collect()
}

async fn make(sys: &Sys, folders: &[String]) -> Result<(), Errno> {
    for folder in folders {
        sys.mkdir(folder).await?;
    }
    sys.sync_dir("/").await
}

impl Scenario for Election {
    fn name(&self) -> &'static str {
        "election"
    }

    fn about(&self) -> &'static str {
        "servers that elect a leader, who gives numbered tickets to clients"
    }

    /// Its programs ask nobody but `Sys` for time and chance.
    fn is_self_contained(&self) -> bool {
        true
    }

    fn faults(&self) -> &'static [FaultKind] {
        const { &[LIVES, MESSAGES] }.as_flattened()
    }

    /// Everything that a seed decides. What the command line says comes before what is drawn.
    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let settings = options.settings(&[], &self.planted_bugs())?;
        let mut stream = seed.stream("election");
        let drawn = if stream.chance(1, 2) { 3 } else { 5 };
        let servers = options.workers.map_or(drawn, u64::from);
        if !SERVERS_ALLOWED.contains(&servers) {
            let (option, value) = ("--workers".into(), servers.to_string());
            return Err(OptionsError { option, value, allowed: servers_allowed() });
        }
        let operation = |id| Operation {
            id,
            process: client_name(id % CLIENTS),
            kind: "ticket".into(),
            not_before_ns: 0,
            think_ns: stream.below(250 * MS),
            arguments: Default::default(),
        };
        let operations: Vec<Operation> = (1..=CLIENTS * TICKETS).map(operation).collect();
        let mut plan = Plan { settings, operations, ..Plan::plain(self.name(), seed) };
        plan.settings.insert(SERVERS.into(), (servers as i64).into());
        plan.faults = options.faults.choose(faults(&mut stream, servers_of(&plan)));
        plan.strategy = options.strategy_of(seed, STEPS);
        plan.chaos_ns = options.duration_ns.unwrap_or(5_000 * MS);
        plan.calm_ns = CALM_NS;
        Ok(plan)
    }

    /// A plan from a file holds nothing that the options would refuse.
    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        plan.check_planted_bug(&self.planted_bugs())?;
        let servers = plan.setting_u64(SERVERS, 0);
        if !SERVERS_ALLOWED.contains(&servers) {
            return Err(Refusal::value(Place::Setting(SERVERS.into()), servers.to_string(), servers_allowed()));
        }
        let is_stray = |operation: &&Operation| !(0..CLIENTS).any(|index| operation.process == client_name(index));
        plan.operations.iter().find(is_stray).map_or(Ok(()), |stray| {
            let place = Place::Operation { id: stray.id, key: Some("process".into()) };
            Err(Refusal::value(place, &stray.process, (0..CLIENTS).map(client_name).collect::<Vec<_>>().join(", ")))
        })
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        let servers = servers_of(plan);
        let folders: Vec<String> = servers.iter().map(|server| folder(server)).collect();
        world.prepare(move |sys| {
            let folders = folders.clone();
            async move {
                make(&sys, &folders).await.map_or_else(|error| Exit::failure(error.to_string()), |()| Exit::success())
            }
        });
        let bug = plan.setting_str(seedstorm_sim::plan::MUTANT).unwrap_or_default().to_owned();
        for index in 0..servers.len() as u32 {
            let (servers, bug) = (servers.clone(), bug.clone());
            world.daemon("server", index, move |sys| Server::run(sys, servers.clone(), bug.clone()));
        }
        for index in 0..CLIENTS {
            let mine = plan.operations.iter().filter(|operation| operation.process == client_name(index));
            let (servers, mine) = (servers.clone(), mine.cloned().collect::<Vec<_>>());
            world.process("client", index as u32, move |sys| client::run(sys, servers.clone(), mine.clone()));
        }
        world.invariant(OneVote::default());
        world.invariant(OneLeader::of(servers.len()));
        world.invariant(TicketsKept::of(servers));
        // Of one event the first that says something is told: this one says least of why.
        world.invariant(TicketsTold::default());
    }

    fn recover(&self, plan: &Plan, world: &mut World) {
        for index in 0..servers_of(plan).len() as u32 {
            world.process("server", index, |sys| async move {
                State::load(&sys).await.map_or_else(Exit::failure, |_| Exit::success())
            });
        }
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[
            "elected",
            "deposed",
            "split_vote",
            "two_leaders_of_two_terms",
            "healed_with_old_leader",
            "partition_healed",
            "duplicated",
            "reordered",
        ]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (ONE_VOTE, "a server votes once in a term, also if it is killed or loses power"),
            (ONE_LEADER, "a term has one leader, whom a majority has voted for"),
            (
                TICKETS_KEPT,
                "what a leader has committed each later one has, and a power loss leaves; no request has two tickets",
            ),
            (TICKETS_TOLD, "a ticket that a client has stays its own, and each later leader has it under that number"),
        ]
    }

    fn claims(&self) -> Vec<ClaimKind> {
        vec![
            ClaimKind::of::<Voted>(),
            ClaimKind::of::<Elected>(),
            ClaimKind::of::<Deposed>(),
            ClaimKind::of::<Committed>(),
        ]
    }

    fn message_in_words(&self, bytes: &[u8]) -> Option<String> {
        Message::from_bytes(bytes).map(|message| message.to_string())
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        bugs::all()
    }
}
