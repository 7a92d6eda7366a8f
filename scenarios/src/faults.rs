//! Draws a plan's faults, in the manner of swarm testing (Groce et al. 2012): each seed draws which kinds are on, and how often.

use seedstorm_sim::plan::{Between, FaultKind, FaultPlan, Faults, Position, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Draw, Options, Seed, Stream};

/// What may go wrong in a scenario.
pub struct Menu {
    /// What does unless options say otherwise: a kind, how likely it is on in a seed, and how many of it there are then at most.
    pub kinds: &'static [(FaultKind, u64, u64)],
    /// What can when it is asked for.
    pub possible: &'static [FaultKind],
}

/// `Menu`'s chances are out of so many.
const CHANCES: u64 = 100;

impl Menu {
    /// Draws the faults of a seed among processes of these names. Each kind has a stream of its own.
    pub fn draw(
        &self,
        seed: Seed,
        options: &Options,
        processes: &[String],
        chaos_ns: u64,
        busy_ns: &[u64],
    ) -> Vec<FaultPlan> {
        let chosen: Vec<(FaultKind, u64, u64)> = match &options.faults {
            Faults::Exactly(faults) => return faults.clone(),
            Faults::None => Vec::new(),
            Faults::Default => self.kinds.to_vec(),
            // Kinds that are asked for by name are on in every seed; who names one twice has said it once. What can't happen here is asked of other scenarios.
            Faults::Kinds(kinds) => {
                let is_first = |(at, kind): &(usize, &FaultKind)| !kinds[..*at].contains(kind);
                let is_possible = |(_, kind): &(usize, &FaultKind)| self.possible.contains(kind);
                kinds
                    .iter()
                    .enumerate()
                    .filter(is_first)
                    .filter(is_possible)
                    .map(|(_, kind)| (*kind, CHANCES, self.most(*kind)))
                    .collect()
            }
        };
        let mut faults = Vec::new();
        for (kind, chance, most) in chosen {
            let mut stream = seed.stream(&format!("faults/{}", kind.name()));
            if !stream.chance(chance, CHANCES) {
                continue;
            }
            for number in 0..stream.between(1, most) {
                // The id keys the fault's own draws: it depends on its kind and number, not on the other faults.
                let id = kind as u32 * 1000 + number as u32 + 1;
                faults.push(draw_one(id, kind, &mut stream, processes, chaos_ns, busy_ns));
            }
        }
        faults
    }

    fn most(&self, kind: FaultKind) -> u64 {
        self.kinds.iter().find(|(of, _, _)| *of == kind).map_or(3, |(_, _, most)| *most)
    }
}

const MS: u64 = 1_000_000;

fn draw_one(
    id: u32,
    kind: FaultKind,
    stream: &mut Stream,
    processes: &[String],
    chaos_ns: u64,
    busy_ns: &[u64],
) -> FaultPlan {
    let process = stream.pick(processes).cloned();
    let moment = draw_moment(stream, chaos_ns, busy_ns);
    let magnitude = stream.between(1, 8);
    let nth = 1 + stream.below(1 << magnitude);
    let position = stream.pick(&POSITIONS).copied().unwrap_or(Position::InTransaction);
    let by_position = Trigger::While { position, nth: 1 + stream.below(12) };
    let way = stream.below(3);
    let lives = |call: CallKind| match way {
        0 => Trigger::AtNs(moment),
        1 => Trigger::Call { kind: call, nth },
        _ => by_position.clone(),
    };
    let call = stream.pick(&AIMED).copied().unwrap_or(CallKind::WriteAt);
    let length_ns = [5 * MS, 50 * MS, 500 * MS, 3_000 * MS][stream.below(4) as usize];
    let for_ns = 1 + stream.below(length_ns);
    let fault = FaultPlan::new(id, kind, process, Trigger::AtNs(moment));
    match kind {
        FaultKind::Kill => FaultPlan { when: lives(call), ..fault },
        FaultKind::Terminate | FaultKind::Pause => FaultPlan { when: lives(call), for_ns, ..fault },
        FaultKind::PidReuse => {
            // A PID matters to those who look at what its owner held.
            let holding = Trigger::While { position: Position::HoldingLock, nth: 1 + stream.below(24) };
            let when = if stream.chance(3, 4) { holding } else { lives(call) };
            FaultPlan { when, for_ns: for_ns + 2_000 * MS, ..fault }
        }
        FaultKind::MachineCrash => {
            let (process, when) =
                if way == 0 { (None, Trigger::AtNs(moment)) } else { (fault.process.clone(), lives(call)) };
            FaultPlan { process, when, for_ns: 10 * MS + for_ns / 4, ..fault }
        }
        FaultKind::Delay => FaultPlan { when: lives(call), for_ns, ..fault },
        FaultKind::ClockJump => {
            let magnitude = i64::try_from(for_ns * 4).unwrap_or(i64::MAX);
            FaultPlan { process: None, by_ns: if stream.chance(1, 2) { -magnitude } else { magnitude }, ..fault }
        }
        FaultKind::IoError => {
            let call = stream.pick(&[CallKind::ReadAt, CallKind::WriteAt, CallKind::Write, CallKind::Read]).copied();
            FaultPlan { when: storage(stream, moment, call.unwrap_or(CallKind::ReadAt), nth, by_position), ..fault }
        }
        FaultKind::NoSpace | FaultKind::ShortWrite | FaultKind::TornWrite => {
            let call = stream.pick(&[CallKind::WriteAt, CallKind::WriteAt, CallKind::Write]).copied();
            let for_ns = if kind == FaultKind::TornWrite { 10 * MS + for_ns / 4 } else { 0 };
            FaultPlan {
                when: storage(stream, moment, call.unwrap_or(CallKind::WriteAt), nth, by_position),
                for_ns,
                ..fault
            }
        }
        FaultKind::FailedSync | FaultKind::LyingSync => {
            FaultPlan { when: storage(stream, moment, CallKind::Sync, 1 + nth / 4, by_position), ..fault }
        }
        FaultKind::MessageLoss
        | FaultKind::MessageDuplicate
        | FaultKind::MessageDelay
        | FaultKind::MessageReorder
        | FaultKind::MessageGarble => of_messages(stream, fault, nth, for_ns),
        FaultKind::Partition => {
            let mut from: Vec<String> = processes.iter().filter(|_| stream.chance(1, 2)).cloned().collect();
            if from.is_empty() || from.len() == processes.len() {
                from = fault.process.iter().cloned().collect();
            }
            let between = Between { from, to: Vec::new(), one_way: stream.chance(1, 3) };
            FaultPlan { process: None, for_ns, between: Some(between), ..fault }
        }
    }
}

/// A fault of messages: aimed at one message of a process, or weather over everybody's or over one process's.
fn of_messages(stream: &mut Stream, fault: FaultPlan, nth: u64, for_ns: u64) -> FaultPlan {
    let Trigger::AtNs(moment) = fault.when else { return fault };
    let lasts_ns = [50 * MS, 500 * MS, 3_000 * MS, 10_000 * MS][stream.below(4) as usize];
    let per_mille = [10, 50, 200, 500][stream.below(4) as usize];
    let weather = Trigger::Weather { from_ns: moment, until_ns: moment + lasts_ns, per_mille };
    let of_one = Between { from: fault.process.iter().cloned().collect(), to: Vec::new(), one_way: true };
    match stream.below(6) {
        0 => FaultPlan { for_ns, ..fault },
        1 => FaultPlan { when: Trigger::Call { kind: CallKind::Send, nth }, for_ns, ..fault },
        2 if !of_one.from.is_empty() => {
            FaultPlan { process: None, when: weather, for_ns, between: Some(of_one), ..fault }
        }
        _ => FaultPlan { process: None, when: weather, for_ns, ..fault },
    }
}

/// Draws, in so many seeds of a hundred, a disk that lies to one process about a few of its temporary files, and the power's failure soon after:
/// names that are durable, with nothing durable behind them.
pub fn lies_before_power_loss(seed: Seed, chance: u64, processes: &[String]) -> Vec<FaultPlan> {
    let mut stream = seed.stream("faults/lies-before-power-loss");
    if !stream.chance(chance, CHANCES) {
        return Vec::new();
    }
    let process = stream.pick(processes).cloned();
    let magnitude = stream.between(1, 6);
    let first = stream.between(1, 1 << magnitude);
    let last = first + stream.between(4, 24);
    // While it has a temporary file, a process opens, writes, syncs, closes and renames it.
    let fault = |kind: FaultKind, number: u32, nth: u64| {
        let when = Trigger::While { position: Position::BetweenTempAndRename, nth };
        FaultPlan::new(kind as u32 * 1000 + 500 + number, kind, process.clone(), when)
    };
    let mut faults: Vec<FaultPlan> = (0..LIES).map(|number| fault(FaultKind::LyingSync, number, first)).collect();
    faults.push(FaultPlan { for_ns: 100 * MS, ..fault(FaultKind::MachineCrash, 0, last) });
    faults
}

/// Draws, in so many seeds of a hundred, kills of several processes while they hold a lock, so that those who wait meet a dead owner together: each
/// of them may be the one that reclaims, and all but one must find that another was faster. After some of the kills somebody else has the PID at once.
pub fn kills_of_holders(seed: Seed, chance: u64, processes: &[String]) -> Vec<FaultPlan> {
    let mut stream = seed.stream("faults/kills-of-holders");
    if !stream.chance(chance, CHANCES) {
        return Vec::new();
    }
    let mut killed = processes.to_vec();
    stream.shuffle(&mut killed);
    killed.truncate(stream.between(2, 6) as usize);
    let kill = |(number, process): (u32, String)| {
        let when = Trigger::While { position: Position::HoldingLock, nth: stream.between(1, 40) };
        let is_reused = stream.chance(1, 2);
        let (kind, for_ns) =
            if is_reused { (FaultKind::PidReuse, stream.between(100, 10_000) * MS) } else { (FaultKind::Kill, 0) };
        FaultPlan {
            id: kind as u32 * 1000 + 500 + number,
            kind,
            process: Some(process),
            when,
            for_ns,
            by_ns: 0,
            between: None,
        }
    };
    (0..).zip(killed).map(kill).collect()
}

/// Enough for all temporary files from the first to the power's failure.
const LIES: u32 = 6;

/// Calls at which lives end: each leaves other work half done.
const AIMED: [CallKind; 8] = [
    CallKind::WriteAt,
    CallKind::Sync,
    CallKind::SharedLock,
    CallKind::Rename,
    CallKind::Write,
    CallKind::Claim,
    CallKind::Open,
    CallKind::Lock,
];

const POSITIONS: [Position; 4] =
    [Position::HoldingLock, Position::BetweenTempAndRename, Position::InTransaction, Position::BetweenEffectAndClaim];

fn storage(stream: &mut Stream, moment: u64, kind: CallKind, nth: u64, by_position: Trigger) -> Trigger {
    match stream.below(3) {
        0 => Trigger::AtNs(moment),
        1 => Trigger::Call { kind, nth },
        _ => by_position,
    }
}

/// A moment at which something goes on: soon after one of the busy times, or anywhere.
fn draw_moment(stream: &mut Stream, chaos_ns: u64, busy_ns: &[u64]) -> u64 {
    let anywhere = stream.below(chaos_ns);
    let magnitude = stream.between(10, 28);
    let near = stream.pick(busy_ns).copied().unwrap_or(anywhere) + stream.below(1 << magnitude);
    if stream.chance(1, 4) { anywhere } else { near.min(chaos_ns) }
}
