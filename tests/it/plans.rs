//! Plans on paper: a printed plan runs as the drawn one did; faults come from lists and files.

use crate::program;
use seedstorm_tests::scenarios::FAULT_FILE;
use serde_json::json;

#[test]
fn a_printed_plan_runs_as_it_was_drawn() {
    let program = program();
    let words = "--scenarios steady --seed 6 --faults kill,no-space --workers 5 --duration 250ms --set rounds=7";
    let drawn = program.run(&format!("run {words}"));
    let plan = program.line(&format!("run {words} --print-plan"));
    assert_eq!(plan.code, Some(0));
    std::fs::write(program.folder.path().join("plan.toml"), &plan.out).expect("a file");
    for command in ["run --plan plan.toml", "replay plan.toml"] {
        let run = program.run(command);
        assert_eq!(run["trace_hash"], drawn["trace_hash"], "{command}");
    }
    let said = program.line("run --plan plan.toml --workers 3");
    assert_eq!(said.code, Some(2), "a plan is run as it is: {said:?}");
    let said = program.line("run --plan plan.toml --seed 3");
    assert_eq!(said.code, Some(2), "a plan has its seed: {said:?}");
}

#[test]
fn faults_come_from_a_file() {
    let program = program();
    std::fs::write(program.folder.path().join("faults.toml"), FAULT_FILE).expect("a file");
    let run = program.run("run --scenarios steady --seed 6 --faults faults.toml");
    assert_eq!(run["faults"], json!({"kill": 1}));
    let (lines, _, said) = program.sweep("--scenarios steady --seeds 0..8 --faults faults.toml --jobs 2");
    assert_eq!(said.code, Some(0));
    assert_eq!(lines[6]["trace_hash"], run["trace_hash"], "workers get the faults too");
    assert_eq!(program.run("run --scenarios steady --seed 6 --faults none")["faults"], json!({}));
}

#[test]
fn the_duration_reaches_the_plan() {
    let run = program().run("run --scenarios steady --seed 6 --duration 1m30s");
    assert_eq!(run["options"]["chaos_ns"], json!(90_000_000_000_u64));
}

#[test]
fn a_plan_that_its_scenario_does_not_know_is_refused() {
    let program = program();
    let drawn = program.line("run --scenarios concurrency-storm --seed 3 --workers 2 --print-plan");
    assert_eq!(drawn.code, Some(0));
    let replace = |from: &str, to: &str| {
        assert!(drawn.out.contains(from), "the plan has no `{from}`");
        drawn.out.replacen(from, to, 1)
    };
    let cases = [
        (drawn.out.replacen("[settings]", "[settings]\nmutant = \"typo\"", 1), "settings.mutant: `typo`"),
        (
            drawn.out.replacen("[settings]", "[settings]\nboard_kyes = 3", 1),
            "settings.board_kyes: there is no such setting; did you mean `board_keys`?",
        ),
        (replace("kind = \"document\"", "kind = \"dokument\""), "kind: `dokument`"),
        (replace("process = \"agent-1\"\nkind", "process = \"agent-7\"\nkind"), "process: `agent-7`"),
    ];
    for (plan, complaint) in cases {
        std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a file");
        for command in ["run --plan plan.toml", "replay plan.toml"] {
            let said = program.line(command);
            assert_eq!(said.code, Some(2), "{command}: {said:?}");
            assert!(said.err.contains(complaint) && said.err.contains("allowed"), "{command}: {said:?}");
        }
    }
}
