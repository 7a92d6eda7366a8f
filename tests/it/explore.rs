//! `explore`: every schedule up to a bound. What it finds is found by few skips and can be run again; what it hasn't run it doesn't vouch for.

use crate::{ledger, program};
use seedstorm_tests::program::{Program, Said};
use serde_json::{Value, json};

/// Two clerks on a real database.
const SMALL: &str = "--scenario ledger --seed 1 --workers 2 --duration 10ms --faults none --crash-points none";

fn explore(program: &Program, words: &str) -> (Value, Said) {
    let said = program.line(&format!("explore {words} --json"));
    let object = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    (object, said)
}

#[test]
fn a_pass_leaves_no_schedule_out() {
    let (object, said) = explore(&ledger(), &format!("{SMALL} --skips 1 --jobs 2"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        (&object["is_complete"], &object["failing"], &object["command"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    let levels = object["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 2);
    // Without a skip there is one schedule; with one, as many as that has choices.
    assert_eq!((&levels[0]["schedules"], &levels[1]["schedules"]), (&json!(1), &levels[0]["choices_max"]));
    assert_eq!(levels[1]["runs"], levels[1]["schedules"]);
    assert!(levels[1]["distinct"].as_u64().is_some_and(|distinct| distinct > 20), "{object}");
    let said = ledger().line(&format!("explore {SMALL}"));
    assert!(said.out.ends_with("PASSED ledger seed 1: every schedule with at most 1 skip passes\n"), "{said:?}");
}

#[test]
fn one_skip_finds_a_balance_that_is_read_too_early() {
    let program = ledger();
    let words = format!("{SMALL} --set mutant=reads-early");
    let (none, said) = explore(&program, &format!("{words} --skips 0"));
    assert_eq!(said.code, Some(0), "one clerk after the other: {none}");
    let (found, said) = explore(&program, &format!("{words} --skips 2 --jobs 2"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(found["levels"].as_array().map(Vec::len), Some(2), "one skip is enough: {found}");
    assert_eq!(found["is_complete"], json!(false));
    let failing = &found["failing"];
    assert_eq!(failing["violations"][0]["invariant"], json!("money-kept"), "{found}");
    let strategy = failing["strategy"].as_str().or(failing["options"]["strategy"].as_str()).expect("a strategy");
    assert!(strategy.starts_with("skips:at=") && !strategy.contains('+'), "{strategy}");
    // Its schedule is one that `run` takes, and the plan is the same.
    let run = words.replace("--scenario", "--scenarios");
    let again = program.run(&format!("run {run} --strategy {strategy}"));
    assert_eq!(again["trace_hash"], failing["trace_hash"]);
    let said = program.line(&format!("explore {words}"));
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("a schedule with one skip fails: at choice "), "{}", said.out);
    let replay = said.out.lines().next_back().expect("a last line");
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    assert_eq!(program.say(&words).code, Some(1), "{replay}");
    assert!(program.say(&words).out.contains("replay: the same violation, step and trace hash as recorded"));
}

#[test]
fn the_number_of_workers_decides_nothing() {
    let (program, words) = (ledger(), format!("{SMALL} --set mutant=reads-early --skips 1"));
    let [one, other] = ["1", "2"].map(|jobs| explore(&program, &format!("{words} --jobs {jobs}")).0);
    assert_eq!(one["failing"]["trace_hash"], other["failing"]["trace_hash"]);
}

#[test]
fn a_search_that_is_cut_off_is_no_pass() {
    let program = ledger();
    let (object, said) = explore(&program, &format!("{SMALL} --skips 3 --budget 1ms"));
    assert_eq!(said.code, Some(4), "{said:?}");
    assert_eq!((&object["is_complete"], &object["interrupted"]), (&json!(false), &json!(false)));
    assert!(
        object["command"].as_str().is_some_and(|command| command.contains("explore") && command.contains("--skips 3"))
    );
    let said = program.line(&format!("explore {SMALL} --skips 3 --budget 1ms"));
    assert!(said.out.contains("INCOMPLETE ledger seed 1: the time is up"), "{said:?}");
}

#[test]
fn plans_from_files_are_explored_as_they_are() {
    let program = ledger();
    let plan = program.line(&format!(
        "run {} --print-plan",
        SMALL.replace("--scenario", "--scenarios").replace(" --crash-points none", "")
    ));
    assert_eq!(plan.code, Some(0), "{plan:?}");
    std::fs::write(program.folder.path().join("plan.toml"), &plan.out).expect("a file");
    let (object, said) = explore(&program, "--plan plan.toml --crash-points none");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(object["levels"], explore(&program, SMALL).0["levels"]);
    // A failure has a plan, too: whoever has mended the bug looks at the schedules near it.
    let (found, _) = explore(&program, &format!("{SMALL} --set mutant=reads-early"));
    let folder = program.folder.path().join("artifacts/ledger-1");
    assert!(folder.is_dir(), "{found}");
    let (again, said) = explore(&program, "--plan artifacts/ledger-1 --crash-points none");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(again["failing"]["trace_hash"], found["failing"]["trace_hash"]);
}

#[test]
fn what_can_not_be_explored_is_refused() {
    let program = program();
    for (words, why) in [
        ("explore --seed 1", "--scenario"),
        ("explore --scenario nosuch --seed 1", "unknown scenario `nosuch`"),
        (
            "explore --scenario steady --seed 1 --strategy pos",
            "--strategy pos: `seedstorm-under-test explore` says itself who steps next",
        ),
        ("explore --scenario steady --seed 1 --skips 5", "5 is not in 0..=4"),
        ("explore --scenario steady --seed 1 --skips -1", "-1 is not in 0..=4"),
        ("explore --plan nosuch.toml", "nosuch.toml"),
        ("explore --plan nosuch.toml --workers 2", "--plan explores a plan as it is"),
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.err.contains(why), "{words}: {}", said.err);
    }
}
