//! Scenarios with known causes: one whose failure one known step decides, and one that stands for the commits of a repository. Those that misbehave are in
//! `scenarios`.

use seedstorm::Known;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{OptionsError, StrategyPlan};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Draw, Errno, Exit, Options, Plan, Scenario, Seed, Sys, View, World};
use serde::{Deserialize, Serialize};

/// Names the version of the program that `versioned` runs, in words with spaces between them: `bug` (the lock is left out), `calls` (other system calls to the
/// same end), `draws` (another order of draws, and a call more at the start).
pub const VERSION: &str = "SEEDSTORM_TEST_VERSION";

/// All of them.
pub fn all() -> [Known; 2] {
    [&Race, &Versioned]
}

fn plan(name: &str, seed: Seed, options: &Options) -> Plan {
    Plan {
        strategy: options.strategy.unwrap_or(StrategyPlan::Random),
        chaos_ns: 10_000_000_000,
        calm_ns: 1_000_000_000,
        steps_max: 100_000,
        ..Plan::plain(name, seed)
    }
}

/// Whoever creates a file first has won. If it is the third, that is a violation, told long after.
struct Race;

/// So many race.
const RACERS: u32 = 6;

/// The third has won.
#[derive(Serialize, Deserialize)]
struct Won;

impl Claim for Won {
    const KIND: &'static str = "won";
}

async fn race(sys: Sys) -> Result<(), Errno> {
    let has_won = sys.open("/prize", OpenFlags::READ_WRITE.create_exclusive()).await.is_ok();
    for _ in 0..30 {
        sys.yield_now().await;
    }
    if has_won {
        sys.claim(&Won).await;
    }
    Ok(())
}

struct NeverTheThird;

impl Invariant for NeverTheThird {
    fn id(&self) -> &'static str {
        "never-the-third"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let winner = event.process.filter(|_| event.claim::<Won>().is_some());
        match winner.map(|id| view.process(id)) {
            Some(winner) if winner.index == 3 => {
                Err(Violation::new(self.id(), "the third has won").object("prize").role("racer").loss("won"))
            }
            _ => Ok(()),
        }
    }
}

impl Scenario for Race {
    fn name(&self) -> &'static str {
        "race"
    }

    fn about(&self) -> &'static str {
        "one known step decides who wins"
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        Ok(plan(self.name(), seed, options))
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        for index in 0..RACERS {
            world.process("racer", index, |sys| async {
                match race(sys).await {
                    Ok(()) => Exit::success(),
                    Err(error) => Exit::failure(error.to_string()),
                }
            });
        }
        world.invariant(NeverTheThird);
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("never-the-third", "the third racer does not win")]
    }
}

/// Processes that count in one file, as the version says.
struct Versioned;

const COUNTS: u64 = 6;

#[derive(Serialize, Deserialize)]
struct Counted {
    to: u64,
}

impl Claim for Counted {
    const KIND: &'static str = "counted";
}

async fn count(sys: Sys) -> Result<(), Errno> {
    let version = std::env::var(VERSION).unwrap_or_default();
    let has = |word: &str| version.split_whitespace().any(|known| known == word);
    let (is_broken, has_calls, has_draws) = (has("bug"), has("calls"), has("draws"));
    if has_draws {
        let _ = sys.entropy().below(10);
        sys.yield_now().await;
    }
    let mut file = sys.open("/counter", OpenFlags::READ_WRITE.create()).await?;
    for round in 0..COUNTS {
        // Not in every round: a bug that every schedule shows proves nothing.
        let locks = !(is_broken && round == COUNTS - 2);
        if has_calls {
            file = sys.open("/counter", OpenFlags::READ_WRITE.create()).await?;
        }
        if locks {
            file.lock(LockMode::Exclusive).await?;
        }
        let mut bytes = [0; 8];
        if has_calls {
            file.read(&mut bytes).await?;
        } else {
            file.read_at(&mut bytes, 0).await?;
        }
        let to = u64::from_le_bytes(bytes) + 1;
        file.write_at(&to.to_le_bytes(), 0).await?;
        if locks {
            sys.claim(&Counted { to }).await;
            file.unlock().await?;
        } else {
            sys.claim(&Counted { to }).await;
        }
        sys.sleep(sys.entropy().below(1_000_000)).await?;
    }
    Ok(())
}

#[derive(Default)]
struct CountsRise {
    last: u64,
}

impl Invariant for CountsRise {
    fn id(&self) -> &'static str {
        "counts-rise"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        let Some(Counted { to }) = event.claim() else { return Ok(()) };
        if to <= self.last {
            let message = format!("somebody counted to {to} after another had counted to {}", self.last);
            return Err(Violation::new(self.id(), message).object("counter").role("counter").loss("lost-update"));
        }
        self.last = to;
        Ok(())
    }
}

impl Scenario for Versioned {
    fn name(&self) -> &'static str {
        "versioned"
    }

    fn about(&self) -> &'static str {
        "counts as the version in the environment says"
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        Ok(plan(self.name(), seed, options))
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        for index in 0..3 {
            world.process("counter", index, |sys| async {
                match count(sys).await {
                    Ok(()) => Exit::success(),
                    Err(error) => Exit::failure(error.to_string()),
                }
            });
        }
        world.invariant(CountsRise::default());
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[("counts-rise", "who counts later counts higher")]
    }
}
