//! Budgets for simulated latencies, and comparing with an earlier sweep.

use crate::program;
use seedstorm_tests::program::Program;
use serde_json::{Value, json};
use std::fs;

/// A small storm, in which locks are waited for.
const STORM: &str = "--scenarios concurrency-storm --workers 3 --set operations=6 --strategy timed --faults none";

/// The summary of a sweep with these words, and its exit code.
fn swept(program: &Program, words: &str) -> (Value, Option<i32>) {
    let (_, summary, said) = program.sweep(&format!("{STORM} --seeds 0..15 --determinism 0% {words}"));
    (summary, said.code)
}

/// What an earlier sweep wrote, with its lines changed.
fn baseline(program: &Program, words: &str, change: impl Fn(&mut Value)) {
    let said = program.line(&format!("sweep {STORM} --seeds 0..15 --determinism 0% --json {words}"));
    let lines = said.out.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("a line of JSON");
        change(&mut line);
        line.to_string() + "\n"
    });
    fs::write(program.folder.path().join("before.jsonl"), lines.collect::<String>()).expect("it is written");
}

#[test]
fn a_latency_over_its_budget_is_told_with_the_seed_that_has_the_longest() {
    let program = program();
    let (summary, code) = swept(&program, "--latency-budget lock-acquire:p99=1ns,fsync:max=1h");
    assert_eq!(code, Some(3), "{summary}");
    let [over, kept] = &summary["budgets"].as_array().expect("budgets")[..] else { panic!("{summary}") };
    assert_eq!((&over["is_met"], &kept["is_met"]), (&json!(false), &json!(true)));
    assert_eq!(over["measured_ns"], summary["latencies"]["timed"]["lock_acquire_ns"]["p99"]);
    assert_eq!(kept["measured_ns"], summary["latencies"]["timed"]["fsync_ns"]["max"]);
    let said = program.line(&format!("sweep {STORM} --seeds 0..15 --latency-budget lock-acquire:p99=1ns"));
    assert_eq!(said.code, Some(3));
    assert!(said.out.contains("over budget: lock-acquire p99: "), "{}", said.out);
    let seed = &over["longest"]["seed"];
    let last = said.out.lines().last().expect("a last line");
    assert!(last.contains(&format!("run --scenarios concurrency-storm --seed {seed} --workers 3 ")), "{last}");
    // That seed alone has just that.
    let words: Vec<&str> = last.split(' ').skip(1).collect();
    let alone = program.run(&words.join(" "));
    assert_eq!(alone["metrics"]["lock_acquire_ns"]["p99"], over["longest"]["ns"], "{last}");
}

#[test]
fn what_was_not_measured_is_not_kept_to() {
    let program = program();
    let said = program.line(&format!("sweep {STORM} --seeds 0..3 --latency-budget lock-aquire:p99=1h"));
    assert_eq!(said.code, Some(4), "{said:?}");
    let why = "not judged: lock-aquire:p99=1h: no `lock-aquire` was measured, but fsync, lock-acquire, transaction";
    assert!(said.out.contains(why), "{}", said.out);
}

#[test]
fn the_same_code_is_as_fast_as_before() {
    let program = program();
    baseline(&program, "", |_| {});
    let (summary, code) =
        swept(&program, "--baseline before.jsonl --latency-budget fsync:p50=+0%,lock-acquire:p99=+0%");
    assert_eq!(code, Some(0), "{summary}");
    for compared in summary["against_baseline"].as_array().expect("what was compared") {
        let ratio = ["ratio", "low", "high"].map(|name| &compared[name]);
        assert_eq!(ratio, [&json!(1.0); 3], "{compared}");
    }
    assert_eq!(summary["budgets"][0]["compared"]["pairs"], json!(15));
}

#[test]
fn what_has_grown_by_more_than_is_allowed_is_told() {
    let program = program();
    baseline(&program, "", |line| {
        let halves = line["seed"].as_u64().map_or(2, |seed| 2 + u64::from(seed == 7));
        if let Some(fsync) = line.pointer_mut("/metrics/fsync_ns/p50") {
            *fsync = json!(fsync.as_u64().expect("nanoseconds") / halves);
        }
    });
    let (summary, code) = swept(&program, "--baseline before.jsonl --latency-budget fsync:p50=+120%");
    assert_eq!(code, Some(0), "twice as long is not 120 % more: {summary}");
    let said =
        program.line(&format!("sweep {STORM} --seeds 0..15 --baseline before.jsonl --latency-budget fsync:p50=+50%"));
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("over budget: fsync p50: × 2.0"), "{}", said.out);
    assert!(said.out.contains("; at most 50 % above the baseline (seed 7 of concurrency-storm has grown most, from "));
}

#[test]
fn seeds_that_mean_other_plans_are_not_compared() {
    let program = program();
    baseline(&program, "--set think_us=77", |_| {});
    let said =
        program.line(&format!("sweep {STORM} --seeds 0..15 --baseline before.jsonl --latency-budget fsync:p50=+50%"));
    assert_eq!(said.code, Some(4), "{said:?}");
    let why =
        "not judged: fsync:p50=+50%: 0 pairs with the baseline, of 10 that it takes, 15 seeds with other plans there";
    assert!(said.out.contains(why), "{}", said.out);
}

/// A fast scenario in which latencies are made up.
const MADE_UP: &str = "--strategy timed --seeds 0..15 --determinism 0% --crash-points none";

#[test]
fn where_most_seeds_mean_other_plans_nothing_is_judged() {
    let program = program();
    // So many seeds with the plans that are compared, and some whose plans differ.
    for (other_plans, code, told) in [
        (12, 0, "12 pairs"),
        (13, 4, "not judged: lock-acquire:p99=+10%: only 12 pairs with the baseline, 13 seeds with other plans there"),
    ] {
        let all = "--strategy timed --determinism 0% --crash-points none --scenarios steady";
        let end = 12 + other_plans;
        let same = program.line(&format!("sweep {all} --seeds 0..12 --faults kill --json")).out;
        let other = program.line(&format!("sweep {all} --seeds 12..{end} --faults delay --json")).out;
        let seeds = same.lines().chain(other.lines()).filter(|line| line.starts_with("{\"type\":\"seed\""));
        let before: String = seeds.map(|line| format!("{line}\n")).collect();
        fs::write(program.folder.path().join("before.jsonl"), before).expect("it is written");
        let budget = "--baseline before.jsonl --latency-budget lock-acquire:p99=+10%";
        let said = program.line(&format!("sweep {all} --seeds 0..{end} --faults kill {budget}"));
        assert_eq!(said.code, Some(code), "{said:?}");
        assert!(said.out.contains(told), "{}", said.out);
    }
}

#[test]
fn plans_of_equal_sizes_are_other_plans() {
    let program = program();
    let before = program.line(&format!("sweep --scenarios steady {MADE_UP} --faults kill --json"));
    fs::write(program.folder.path().join("before.jsonl"), before.out).expect("it is written");
    let words = "--baseline before.jsonl --latency-budget lock-acquire:p99=+10% --artifacts kept";
    let (lines, summary, said) = program.sweep(&format!("--scenarios steady {MADE_UP} --faults delay {words}"));
    assert_eq!(said.code, Some(4), "{summary}");
    assert_eq!((&summary["baseline_other_plans"], &lines[0]["options"]["faults_planned"]), (&json!(15), &json!(1)));
    let (_, summary, said) = program.sweep(&format!("--scenarios steady {MADE_UP} --faults kill {words}"));
    assert_eq!((said.code, &summary["baseline_other_plans"]), (Some(0), &Value::Null), "{summary}");
    // What could not be judged is asked for again, in full.
    let said = program.line(&format!("sweep --scenarios steady {MADE_UP} --faults delay {words}"));
    let last = said.out.lines().last().expect("a last line");
    for part in ["--latency-budget lock-acquire:p99=+10%", "--baseline before.jsonl", "--artifacts kept", "0..15"] {
        assert!(last.contains(part), "`{part}`: {last}");
    }
    assert_eq!(program.say(&last.split(' ').skip(1).collect::<Vec<_>>()).code, Some(4), "{last}");
}

#[test]
fn what_may_be_chance_is_said_to_be() {
    let program = program();
    baseline(&program, "", |line| {
        let is_even = line["seed"].as_u64().is_some_and(|seed| seed.is_multiple_of(2));
        if let Some(fsync) = line.pointer_mut("/metrics/fsync_ns/p50") {
            let ns = fsync.as_u64().expect("nanoseconds");
            *fsync = json!(if is_even { ns / 8 } else { ns * 4 });
        }
    });
    let judged = |limit: &str| {
        let words = format!("--baseline before.jsonl --latency-budget fsync:p50={limit}");
        let (summary, code) = swept(&program, &words);
        let said = program.line(&format!("sweep {STORM} --seeds 0..15 --determinism 0% {words}"));
        (code, summary["budgets"][0].clone(), said.out)
    };
    let (code, budget, out) = judged("+10%");
    assert_eq!(
        (code, &budget["is_met"], &budget["is_within_chance"]),
        (Some(3), &json!(false), &json!(true)),
        "{budget}"
    );
    assert!(out.contains("within chance: fsync p50: its 95 % interval, 0."), "{out}");
    assert!(out.contains("holds the limit, and 1, which is no change: more seeds would tell for sure"), "{out}");
    let (code, budget, out) = judged("+70%");
    assert_eq!(
        (code, &budget["is_met"], &budget["is_within_chance"]),
        (Some(0), &json!(true), &json!(true)),
        "{budget}"
    );
    assert!(out.contains("within chance: fsync p50: "), "{out}");
    let (code, budget, out) = judged("+900%");
    assert_eq!((code, &budget["is_within_chance"]), (Some(0), &Value::Null), "{budget}");
    assert!(!out.contains("within chance"), "{out}");
}

#[test]
fn seeds_that_failed_and_latencies_that_vanished_are_counted() {
    let program = program();
    let sweep = format!("--scenarios violates {MADE_UP}");
    let before = program.line(&format!("sweep {sweep} --json"));
    let mut lines: Vec<Value> =
        before.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    for line in lines.iter_mut().filter(|line| line["type"] == "seed") {
        line["metrics"]["gone_ns"] = line["metrics"]["lock_acquire_ns"].clone();
    }
    // One that passes now, and didn't then.
    lines[0]["verdict"] = json!("fail");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(program.folder.path().join("before.jsonl"), text).expect("it is written");
    let (_, summary, said) =
        program.sweep(&format!("{sweep} --baseline before.jsonl --latency-budget gone:p99=+10%,lock-acquire:p50=+0%"));
    assert_eq!(said.code, Some(1), "{summary}");
    // Seeds 3, 8 and 13 fail now and then.
    assert_eq!((&summary["failed"], &summary["baseline_failed_seeds"]), (&json!(3), &json!(4)), "{summary}");
    assert_eq!(summary["baseline_vanished"], json!({"gone": 11}), "{summary}");
    assert_eq!(summary["budgets"][1]["compared"]["pairs"], json!(11), "{summary}");
    let said = program.line(&format!("sweep {sweep} --baseline before.jsonl"));
    for part in ["seeds that failed, here or in the baseline", "seeds that measured gone in the baseline only"] {
        assert!(said.out.contains(part), "`{part}`: {}", said.out);
    }
}

#[test]
fn a_latency_has_a_budget_whatever_its_name() {
    let (_, summary, said) =
        program().sweep(&format!("--scenarios steady {MADE_UP} --latency-budget write-turn:p50=1us"));
    assert_eq!(said.code, Some(3), "{summary}");
    assert_eq!(summary["budgets"][0]["measured_ns"], summary["latencies"]["timed"]["write_turn"]["p50"], "{summary}");
}

#[test]
fn budgets_and_baselines_that_mean_nothing_are_refused() {
    let program = program();
    fs::write(program.folder.path().join("lines.jsonl"), "{\"type\":\"summary\",\"schema_version\":1}\nno JSON\n")
        .expect("it is written");
    let portfolio = program.line("sweep --scenarios steady --seeds 0..2 --strategy random --json");
    fs::write(program.folder.path().join("portfolio.jsonl"), portfolio.out).expect("it is written");
    let timed = program.line("sweep --scenarios steady --seeds 0..2 --strategy timed --json").out;
    let later =
        timed.replacen("\"schema_version\":1", "\"schema_version\":2", 2).replacen("version\":2", "version\":1", 1);
    fs::write(program.folder.path().join("later.jsonl"), later).expect("it is written");
    let mut older: Value = serde_json::from_str(timed.lines().next().expect("a line")).expect("JSON");
    older["options"].as_object_mut().expect("options").remove("plan_digest").expect("a digest");
    fs::write(program.folder.path().join("older.jsonl"), older.to_string()).expect("it is written");
    for (words, parts) in [
        ("--strategy timed --baseline later.jsonl", ["later.jsonl:2: its `schema_version` is 2", "1 is the only one"]),
        ("--strategy timed --baseline older.jsonl", ["older.jsonl:1: an older version wrote it", "`plan_digest`"]),
        ("--latency-budget fsync:p99=1s", ["--latency-budget", "add `--strategy timed`"]),
        ("--strategy random --latency-budget fsync:p99=1s", ["--latency-budget", "add `--strategy timed`"]),
        ("--baseline lines.jsonl", ["--baseline", "add `--strategy timed`"]),
        ("--strategy timed --latency-budget fsync:p95=1s", ["`p95` is no quantile", "p99.9"]),
        ("--strategy timed --latency-budget fsync:p99=+10%", ["above what?", "--baseline FILE"]),
        ("--strategy timed --baseline nothing.jsonl", ["--baseline nothing.jsonl", "can't be read"]),
        ("--strategy timed --baseline lines.jsonl", ["lines.jsonl:2", "no line of `sweep --json`"]),
        ("--strategy timed --baseline portfolio.jsonl", ["no run under `timed`", "sweep --strategy timed --json"]),
    ] {
        let said = program.line(&format!("sweep --scenarios steady --seeds 0..2 {words}"));
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(parts.iter().all(|part| said.err.contains(part)), "{words}: {}", said.err);
    }
}
