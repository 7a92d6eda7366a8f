//! Workers that die, hang or panic: each costs its own seed and no other.

use crate::program;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

fn failed_seeds(lines: &[Value]) -> Vec<u64> {
    lines.iter().filter(|line| line["verdict"] == "fail").filter_map(|line| line["seed"].as_u64()).collect()
}

/// The workers of a sweep, by their PIDs.
fn workers_of(id: u32) -> BTreeSet<String> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    // Threads start workers: look at the children of each.
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of_threads = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all = of_threads.fold(children, |all, more| all + " " + &more);
    all.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_worker_that_aborts_is_its_seeds_failure() {
    let program = program();
    let (lines, summary, said) = program.sweep("--scenarios aborts --seeds 0..30 --jobs 2");
    assert_eq!(said.code, Some(1));
    assert_eq!(failed_seeds(&lines), [3, 8, 13, 18, 23, 28]);
    assert_eq!(lines.len(), 30, "the others ran");
    let lost = &lines[3];
    assert_eq!(lost["violations"][0]["invariant"], json!("worker-died"));
    assert_eq!(lost["violations"][0]["fingerprint"], json!("worker-died/process/-/aborted"));
    assert!(lost["violations"][0]["message"].as_str().is_some_and(|message| message.contains("SIGABRT")), "{lost}");
    assert_eq!(lost["trace_hash"], Value::Null, "it took its hash with it");
    assert_eq!(summary["workers_replaced"], json!(6));
    let text = std::fs::read_to_string(program.folder.path().join("artifacts/aborts-3/reproducer.toml"))
        .expect("a reproducer");
    assert!(text.contains("worker-died") && !text.contains("[turns]"), "{text}");
    let said = program.line("replay artifacts/aborts-3/reproducer.toml");
    assert_eq!(said.code, None, "it aborts again");
    assert!(said.err.starts_with("recorded was worker-died: "), "it is said beforehand: {}", said.err);
    assert!(said.err.contains("it ends this process"), "{}", said.err);
}

#[test]
fn a_worker_that_hangs_is_ended() {
    let (lines, summary, said) = program().sweep("--scenarios hangs --seeds 0..9 --jobs 2 --seed-timeout 2s");
    assert_eq!(said.code, Some(1));
    assert_eq!(failed_seeds(&lines), [3, 8]);
    assert_eq!(lines[3]["violations"][0]["invariant"], json!("worker-timed-out"));
    assert_eq!(summary["fingerprints"][0]["seeds"], json!([3, 8]));
    assert_eq!(summary["fingerprints"][0]["fingerprint"], json!("worker-timed-out/process/writer/hung"));
    let message = lines[3]["violations"][0]["message"].as_str().expect("a message");
    let (who, what) =
        message.lines().next().and_then(|line| line.split_once(" has made no system call, since step ")).expect("who");
    assert!(who.starts_with("writer-") && who.ends_with(" (task 0)"), "{message}");
    assert!(what.ends_with("; the seed's 2.00 s of real time are over"), "{message}");
}

#[test]
fn a_second_run_that_hangs_is_a_failure_and_no_difference() {
    let words = "--scenarios hangs-fresh --seeds 0..4 --jobs 1 --seed-timeout 2s";
    let (lines, summary, said) = program().sweep(words);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(failed_seeds(&lines), [3]);
    assert_eq!(lines[3]["violations"][0]["invariant"], json!("worker-timed-out"));
    assert_eq!((&summary["differences"], &summary["run_twice"]), (&json!([]), &json!(0)));
    assert_eq!(summary["fingerprints"][0]["fingerprint"], json!("worker-timed-out/process/writer/hung"));
}

#[test]
fn a_program_that_panics_is_a_violation_and_no_death() {
    let program = program();
    let (lines, summary, said) = program.sweep("--scenarios panics --seeds 0..10 --jobs 1");
    assert_eq!(said.code, Some(1));
    assert_eq!(failed_seeds(&lines), [3, 8]);
    let violation = &lines[3]["violations"][0];
    assert_eq!(violation["invariant"], json!("no-panic"));
    let message = violation["message"].as_str().expect("a message");
    assert!(message.contains("has had enough") && message.contains("scenarios.rs:"), "what and where: {message}");
    assert_eq!(summary["workers_replaced"], json!(0));
    let said = program.line("run --scenarios panics --seed 3");
    assert_eq!(said.code, Some(1));
    assert!(!said.err.contains("panicked at"), "it is told once, as a violation: {}", said.err);
}

#[test]
fn a_set_up_that_panics_is_an_internal_error() {
    let program = program();
    let said = program.line("run --scenarios bad-set-up --seed 3");
    assert_eq!(said.code, Some(70), "{said:?}");
    assert!(said.err.contains("internal error") && said.err.contains("this set-up is bad"), "{}", said.err);
    let (lines, _, said) = program.sweep("--scenarios bad-set-up --seeds 0..5 --jobs 1");
    assert_eq!((failed_seeds(&lines), said.code), (vec![3], Some(1)));
    let message = lines[3]["violations"][0]["message"].as_str().expect("a message");
    assert!(message.contains("this set-up is bad"), "its last words: {message}");
}

#[test]
fn a_plan_whose_drawing_panics_is_an_internal_error_and_no_sweep_waits_for_it() {
    for jobs in [1, 2] {
        let said = program().line(&format!("sweep --scenarios bad-plan --seeds 0..5 --jobs {jobs}"));
        assert_eq!(said.code, Some(70), "{said:?}");
        assert!(said.err.contains("internal error: bad-plan seed 3: its plan can't be drawn: a panic"), "{}", said.err);
        assert!(said.err.contains("this plan is bad"), "{}", said.err);
    }
}

#[test]
fn time_for_which_a_sweep_was_stopped_is_no_seeds() {
    let program = program();
    let words = "sweep --scenarios steady --set rounds=5000 --duration 1m --seeds 0..20 --jobs 1 --determinism 0% \
        --seed-timeout 2s --json";
    let mut command = program.command(&words.split_whitespace().collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    assert!(output.read_line(&mut String::new()).expect("a line") > 0, "it has begun");
    let all: Vec<String> = [child.id().to_string()].into_iter().chain(workers_of(child.id())).collect();
    let signal =
        |signal: &str| assert!(Command::new("kill").arg(signal).args(&all).status().expect("kill(1)").success());
    signal("-STOP");
    // Longer than a seed may take.
    std::thread::sleep(Duration::from_secs(3));
    signal("-CONT");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{rest}");
}

#[test]
fn no_worker_outlives_its_sweep() {
    let program = program();
    let words = ["sweep", "--scenarios", "hangs", "--seeds", "3..4", "--jobs", "1"];
    let mut child = program.command(&words).stdout(std::process::Stdio::null()).spawn().expect("it starts");
    let workers = loop {
        let workers = workers_of(child.id());
        if !workers.is_empty() {
            break workers;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    // The worker hangs in its seed: only its end of input can tell it.
    let is_there = |worker: &String| {
        std::fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    for _ in 0..3000 {
        if !workers.iter().any(is_there) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("after a minute there are still some of {workers:?}");
}
