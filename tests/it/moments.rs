//! `compare`, and `replay --until` and `--verbose`: a moment of a run, and where two runs part.

use crate::program;
use serde_json::Value;

#[test]
fn equal_runs_are_equal_and_others_part() {
    let program = program();
    for (name, seed) in [("a.bin", 5), ("b.bin", 5), ("c.bin", 6)] {
        program.run(&format!("run --scenarios steady --seed {seed} --strategy random --trace {name}"));
    }
    let same = program.line("compare a.bin b.bin");
    assert_eq!(same.code, Some(0), "{same:?}");
    let words = &same.out;
    assert!(words.starts_with("the same ") && words.ends_with(": both are steady seed 5, of one plan\n"), "{words}");
    let other = program.line("compare a.bin c.bin");
    assert_eq!(other.code, Some(1));
    let lines: Vec<&str> = other.out.lines().collect();
    assert_eq!(lines[0], "first is steady seed 5, second steady seed 6: two plans, which need not run alike");
    assert!(
        lines[1].starts_with("they part at step 1, ") && lines[1].ends_with(" into the run, event 3"),
        "{lines:#?}"
    );
    // What both did, what each did then in words, and beside each other what comes after it.
    assert!(lines[2].starts_with("  both  ") && lines[2].ends_with("writer-0       started with PID 101, boot 1"));
    let place = |part: &str| other.out.find(part).unwrap_or_else(|| panic!("{part}: {}", other.out));
    assert!(
        place("\n  first  ") < place("\n  second  ") && place("\n  second  ") < place("what they do from there on\n")
    );
    for words in [": sleep ", ": open /writer-", " (create)", ": write /writer-", " 8 bytes"] {
        assert!(other.out.contains(words), "{words}: {}", other.out);
    }
    assert!(lines.iter().any(|line| line.matches("step 4 writer-").count() == 2), "{lines:#?}");
    assert!(!other.out.contains('#') && !other.out.contains(" ns"), "no raw numbers: {}", other.out);
    let again = program.say(&lines[lines.len() - 1].split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(again.code, Some(0), "{again:?}");
    let object: Value =
        serde_json::from_str(&program.line("compare a.bin c.bin --json --context 3").out).expect("JSON");
    let (exact, deeds) = (&object["exact"], &object["in_deeds"]);
    assert!(exact["event"].as_u64() <= deeds["event"].as_u64(), "{object}");
    assert_eq!(deeds["first"].as_array().map(Vec::len), Some(3), "{object}");
    assert_ne!(deeds["first"][0], deeds["second"][0]);
}

#[test]
fn runs_of_two_scenarios_part_although_their_first_events_are_alike() {
    let program = program();
    program.run("run --scenarios steady --seed 5 --trace a.bin");
    program.run("run --scenarios race --seed 5 --trace b.bin");
    let said = program.line("compare a.bin b.bin");
    assert_eq!(said.code, Some(1), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "first is steady seed 5, second race seed 5: two plans, which need not run alike");
    assert!(lines[1].starts_with("they part at step 0, ") && lines[2].contains(" writer-0 "), "{said:?}");
}

#[test]
fn plans_of_one_seed_are_told_apart() {
    let program = program();
    program.run("run --scenarios steady --seed 5 --strategy random --trace a.bin");
    program.run("run --scenarios steady --seed 5 --strategy timed --set rounds=2 --trace b.bin");
    let said = program.line("compare a.bin b.bin");
    assert_eq!(said.code, Some(1), "{said:?}");
    let lines: Vec<&str> = said.out.lines().take(4).collect();
    assert_eq!(lines[0], "both are steady seed 5, of two plans, which need not run alike");
    assert_eq!(lines[1..3], ["  settings.rounds: none and 2", "  strategy: \"random\" and \"timed\""]);
    assert!(lines[3].starts_with("they part at step "), "{}", said.out);
    let object: Value = serde_json::from_str(&program.line("compare a.bin b.bin --json").out).expect("JSON");
    assert_eq!((&object["is_one_plan"], &object["plans_differ"][0]), (&false.into(), &lines[1].trim().into()));
}

#[test]
fn messages_are_told_alike_everywhere() {
    let program = program();
    program.run("run --scenarios signal-flood --seed 2 --strategy random --trace a.bin");
    program.run("run --scenarios signal-flood --seed 2 --strategy timed --trace b.bin");
    let events = program.line("export --format jsonl a.bin -o -").out;
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let sent = events.filter(|event| event["call"] == "send").nth(3).expect("a message");
    let words = sent["words"].as_str().unwrap_or_else(|| panic!("{sent}"));
    let is_told = words.starts_with("send ") && words.contains(" to agent-") && words.contains(": a copy of signal ");
    assert!(is_told, "{words}");
    let until = format!("replay --scenario signal-flood --seed 2 --strategy random --until {}", sent["step"]);
    let said = program.line(&until);
    assert!(said.out.contains(words), "{words}: {said:?}");
    // Two columns leave room for so much of it.
    let begins = words.split(',').next().unwrap_or_default();
    let said = program.line("compare a.bin b.bin --context 100000");
    assert!(said.out.contains(begins), "{begins}");
}

#[test]
fn plans_and_failures_are_run_and_compared() {
    let program = program();
    let plan = program.line("run --scenarios violates --seed 8 --strategy random --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a file");
    program.run("run --scenarios violates --seed 8 --strategy random");
    for (one, other) in [("plan.toml", "artifacts/violates-8"), ("artifacts/violates-8/reproducer.toml", "plan.toml")] {
        let said = program.line(&format!("compare {one} {other}"));
        assert_eq!(said.code, Some(0), "{one} {other}: {said:?}");
    }
    program.run("run --scenarios violates --seed 13 --strategy random");
    let said = program.line("compare artifacts/violates-8 artifacts/violates-13");
    assert_eq!(said.code, Some(1), "{said:?}");
    let last = said.out.lines().next_back().unwrap_or_default();
    assert!(last.contains("replay artifacts/violates-8 --until "), "{last}");
    assert_eq!(program.line("compare plan.toml nowhere").code, Some(2));
    std::fs::write(program.folder.path().join("torn.bin"), [0xF5, b't']).expect("a file");
    assert_eq!(program.line("compare plan.toml torn.bin").code, Some(2));
}

#[test]
fn a_failure_of_a_crash_point_ends_where_it_ended() {
    let program = program();
    let words = "run --scenarios guillotine --seed 0 --faults none --set mutant=wal-deleted-on-recovery --crash-points";
    // Nothing but a crash point shows it.
    assert_eq!(program.run(&format!("{words} none"))["verdict"], "pass");
    let run = program.run(&format!("{words} all"));
    assert_eq!(run["violations"][0]["fingerprint"], "no-lost-write/row/agent/lost", "{run}");
    let said = program.line("compare artifacts/guillotine-0 artifacts/guillotine-0/reproducer.toml");
    assert_eq!(said.code, Some(0), "{}", said.out);
}

#[test]
fn the_state_at_a_step_is_told() {
    let program = program();
    let run =
        program.run("run --scenarios concurrency-storm --seed 0 --set mutant=board-lost-update --crash-points none");
    let steps = run["steps"].as_u64().expect("steps");
    let path = run["reproducer"].as_str().unwrap_or_else(|| panic!("the seed passes: {run}"));
    let said = program.line(&format!("replay {path} --until {}", steps - 1));
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in ["processes", "agent-0", "locks on files", "files", ".db-wal", "tables", "queues", "beliefs", "row"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let text = program.line(&format!("replay {path} --until {} --json --verbose=5", steps - 1)).out;
    let object: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(object["state"]["step"], steps - 1);
    assert_eq!(object["last_events"].as_array().map(Vec::len), Some(5));
    assert!(object["state"]["tables"].to_string().contains("/swarm/state.db agents (name, status"), "{object}");
    assert_eq!(program.line(&format!("replay {path} --until {steps} --verbose={}", u64::MAX)).code, Some(0));
    // Nothing is judged, so that it goes on after the failure.
    let late = program.line(&format!("replay {path} --until 999999999"));
    assert_eq!(late.code, Some(2));
    let told = late.err.split("the run ends after step ").nth(1).unwrap_or_else(|| panic!("{}", late.err));
    let end: u64 = told.split(';').next().and_then(|end| end.parse().ok()).unwrap_or_else(|| panic!("{}", late.err));
    assert!(end >= steps && told.contains(&format!("allowed: 1 to {end}")), "{}", late.err);
    assert_eq!(program.line(&format!("replay {path} --until {end}")).code, Some(0));
    assert_eq!(program.line(&format!("replay {path} --until {}", end + 1)).code, Some(2));
}

#[test]
fn waits_and_locks_are_in_the_state() {
    let program = program();
    program.run("run --scenarios versioned --seed 2 --trace t.bin");
    // Somebody waits for the lock on the counter at some step, while another holds it.
    let is_there = (10..60).any(|step| {
        let said = program.line(&format!("replay --scenario versioned --seed 2 --until {step}"));
        said.out.contains("waits in flock /counter") && said.out.contains("/counter: flock, exclusive, counter-")
    });
    assert!(is_there, "nobody ever waits");
}

#[test]
fn as_many_last_events_as_asked_for() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    let count = |words: &str| {
        let said = program.line(&format!("replay artifacts/violates-8 {words}"));
        let events = said.out.split("The last events up to the violation:\n").nth(1).expect("events");
        events.lines().take_while(|line| !line.is_empty()).count()
    };
    assert_eq!(count("--verbose=3"), 3);
    assert_eq!(count("--verbose=9"), 9);
    assert!(count("--verbose") >= count(""));
}
