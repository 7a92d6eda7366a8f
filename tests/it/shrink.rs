//! `shrink`: what comes out is smaller, fails alike and replays exactly; what is no failure is refused.

use crate::program;
use seedstorm_tests::program::{Program, said};
use serde_json::{Value, json};

fn shrink(program: &Program, words: &str) -> Value {
    let said = program.line(&format!("shrink {words} --json"));
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"))
}

#[test]
fn a_failure_becomes_smaller_and_stays_the_same_failure() {
    let program = program();
    let run = program.run("run --scenarios violates --seed 8 --workers 6 --strategy random --faults kill,delay");
    let fingerprint = &run["violations"][0]["fingerprint"];
    let shrunk = shrink(&program, "artifacts/violates-8 --jobs 2");
    assert_eq!(&shrunk["fingerprint"], fingerprint);
    let size = |which: &str, what: &str| shrunk[which][what].as_u64().expect(what);
    assert_eq!(size("from", "processes"), 6);
    assert!(size("to", "processes") <= 2, "{shrunk}");
    for what in ["faults", "processes", "operations", "preemptions"] {
        assert!(size("to", what) <= size("from", what), "{what}: {shrunk}");
    }
    assert_eq!(size("to", "preemptions"), 0, "one writer is late by itself: {shrunk}");
    let path = shrunk["reproducer"].as_str().expect("a reproducer");
    assert_eq!(path, "artifacts/violates-8/shrunk.toml");
    let replayed = program.run(&format!("replay {path}"));
    assert_eq!(replayed["replay"], json!({"reproduced": true, "drift": null, "differs": []}));
    assert_eq!(&replayed["violations"][0]["fingerprint"], fingerprint);
    // What is shrunk once more is another failure: the folder's own is still told.
    let findings = || std::fs::read_to_string(program.folder.path().join("artifacts/violates-8/findings.json"));
    let before = findings().expect("findings");
    shrink(&program, &format!("{path} --jobs 2"));
    assert_eq!(findings().expect("findings"), before);
}

#[test]
fn people_are_told_sizes_and_a_command() {
    let program = program();
    program.run("run --scenarios violates --seed 8 --strategy random");
    let said = program.line("shrink artifacts/violates-8/reproducer.toml -o small.toml --jobs 1");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.contains("faults ") && said.out.contains(" → ") && said.out.contains("preemptions "), "{said:?}");
    let command = said.out.lines().last().expect("a last line");
    assert!(command.ends_with("replay ./small.toml") || command.ends_with("replay small.toml"), "{command}");
    let again = program.say(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(again.code, Some(1), "it fails: {again:?}");
    assert!(again.out.contains("the same violation, step and trace hash as recorded"), "{}", again.out);
    // The picture tells of it, too.
    let page = std::fs::read_to_string(program.folder.path().join("artifacts/violates-8/report.html")).expect("a page");
    assert!(page.contains("small.toml"), "the page names the smaller one");
}

#[test]
fn what_does_not_fail_is_not_shrunk() {
    let program = program();
    let plan = program.line("run --scenarios steady --seed 1 --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a file");
    let said = program.line("shrink plan.toml");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("a plan tells of no failure"), "{said:?}");
    program.run("run --scenarios violates --seed 8");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    std::fs::write(&path, text.replacen("seed = 8", "seed = 9", 1)).expect("a file");
    let said = program.line("shrink artifacts/violates-8");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("does not happen here: it passes"), "{said:?}");
    assert!(!program.folder.path().join("artifacts/violates-8/shrunk.toml").exists());
}

#[test]
fn the_word_for_logs_runs_the_failure_again() {
    let program = program();
    assert!(!program.line("run --scenarios violates --seed 8").out.contains("--repro"), "people need no such word");
    let mut command = program.command(&["run", "--scenarios", "violates", "--seed", "8"]);
    let said = said(command.env("CI", "true").output().expect("it starts"));
    let word = said.out.lines().find_map(|line| line.split("--repro ").nth(1)).expect("a word").to_owned();
    std::fs::remove_dir_all(program.folder.path().join("artifacts")).expect("no artefacts are left");
    let replayed = program.run(&format!("replay --repro {word}"));
    assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    let said = program.line(&format!("replay --repro {}", &word[..word.len() - 9]));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("damaged or cut short"), "{said:?}");
    assert_eq!(program.line("replay --repro nonsense").code, Some(2));
}
