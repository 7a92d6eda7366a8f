//! `--crash-points` on the command line: what it finds is found again, by workers and replays too, and it changes no hash.

use crate::program;
use serde_json::{Value, json};

/// A bug that no run without a crash shows: a document is renamed into place before its content is durable.
const BUG: &str = "--scenarios concurrency-storm --workers 4 --faults none --set mutant=no-sync-before-rename --set persistence=posix";

fn count(run: &Value, name: &str) -> u64 {
    run["metrics"][name].as_u64().unwrap_or(0)
}

#[test]
fn a_bug_of_durability_is_found_and_replayed() {
    let program = program();
    let none = program.run(&format!("run {BUG} --seed 1 --crash-points none"));
    assert_eq!((&none["verdict"], count(&none, "crash_points")), (&json!("pass"), 0), "{none}");
    let run = program.run(&format!("run {BUG} --seed 1 --crash-points all"));
    assert_eq!(run["verdict"], json!("fail"), "{run}");
    let message = run["violations"][0]["message"].as_str().expect("a message");
    for words in [
        "had the power failed at step",
        "at step",
        "just ",
        " agent-",
        "lost the write of",
        " of /swarm/documents/document-",
    ] {
        assert!(message.contains(words), "{message}");
    }
    let path = run["reproducer"].as_str().expect("a reproducer");
    let text = std::fs::read_to_string(program.folder.path().join(path)).expect("the reproducer");
    assert!(text.contains("crash_points = \"all\""), "{text}");
    let replayed = program.run(&format!("replay {path}"));
    assert_eq!(replayed["replay"], json!({"reproduced": true, "drift": null, "differs": []}), "{replayed}");
    for field in ["trace_hash", "steps", "violations", "metrics"] {
        assert_eq!(replayed[field], run[field], "{field}");
    }
    let said = program.line(&format!("run {BUG} --seed 1 --crash-points all"));
    assert_eq!(said.code, Some(1));
    let last = said.out.lines().last().expect("a last line").to_owned();
    assert!(last.ends_with(&format!("replay {path}")), "{last}");
    // Without its crash points it passes, and that is no wonder.
    let said = program.line(&format!("replay {path} --crash-points none"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("recorded with --crash-points all, this is none"), "{}", said.out);
}

#[test]
fn a_sweep_and_its_second_runs_explore_as_they_are_told() {
    let program = program();
    let words = format!("{BUG} --seeds 0..6 --jobs 2 --determinism 100%");
    let (lines, summary, said) = program.sweep(&format!("{words} --crash-points 40"));
    assert_eq!(summary["differences"], json!([]), "{summary}");
    assert_eq!(said.code, Some(1), "{summary}");
    let explored: u64 = lines.iter().map(|line| count(line, "crash_points")).sum();
    assert_eq!((&summary["crash_points"], explored > 6), (&json!(explored), true), "{summary}");
    let path = summary["fingerprints"][0]["reproducers"][0].as_str().expect("a reproducer");
    let replayed = program.run(&format!("replay {path}"));
    assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    let (lines, summary, said) = program.sweep(&format!("{words} --crash-points none"));
    assert_eq!((said.code, lines.len(), &summary["crash_points"]), (Some(0), 6, &json!(0)), "{summary}");
}

#[test]
fn the_hash_is_the_same_for_none_some_and_all() {
    let program = program();
    for scenario in ["concurrency-storm", "guillotine", "contradiction-avalanche"] {
        let words = format!("run --scenarios {scenario} --workers 4 --seed 7");
        let runs: Vec<Value> = ["", "--crash-points none", "--crash-points 4", "--crash-points all"]
            .iter()
            .map(|choice| program.run(&format!("{words} {choice}")))
            .collect();
        for run in &runs {
            assert_eq!((&run["verdict"], &run["trace_hash"]), (&json!("pass"), &runs[0]["trace_hash"]), "{run}");
        }
        assert_eq!(runs[0]["metrics"], runs[2]["metrics"], "4 is the default");
        let points: Vec<u64> = runs.iter().map(|run| count(run, "crash_points")).collect();
        assert!(points[0] > 0 && points[1] == 0 && points[3] > 50, "{points:?}");
    }
}

#[test]
fn what_is_no_number_of_crash_points_is_refused() {
    let said = program().line("run --scenarios steady --seed 1 --crash-points some");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("`none`, `all`, or a number"), "{}", said.err);
}
