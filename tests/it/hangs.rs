//! Programs that make no system call: each command that meets one ends, and says who it is, since when, and what shows it again.

use crate::program;
use seedstorm_tests::program::{Program, Said};
use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

/// Long for a step, and short for a test.
const LIMIT: &str = "--step-timeout 1500ms";

/// The words of the command in the last line.
fn last_words(said: &str) -> String {
    said.lines().last().and_then(|line| line.split_once(' ')).expect("a command").1.to_owned()
}

/// What was violated: the lines of the message, and the fingerprint.
fn told(said: &Said) -> (Vec<&str>, &str) {
    let (_, violation) = said.out.split_once("violated: worker-timed-out\n").unwrap_or_else(|| panic!("{said:?}"));
    let (message, rest) = violation.split_once("\n  at step ").expect("its step");
    let fingerprint = rest.lines().find_map(|line| line.strip_prefix("  fingerprint ")).expect("its fingerprint");
    (message.lines().map(str::trim).collect(), fingerprint)
}

/// Runs the bad seed of a scenario, and what it prints.
fn run_and_replay(program: &Program, scenario: &str) -> Said {
    let said = program.line(&format!("run --scenarios {scenario} --seed 3 {LIMIT}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.err, "", "a pipe is told nothing while it waits");
    let again = last_words(&said.out);
    assert_eq!(again, format!("replay artifacts/{scenario}-3/reproducer.toml {LIMIT}"));
    let replayed = program.line(&again);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.out.contains("replay: the same violation, step and trace hash as recorded\n"), "{replayed:?}");
    assert_eq!(told(&replayed), told(&said));
    assert_eq!(last_words(&replayed.out), again);
    said
}

#[test]
fn a_loop_in_async_code_is_told_with_its_last_call() {
    let program = program();
    let said = run_and_replay(&program, "hangs");
    let (message, fingerprint) = told(&said);
    assert_eq!(fingerprint, "worker-timed-out/process/writer/hung");
    assert_eq!(
        message[0],
        "writer-1 (task 0) has made no system call for 1.50 s of real time, since step 17 (`sleep`)"
    );
    assert!(message[1].contains("`sys.yield_now()`") && message[2].contains("`sys::sync`"), "{message:?}");
    let summary =
        std::fs::read_to_string(program.folder.path().join("artifacts/hangs-3/summary.txt")).expect("a summary");
    assert!(summary.contains(message[0]), "{summary}");
}

#[test]
fn a_loop_in_blocking_code_is_told() {
    let said = run_and_replay(&program(), "hangs-blocking");
    let (message, fingerprint) = told(&said);
    assert_eq!(fingerprint, "worker-timed-out/process/clerk/hung");
    assert!(message[0].starts_with("clerk-") && message[0].ends_with(" (`yield`)"), "{message:?}");
}

#[test]
fn a_lock_of_std_that_is_taken_twice_is_told() {
    let said = run_and_replay(&program(), "locks-twice");
    assert_eq!(told(&said).1, "worker-timed-out/process/writer/hung");
}

#[test]
fn what_is_no_program_is_told_as_what_it_is() {
    let program = program();
    let said = run_and_replay(&program, "hangs-set-up");
    let set_up = "the scenario's set-up has not come to an end for 1.50 s of real time";
    assert_eq!(told(&said), (vec![set_up], "worker-timed-out/scenario/-/hung"));
    let said = run_and_replay(&program, "hangs-invariant");
    let (message, fingerprint) = told(&said);
    assert_eq!(fingerprint, "worker-timed-out/invariant/writer/hung");
    assert!(
        message[0].starts_with("an invariant has not come to an end for 1.50 s of real time, since step "),
        "{message:?}"
    );
    assert!(message[0].contains("(`write /writer-"), "with the file: {message:?}");
}

#[test]
fn a_plan_that_does_not_come_to_an_end_is_told_as_that() {
    let program = program();
    let what = "the scenario's `plan` has not come to an end for 1.50 s of real time";
    for words in [
        "run --scenarios steady,hangs-plan --seed 3",
        "replay --scenario hangs-plan --seed 3",
        "sweep --scenarios hangs-plan --seeds 3..5 --jobs 1",
    ] {
        let words = format!("{words} {LIMIT}");
        let said = program.line(&words);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
        assert!(said.err.starts_with(&format!("hangs-plan seed 3: worker-timed-out: {what}\n")), "{said:?}");
        assert_eq!(last_words(&said.err), words, "what shows it again");
    }
    // A worker tells it, too, and the sweep goes on.
    let said = program.line(&format!("sweep --scenarios hangs-plan --seeds 2..5 --jobs 1 --determinism 0% {LIMIT}"));
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.out.contains(&format!("1 × worker-timed-out/plan/-/hung\n  {what}\n  seeds 3\n")), "{}", said.out);
    assert!(said.out.contains("FAILED 2 passed, 1 failed\n"), "{}", said.out);
    assert_eq!(last_words(&said.out), format!("replay --scenario hangs-plan --seed 3 {LIMIT}"));
}

#[test]
fn what_was_not_run_for_it_is_said_and_json_has_the_violation() {
    let program = program();
    let said = program.line(&format!("run --scenarios steady,hangs,vacuous --seed 3 --json {LIMIT}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.err, "not run: vacuous: only the end of this process ends what hangs in it\n");
    let object: serde_json::Value = serde_json::from_str(&said.out).expect("an object");
    let [steady, hangs] = object["runs"].as_array().expect("runs").as_slice() else { panic!("two runs: {object}") };
    assert_eq!((&steady["verdict"], &hangs["verdict"]), (&json!("pass"), &json!("fail")));
    let violation = &hangs["violations"][0];
    assert_eq!(violation["fingerprint"], json!("worker-timed-out/process/writer/hung"));
    assert_eq!((&hangs["trace_hash"], &hangs["steps"]), (&json!(null), &violation["step"]));
}

#[test]
fn a_trace_of_it_is_not_written_and_that_is_said() {
    let program = program();
    let said = program.line(&format!("run --scenarios hangs --seed 3 --trace it.trace {LIMIT}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.err, "it.trace: not written: the run has not come to an end\n");
    assert_eq!(program.folder.names(), ["artifacts"], "no draft is left");
}

#[test]
fn a_sweep_ends_it_sooner_than_a_seed_may_take_and_tells_two_apart() {
    let program = program();
    let said = program.line(&format!("sweep --scenarios hangs,hangs-blocking --seeds 3..5 --jobs 2 {LIMIT}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    for (role, scenario) in [("writer", "hangs"), ("clerk", "hangs-blocking")] {
        let group = format!("1 × worker-timed-out/process/{role}/hung\n  {role}-");
        assert!(said.out.contains(&group), "{}", said.out);
        assert!(said.out.contains(&format!("  reproducer: artifacts/{scenario}-3/reproducer.toml\n")), "{}", said.out);
    }
    assert!(
        said.out.contains(" (task 0) has made no system call for 1.50 s of real time, since step 17 (`sleep`)\n"),
        "{}",
        said.out
    );
    let again = last_words(&said.out);
    assert_eq!(again, format!("replay artifacts/hangs-3/reproducer.toml {LIMIT}"));
    let replayed = program.line(&again);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.out.contains("replay: the same violation, step and trace hash as recorded\n"), "{replayed:?}");
    // A seed may be given less than a step.
    let said = program.line("sweep --scenarios hangs --seeds 3 --jobs 1 --determinism 0% --seed-timeout 1500ms");
    assert_eq!(last_words(&said.out), again.replace("hangs-3/", "hangs-3-2/"), "{said:?}");
}

#[test]
fn a_state_before_it_is_shown_and_commands_that_need_its_end_say_so() {
    let program = program();
    let plan = program.line("run --scenarios hangs --seed 3 --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a plan");
    let said = program.line(&format!("replay plan.toml --until 15 {LIMIT}"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.starts_with("hangs seed 3 after step 15, "), "{said:?}");
    for words in [format!("replay plan.toml --until 18 {LIMIT}"), format!("compare plan.toml plan.toml {LIMIT}")] {
        let said = program.line(&words);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
        assert!(
            said.err.starts_with("hangs seed 3: worker-timed-out: writer-1 (task 0) has made no system call for "),
            "{said:?}"
        );
        assert_eq!(last_words(&said.err), words, "what shows it again");
    }
}

#[test]
fn it_is_cut_down_to_what_it_takes_and_led_there_by_its_turns() {
    let program = program();
    for (scenario, processes) in [("hangs", 1), ("hangs-behind", 2)] {
        let words = "--workers 5 --strategy random --faults delay,io-error";
        let said = program.line(&format!("run --scenarios {scenario} --seed 3 {words} {LIMIT}"));
        let (_, fingerprint) = told(&said);
        assert_eq!(fingerprint, "worker-timed-out/process/writer/hung");
        let words = format!("shrink artifacts/{scenario}-3 --jobs 2 --step-timeout 600ms --budget 1h --json");
        let object: Value = serde_json::from_str(&program.line(&words).out).expect("an object");
        assert_eq!(object["fingerprint"], json!(fingerprint), "{object}");
        assert_eq!((&object["from"]["processes"], &object["from"]["faults"]), (&json!(5), &json!(2)), "{object}");
        assert_eq!((&object["to"]["processes"], &object["to"]["faults"]), (&json!(processes), &json!(0)), "{object}");
        let path = object["reproducer"].as_str().expect("a reproducer");
        let replayed = program.line(&format!("replay {path} {LIMIT}"));
        assert_eq!(replayed.code, Some(1), "{replayed:?}");
        assert!(replayed.out.contains("replay: the same violation, step and trace hash as recorded\n"), "{replayed:?}");
        assert_eq!(told(&replayed).1, fingerprint);
    }
}

#[test]
fn shrinking_needs_no_minute_for_each_run() {
    let program = program();
    program.line(&format!("run --scenarios hangs --seed 3 {LIMIT}"));
    let said = program.line("shrink artifacts/hangs-3 --jobs 2");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.contains(", processes 3 → 1, ") && said.out.contains(", nothing more can go\n"), "{said:?}");
    assert!(said.out.contains(" has made no system call for 1.00 s of real time, since step "), "{said:?}");
    assert_eq!(last_words(&said.out), "replay artifacts/hangs-3/shrunk.toml");
}

#[test]
fn its_turns_are_kept_by_runs_and_sweeps() {
    let program = program();
    program.line(&format!("run --scenarios hangs-behind --seed 3 --strategy random {LIMIT}"));
    program.line(&format!("sweep --scenarios hangs-behind --seeds 8 --strategy random --jobs 1 {LIMIT}"));
    for seed in [3, 8] {
        let path = program.folder.path().join(format!("artifacts/hangs-behind-{seed}/reproducer.toml"));
        let text = std::fs::read_to_string(path).expect("a reproducer");
        assert!(text.contains("\n[turns]\n") && text.contains("writer-1.1/0 "), "{text}");
    }
}

#[test]
fn it_is_bisected_over_commits_and_what_else_can_not_be_done_is_said() {
    let program = program();
    program.line(&format!("run --scenarios hangs --seed 3 {LIMIT}"));
    let said = program.line("replay --git-bisect artifacts/hangs-3");
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.out.starts_with("the violation is there: "), "{said:?}");
    // A seed whose time is over is ended without a question.
    program.line("sweep --scenarios hangs --seeds 8 --jobs 1 --determinism 0% --seed-timeout 1500ms");
    let said = program.line("replay --git-bisect artifacts/hangs-8");
    assert_eq!(said.code, Some(128), "{said:?}");
    assert!(said.out.contains("has left no turns to follow; what `shrink` makes of it has them"), "{said:?}");
    assert_eq!(program.line("shrink artifacts/hangs-8 --jobs 2").code, Some(0));
    assert_eq!(program.line("replay --git-bisect artifacts/hangs-8/shrunk.toml").code, Some(1));
    let said = program.line("bisect artifacts/hangs-3");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    for instead in ["`shrink`", "`replay --until`", "`bisect --commits GOOD..BAD`"] {
        assert!(said.err.contains(instead), "{said:?}");
    }
    // What was only slow has no smaller run that is slow, and what ends its process leaves nothing to compare.
    let path = program.folder.path().join("artifacts/hangs-3/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    for (fingerprint, invariant, why) in [
        ("worker-timed-out/run/-/slow", "worker-timed-out", "the run was only slow"),
        ("worker-died/process/-/aborted", "worker-died", "a run that ends its process"),
    ] {
        let text = text.replace("worker-timed-out/process/writer/hung", fingerprint);
        let text = text.replace("invariant = \"worker-timed-out\"", &format!("invariant = \"{invariant}\""));
        std::fs::write(program.folder.path().join("other.toml"), text).expect("a file");
        let said = program.line("shrink other.toml");
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.starts_with("error: other.toml: ") && said.err.contains(why), "{said:?}");
    }
}

#[test]
fn a_hang_that_passes_now_may_have_been_the_machine_and_is_no_nondeterminism() {
    let program = program();
    program.line(&format!("run --scenarios hangs-behind --seed 3 --strategy random {LIMIT}"));
    let path = program.folder.path().join("artifacts/hangs-behind-3/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    let (before, after) = text.split_once("\n[plan]\n").expect("its plan");
    std::fs::write(&path, format!("{before}\n[plan]\n{}", after.replacen("seed = 3", "seed = 4", 1))).expect("a file");
    let said = program.line("replay artifacts/hangs-behind-3");
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_step_may_be_given_hardly_any_time_in_a_sweep_too() {
    let words = "sweep --scenarios hangs --seeds 3 --jobs 1 --determinism 0% --step-timeout 1ns --seed-timeout 20s";
    let said = program().line(words);
    assert!(said.out.contains(" has made no system call for 1 ns of real time, since step 17 "), "{said:?}");
}

#[test]
fn a_step_that_takes_no_time_is_refused() {
    let said = program().line("run --scenarios steady --seed 1 --step-timeout 0s");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--step-timeout"), "{said:?}");
}

#[test]
fn who_reads_a_log_slowly_is_waited_for() {
    let program = program();
    // Much more than a pipe holds.
    let words = "--log trace run --scenarios steady --seed 1 --set rounds=400 --step-timeout 1s";
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut log = child.stderr.take().expect("a log");
    log.read_exact(&mut [0; 1000]).expect("it has begun");
    std::thread::sleep(Duration::from_millis(3500));
    let mut rest = String::new();
    log.read_to_string(&mut rest).expect("the rest of the log");
    assert!(rest.len() > 200_000, "it had to wait: {}", rest.len());
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{:?}", rest.lines().last());
}
