//! What is wrong with a plan file, a file of faults or a reproducer is told by file, line, key, value and what is allowed.

use crate::program;

/// A plan of few agents and what `sed` would do to it.
struct Case {
    scenario: &'static str,
    from: &'static str,
    to: &'static str,
    parts: &'static [&'static str],
}

const fn case(scenario: &'static str, from: &'static str, to: &'static str, parts: &'static [&'static str]) -> Case {
    Case { scenario, from, to, parts }
}

/// `from` begins a line; the whole line is replaced.
const CASES: &[Case] = &[
    case("guillotine", "workers", "workers = 4000000000", &["settings.workers: `4000000000`", "from 1 to 1024"]),
    case("sqlite-wal", "workers", "workers = 4294967297", &["settings.workers: `4294967297`", "from 1 to 1024"]),
    case("signal-flood", "workers", "workers = 0", &["settings.workers: `0`", "from 1 to 1024"]),
    case("guillotine", "workers", "workers = \"two\"", &["settings.workers: `two`", "a whole number from 1 to 1024"]),
    case("sqlite-wal", "page_bytes", "page_bytes = 1000", &["settings.page_bytes: `1000`", "a power of two from 512"]),
    case("guillotine", "lock =", "lock = \"flok\"", &["settings.lock: `flok`", "did you mean `flock`?", "lease"]),
    case("guillotine", "tasks", "taks = 3", &["settings.taks", "no such setting; did you mean `tasks`?"]),
    case("guillotine", "steps_max", "steps_max = 0", &["steps_max: `0`", "a whole number of 1 or more"]),
    case("guillotine", "chaos_ns", "chaos_ns = 0", &["chaos_ns: `0`", "from 1 to 86400000000000, in nanoseconds"]),
    case("guillotine", "scenario", "scenario = \"guilotine\"", &["did you mean `guillotine`?", "known: steady"]),
    case("guillotine", "seed", "seed = \"x\"", &["\"x\"", "a whole number from 0 to 18446744073709551615"]),
    case("guillotine", "strategy", "strategy = \"best\"", &["unknown strategy `best`", "`round-robin`"]),
    case(
        "guillotine",
        "strategy",
        "strategy = random",
        &["`strategy = random`: strategy: words need quotes: write \"random\" instead of random"],
    ),
    case(
        "guillotine",
        "steps_max",
        "absent = [\"agent-0\", agent-1] # gone",
        &["absent: words need quotes: write \"agent-1\" instead of agent-1"],
    ),
    case("guillotine", "latency", "latency =", &["`latency =`: latency: there is no value"]),
    case(
        "guillotine",
        "strategy",
        "strategy = \"randm\"",
        &["unknown strategy `randm`; did you mean `random`?", "`urw`"],
    ),
    case("guillotine", "latency", "latency = \"tape\"", &["`tape`", "nvme, ssd, hdd"]),
    case("guillotine", "calm_ns", "clam_ns = 3", &["unknown field `clam_ns`; did you mean `calm_ns`? allowed: `"]),
    case("guillotine", "kind = \"kill\"", "kind = \"kil\"", &["`kil`; did you mean `kill`?", "`machine-crash`"]),
    case("guillotine", "process = \"agent-1\"", "process = \"agent-9\"", &["process: `agent-9`", "agent-0 to agent-1"]),
    case("guillotine", "bytes", "bytes = -1", &["bytes: `-1`", "a whole number from 0 to 1000000"]),
    case("signal-flood", "bytes", "bytes = 99999999999", &["bytes: `99999999999`", "from 0 to 60000"]),
];

#[test]
fn what_is_wrong_with_a_plan_is_told_with_its_line() {
    let program = program();
    let write = |name: &str, text: &str| std::fs::write(program.folder.path().join(name), text).expect("a file");
    for Case { scenario, from, to, parts } in CASES {
        let plan =
            program.line(&format!("run --scenarios {scenario} --seed 3 --workers 2 --faults kill --print-plan")).out;
        let at = plan.lines().position(|line| line.starts_with(from)).unwrap_or_else(|| panic!("no `{from}`: {plan}"));
        let changed: Vec<&str> =
            plan.lines().enumerate().map(|(line, text)| if line == at { to } else { text }).collect();
        write("plan.toml", &changed.join("\n"));
        for command in ["run --plan plan.toml", "replay plan.toml", "compare plan.toml plan.toml"] {
            let said = program.line(command);
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{to}: {command}: {said:?}");
            let place = format!("error: plan.toml: line {}, `{to}`: ", at + 1);
            assert!(said.err.starts_with(&place), "{to}: {command} doesn't begin with {place}: {}", said.err);
            for part in *parts {
                assert!(said.err.contains(part), "{to}: {command} doesn't say {part}: {}", said.err);
            }
            assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        }
    }
    assert_eq!(program.folder.names(), ["plan.toml"], "nothing ran");
}

#[test]
fn whoever_is_not_there_is_told_before_anything_else_is() {
    let program = program();
    let write = |text: &str| std::fs::write(program.folder.path().join("plan.toml"), text).expect("a file");
    // A scenario that looks at no plan itself: its world tells who is there.
    let plan = program.line("run --scenarios steady --seed 1 --workers 2 --print-plan").out;
    let without = |key: &str| plan.replacen(&format!("{key} = []\n"), "", 1);
    let fault = "[[faults]]\nid = 1\nkind = \"kill\"\nprocess = \"writer-9\"\nwhen.at-ns = 5\n";
    let operation = "[[operations]]\nid = 1\nprocess = \"writer-9\"\nkind = \"write\"\n";
    for (text, place) in [
        (plan.replacen("\nsteps_max", "\nabsent = [\"writer-9\"]\nsteps_max", 1), "absent: `writer-9`"),
        (format!("{}{fault}", without("faults")), "fault 1, process: `writer-9`"),
        (format!("{}{operation}", without("operations")), "operation 1, process: `writer-9`"),
    ] {
        write(&text);
        let at = text.lines().position(|line| line.contains("writer-9")).expect("the name") + 1;
        for command in [
            "run --plan plan.toml",
            "run --plan plan.toml --json",
            "replay plan.toml",
            "explore --plan plan.toml",
            "compare plan.toml plan.toml",
        ] {
            let said = program.line(command);
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{place}: {command}: {said:?}");
            let begins = said.err.starts_with(&format!("error: plan.toml: line {at}, "));
            assert!(begins && said.err.contains(place), "{command}: {}", said.err);
            assert!(said.err.contains("writer-0, writer-1"), "{command}: {}", said.err);
        }
    }
}

#[test]
fn what_a_plan_lacks_is_told_where_it_belongs() {
    let program = program();
    let plan = program.line("run --scenarios sqlite-wal --seed 3 --workers 2 --print-plan").out;
    let header = plan.lines().position(|line| line == "[settings]").expect("settings") + 1;
    for key in ["page_bytes", "workers", "synchronous"] {
        let without: Vec<&str> = plan.lines().filter(|line| !line.starts_with(key)).collect();
        std::fs::write(program.folder.path().join("plan.toml"), without.join("\n")).expect("a file");
        let said = program.line("run --plan plan.toml");
        assert_eq!(said.code, Some(2), "{said:?}");
        let place = format!("error: plan.toml: line {header}, `[settings]`: settings.{key}: it is missing; allowed: ");
        assert!(said.err.starts_with(&place), "{}", said.err);
    }
    for (text, part) in
        [("", "the file is empty"), ("\n \n", "the file is empty"), ("format = 1\n", "missing field `scenario`")]
    {
        std::fs::write(program.folder.path().join("plan.toml"), text).expect("a file");
        for command in ["run --plan plan.toml", "replay plan.toml"] {
            let said = program.line(command);
            assert_eq!(said.code, Some(2), "{said:?}");
            assert!(said.err.starts_with("error: plan.toml: line 1") && said.err.contains(part), "{}", said.err);
        }
    }
}

#[test]
fn the_plan_of_a_reproducer_is_looked_at_as_closely() {
    let program = program();
    let said = program.line(
        "run --scenarios guillotine --seed 0 --faults none --set mutant=wal-deleted-on-recovery --crash-points all",
    );
    assert_eq!(said.code, Some(1), "{said:?}");
    let path = program.folder.path().join("artifacts/guillotine-0/reproducer.toml");
    let sound = std::fs::read_to_string(&path).expect("a reproducer");
    for (from, to, part) in [
        ("page_bytes", "page_bytes = 1000", "settings.page_bytes: `1000`"),
        ("workers", "workers = 4000000000", "settings.workers: `4000000000`"),
        ("latency = \"", "latency = \"tape\"", "latency: `tape`"),
        ("steps_max", "steps_max = 0", "steps_max: `0`"),
        ("scenario", "scenario = \"guilotine\"", "did you mean `guillotine`?"),
    ] {
        // The plan comes last.
        let plan = sound.lines().position(|line| line == "[plan]").expect("a plan");
        let at = plan + sound.lines().skip(plan).position(|line| line.starts_with(from)).expect("the key");
        let changed: Vec<&str> =
            sound.lines().enumerate().map(|(line, text)| if line == at { to } else { text }).collect();
        std::fs::write(&path, changed.join("\n")).expect("a file");
        for command in ["replay", "shrink", "bisect"] {
            let said = program.line(&format!("{command} artifacts/guillotine-0"));
            assert_eq!(said.code, Some(2), "{command} {to}: {said:?}");
            let place = format!("error: artifacts/guillotine-0/reproducer.toml: line {}, `{to}`: ", at + 1);
            assert!(said.err.starts_with(&place) && said.err.contains(part), "{command} {to}: {}", said.err);
        }
    }
}

#[test]
fn a_file_of_faults_is_looked_at_by_the_scenario_too() {
    let program = program();
    let fault = |kind: &str, process: &str| {
        format!("[[faults]]\nid = 1\nkind = \"{kind}\"\nprocess = \"{process}\"\nwhen.at-ns = 5\n")
    };
    for (text, place, part) in [
        (
            fault("kill", "nobody-0"),
            "line 4, `process = \"nobody-0\"`",
            "allowed: agent-0 to agent-1 (scenario `sqlite-wal`)",
        ),
        (fault("message-loss", "agent-0"), "line 3, `kind = \"message-loss\"`", "allowed: kill, "),
    ] {
        std::fs::write(program.folder.path().join("faults.toml"), text).expect("a file");
        for command in ["run --seed 3", "sweep --seeds 3..5", "replay --scenario sqlite-wal --seed 3"] {
            let scenarios = if command.contains("--scenario") { "" } else { "--scenarios sqlite-wal" };
            let said = program.line(&format!("{command} {scenarios} --workers 2 --faults faults.toml"));
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{command}: {said:?}");
            let begins = said.err.starts_with(&format!("error: --faults faults.toml: {place}: "));
            assert!(begins && said.err.contains(part), "{command}: {}", said.err);
        }
    }
}

#[test]
fn what_cannot_happen_in_one_of_several_scenarios_is_left_out_there_and_said_once() {
    let program = program();
    let said = program.line(
        "sweep --scenarios sqlite-wal,signal-flood --seeds 0..2 --faults message-loss,kill --set page_bytes=4096",
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let warning = "warning: --faults: left out where it can't happen: `message-loss` in `sqlite-wal`\n";
    assert!(said.err.matches("warning:").count() == 1 && said.err.contains(warning), "{}", said.err);
    let quiet = program.line("sweep --scenarios sqlite-wal,guillotine --seeds 0..1 --faults failed-sync");
    assert!(quiet.code == Some(0) && !quiet.err.contains("warning:"), "{quiet:?}");
}

#[test]
fn what_was_perhaps_meant_is_told_of_other_files_too() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer").replacen("crash_points", "crash_point", 1);
    std::fs::write(&path, text).expect("a file");
    std::fs::write(
        program.folder.path().join("faults.toml"),
        "[[faults]]\nid = 1\nkind = \"kill\"\nproces = \"writer-0\"\n",
    )
    .expect("a file");
    for (words, meant) in [
        ("replay artifacts/violates-8", "unknown field `crash_point`; did you mean `crash_points`? allowed: `"),
        (
            "run --scenarios steady --faults faults.toml",
            "unknown field `proces`; did you mean `process`? allowed: `id`",
        ),
    ] {
        let said = program.line(words);
        assert!(said.code == Some(2) && said.err.contains(meant), "{words}: {said:?}");
    }
}

#[test]
fn what_an_absent_agent_was_to_do_in_the_calm_is_missed_by_nobody() {
    let program = program();
    let plan = program.line("run --scenarios concurrency-storm --seed 1 --workers 4 --print-plan").out;
    // Of four agents the third alone writes documents.
    let without = plan.replacen("\nsteps_max", "\nabsent = [\"agent-2\"]\nsteps_max", 1);
    assert!(without != plan && plan.contains("kind = \"document\""), "{plan}");
    std::fs::write(program.folder.path().join("plan.toml"), without).expect("a plan");
    let said = program.line("run --plan plan.toml --crash-points none");
    assert_eq!(said.code, Some(0), "{said:?}");
}
