//! Scenarios for tests of the command line: one that behaves, and one for each way to misbehave. The product's own come after them.

use seedstorm::Known;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultPlan, Faults, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Draw, Exit, Options, Plan, Scenario, Seed, Sys, View, World};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// All scenarios of the program under test.
pub fn all() -> &'static [Known] {
    let mut all: Vec<Known> = OWN.iter().map(|scenario| scenario as Known).collect();
    all.extend(crate::versions::all());
    all.extend(seedstorm_scenarios::all());
    Vec::leak(all)
}

/// What a scenario does beside its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    None,
    Abort,
    /// Aborts only in the first run of a process.
    AbortFresh,
    Hang,
    /// Hangs only in the first run of a process.
    HangFresh,
    /// As `Hang`, in blocking code.
    HangBlocking,
    /// As `Hang`, where another process has written before.
    HangBehind,
    /// Takes a lock of std that it has already.
    LockTwice,
    /// The plan of a bad seed does not come to an end.
    HangPlan,
    /// The scenario's own set-up does not end.
    HangSetUp,
    /// An invariant does not end.
    HangInvariant,
    Panic,
    /// What it does depends on the runs before it in the process.
    Remember,
    /// Breaks one of two invariants.
    Violate,
    /// Prints to the standard output, without a new line.
    Print,
    /// The scenario's own set-up panics.
    BadSetUp,
    /// The plan of a bad seed can't be drawn.
    Refuse,
    /// Drawing the plan of a bad seed panics.
    BadPlan,
    /// Something that must happen sometimes never does.
    Vacuous,
    /// Nobody makes a call.
    Idle,
}

struct Test {
    name: &'static str,
    about: &'static str,
    habit: Habit,
}

const OWN: &[Test] = &[
    Test { name: "steady", about: "writes files and passes", habit: Habit::None },
    Test { name: "aborts", about: "ends its process in bad seeds", habit: Habit::Abort },
    Test {
        name: "aborts-fresh",
        about: "ends its process in bad seeds that are the first of it",
        habit: Habit::AbortFresh,
    },
    Test { name: "hangs", about: "makes no system call for ever in bad seeds", habit: Habit::Hang },
    Test {
        name: "hangs-fresh",
        about: "hangs in bad seeds that are the first of their process",
        habit: Habit::HangFresh,
    },
    Test {
        name: "hangs-blocking",
        about: "makes no system call for ever in blocking code in bad seeds",
        habit: Habit::HangBlocking,
    },
    Test {
        name: "hangs-behind",
        about: "makes no system call for ever once another has written, in bad seeds",
        habit: Habit::HangBehind,
    },
    Test { name: "locks-twice", about: "locks what it has locked, of std, in bad seeds", habit: Habit::LockTwice },
    Test { name: "hangs-plan", about: "its plan of bad seeds does not end", habit: Habit::HangPlan },
    Test { name: "hangs-set-up", about: "its set-up does not end in bad seeds", habit: Habit::HangSetUp },
    Test { name: "hangs-invariant", about: "an invariant does not end in bad seeds", habit: Habit::HangInvariant },
    Test { name: "panics", about: "panics in bad seeds", habit: Habit::Panic },
    Test { name: "remembers", about: "counts its runs in a static", habit: Habit::Remember },
    Test { name: "violates", about: "breaks an invariant in bad seeds", habit: Habit::Violate },
    Test { name: "chatty", about: "prints in the middle of everything", habit: Habit::Print },
    Test { name: "bad-set-up", about: "its set-up panics in bad seeds", habit: Habit::BadSetUp },
    Test { name: "refuses", about: "has no plan for bad seeds", habit: Habit::Refuse },
    Test { name: "bad-plan", about: "drawing the plan of a bad seed panics", habit: Habit::BadPlan },
    Test { name: "vacuous", about: "never does what it must sometimes do", habit: Habit::Vacuous },
    Test { name: "idle", about: "makes no call at all in bad seeds", habit: Habit::Idle },
];

/// One seed in five is bad.
fn is_bad(seed: Seed) -> bool {
    seed.0 % 5 == 3
}

static RUNS_BEFORE: AtomicU64 = AtomicU64::new(0);

impl Test {
    /// The role of its processes.
    fn role(&self) -> &'static str {
        if self.habit == Habit::HangBlocking { "clerk" } else { "writer" }
    }
}

impl Scenario for Test {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        if self.habit == Habit::Refuse && is_bad(seed) {
            return Err(OptionsError { option: "seed".into(), value: seed.0.to_string(), allowed: "good ones".into() });
        }
        if self.habit == Habit::HangPlan && is_bad(seed) {
            hang();
        }
        assert!(self.habit != Habit::BadPlan || !is_bad(seed), "this plan is bad");
        let mut settings = BTreeMap::new();
        for (key, value) in &options.set {
            let value = value.parse::<i64>().ok().filter(|_| key == "rounds");
            let value = value.ok_or_else(|| OptionsError {
                option: "--set".into(),
                value: key.clone(),
                allowed: "rounds=NUMBER".into(),
            })?;
            settings.insert(key.clone(), toml::Value::Integer(value));
        }
        let workers = options.workers.unwrap_or(3);
        settings.insert("workers".to_owned(), toml::Value::Integer(i64::from(workers)));
        let fault = |(kind, id)| FaultPlan {
            id,
            kind,
            process: Some("writer-0".to_owned()),
            when: Trigger::Call { kind: CallKind::Write, nth: 2 },
            for_ns: 1_000_000,
            by_ns: 0,
            between: None,
        };
        let faults = match &options.faults {
            Faults::Default | Faults::None => Vec::new(),
            Faults::Kinds(kinds) => kinds.iter().copied().zip(1..).map(fault).collect(),
            Faults::Exactly(faults) => faults.clone(),
        };
        let drawn = if seed.stream("strategy").chance(1, 2) { StrategyPlan::Timed } else { StrategyPlan::Random };
        Ok(Plan {
            strategy: options.strategy.unwrap_or(drawn),
            chaos_ns: options.duration_ns.unwrap_or(1_000_000_000),
            calm_ns: 1_000_000_000,
            steps_max: 100_000,
            settings,
            faults,
            ..Plan::plain(self.name, seed)
        })
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        let habit = if is_bad(plan.seed) || matches!(self.habit, Habit::Remember | Habit::Print) {
            self.habit
        } else {
            Habit::None
        };
        assert!(habit != Habit::BadSetUp, "this set-up is bad");
        if habit == Habit::HangSetUp {
            hang();
        }
        let before = RUNS_BEFORE.fetch_add(1, Ordering::Relaxed);
        let rounds = plan.setting_u64("rounds", 4);
        let workers = if habit == Habit::Idle { 0 } else { plan.setting_u64("workers", 3) };
        for index in 0..workers as u32 {
            world.process(self.role(), index, move |sys| write_files(sys, habit, rounds, before));
        }
        world.invariant(Watch { breaks: habit == Habit::Violate, hangs: habit == Habit::HangInvariant, writes: 0 });
    }

    fn coverage(&self) -> &'static [&'static str] {
        if self.habit == Habit::Vacuous { &["wrote", "flew"] } else { &["wrote"] }
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("few-writes", "nobody writes more than twice, in bad seeds"),
            ("no-late-writes", "nobody writes late, in bad seeds"),
        ]
    }
}

async fn write_files(sys: Sys, habit: Habit, rounds: u64, before: u64) -> Exit {
    let path = format!("/{}", sys.name());
    for round in 0..rounds {
        if sys.sleep(sys.entropy().below(1_000_000)).await.is_err() {
            return Exit::success();
        }
        if round == 1 {
            misbehave(&sys, habit, before).await;
        }
        // An error is a fault's doing: the program goes on with the next file.
        if let Ok(file) = sys.open(&path, OpenFlags::READ_WRITE.create()).await {
            let _ = file.write(&sys.entropy().bits().to_le_bytes()).await;
            let _ = file.sync().await;
        }
        sys.yield_now().await;
    }
    Exit::success()
}

async fn misbehave(sys: &Sys, habit: Habit, before: u64) {
    match habit {
        Habit::HangFresh | Habit::AbortFresh if before > 0 => {}
        Habit::Abort | Habit::AbortFresh => std::process::abort(),
        Habit::Hang | Habit::HangFresh => hang(),
        Habit::HangBlocking => {
            sys.blocking(|os| {
                os.yield_now();
                hang()
            })
            .await
        }
        Habit::HangBehind if sys.name() == "writer-1" && sys.stat("/writer-2").await.is_ok() => hang(),
        Habit::LockTwice => {
            let account = std::sync::Mutex::new(7);
            let held = account.lock().expect("nobody panics with it");
            let _ = sys.entropy().below(*account.lock().expect("nobody panics with it") + *held);
        }
        Habit::Panic => panic!("{} has had enough", sys.name()),
        Habit::Remember => drop(sys.sleep(1_000_000 + before).await),
        Habit::Print => print!("{{\"half\": of a line"),
        Habit::None
        | Habit::HangBehind
        | Habit::Violate
        | Habit::BadSetUp
        | Habit::HangPlan
        | Habit::HangSetUp
        | Habit::HangInvariant
        | Habit::Refuse
        | Habit::BadPlan
        | Habit::Vacuous
        | Habit::Idle => {}
    }
}

fn hang() {
    loop {
        std::hint::spin_loop();
    }
}

/// Counts writes, and finds too many of them where it is asked to.
struct Watch {
    breaks: bool,
    hangs: bool,
    writes: u64,
}

impl Invariant for Watch {
    fn id(&self) -> &'static str {
        "few-writes"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Write)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if !matches!(event.body, Body::Call { result: Ok(_), .. }) {
            return Ok(());
        }
        self.writes += 1;
        if self.hangs && self.writes == 3 {
            hang();
        }
        view.cover("wrote");
        view.count("transactions", 1);
        view.latency("lock_acquire_ns", 1_000 + self.writes);
        // A name without its unit.
        view.latency("write_turn", 2_000);
        if !self.breaks || self.writes < 3 {
            return Ok(());
        }
        let seed = view.plan().seed.0;
        let (id, loss) = if seed.is_multiple_of(2) { ("few-writes", "too-many") } else { ("no-late-writes", "late") };
        Err(Violation::new(id, format!("write {} of seed {seed}", self.writes))
            .object("file")
            .role("writer")
            .loss(loss))
    }
}

/// A fault file that the scenarios here can run: one kill.
pub const FAULT_FILE: &str = r#"
[[faults]]
id = 1
kind = "kill"
process = "writer-1"
when = { call = { kind = "fsync", nth = 1 } }
"#;
