//! `explore`: every schedule up to a bound. What it finds is found by few skips and can be run again; what it hasn't run it doesn't vouch for.

use crate::{ledger, program};
use seedstorm_tests::program::{Program, Said};
use serde_json::{Value, json};

/// Two clerks on a real database, who are to move money once each.
const PLAN: &str = "plan.toml --crash-points none";

/// The program, with that plan in its folder.
fn with_plan(options: &str) -> Program {
    let program = ledger();
    let drawn =
        program.line(&format!("run --scenarios ledger --seed 1 --workers 2 --faults none {options} --print-plan"));
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    let mut plan: toml::Table = drawn.out.parse().expect("a plan is TOML");
    let operations = plan.get_mut("operations").and_then(toml::Value::as_array_mut).expect("operations");
    let mut busy = Vec::new();
    operations.retain(|operation| {
        let process = operation["process"].to_string();
        let is_first = !busy.contains(&process);
        busy.push(process);
        is_first
    });
    assert_eq!(operations.len(), 2);
    std::fs::write(program.folder.path().join("plan.toml"), plan.to_string()).expect("a file");
    program
}

fn explore(program: &Program, words: &str) -> (Value, Said) {
    let said = program.line(&format!("explore {words} --json"));
    let object = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    (object, said)
}

#[test]
fn a_pass_leaves_no_schedule_out() {
    let program = with_plan("");
    let (object, said) = explore(&program, &format!("--plan {PLAN} --skips 1 --jobs 2"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        (&object["is_complete"], &object["failing"], &object["command"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    let levels = object["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 2);
    // Without a skip there is one schedule; with one, as many as that has choices.
    assert_eq!((&levels[0]["schedules"], &levels[1]["schedules"]), (&json!(1), &levels[0]["choices_max"]));
    assert_eq!((&levels[1]["runs"], &levels[1]["unexplored"]), (&levels[1]["schedules"], &json!(0)));
    assert!(levels[1]["distinct"].as_u64().is_some_and(|distinct| distinct > 20), "{object}");
    let said = program.line(&format!("explore --plan {PLAN}"));
    assert!(said.out.ends_with("PASSED ledger seed 1: every schedule with at most 1 skip passes\n"), "{said:?}");
}

#[test]
fn one_skip_finds_a_balance_that_is_read_too_early() {
    let program = with_plan("--set mutant=reads-early");
    let (none, said) = explore(&program, &format!("--plan {PLAN} --skips 0"));
    assert_eq!(said.code, Some(0), "one clerk after the other: {none}");
    let (found, said) = explore(&program, &format!("--plan {PLAN} --skips 2 --jobs 2"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(found["levels"].as_array().map(Vec::len), Some(2), "one skip is enough: {found}");
    assert_eq!(found["is_complete"], json!(false));
    assert_eq!(found["failing"]["violations"][0]["invariant"], json!("money-kept"), "{found}");
    let (other, _) = explore(&program, &format!("--plan {PLAN} --skips 2 --jobs 1"));
    assert_eq!(other["failing"]["trace_hash"], found["failing"]["trace_hash"], "the number of workers decides nothing");
    let said = program.line(&format!("explore --plan {PLAN}"));
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("a schedule with one skip fails: at choice "), "{}", said.out);
    let last = said.out.lines().next_back().expect("a last line");
    let replay: Vec<&str> = last.split(' ').skip(1).collect();
    let replayed = program.say(&replay);
    assert_eq!(replayed.code, Some(1), "{last}");
    assert!(replayed.out.contains("replay: the same violation, step and trace hash as recorded"), "{replayed:?}");
    // A failure has a plan, too: whoever has mended the bug looks at the schedules near it.
    let (again, said) = explore(&program, "--plan artifacts/ledger-1 --crash-points none");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(again["failing"]["trace_hash"], found["failing"]["trace_hash"]);
}

#[test]
fn its_schedule_is_one_that_run_takes() {
    let program = ledger();
    let words = "--seed 1 --workers 2 --faults none --set mutant=reads-early --crash-points none";
    let (found, said) = explore(&program, &format!("--scenario ledger {words}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    let strategy = found["strategy"].as_str().unwrap_or_else(|| panic!("{found}"));
    assert!(strategy.starts_with("skips:at=") && !strategy.contains('+'), "{strategy}");
    let again = program.run(&format!("run --scenarios ledger {words} --strategy {strategy}"));
    assert_eq!(again["trace_hash"], found["failing"]["trace_hash"]);
}

#[test]
fn a_search_that_is_cut_off_is_no_pass() {
    let program = with_plan("");
    let words = format!("--plan {PLAN} --skips 3 --budget 1ms");
    let (object, said) = explore(&program, &words);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert_eq!((&object["is_complete"], &object["interrupted"]), (&json!(false), &json!(false)));
    let command = object["command"].as_str().expect("how to go on");
    assert!(command.contains("explore --plan plan.toml --skips 3"), "{command}");
    let said = program.line(&format!("explore {words}"));
    assert!(said.out.contains("INCOMPLETE ledger seed 1: the time is up"), "{said:?}");
}

#[test]
fn that_the_calm_is_not_explored_is_told() {
    let words = "--scenario ledger --seed 1 --workers 2 --faults none --crash-points none --duration 10ms";
    let (object, said) = explore(&ledger(), &format!("{words} --skips 0"));
    assert_eq!((said.code, &object["levels"][0]["unexplored"]), (Some(0), &json!(1)), "{said:?}");
    let said = ledger().line(&format!("explore {words} --skips 0"));
    assert!(said.out.contains("\nnot explored: the calm of 1 run, in which steps go in time order\n"), "{said:?}");
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
