//! Ctrl-C: what was found by then is told and kept, and the last line goes on where it stopped.

use crate::program;
use crate::terminals::terminal;
use seedstorm_tests::program::{Program, Said, said};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a command.
fn start(program: &Program, words: &str) -> Child {
    let mut command = program.command(&words.split_whitespace().collect::<Vec<_>>());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill(1)").success());
}

/// Starts a command that prints every step, interrupts it after so many, and hears what it says.
fn interrupted_after(program: &Program, words: &str, steps: usize) -> Said {
    let mut child = start(program, &format!("--log trace {words}"));
    let mut log = BufReader::new(child.stderr.take().expect("a log"));
    for _ in 0..steps {
        assert!(log.read_line(&mut String::new()).expect("a line") > 0, "it goes on: {words}");
    }
    interrupt(&child);
    let mut rest = String::new();
    log.read_to_string(&mut rest).expect("the rest of the log");
    Said { err: rest, ..said(child.wait_with_output().expect("it ends")) }
}

/// How many lines a log has.
fn log_lines(program: &Program, words: &str) -> usize {
    program.line(&format!("--log trace {words}")).err.lines().count()
}

/// Interrupts a command later and later, until what it says is enough.
fn interrupted_until(program: &Program, words: &str, is_enough: impl Fn(&Said) -> bool) -> Said {
    let mut wait = Duration::from_millis(50);
    loop {
        let child = start(program, words);
        std::thread::sleep(wait);
        interrupt(&child);
        let said = said(child.wait_with_output().expect("it ends"));
        // One that had not even begun is ended by the signal itself.
        if said.code.is_some() {
            assert_eq!(said.code, Some(130), "{words}: {said:?}");
            if is_enough(&said) {
                return said;
            }
            assert!(said.err.starts_with("interrupted: "), "{words}: {said:?}");
        }
        wait *= 2;
    }
}

/// Interrupts a search as soon as it shows this on a terminal: it goes on for long after that.
fn interrupted_when_it_shows(program: &Program, words: &str, what: &str) -> Said {
    let (mut ours, theirs) = terminal(300);
    let mut command = program.command(&words.split_whitespace().collect::<Vec<_>>());
    let child = command.stdout(Stdio::piped()).stderr(theirs).spawn().expect("it starts");
    // The command holds the other end, too, until it is gone.
    drop(command);
    let (mut shown, mut buffer) = (String::new(), [0; 4096]);
    let mut show = |shown: &mut String| match ours.read(&mut buffer) {
        Ok(read @ 1..) => {
            shown.push_str(&String::from_utf8_lossy(&buffer[..read]));
            true
        }
        _ => false,
    };
    while !shown.contains(what) {
        assert!(show(&mut shown), "{words}: it has ended: {shown}");
    }
    interrupt(&child);
    while show(&mut shown) {}
    let said = Said { err: shown, ..said(child.wait_with_output().expect("it ends")) };
    assert_eq!(said.code, Some(130), "{words}: {said:?}");
    said
}

/// Interrupts a command when it has come so far that it says something on the standard output.
fn interrupted_with_a_result(program: &Program, words: &str) -> Said {
    interrupted_until(program, words, |said| !said.out.is_empty())
}

fn last_words(said: &Said) -> Vec<&str> {
    said.out.lines().last().expect("a last line").split(' ').skip(1).collect()
}

#[test]
fn a_run_says_how_far_it_was_and_how_to_run_it_again() {
    let program = program();
    let trace = program.folder.path().join("trace.bin");
    program.line("run --scenarios steady --seed 1 --trace trace.bin");
    let before = std::fs::read(&trace).expect("a trace");
    for (words, again) in [
        ("run --scenarios hangs --seed 3 --set rounds=5", "run --scenarios hangs --seed 3 --set rounds=5"),
        (
            "run --scenarios hangs --seed 3 --without-invariants --trace trace.bin",
            "run --scenarios hangs --seed 3 --without-invariants --trace trace.bin",
        ),
        (
            "replay --scenario hangs --seed 3 --trace trace.bin --artifacts kept",
            "replay --scenario hangs --seed 3 --artifacts kept --trace trace.bin",
        ),
    ] {
        let said = interrupted_after(&program, words, 5);
        assert_eq!(said.code, Some(130), "{words}: {said:?}");
        assert!(said.out.contains("\nINTERRUPTED hangs seed 3 at step "), "{words}: {said:?}");
        assert!(said.out.contains(" into the run: no verdict\n"), "{words}: {said:?}");
        assert_eq!(last_words(&said), again.split(' ').collect::<Vec<_>>(), "{words}");
        assert_eq!(std::fs::read(&trace).expect("a trace"), before, "the trace that was there stays: {words}");
        assert_eq!(program.folder.names(), ["trace.bin"], "no draft is left: {words}");
    }
}

#[test]
fn the_runs_before_the_one_that_was_interrupted_are_told() {
    let program = program();
    let whole = "run --scenarios steady --seed 3";
    let said = interrupted_after(
        &program,
        "run --scenarios steady,hangs,violates --seed 3 --json --artifacts kept",
        log_lines(&program, whole) + 3,
    );
    assert_eq!(said.code, Some(130), "{said:?}");
    let object: Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!((&object["runs"][0]["scenario"], &object["runs"][1]), (&json!("steady"), &Value::Null));
    let interrupted = &object["interrupted"];
    assert_eq!((&interrupted["scenario"], &interrupted["seed"]), (&json!("hangs"), &json!(3)), "{object}");
    assert!(interrupted["step"].is_u64() && interrupted["simulated_ns"].is_u64(), "{object}");
    let command = object["command"].as_str().expect("a command");
    assert!(command.ends_with(" run --scenarios hangs,violates --seed 3 --artifacts kept --json"), "{command}");
    // What failed before has a verdict, and comes first.
    let before = log_lines(&program, "run --scenarios violates --seed 3");
    let said = interrupted_after(&program, "run --scenarios violates,hangs --seed 3", before + 3);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("INTERRUPTED hangs seed 3 "), "{said:?}");
    assert_eq!(last_words(&said), ["replay", "artifacts/violates-3/reproducer.toml"]);
}

#[test]
fn commands_that_run_one_plan_to_look_at_it_end_too() {
    let program = program();
    let plan = program.line("run --scenarios hangs --seed 3 --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a plan");
    let temporary = program.folder.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    for words in ["compare plan.toml plan.toml", "replay plan.toml --until 100000"] {
        let mut command = program.command(&[&["--log", "trace"], &words.split(' ').collect::<Vec<_>>()[..]].concat());
        let command = command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a log"));
        (0..5).for_each(|_| assert!(log.read_line(&mut String::new()).expect("a line") > 0));
        interrupt(&child);
        let mut rest = String::new();
        log.read_to_string(&mut rest).expect("the rest");
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{words}: {rest}");
        let last = rest.lines().last().unwrap_or_default();
        assert!(last.starts_with("interrupted: the run was ended at step "), "{words}: {last}");
        assert_eq!(std::fs::read_dir(&temporary).expect("the folder").count(), 0, "{words}: nothing is left");
    }
}

#[test]
fn a_clean_sweep_prints_the_command_that_goes_on() {
    let program = program();
    let words = "sweep --scenarios steady,vacuous --seeds 7..100000000 --jobs 1 --determinism 0.5% --seed-timeout 90s";
    let mut child = start(&program, &format!("{words} --json"));
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    let mut told = 0;
    while told < 9 {
        assert!(output.read_line(&mut String::new()).expect("a line") > 0, "it goes on");
        told += 1;
    }
    interrupt(&child);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    told += rest.lines().count() as u64 - 1;
    let summary: Value = serde_json::from_str(rest.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((&summary["interrupted"], &summary["seeds"]), (&json!(true), &json!(told)), "{summary}");
    let next = 7 + told / 2;
    let command = summary["command"].as_str().expect("a command");
    let expected = format!(
        " sweep --scenarios steady,vacuous --seeds {next}..100000000 --jobs 1 --determinism 0.5% \
         --seed-timeout 90s --json"
    );
    assert!(command.ends_with(&expected), "{command} after {told} runs");
    // People have it in the last line.
    let said = interrupted_with_a_result(&program, "sweep --scenarios steady --seeds 7..100000000 --jobs 2");
    let words = last_words(&said);
    assert_eq!(words[..3], ["sweep", "--scenarios", "steady"], "{said:?}");
    assert!(words.iter().any(|word| word.ends_with("..100000000")), "{said:?}");
}

#[test]
fn an_interrupted_sweep_judges_no_budget_and_not_what_must_happen() {
    let program = program();
    let words = "sweep --scenarios vacuous --seeds 0..100000000 --jobs 1 --determinism 0% --strategy timed";
    let budget = "--latency-budget lock-acquire:p99=1ns";
    let said = interrupted_with_a_result(&program, &format!("{words} {budget}"));
    assert!(said.out.contains("\nPASSED ") && said.out.contains(" 0 failed, interrupted\n"), "{}", said.out);
    let why = "not judged: lock-acquire:p99=1ns: the sweep was interrupted; what goes on from here covers the rest";
    assert!(said.out.contains(why) && !said.out.contains("over budget"), "{}", said.out);
    assert!(last_words(&said).ends_with(&["lock-acquire:p99=1ns", "--strategy", "timed"]), "{}", said.out);
    let mut child = start(&program, "sweep --scenarios vacuous --seeds 0..100000000 --jobs 1 --json");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    (0..120).for_each(|_| assert!(output.read_line(&mut String::new()).expect("a line") > 0, "it goes on"));
    interrupt(&child);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let summary: Value = serde_json::from_str(rest.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((&summary["interrupted"], &summary["never_happened"]), (&json!(true), &json!([])), "{summary}");
}

#[test]
fn a_shrinking_keeps_what_it_has() {
    let program = program();
    let run = program.run("run --scenarios concurrency-storm --seed 0 --set mutant=board-lost-update");
    let folder = run["reproducer"].as_str().and_then(|path| path.strip_suffix("/reproducer.toml")).expect("a failure");
    let shows = "faults 12 → ";
    let said = interrupted_when_it_shows(&program, &format!("shrink {folder} --jobs 1 --budget 1h --json"), shows);
    let shrunk: Value = serde_json::from_str(&said.out).expect("an object");
    assert_eq!(shrunk["interrupted"], json!(true), "{shrunk}");
    let path = shrunk["reproducer"].as_str().expect("a reproducer");
    let replayed = program.run(&format!("replay {path}"));
    assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    assert_eq!(replayed["violations"][0]["fingerprint"], shrunk["fingerprint"]);
    let said = interrupted_when_it_shows(&program, &format!("shrink {folder} --jobs 1 --budget 1h"), shows);
    assert!(said.out.contains(" s, interrupted\n"), "{said:?}");
    assert_eq!(last_words(&said)[0], "replay", "{said:?}");
}

#[test]
fn a_bisection_says_that_it_was_interrupted() {
    let program = program();
    let run = program.run("run --scenarios concurrency-storm --seed 0 --set mutant=board-lost-update");
    let path = run["reproducer"].as_str().expect("a failure");
    let words = format!("bisect {path} --jobs 1 --budget 1h");
    let said = interrupted_when_it_shows(&program, &words, "a first look at the whole run");
    let is_told = said.out.contains("interrupted") || said.out.is_empty() && said.err.contains("interrupted: ");
    assert!(is_told, "{said:?}");
}
