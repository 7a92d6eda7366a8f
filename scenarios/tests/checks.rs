//! Plans from files: what is drawn may be run, whatever the options; what options refuse is refused in a file, too, and told with its place.

use seedstorm_scenarios::all;
use seedstorm_sim::plan::{Between, FaultKind, FaultPlan, Faults, Place, Trigger, Why};
use seedstorm_sim::{Options, Plan, Scenario, Seed};
use toml::Value;

type Known = &'static (dyn Scenario + Sync);

fn few() -> Options {
    Options { workers: Some(2), ..Options::default() }
}

fn drawn(scenario: Known, seed: u64, options: &Options) -> Plan {
    scenario.plan(Seed(seed), options).unwrap_or_else(|error| panic!("{}: {error}", scenario.name()))
}

fn named(name: &str) -> Known {
    all().iter().copied().find(|scenario| scenario.name() == name).expect("a scenario")
}

#[test]
fn whatever_is_drawn_may_be_run() {
    let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let kinds = || Faults::Kinds(FaultKind::ALL.to_vec());
    let mut options = vec![
        Options::default(),
        Options { workers: Some(1), faults: kinds(), ..Options::default() },
        Options { workers: Some(5), duration_ns: Some(1), faults: kinds(), ..Options::default() },
        Options { workers: Some(2), duration_ns: Some(24 * 3_600_000_000_000), ..Options::default() },
    ];
    options.push(Options { set: set(&[("latency", "hdd"), ("page_bytes", "65536")]), ..options[3].clone() });
    options.push(Options { set: set(&[("mutant", "wal-deleted-on-recovery"), ("value_bytes", "60000")]), ..few() });
    options.push(Options { set: set(&[("hold_percent", "1000000"), ("think_percent", "1000000")]), ..few() });
    for scenario in all() {
        for options in &options {
            // Not each setting is one of each scenario. A day of flood is more than a test can draw.
            if scenario.name() == "signal-flood" && options.duration_ns.is_some_and(|ns| ns > 1_000_000_000) {
                continue;
            }
            for seed in 0..12 {
                let Ok(plan) = scenario.plan(Seed(seed), options) else { break };
                let checked = plan.check().and_then(|()| scenario.check(&plan));
                checked.unwrap_or_else(|refusal| panic!("{} {seed} {options:?}: {refusal}", scenario.name()));
            }
        }
    }
}

#[test]
fn a_file_may_have_the_values_that_options_may_have_and_no_others() {
    for scenario in all() {
        let sound = drawn(*scenario, 1, &few());
        let (mut refused, mut taken) = (0, 0);
        for (key, value) in &sound.settings {
            for given in ["0", "1", "1000", "1024", "65537", "100001", "99999999999", "-1", "flock", "full", "NVME", ""]
            {
                if key == "batches" && ["1000", "1024"].contains(&given) {
                    // Each round looks at all that was recorded: that many take minutes to draw.
                    continue;
                }
                let options = Options { set: [(key.clone(), given.to_owned())].into(), ..few() };
                let by_option = scenario.plan(Seed(1), &options);
                let mut plan = sound.clone();
                let given = given.parse().map_or_else(|_| Value::String(given.into()), Value::Integer);
                let is_as_drawn = *value == given;
                plan.settings.insert(key.clone(), given.clone());
                match (by_option, scenario.check(&plan)) {
                    (Ok(_), Ok(())) => taken += 1,
                    // Settings that can't be chosen are in each plan, as they are or in a range of their own.
                    (Err(_), Ok(())) if is_as_drawn || key == "workers" => {}
                    (Err(error), Err(refusal)) => {
                        // How many agents there are is said by an option of its own; operations name those that there are.
                        let is_of_agents = matches!(refusal.place, Place::Operation { .. } | Place::Fault { .. });
                        if is_of_agents {
                            assert_eq!(key, "workers", "{}: {refusal}", scenario.name());
                            continue;
                        }
                        assert_eq!(refusal.place, Place::Setting(key.clone()));
                        let Why::Value { allowed, .. } = refusal.why else { panic!("{}: {refusal}", scenario.name()) };
                        if error.option != "--set" {
                            assert_eq!(error.allowed, allowed, "{} {key}", scenario.name());
                        }
                        refused += 1;
                    }
                    (by_option, by_file) => panic!(
                        "{} {key} = {given}: {:?} by option, {by_file:?} in a file",
                        scenario.name(),
                        by_option.map(|_| ())
                    ),
                }
            }
        }
        assert!(refused > 50 && taken > 20, "{}: {refused} refused, {taken} taken", scenario.name());
    }
}

#[test]
fn the_number_of_agents_and_the_time_have_the_range_of_their_options() {
    for scenario in all() {
        let sound = drawn(*scenario, 1, &few());
        let by_option = scenario.plan(Seed(1), &Options { workers: Some(1025), ..Options::default() });
        let by_option = by_option.expect_err("too many").allowed;
        for workers in [0, 1025, 4_294_967_297, i64::MAX, -1] {
            let mut plan = sound.clone();
            plan.settings.insert("workers".into(), Value::Integer(workers));
            let told = scenario.check(&plan).expect_err("no such number").to_string();
            assert_eq!(told, format!("settings.workers: `{workers}` is not possible; allowed: {by_option}"));
        }
        for chaos_ns in [0, 25 * 3_600_000_000_000, u64::MAX] {
            let refusal = scenario.check(&Plan { chaos_ns, ..sound.clone() }).expect_err("no such time");
            assert_eq!(refusal.place, Place::Key("chaos_ns"), "{}", scenario.name());
        }
    }
}

#[test]
fn what_a_plan_lacks_is_named() {
    for scenario in all() {
        let sound = drawn(*scenario, 1, &few());
        for key in sound.settings.keys() {
            let mut plan = sound.clone();
            plan.settings.remove(key);
            let told = scenario.check(&plan).expect_err(key).to_string();
            assert!(told.starts_with(&format!("settings.{key}: it is missing; allowed: ")), "{told}");
        }
    }
}

#[test]
fn nobody_is_named_who_is_not_there() {
    for scenario in all() {
        let sound = drawn(*scenario, 1, &Options { faults: Faults::None, ..few() });
        let refused = |change: &dyn Fn(&mut Plan)| {
            let mut plan = sound.clone();
            change(&mut plan);
            scenario.check(&plan).expect_err("it is refused").to_string()
        };
        let fault = |process: Option<&str>, between: Option<Between>| FaultPlan {
            id: 7,
            kind: FaultKind::MachineCrash,
            process: process.map(str::to_owned),
            when: Trigger::AtNs(5),
            for_ns: 1,
            by_ns: 0,
            between,
        };
        let side = Between { from: vec!["agent-0".into()], to: vec!["agent-02".into()], one_way: false };
        let told = refused(&|plan| plan.clock_skew_ns = [("nobody-0".into(), 5)].into());
        assert!(told.ends_with("allowed: agent-0 to agent-1; prepare-0"), "{}: {told}", scenario.name());
        for told in [
            refused(&|plan| plan.absent.push("agent-2".into())),
            refused(&|plan| plan.absent.push("prepare-0".into())),
            refused(&|plan| plan.faults.push(fault(Some("agent-2"), None))),
            refused(&|plan| plan.faults.push(fault(None, Some(side.clone())))),
            refused(&|plan| plan.operations[0].process = "agent-2".into()),
        ] {
            assert!(told.ends_with("allowed: agent-0 to agent-1"), "{}: {told}", scenario.name());
        }
    }
}

#[test]
fn a_kind_of_fault_that_cannot_happen_is_refused() {
    for scenario in all() {
        let mut plan = drawn(*scenario, 1, &Options { faults: Faults::None, ..few() });
        for kind in FaultKind::ALL {
            let (process, between) = match kind {
                FaultKind::Partition => {
                    (None, Some(Between { from: vec!["agent-0".into()], to: Vec::new(), one_way: true }))
                }
                _ => (Some("agent-0".to_owned()), None),
            };
            plan.faults =
                vec![FaultPlan { id: 7, kind: *kind, process, when: Trigger::AtNs(5), for_ns: 1, by_ns: 1, between }];
            plan.check().expect("it is right by itself");
            let checked = scenario.check(&plan);
            if scenario.faults().contains(kind) {
                checked.expect("it can happen");
            } else {
                let told = checked.expect_err("it can't happen").to_string();
                assert!(told.starts_with(&format!("fault 7, kind: `{}` is not possible", kind.name())), "{told}");
            }
        }
    }
    let with_messages: Vec<&str> = all()
        .iter()
        .filter(|scenario| scenario.faults().contains(&FaultKind::MessageLoss))
        .map(|scenario| scenario.name())
        .collect();
    assert_eq!(with_messages, ["signal-flood"]);
}

#[test]
fn what_is_asked_for_and_cannot_happen_is_left_out_and_shifts_nothing() {
    let of = |kinds: &[FaultKind]| Options { faults: Faults::Kinds(kinds.to_vec()), ..few() };
    for scenario in all().iter().filter(|scenario| scenario.name() != "signal-flood") {
        let alone = drawn(*scenario, 3, &of(&[FaultKind::Kill]));
        let beside = drawn(*scenario, 3, &of(&[FaultKind::MessageLoss, FaultKind::Kill, FaultKind::Partition]));
        assert_eq!(alone, beside);
        assert!(!alone.faults.is_empty());
    }
}

#[test]
fn arguments_of_operations_have_ranges_too() {
    let refused = |name: &str, kind: &str, key: &str, value: Option<Value>| {
        let scenario = named(name);
        let plan = (0..50).map(|seed| drawn(scenario, seed, &few())).find_map(|mut plan| {
            let operation = plan.operations.iter_mut().find(|operation| operation.kind == kind)?;
            match value.clone() {
                Some(value) => drop(operation.arguments.insert(key.to_owned(), value)),
                None => drop(operation.arguments.remove(key)),
            }
            Some(plan)
        });
        let plan = plan.unwrap_or_else(|| panic!("no seed of {name} has a {kind}"));
        scenario.check(&plan).expect_err(key).to_string()
    };
    let (number, text) = (Value::Integer, |text: &str| Some(Value::String(text.into())));
    for (name, kind, key, value, part) in [
        ("guillotine", "note", "bytes", Some(number(-1)), "a whole number from 0 to 1000000"),
        ("guillotine", "note", "bytes", Some(number(i64::MAX)), "a whole number from 0 to 1000000"),
        ("guillotine", "introspect", "notes", Some(number(4_000_000_000)), "a whole number from 0 to 1000"),
        ("guillotine", "document", "name", text("../x"), "document-0"),
        ("guillotine", "document", "name", text("document-01"), "document-0"),
        ("guillotine", "task-claim", "task", None, "`task` is missing"),
        ("guillotine", "task-check", "item", Some(number(3)), "a whole number from 0 to 2"),
        ("guillotine", "board-write", "keys", text("key-0"), "a list"),
        ("guillotine", "sleep", "bytes", Some(number(1)), "there is no `bytes`; allowed: none, for sleep"),
        ("concurrency-storm", "task-needs", "needed", Some(Value::Array(vec![number(1)])), "project-0"),
        ("signal-flood", "broadcast", "bytes", Some(number(60_001)), "a whole number from 0 to 60000"),
        ("signal-flood", "broadcast", "answer_by", text("nobody"), "agent-0 to agent-1"),
        ("contradiction-avalanche", "ingest", "bytes", Some(number(-1)), "a whole number from 0 to 100000"),
        ("contradiction-avalanche", "ingest", "records", text("b0"), "a list of texts"),
    ] {
        let told = refused(name, kind, key, value);
        assert!(told.contains(part), "{name} {kind} {key}: {told}");
    }
}
