//! The oracles of signals, each alone, on histories of claims that a test tells: right ones pass, and what each exists for is found.

use seedstorm_scenarios::oracle::signals::{Ledger, Watch};
use seedstorm_sim::plan::OptionsError;
use seedstorm_sim::sys::claim::signal::{
    ClockReading, Delivery, IncarnationBeginning, IncarnationBegun, Life, Recipients, SignalId, SignalSending,
    SignalSent, SignalsDelivered, SignalsDelivering,
};
use seedstorm_sim::{Exit, Options, Outcome, Plan, Scenario, Seed, Settings, Sys, World, run};
use std::cell::RefCell;
use std::rc::Rc;

/// What somebody claims: the intent and then its success.
#[derive(Clone)]
enum Told {
    Begin(IncarnationBeginning),
    Send(SignalSending),
    Deliver(SignalsDelivering),
}

async fn tell(sys: &Sys, told: Told) {
    match told {
        Told::Begin(begin) => {
            sys.claim(&begin).await;
            sys.claim(&IncarnationBegun { life: begin.life }).await;
        }
        Told::Send(send) => {
            sys.claim(&send).await;
            sys.claim(&SignalSent { signal: send.signal }).await;
        }
        Told::Deliver(deliver) => {
            sys.claim(&deliver).await;
            sys.claim(&SignalsDelivered { life: deliver.life }).await;
        }
    }
}

struct History {
    id: &'static str,
    told: Vec<Told>,
}

impl Scenario for History {
    fn name(&self) -> &'static str {
        "history"
    }

    fn about(&self) -> &'static str {
        "a history of claims"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        Ok(Plan::plain("history", seed))
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let told = self.told.clone();
        world.process("agent", 0, move |sys| {
            let told = told.clone();
            async move {
                for told in told {
                    tell(&sys, told).await;
                }
                Exit::success()
            }
        });
        world.invariant(Watch::new(self.id, Rc::new(RefCell::new(Ledger::default()))));
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

fn outcome(id: &'static str, told: &[Told]) -> Outcome {
    run(&History { id, told: told.to_vec() }, &Plan::plain("history", Seed(1)), Settings::default())
        .expect("it can be run")
}

const IDS: [&str; 6] = [
    "corrupt-clock-refused",
    "delivered-after-sent",
    "clocks-agree",
    "clocks-monotone",
    "claimed-order-acyclic",
    "exactly-once-in-causal-order",
];

/// Every invariant is content.
fn passes(told: &[Told]) {
    for id in IDS {
        let outcome = outcome(id, told);
        assert!(outcome.passed(), "{id}: {:#?}", outcome.violations);
    }
}

/// This one isn't, for this kind of loss.
fn violates(id: &'static str, loss: &str, told: &[Told]) -> String {
    let outcome = outcome(id, told);
    let first = outcome.violations.first().unwrap_or_else(|| panic!("{id} finds nothing"));
    assert!(first.invariant == id && first.fingerprint.ends_with(loss), "{first:#?}");
    first.message.clone()
}

fn life(agent: u32) -> Life {
    Life { agent, incarnation: 1 }
}

fn clock(counters: &[(u32, u64)]) -> ClockReading {
    let counters = counters.iter().map(|(agent, counter)| (life(*agent), *counter)).collect();
    ClockReading { counters, pruned_below: Vec::new() }
}

fn begin(agent: u32) -> Told {
    Told::Begin(IncarnationBeginning { life: life(agent), clock: clock(&[(agent, 1)]), ended: None })
}

fn signal(agent: u32, sequence: u64) -> SignalId {
    SignalId { sender: life(agent), sequence }
}

fn send(agent: u32, sequence: u64, counters: &[(u32, u64)]) -> Told {
    let (signal, clock) = (signal(agent, sequence), clock(counters));
    Told::Send(SignalSending { signal, to: Recipients::All, operation: sequence, clock, content: sequence })
}

fn deliver(by: u32, agent: u32, sequence: u64, sent: &[(u32, u64)], counters: &[(u32, u64)]) -> Told {
    let signal = signal(agent, sequence);
    let delivery =
        Delivery { signal, was_polled: false, clock: clock(counters), signal_clock: clock(sent), content: sequence };
    Told::Deliver(SignalsDelivering { life: life(by), deliveries: vec![delivery] })
}

/// 1 and 2 begin, and 1 has sent a signal.
fn opening() -> Vec<Told> {
    vec![begin(1), begin(2), send(1, 1, &[(1, 2)])]
}

fn after_opening(more: &[Told]) -> Vec<Told> {
    [opening().as_slice(), more].concat()
}

#[test]
fn what_is_right_passes() {
    passes(&after_opening(&[
        deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 2)]),
        send(2, 1, &[(1, 2), (2, 3)]),
        deliver(1, 2, 1, &[(1, 2), (2, 3)], &[(1, 3), (2, 3)]),
    ]));
}

#[test]
fn a_clock_that_was_not_sent_is_not_accepted() {
    let told = after_opening(&[deliver(2, 1, 1, &[(1, 3)], &[(1, 3), (2, 2)])]);
    violates("corrupt-clock-refused", "accepted", &told);
}

#[test]
fn nothing_comes_before_it_is_sent() {
    let told = [begin(1), begin(2), deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 2)])];
    violates("delivered-after-sent", "unsent", &told);
    assert!(outcome("exactly-once-in-causal-order", &told).passed(), "what was never sent wasn't delivered twice");
}

#[test]
fn clocks_agree_with_the_truth_both_ways() {
    let told = after_opening(&[deliver(2, 1, 1, &[(1, 2)], &[(2, 2)])]);
    violates("clocks-agree", "lost", &told);
    let told = after_opening(&[deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 1)])]);
    violates("clocks-agree", "tie", &told);
    let told = after_opening(&[send(2, 1, &[(1, 2), (2, 2)])]);
    violates("clocks-agree", "order", &told);
}

#[test]
fn the_clock_of_a_life_only_rises() {
    let had = deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 2)]);
    let told = after_opening(&[had, send(2, 1, &[(1, 1), (2, 3)])]);
    violates("clocks-monotone", "fallen", &told);
}

#[test]
fn a_clock_that_knows_the_future_closes_a_cycle() {
    let told =
        [begin(1), begin(2), send(2, 1, &[(1, 3), (2, 2)]), deliver(1, 2, 1, &[(1, 3), (2, 2)], &[(1, 3), (2, 2)])];
    let message = violates("claimed-order-acyclic", "cycle", &told);
    for part in ["event 3 of 1.1", "event 2 of 2.1"] {
        assert!(message.contains(part), "the whole cycle is told: {message}");
    }
}

#[test]
fn a_signal_comes_once_and_in_causal_order() {
    let once = "exactly-once-in-causal-order";
    violates(once, "not-once", &opening());
    let had = deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 2)]);
    violates(once, "not-once", &after_opening(&[had.clone(), deliver(2, 1, 1, &[(1, 2)], &[(1, 2), (2, 3)])]));
    let two = after_opening(&[send(1, 2, &[(1, 3)]), deliver(2, 1, 2, &[(1, 3)], &[(1, 3), (2, 2)])]);
    violates(once, "out-of-order", &two);
    // Over a third: 3 has 1's signal and says so to 2, which hasn't.
    let told = [
        begin(1),
        begin(2),
        begin(3),
        send(1, 1, &[(1, 2)]),
        deliver(3, 1, 1, &[(1, 2)], &[(1, 2), (3, 2)]),
        send(3, 1, &[(1, 2), (3, 3)]),
        deliver(2, 3, 1, &[(1, 2), (3, 3)], &[(1, 2), (2, 2), (3, 3)]),
    ];
    violates(once, "out-of-order", &told);
    let Told::Deliver(mut other) = had else { unreachable!("it is a delivery") };
    other.deliveries[0].content = 9;
    violates(once, "altered", &after_opening(&[Told::Deliver(other)]));
    let again = Told::Send(SignalSending {
        signal: signal(1, 2),
        to: Recipients::All,
        operation: 1,
        clock: clock(&[(1, 3)]),
        content: 1,
    });
    violates(once, "not-once", &after_opening(&[again]));
}
