//! One plan, one hash: whatever process, worker, place in a sweep, listener or log it runs with.

use crate::program;
use serde_json::Value;

const SEED: u64 = 41;

fn hash(value: &Value) -> String {
    value["trace_hash"].as_str().expect("a hash").to_owned()
}

#[test]
fn run_and_sweep_agree() {
    let program = program();
    let run = hash(&program.run(&format!("run --scenarios steady --seed {SEED}")));
    assert_eq!(hash(&program.run(&format!("run --scenarios steady --seed {SEED}"))), run, "twice");
    assert_eq!(hash(&program.run(&format!("replay --scenario steady --seed {SEED}"))), run, "replay by seed");
    for (words, count) in [
        (format!("--seeds {SEED}..={SEED} --jobs 1"), 1),
        ("--seeds 0..42 --jobs 1".into(), 42),
        ("--seeds 0..60 --jobs 2".into(), 60),
    ] {
        let (lines, summary, _) = program.sweep(&format!("--scenarios steady {words}"));
        assert_eq!(lines.len(), count);
        let line = lines.iter().find(|line| line["seed"] == SEED).expect("the seed");
        assert_eq!(hash(line), run, "{words}");
        assert_eq!(summary["differences"].as_array().map(Vec::len), Some(0), "{words}");
    }
}

#[test]
fn what_watches_a_run_leaves_its_hash() {
    let program = program();
    let words = format!("run --scenarios steady --seed {SEED} --faults kill,delay,short-write");
    let plain = program.run(&words);
    for more in ["--trace trace", "--without-invariants", "--log trace", "--log debug"] {
        assert_eq!(hash(&program.run(&format!("{words} {more}"))), hash(&plain), "{more}");
    }
    let logged = program.line(&format!("{words} --log trace --json"));
    assert!(logged.err.contains("writer-0"), "the log was on: {}", logged.err);
    let mut command = program.command(&words.split(' ').chain(["--json"]).collect::<Vec<_>>());
    let by_variable = seedstorm_tests::program::said(command.env("SEEDSTORM_LOG", "trace").output().expect("it runs"));
    assert_eq!(by_variable.err, logged.err, "the variable does what the option does");
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let refused = seedstorm_tests::program::said(command.env("SEEDSTORM_LOG", "loud").output().expect("it runs"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(program.folder.path().join("trace").metadata().expect("the trace").len() > 100);
}

#[test]
fn another_seed_or_option_has_another_hash() {
    let program = program();
    let mut hashes = Vec::new();
    for words in ["--seed 1", "--seed 2", "--seed 1 --workers 4", "--seed 1 --set rounds=5", "--seed 1 --faults kill"] {
        hashes.push(hash(&program.run(&format!("run --scenarios steady {words}"))));
    }
    for strategy in ["timed", "random", "round-robin"] {
        hashes.push(hash(&program.run(&format!("run --scenarios steady --seed 9 --strategy {strategy}"))));
    }
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count, "all differ");
}

#[test]
fn a_program_that_prints_does_not_disturb_a_sweep() {
    let (lines, _, said) =
        program().sweep("--scenarios chatty --seeds 0..20 --jobs 2 --determinism 20% --seed-timeout 20s");
    assert_eq!((lines.len(), said.code), (20, Some(0)), "{said:?}");
}

#[test]
fn the_storm_has_one_hash_too() {
    let program = program();
    let (lines, summary, _) = program.sweep("--scenarios concurrency-storm --seeds 0..24 --jobs 1 --determinism 10%");
    assert_eq!(summary["differences"].as_array().map(Vec::len), Some(0), "{summary}");
    // The last seed that passes: whatever runs before it in its process has run by then.
    let line = lines.iter().rfind(|line| line["verdict"] == "pass").expect("one that passes");
    let words = format!("run --scenarios concurrency-storm --seed {}", line["seed"]);
    for more in ["", "--without-invariants", "--log trace", "--trace trace"] {
        assert_eq!(hash(&program.run(&format!("{words} {more}"))), hash(line), "{words} {more}");
    }
}
