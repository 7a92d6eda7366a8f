//! Rows of the fault catalogue, family harness: what a harness itself gets wrong, in the exact schedules that were reported, and what this one does then.

use crate::script::{Diary, MS, Ran, SECOND, fault, once, plan, play, with};
use seedstorm_model::claims::Committed;
use seedstorm_scenarios::guillotine::Guillotine;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::sys::net::{Address, Mailbox};
use seedstorm_sim::trace::{CallKind, Event};
use seedstorm_sim::{Options, Outcome, Plan, Scenario, Seed, Settings, Sys, View, World, run};
use seedstorm_tests::program::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_seedstorm-under-test"))
}

fn drawn(seed: u64, options: &Options) -> Plan {
    Guillotine.plan(Seed(seed), options).expect("the options are good")
}

fn run_guillotine(plan: &Plan) -> Outcome {
    run(&Guillotine, plan, Settings::default()).expect("the plan can be run")
}

/// Twice in one process, once in a fresh one.
#[test]
fn h2_a_run_is_the_same_whatever_its_process_has_done_before() {
    // By hand: a program that remembers something beyond its run, as a counter of the language's runtime does.
    static REMEMBERED: AtomicU64 = AtomicU64::new(0);
    let naive = || {
        play(&plan(1), |world, diary| {
            once(world, diary, "a", |sys, _| async move {
                let _ = sys.sleep(REMEMBERED.fetch_add(1, Ordering::Relaxed)).await;
            });
        })
        .passed()
        .outcome
        .trace_hash
    };
    assert_ne!(naive(), naive(), "the hash tells");
    for seed in [3, 4] {
        let plan = drawn(seed, &Options::default());
        let (first, second) = (run_guillotine(&plan), run_guillotine(&plan));
        assert_eq!((first.trace_hash, first.events), (second.trace_hash, second.events), "seed {seed}");
        let fresh = program().run(&format!("run --scenarios guillotine --seed {seed}"));
        assert_eq!(fresh["trace_hash"].as_str(), Some(first.trace_hash.to_string().as_str()), "seed {seed}");
    }
}

const PORT: u16 = 1;

/// What a store does with a `put` that is not newer than the last one of the same sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    /// It carries it out: a put is idempotent, so that can't hurt.
    Naive,
    /// It acknowledges it, and does nothing.
    Counting,
}

/// A's or B's end of the protocol: each request is numbered, sent once, and waits for its answer.
struct Client {
    mailbox: Mailbox,
    number: u64,
}

/// A request or an answer: its number and its text.
fn parts(bytes: &[u8]) -> (u64, String) {
    let text = String::from_utf8_lossy(bytes);
    let (number, text) = text.split_once(' ').expect("a number, a space, a text");
    (number.parse().expect("a number"), text.to_owned())
}

impl Client {
    async fn new(sys: &Sys) -> Client {
        Client { mailbox: sys.bind(PORT).await.expect("the port is free"), number: 0 }
    }

    async fn ask(&mut self, request: &str) -> String {
        self.number += 1;
        let request = format!("{} {request}", self.number);
        self.mailbox.send(&Address::new("s-0", PORT), request.as_bytes()).await.expect("it is short");
        loop {
            let (number, answer) = parts(&self.mailbox.receive().await.expect("nobody asks it to end").bytes);
            if number == self.number {
                return answer;
            }
        }
    }
}

/// A puts `k=NA`, then `k=Req`; B reads until it finds the request, and replies; A reads in the end.
fn request_and_reply(store: Store, faults: Vec<FaultPlan>) -> Ran {
    play(&with(faults, 1), |world: &mut World, diary: &Diary| {
        once(world, diary, "s", move |sys, _| async move {
            let mailbox = sys.bind(PORT).await.expect("the port is free");
            let (mut value, mut last) = (String::new(), BTreeMap::new());
            while let Ok(Some(request)) = mailbox.receive_within(10 * SECOND).await {
                let (number, text) = parts(&request.bytes);
                let newest = last.entry(request.from.clone()).or_insert(0);
                let is_new = number > *newest;
                *newest = number.max(*newest);
                if let Some(put) = text.strip_prefix("put ")
                    && (is_new || store == Store::Naive)
                {
                    value = put.to_owned();
                }
                mailbox.send(&request.from, format!("{number} {value}").as_bytes()).await.expect("it is short");
            }
        });
        once(world, diary, "a", |sys, diary| async move {
            let _ = sys.sleep(MS).await;
            let mut client = Client::new(&sys).await;
            client.ask("put NA").await;
            client.ask("put Req").await;
            let _ = sys.sleep(5 * SECOND).await;
            diary.note(format!("a finds {}", client.ask("get").await));
        });
        once(world, diary, "b", |sys, diary| async move {
            let _ = sys.sleep(MS).await;
            let mut client = Client::new(&sys).await;
            while client.ask("get").await != "Req" {
                let _ = sys.sleep(MS).await;
            }
            client.ask("put Reply").await;
            diary.note("b has replied");
        });
    })
    .passed()
}

/// A puts k=NA, k=Req; B reads, replies; the first packet is replayed. Neither copies alone nor reordering alone break the naive store.
#[test]
fn h3_a_message_can_be_duplicated_and_reordered() {
    let nth = |kind, process: &str, nth, for_ns| {
        fault(kind, Some(process), Trigger::Call { kind: CallKind::Send, nth }, for_ns)
    };
    let replay = || vec![nth(FaultKind::MessageDuplicate, "a-0", 1, SECOND)];
    let ends = |ran: &Ran, words: &str| assert_eq!(ran.notes, ["b has replied", words], "{:?}", ran.notes);
    ends(&request_and_reply(Store::Naive, Vec::new()), "a finds Reply");
    for process in ["a-0", "b-0", "s-0"] {
        for number in 1..=4 {
            for kind in [FaultKind::MessageDuplicate, FaultKind::MessageReorder] {
                let ran = request_and_reply(Store::Naive, vec![nth(kind, process, number, 0)]);
                ends(&ran, "a finds Reply");
                assert_eq!(ran.fired(kind), u64::from(process != "a-0" || number < 4), "{kind:?} {process} {number}");
            }
        }
    }
    let naive = request_and_reply(Store::Naive, replay());
    ends(&naive, "a finds NA");
    assert_eq!(naive.outcome.observations.coverage.get("duplicated"), Some(&1));
    ends(&request_and_reply(Store::Counting, replay()), "a finds Reply");
}

/// Whether a run got deep in its chaos: an agent was killed, or the power failed, after it had committed something, and it has committed again in a later
/// life. And how often anybody has committed.
fn depth(plan: &Plan) -> (bool, u64) {
    let found = Arc::new(Mutex::new((BTreeMap::new(), false, 0)));
    let kept = found.clone();
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        if let Some(Committed { .. }) = event.claim()
            && let Some(process) = event.process
            && !view.is_calm()
        {
            let mut found = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let first = *found.0.entry(process).or_insert(event.boot);
            found.1 |= event.boot > first;
            found.2 += 1;
        }
    };
    let settings = Settings { listener: Some(Box::new(listener)), ..Settings::default() };
    let outcome = run(&Guillotine, plan, settings).expect("the plan can be run");
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    let found = found.lock().unwrap_or_else(PoisonError::into_inner);
    (found.1, found.2)
}

/// Faults of every kind that a seed can have, in every seed and all the time.
fn frequent(plan: &Plan) -> Vec<FaultPlan> {
    let mut processes: Vec<&str> = plan.operations.iter().map(|operation| operation.process.as_str()).collect();
    processes.sort_unstable();
    processes.dedup();
    let kinds = [
        (FaultKind::Kill, 20 * MS, 0),
        (FaultKind::IoError, 10 * MS, 0),
        (FaultKind::NoSpace, 10 * MS, 0),
        (FaultKind::ShortWrite, 10 * MS, 0),
        (FaultKind::Delay, 10 * MS, 5 * MS),
        (FaultKind::Pause, 50 * MS, 5 * MS),
    ];
    let mut faults = Vec::new();
    for process in processes {
        for (kind, every_ns, for_ns) in kinds {
            for at_ns in (0..plan.chaos_ns).step_by(every_ns as usize) {
                let id = faults.len() as u32 + 1;
                faults.push(FaultPlan { id, ..fault(kind, Some(process), Trigger::AtNs(at_ns), for_ns) });
            }
        }
    }
    faults
}

/// Share of runs that reach deep states.
#[test]
fn h4_faults_are_drawn_so_that_runs_get_deep() {
    const SEEDS: u64 = 10;
    let options = Options { workers: Some(3), ..Options::default() };
    let (mut deep, mut naive_deep, mut kinds) = (0, 0, BTreeSet::new());
    for seed in 0..SEEDS {
        let plan = drawn(seed, &options);
        kinds.insert(plan.faults.iter().map(|fault| fault.kind).collect::<BTreeSet<FaultKind>>());
        deep += u64::from(depth(&plan).0);
        let naive = Plan { faults: frequent(&plan), steps_max: 20_000_000, ..plan };
        let (is_deep, committed) = depth(&naive);
        naive_deep += u64::from(is_deep);
        assert!(committed < 5, "seed {seed}: {committed} commits although everything fails all the time");
    }
    assert!(deep >= SEEDS * 8 / 10, "{deep} of {SEEDS} runs get deep");
    assert_eq!(naive_deep, 0, "with every fault in every seed all the time none does");
    assert!(kinds.len() as u64 > SEEDS / 2, "each seed draws which kinds are on");
}

/// A sweep of no seeds, and one in which what must happen never does.
#[test]
fn h5_a_sweep_that_tests_nothing_is_no_pass() {
    let nothing = program().line("sweep --scenarios guillotine --seeds 7..7");
    assert_eq!(nothing.code, Some(4), "{nothing:?}");
    assert!(nothing.out.contains("NOTHING RAN"), "{nothing:?}");
    let vacuous = program().line("sweep --scenarios vacuous --seeds 0..100 --determinism 0%");
    assert_eq!(vacuous.code, Some(4), "{vacuous:?}");
    assert!(vacuous.out.contains("never happened: flew"), "{vacuous:?}");
    // All of its runs passed: whoever counts failures alone would call it good.
    let (lines, _, _) = program().sweep("--scenarios vacuous --seeds 0..100 --determinism 0%");
    assert!(lines.len() == 100 && lines.iter().all(|line| line["verdict"] == "pass"));
}
