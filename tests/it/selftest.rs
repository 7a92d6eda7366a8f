//! The self-test: planted bugs that are found, that are not, names that are not known, the fields of its lines, interruption.

use crate::program;
use seedstorm_tests::program::{Program, Said};
use serde_json::{Value, json};
use std::process::Stdio;

/// Found in most seeds, by few agents with little to do.
const SOON: &str = "--mutants board-lost-update --workers 3 --set operations=6";

/// The lines of a self-test that prints JSON.
fn lines(program: &Program, words: &str) -> (Vec<Value>, Said) {
    let said = program.line(&format!("selftest {words} --json"));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"));
    (said.out.lines().map(parse).collect(), said)
}

/// The last line is a command of this program: its words.
fn command(said: &Said) -> Vec<&str> {
    let line = said.out.lines().last().unwrap_or_else(|| panic!("a last line: {said:?}"));
    let words = line.strip_prefix(env!("CARGO_BIN_EXE_seedstorm-under-test"));
    words.unwrap_or_else(|| panic!("not a command of this program: {line}")).split_whitespace().collect()
}

#[test]
fn a_planted_bug_is_found_and_measured() {
    let program = program();
    let words = format!("{SOON} --strategies random,portfolio --seeds 40 --stop-after 3");
    let (lines, said) = lines(&program, &words);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let [random, portfolio, summary] = &lines[..] else { panic!("a line each, and a summary: {said:?}") };
    for (line, strategy) in [(random, "random"), (portfolio, "portfolio")] {
        let expected = json!({
            "type": "mutant", "schema_version": 1, "mutant": "board-lost-update", "scenario": "concurrency-storm",
            "invariant": "board-serializable", "strategy": strategy, "first_seed": 0, "detected": 3,
            "fired_first": {"board-serializable": 3}, "wrong_first": [], "plans_differ": [], "without": 3,
            "failed_without": [], "whole": true, "also": [], "interaction": false,
        });
        for (name, value) in expected.as_object().expect("fields") {
            assert_eq!(&line[name], value, "{name}: {line}");
        }
        let runs = line["runs"].as_u64().expect("runs");
        assert_eq!(line["plans_compared"], json!(runs), "{line}");
        let number = |name: &str| line[name].as_f64().unwrap_or_else(|| panic!("{name}: {line}"));
        assert!((number("share") - 3.0 / runs as f64).abs() < 1e-9, "{line}");
        assert!(number("share_low") < number("share") && number("share") < number("share_high"), "{line}");
        assert!(number("median_seeds") >= 1.0 && number("median_steps") > 100.0, "{line}");
        let fingerprints = line["fingerprints"].as_array().expect("fingerprints");
        assert_eq!(fingerprints.iter().filter_map(|one| one["failures"].as_u64()).sum::<u64>(), 3, "{line}");
        let picked = line["picked"].as_object().expect("by strategy");
        assert_eq!(picked.values().filter_map(|one| one["runs"].as_u64()).sum::<u64>(), runs, "{line}");
        assert!(line["coverage"]["busy_retried"]["total"].is_u64(), "{line}");
    }
    assert_eq!(random["picked"].as_object().map(serde_json::Map::len), Some(1), "one strategy was asked for: {random}");
    let expected = json!({
        "type": "summary", "schema_version": 1, "verdict": "pass", "mutants": 1, "detected": 1, "survivors": [],
        "wrong_first": 0, "plans_differ": 0, "failed_without": 0, "findings": [], "reproduce": null, "interrupted": false,
    });
    for (name, value) in expected.as_object().expect("fields") {
        assert_eq!(&summary[name], value, "{name}: {summary}");
    }
    let ratio = &summary["ratios"][0];
    assert_eq!(
        (&ratio["strategy"], &ratio["against"], &ratio["mutants"]),
        (&json!("portfolio"), &json!("random"), &json!(1))
    );
    assert_eq!(ratio["mutants_detected_by_both"], json!(1), "{ratio}");
    let means = ["median_seeds_geometric_mean", "seeds_for_each_detection_geometric_mean"];
    assert!(means.iter().all(|mean| ratio[*mean].as_f64().is_some_and(|mean| mean > 0.0)), "{ratio}");
    let confusion = summary["confusion"].as_object().expect("by fingerprint");
    assert_eq!(confusion.values().filter_map(|bugs| bugs["board-lost-update"].as_u64()).sum::<u64>(), 6, "{summary}");
    assert!(!program.folder.path().join("artifacts").exists(), "a self-test writes no reproducers");
}

#[test]
fn people_get_one_table_and_the_verdict_last() {
    let said = program().line(&format!("selftest {SOON} --seeds 40 --stop-after 2 --confusion"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "silent where nobody watches: {said:?}");
    for part in
        ["median seeds", "board-lost-update   portfolio", "board-serializable 2", "concurrency-storm: busy_retried"]
    {
        assert!(said.out.contains(part), "`{part}`: {}", said.out);
    }
    assert!(said.out.contains("board-serializable/board-key/agent/lost-update"), "the confusion table: {}", said.out);
    assert!(
        said.out
            .contains("2 failing seeds (at most the first 20 of each bug and strategy) judged without the bug: 0 fail")
    );
    let last = said.out.lines().last().expect("a last line");
    assert_eq!(last, "PASSED 1 of 1 planted bug detected, another invariant first in 0 seeds");
}

#[test]
fn two_strategies_are_compared_in_two_ways() {
    let words = format!("selftest {SOON} --strategies pos,random --seeds 40 --stop-after 2");
    let said = program().line(&words);
    assert_eq!(said.code, Some(0), "{said:?}");
    for name in ["pos_vs_random_geomean", "pos_vs_random_rates_geomean"] {
        let line = said.out.lines().find(|line| line.starts_with(&format!("ratio {name} ")));
        let line = line.unwrap_or_else(|| panic!("{name}: {}", said.out));
        assert!(line.ends_with(" over 1 mutants"), "{line}");
        assert!(
            line.split(' ').nth(2).is_some_and(|value| value.parse::<f64>().is_ok_and(|value| value > 0.0)),
            "{line}"
        );
    }
}

#[test]
fn markdown_has_the_table_alone() {
    let said = program().line(&format!("selftest {SOON} --seeds 40 --stop-after 2 --markdown"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let is_row = |line: &&str| line.starts_with('|');
    let lines = || said.out.lines().skip_while(|line| !is_row(line));
    let rows: Vec<&str> = lines().take_while(is_row).collect();
    assert_eq!(rows.len(), 3, "headings, a rule, one bug: {}", said.out);
    assert!(
        lines().any(|line| line.starts_with("| concurrency-storm | busy_retried | ")),
        "what happened: {}",
        said.out
    );
    assert!(
        rows[2].starts_with("| board-lost-update | the board is read") && rows[2].contains("| 2 of "),
        "{}",
        rows[2]
    );
    let columns = |row: &str| row.matches(" | ").count();
    assert_eq!(columns(rows[0]), columns(rows[2]));
    assert!(
        said.out.starts_with("`seedstorm-under-test selftest --mutants board-lost-update"),
        "how it is made: {}",
        said.out
    );
}

#[test]
fn a_bug_that_survives_is_a_failure_and_the_last_line_shows_it_again() {
    let program = program();
    // One agent alone loses no update.
    let words =
        "selftest --mutants board-lost-update --workers 1 --set operations=6 --seeds 7..9 --strategies timed,random";
    let said = program.line(words);
    assert_eq!(said.code, Some(1), "{said:?}");
    let survived = "survived: board-lost-update (concurrency-storm): 2 seeds under timed, 2 seeds under random";
    assert!(said.out.contains(survived), "{}", said.out);
    assert!(said.out.contains("> 2"), "no median of what never ended: {}", said.out);
    let command = command(&said);
    assert_eq!(program.say(&command).code, Some(1), "{command:?}");
    let (lines, said) = lines(&program, &words.replacen("selftest ", "", 1));
    assert_eq!(said.code, Some(1));
    assert_eq!((&lines[0]["share"], &lines[0]["median_seeds"]), (&json!(0.0), &Value::Null));
    let summary = lines.last().expect("a summary");
    assert_eq!((&summary["verdict"], &summary["survivors"]), (&json!("fail"), &json!(["board-lost-update"])));
    assert!(summary["reproduce"].as_str().is_some_and(|line| line.contains("--seeds 7..9")), "{summary}");
}

#[test]
fn another_invariant_that_fires_first_is_a_failure() {
    let program = program();
    // The watchdog ends each run before it can detect anything.
    let words = "selftest --mutants board-lost-update --strategies random --workers 3 --seeds 4..6 --seed-timeout 1ns";
    let said = program.line(words);
    assert_eq!(said.code, Some(1), "{said:?}");
    let wrong = "wrong invariant first: board-lost-update seed 4 (random): worker-timed-out, not board-serializable: ";
    assert!(said.out.contains(wrong), "{}", said.out);
    assert!(said.out.contains("fails without the bug too: concurrency-storm seed 4 (random): worker-timed-out: "));
    let command = command(&said);
    let expected = "run --scenarios concurrency-storm --seed 4 --workers 3 --strategy random";
    assert_eq!(command.join(" "), expected, "the seed that fails without the bug comes first");
    assert_eq!(program.say(&command).code, Some(0), "nobody watches it then");
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    for (words, part) in [
        ("--mutants board-lost-updates", "did you mean `board-lost-update`? (known: "),
        ("--mutants board-lost-update,nothing", "unknown mutant `nothing` (known: "),
        ("--mutants=", "unknown mutant `` (known: "),
        ("--strategies rndom", "did you mean `random`? (known: timed, "),
        ("--strategies pct:deep=3,depth=2", "allowed: depth=N from 1 to 16"),
        ("--set mutant=board-lost-update", "see --mutants"),
        ("--mutants board-lost-update --set colour=blue", "allowed: "),
        ("--seeds many", "is no seed"),
        ("--json --markdown", "cannot be used with"),
        ("--stop-after 0", "not in 1.."),
    ] {
        let said = program().line(&format!("selftest {words}"));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words}: {said:?}");
        assert!(said.err.contains(part), "{words}: `{part}`: {}", said.err);
    }
}

#[test]
fn a_self_test_of_nothing_is_no_pass() {
    let said = program().line("selftest --mutants board-lost-update --seeds 0");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("NOTHING RAN: 0 of 1 planted bug detected"), "{}", said.out);
}

#[test]
fn ctrl_c_prints_what_was_found() {
    use std::io::{BufRead, BufReader, Read};
    let program = program();
    // The first ends with its second failure; the second needs faults, and never ends.
    let words = "selftest --mutants board-lost-update,pid-reuse-ignored --strategies random --seeds 100000000 --stop-after 2 \
                 --faults none --workers 3 --set operations=6 --json";
    let mut command = program.command(&words.split_whitespace().collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    let mut first = String::new();
    assert!(output.read_line(&mut first).expect("a line") > 0, "the first bug is done");
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill(1)").success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "nothing was wrong until then: {rest}");
    let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let summary = lines.last().expect("a summary");
    assert_eq!((&summary["interrupted"], &summary["detected"]), (&json!(true), &json!(1)), "{summary}");
    assert_eq!(summary["survivors"], json!([]), "who had not the time has not survived");
    let command = summary["reproduce"].as_str().expect("the command that goes on");
    let run = lines[0]["runs"].as_u64().expect("runs");
    let words =
        ["selftest --mutants pid-reuse-ignored --strategies random --seeds ", "..100000000 --stop-after 2 --workers 3"];
    assert!(words.iter().all(|part| command.contains(part)), "{command}");
    let next = command.split("--seeds ").nth(1).and_then(|rest| rest.split("..").next()?.parse::<u64>().ok());
    assert!(next.is_some_and(|next| next <= run), "{command} after {run} runs");
}
