//! `--junit`: what pages of CI read says what the sweep says.

use crate::program;
use quick_junit::{Report, TestCaseStatus, TestSuite};
use seedstorm_tests::program::{Program, said};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn read(program: &Program) -> Report {
    let text = std::fs::read_to_string(program.folder.path().join("junit.xml")).expect("the page");
    Report::deserialize_from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn suite<'a>(report: &'a Report, name: &str) -> &'a TestSuite {
    report.test_suites.iter().find(|suite| suite.name.as_str() == name).unwrap_or_else(|| panic!("{name}: {report:?}"))
}

/// A case: `passed`, or how else it ended, with message and text.
fn status(report: &Report, name: &str, case: &str) -> (&'static str, String, String) {
    let mut cases = suite(report, name).test_cases.iter().filter(|found| found.name.as_str() == case);
    let found = cases.next().unwrap_or_else(|| panic!("{name}: {case}: {report:?}"));
    assert!(cases.next().is_none(), "{case} is there once");
    assert_eq!(found.classname.as_deref(), Some(name));
    let text = |text: &Option<quick_junit::XmlString>| text.as_deref().unwrap_or_default().to_owned();
    match &found.status {
        TestCaseStatus::Success { .. } => ("passed", String::new(), String::new()),
        TestCaseStatus::NonSuccess { message, description, .. } => ("failed", text(message), text(description)),
        TestCaseStatus::Skipped { message, description, .. } => ("skipped", text(message), text(description)),
    }
}

fn names(report: &Report) -> Vec<(String, Vec<String>)> {
    let suites = report.test_suites.iter();
    suites
        .map(|suite| (suite.name.to_string(), suite.test_cases.iter().map(|case| case.name.to_string()).collect()))
        .collect()
}

fn property(suite: &TestSuite, name: &str) -> Option<String> {
    suite.properties.iter().find(|property| property.name.as_str() == name).map(|property| property.value.to_string())
}

#[test]
fn a_failure_is_a_failed_case_of_its_invariant() {
    let program = program();
    let said = program.line("sweep --scenarios violates,steady --seeds 0..60 --set rounds=6 --junit junit.xml");
    assert_eq!(said.code, Some(1), "{said:?}");
    let report = read(&program);
    assert_eq!((report.failures, report.errors), (2, 0), "{report:?}");
    let (how, message, text) = status(&report, "violates", "no-late-writes");
    assert_eq!((how, message.as_str()), ("failed", "write 3 of seed 3"));
    let expected = "no-late-writes/file/writer/late\nwrite 3 of seed 3\n6 seeds: 3 13 23 33 43 53\n";
    let command = text.strip_prefix(expected).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(Some(command), said.out.lines().last());
    assert_eq!(program.say(&command.split(' ').skip(1).collect::<Vec<_>>()).code, Some(1), "{command}");
    for case in [
        "no-late-writes",
        "few-writes",
        "progress",
        "no-panic",
        "recovers",
        "worker-died",
        "worker-timed-out",
        "determinism",
        "sometimes: wrote",
    ] {
        assert_eq!(status(&report, "steady", case).0, "passed", "{case}");
    }
    assert_eq!(status(&report, "sweep", "complete").0, "passed");
    let suite = suite(&report, "steady");
    assert_eq!(suite.tests, suite.test_cases.len());
    assert!(suite.time.is_some_and(|time| !time.is_zero()));
    for (name, value) in [("seeds", "0..60"), ("set", "rounds=6"), ("crash_points", "4"), ("runs", "60")] {
        assert_eq!(property(suite, name).as_deref(), Some(value), "{name}");
    }
    assert!(property(suite, "seeds_per_s").is_some() && property(suite, "shard").is_none(), "{suite:?}");
    assert_eq!(program.folder.names(), ["artifacts", "junit.xml"], "no draft is left");
}

#[test]
fn cases_have_the_same_names_whatever_happens() {
    let program = program();
    let mut all = Vec::new();
    for (words, code) in [
        ("--seeds 0..2", 0),
        ("--seeds 0..60", 1),
        ("--seeds 0..60 --max-failures 1", 1),
        ("--seeds 3..3", 4),
        ("--seeds 0..60 --shard 1/2 --determinism 0%", 1),
    ] {
        let said = program.line(&format!("sweep --scenarios violates,vacuous {words} --junit junit.xml"));
        assert_eq!(said.code, Some(code), "{words}: {said:?}");
        let report = read(&program);
        assert_eq!(report.failures > 0, code != 0, "{words}: red is red: {report:?}");
        all.push(names(&report));
    }
    assert_eq!(all[0].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["violates", "vacuous", "sweep"]);
    assert!(all.iter().all(|names| *names == all[0]), "{all:?}");
}

#[test]
fn what_is_not_judged_is_skipped_and_says_why() {
    let program = program();
    let sweep =
        |words: &str| program.line(&format!("sweep --scenarios vacuous {words} --determinism 0% --junit junit.xml"));
    for (words, how, part) in [
        ("--seeds 0..99", "skipped", "it did not happen; not judged below 100 runs, these are 99"),
        ("--seeds 0..100 --set rounds=3", "skipped", "not judged, since draws are restricted by --set"),
        ("--seeds 0..200 --shard 1/2", "skipped", "it did not happen in shard 1/2; `merge` judges all shards together"),
        ("--seeds 0..100", "failed", "never happened in 100 runs"),
    ] {
        assert!(sweep(words).code.is_some());
        let report = read(&program);
        let (found, message, _) = status(&report, "vacuous", "sometimes: flew");
        assert!(found == how && message.contains(part), "{words}: {found}: {message}");
        assert_eq!(status(&report, "vacuous", "sometimes: wrote").0, "passed", "{words}");
        assert_eq!(status(&report, "vacuous", "determinism"), ("skipped", "no seed ran twice".into(), String::new()));
    }
    sweep("--seeds 0..4 --shard 2/2");
    assert_eq!(property(suite(&read(&program), "vacuous"), "shard").as_deref(), Some("2/2"));
}

#[test]
fn nondeterminism_dead_workers_and_budgets_have_cases() {
    let program = program();
    let said = program.line("sweep --scenarios remembers --seeds 0..20 --jobs 1 --determinism 5% --junit junit.xml");
    assert_eq!(said.code, Some(5), "{said:?}");
    let (how, message, text) = status(&read(&program), "remembers", "determinism");
    assert!(how == "failed" && message.starts_with("seed 19: "), "{message}");
    assert_eq!(text.lines().last(), said.out.lines().last());
    let said = program.line("sweep --scenarios aborts --seeds 0..5 --junit junit.xml");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(status(&read(&program), "aborts", "worker-died").0, "failed");
    let words = "--scenarios steady --seeds 0..5 --strategy timed --latency-budget lock-acquire:p99=1ns,lock-acquire:max=1h,fast:max=1s";
    let said = program.line(&format!("sweep {words} --junit junit.xml"));
    assert_eq!(said.code, Some(3), "{said:?}");
    let report = read(&program);
    let (how, message, text) = status(&report, "sweep", "budget: lock-acquire p99");
    assert!(how == "failed" && message.starts_with("over budget: "), "{message}");
    assert_eq!(text.lines().last(), said.out.lines().last());
    assert_eq!(status(&report, "sweep", "budget: lock-acquire max").0, "passed");
    assert!(status(&report, "sweep", "budget: fast max").1.starts_with("not judged: no `fast` was measured"));
}

#[test]
fn a_merge_says_what_the_whole_says() {
    let program = program();
    let words = "--scenarios violates,steady --seeds 0..60 --determinism 100%";
    for index in 1..=2 {
        let said = program.line(&format!("sweep {words} --shard {index}/2 --json"));
        std::fs::write(program.folder.path().join(format!("{index}.jsonl")), said.out).expect("a file");
    }
    let cases = |report: &Report| -> Vec<_> {
        let all = names(report).into_iter();
        all.flat_map(|(suite, cases)| cases.into_iter().map(move |case| (suite.clone(), case)))
            .map(|(suite, case)| status(report, &suite, &case))
            .collect()
    };
    assert_eq!(program.line("merge 1.jsonl 2.jsonl --junit junit.xml").code, Some(1));
    let merged = read(&program);
    assert_eq!(program.line(&format!("sweep {words} --junit junit.xml")).code, Some(1));
    let whole = read(&program);
    assert_eq!((names(&merged), cases(&merged)), (names(&whole), cases(&whole)));
    assert_eq!(program.line("merge 1.jsonl --junit junit.xml").code, Some(1));
    let (how, message, text) = status(&read(&program), "sweep", "complete");
    assert_eq!((how, message.as_str()), ("failed", "shard 2/2 of seeds 0..60 of violates, steady: all of it, 60 runs"));
    assert!(text.contains("sweep --scenarios violates,steady --seeds 0..60 --shard 2/2 --json"), "{text}");
}

#[test]
fn a_sweep_that_was_interrupted_is_not_green() {
    let program = program();
    let words = "sweep --scenarios steady --seeds 0..100000000 --jobs 2 --json --junit junit.xml";
    let mut child = program
        .command(&words.split(' ').collect::<Vec<_>>())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    output.read_line(&mut String::new()).expect("a line");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill(1)").success());
    std::io::copy(&mut output, &mut std::io::sink()).expect("the rest");
    let said = said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, Some(130), "{said:?}");
    let report = read(&program);
    let (how, message, text) = status(&report, "sweep", "complete");
    assert!(
        how == "failed" && message.starts_with("interrupted after ") && message.ends_with(" of 100 000 000 runs"),
        "{message}"
    );
    assert!(text.contains(" --json") && text.contains(" --junit junit.xml"), "{text}");
}

#[test]
fn a_page_that_cannot_be_written_is_told() {
    let program = program();
    let said = program.line("sweep --scenarios violates --seeds 0..10 --junit nowhere/junit.xml");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "before anything ran");
    assert!(said.err.starts_with("error: nowhere/junit.xml: can't be written: "), "{said:?}");
    let said = program.line("sweep --scenarios violates --seeds 0..10 --junit /dev/full");
    assert!(said.code == Some(2) && said.err.starts_with("error: /dev/full: can't be written: "), "{said:?}");
    assert!(said.out.trim_end().ends_with("replay artifacts/violates-3/reproducer.toml"), "after the result: {said:?}");
    std::fs::write(program.folder.path().join("plan.toml"), "a plan").expect("a file");
    let said = program.line("sweep --scenarios violates --seeds 0..10 --junit plan.toml");
    assert!(said.code == Some(2) && said.err.contains("is not overwritten"), "{said:?}");
}
