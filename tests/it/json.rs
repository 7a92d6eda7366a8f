//! The machine output: its fields and their types are a contract.

use crate::program;
use serde_json::{Value, json};

/// Checks the fields that every run has.
fn check_run(run: &Value) {
    assert!(run["scenario"].is_string(), "{run}");
    assert!(run["seed"].is_u64(), "{run}");
    let verdict = run["verdict"].as_str().expect("a verdict");
    assert!(["pass", "fail"].contains(&verdict), "{run}");
    let hash = run["trace_hash"].as_str().expect("a hash");
    assert!(
        hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
        "{run}"
    );
    for name in ["steps", "events", "simulated_ns", "wall_ns"] {
        assert!(run[name].as_u64().is_some_and(|number| number > 0), "{name}: {run}");
    }
    let violations = run["violations"].as_array().expect("violations");
    assert_eq!(violations.is_empty(), verdict == "pass", "{run}");
    for violation in violations {
        for name in ["invariant", "message", "fingerprint"] {
            assert!(violation[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {run}");
        }
        for name in ["step", "time_ns"] {
            assert!(violation[name].is_u64(), "{name}: {run}");
        }
    }
    for name in ["coverage", "faults"] {
        let counts = run[name].as_object().unwrap_or_else(|| panic!("{name}: {run}"));
        assert!(counts.values().all(Value::is_u64), "{name}: {run}");
    }
    let metrics = &run["metrics"];
    assert!(metrics["transactions"].is_u64() && metrics["zero_byte_files"].is_u64(), "{run}");
    assert!(metrics["transactions_per_simulated_s"].is_number(), "{run}");
    for name in ["count", "p50", "p90", "p99", "p999", "max"] {
        assert!(metrics["lock_acquire_ns"][name].is_u64(), "{name}: {run}");
    }
    assert!(run["strategy"].is_string() && run["options"]["settings"].is_object(), "{run}");
}

#[test]
fn run_gives_one_object() {
    let program = program();
    let said = program.line("run --scenarios steady,violates --seed 3 --json");
    assert_eq!(said.code, Some(1), "{said:?}");
    let object: Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!(object["schema_version"], json!(1));
    let runs = object["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2);
    runs.iter().for_each(check_run);
    assert_eq!((&runs[0]["scenario"], &runs[0]["verdict"]), (&json!("steady"), &json!("pass")));
    assert_eq!((&runs[1]["scenario"], &runs[1]["verdict"]), (&json!("violates"), &json!("fail")));
    assert_eq!(runs[1]["violations"][0]["fingerprint"], json!("no-late-writes/file/writer/late"));
    assert_eq!(runs[0]["coverage"]["wrote"], runs[0]["metrics"]["transactions"]);
    assert_eq!(runs[1]["reproducer"], json!("artifacts/violates-3/reproducer.toml"));
}

#[test]
fn faults_that_fired_are_counted() {
    let run = program().run("run --scenarios steady --seed 1 --faults kill,delay");
    check_run(&run);
    assert_eq!(run["faults"], json!({"kill": 1, "delay": 1}));
    assert_eq!(run["options"]["faults_planned"], json!(2));
}

#[test]
fn the_largest_seed_stays_exact() {
    let run = program().run("run --scenarios steady --seed 18446744073709551615");
    assert_eq!(run["seed"].as_u64(), Some(u64::MAX));
}

#[test]
fn sweep_gives_lines_and_a_summary() {
    let (lines, summary, said) = program().sweep("--scenarios steady,violates --seeds 0..10 --jobs 2");
    assert_eq!(said.code, Some(1));
    assert_eq!(lines.len(), 20, "one for each seed and scenario");
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["type"], json!("seed"));
        assert_eq!(line["seed"], json!(index / 2), "in the order of seeds");
        check_run(line);
    }
    assert_eq!(summary["type"], json!("summary"));
    assert_eq!((&summary["seeds"], &summary["passed"], &summary["failed"]), (&json!(20), &json!(18), &json!(2)));
    assert!(summary["seeds_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{summary}");
    assert!(summary["simulated_to_real"].as_f64().is_some_and(|ratio| ratio > 0.0), "{summary}");
    let groups = summary["fingerprints"].as_array().expect("groups");
    let found: Vec<_> =
        groups.iter().map(|group| (&group["fingerprint"], &group["invariant"], &group["seeds"])).collect();
    let expected = [
        (json!("no-late-writes/file/writer/late"), json!("no-late-writes"), json!([3])),
        (json!("few-writes/file/writer/too-many"), json!("few-writes"), json!([8])),
    ];
    assert_eq!(found, expected.each_ref().map(|(fingerprint, invariant, seeds)| (fingerprint, invariant, seeds)));
    assert_eq!(summary["coverage"]["steady"]["wrote"]["seeds"], json!(10));
    // Latencies are added up by strategy: they don't mean the same.
    for strategy in ["timed", "random"] {
        let of_strategy = lines.iter().filter(|line| line["strategy"] == strategy);
        let latencies: Vec<&Value> = of_strategy.map(|line| &line["metrics"]["lock_acquire_ns"]).collect();
        let merged = &summary["latencies"][strategy]["lock_acquire_ns"];
        let count: u64 = latencies.iter().filter_map(|latency| latency["count"].as_u64()).sum();
        assert!(count > 0, "{strategy} was drawn");
        assert_eq!(merged["count"], json!(count), "{strategy}");
        assert_eq!(
            merged["max"].as_u64(),
            latencies.iter().filter_map(|latency| latency["max"].as_u64()).max(),
            "{strategy}"
        );
    }
}
