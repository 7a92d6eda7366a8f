//! Turns: what was recorded of a run and read back from its text leads through the same run, bit for bit, whichever strategy had decided it; and what was
//! recorded of one plan still leads through another.

use seedstorm_scenarios::all;
use seedstorm_sim::plan::{Options, Plan, StrategyPlan};
use seedstorm_sim::schedule::{Guide, Turn, Turns};
use seedstorm_sim::{Outcome, Scenario, Seed, Settings, run};
use std::collections::BTreeSet;

fn scenario(name: &str) -> &'static (dyn Scenario + Sync) {
    all().iter().copied().find(|scenario| scenario.name() == name).expect("a scenario")
}

fn plan(name: &str, seed: u64, strategy: &str) -> Plan {
    let options = Options {
        workers: Some(5),
        duration_ns: Some(3_000_000_000),
        strategy: Some(strategy.parse::<StrategyPlan>().expect("a strategy")),
        ..Options::default()
    };
    scenario(name).plan(Seed(seed), &options).expect("a plan")
}

fn recorded(plan: &Plan) -> Outcome {
    run(scenario(&plan.scenario), plan, Settings { records_turns: true, ..Settings::default() }).expect("a run")
}

fn guided(plan: &Plan, guide: Guide) -> Outcome {
    let settings = Settings { guide: Some(guide), records_turns: true, ..Settings::default() };
    run(scenario(&plan.scenario), plan, settings).expect("a run")
}

#[test]
fn turns_from_their_text_lead_through_the_same_run() {
    let mut had_delays = false;
    for (name, seed) in
        [("concurrency-storm", 3), ("guillotine", 4), ("signal-flood", 5), ("contradiction-avalanche", 6)]
    {
        for strategy in ["timed", "random", "round-robin", "pct:steps=2000", "pos", "swarm-delay:one_in=3"] {
            let plan = plan(name, seed, strategy);
            let first = recorded(&plan);
            let turns = first.turns.expect("turns were asked for");
            had_delays |= !turns.delays.is_empty();
            let read = Turns::from_text(&turns.to_text()).expect("a text");
            assert_eq!(Turns { preemptions: turns.preemptions, ..read.clone() }, turns, "{name} {strategy}");
            let second = guided(&plan, Guide { turns: read, ..Guide::default() });
            assert_eq!(second.trace_hash, first.trace_hash, "{name} {strategy}: {:?}", second.guided);
            assert_eq!(second.guided.expect("there was a guide").drift, None, "{name} {strategy}");
            assert_eq!(second.turns.expect("turns").preemptions, turns.preemptions);
        }
    }
    assert!(had_delays, "no strategy has delayed anything: nothing was shown of delays");
}

#[test]
fn what_is_recorded_is_not_in_the_hash() {
    let plan = plan("guillotine", 9, "random");
    let plain = run(scenario("guillotine"), &plan, Settings::default()).expect("a run");
    assert_eq!(plain.trace_hash, recorded(&plan).trace_hash);
    assert!(plain.turns.is_none() && plain.guided.is_none());
}

#[test]
fn turns_are_followed_where_an_agent_is_gone() {
    let (mut recorded_turns, mut followed_turns, mut default_turns) = (0, 0, 0);
    for seed in 1..=24 {
        let mut plan = plan("guillotine", seed, "random");
        let turns = recorded(&plan).turns.expect("turns");
        let is_of_others = |turn: &&Turn| turns.tasks[turn.task as usize].name.process != "agent-2";
        recorded_turns += turns.turns.iter().filter(is_of_others).count();
        plan.absent = vec!["agent-2".to_owned()];
        let went = |guide| guided(&plan, guide).turns.expect("turns");
        default_turns += went(Guide::default()).turns.len();
        let went = went(Guide { turns: turns.clone(), ..Guide::default() });
        followed_turns += went.turns.len();
        let processes: BTreeSet<&str> = went.tasks.iter().map(|task| task.name.process.as_str()).collect();
        assert!(!processes.contains("agent-2") && processes.contains("agent-3"), "{processes:?}");
    }
    // A run without an agent is another run, and many turns can't be had in it. Those that can are followed, not made up: by the default rule alone there are
    // far fewer changes of task.
    let told = format!("{recorded_turns} turns of the others, {followed_turns} went, {default_turns} by default");
    assert!(followed_turns * 5 > recorded_turns && followed_turns > default_turns * 4, "{told}");
}

#[test]
fn a_prefix_goes_on_differently_from_each_seed() {
    let plan = plan("concurrency-storm", 12, "random");
    let turns = recorded(&plan).turns.expect("turns");
    let half = turns.steps / 2;
    let after = |seed| {
        let guide = Guide { turns: turns.clone(), leave_after: Some(half), then: Some(Seed(seed)) };
        guided(&plan, guide)
    };
    let (one, other, again) = (after(1), after(2), after(1));
    assert_ne!(one.trace_hash, other.trace_hash);
    assert_eq!(one.trace_hash, again.trace_hash);
    // Up to there both are as recorded.
    let head = |outcome: &Outcome| {
        let turns = outcome.turns.as_ref().expect("turns").to_text();
        turns.lines().take(20).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(head(&one), head(&other));
}
