//! Every command that is printed can be pasted into a shell, whatever the paths in it are.

use crate::program;
use seedstorm_tests::program::{Program, Said, said};
use std::process::Command;

/// Names that a shell or a command line could take for something else.
const NAMES: &[&str] =
    &["-x", "--plan", "sp ace", "it's", "$(touch pasted)", "a`touch pasted`", "~", "two\nlines", "#x", "&", "=x"];

/// Runs the last line of an output in a shell, as a person would.
fn paste(program: &Program, output: &str, lines: usize) -> Said {
    let all: Vec<&str> = output.trim_end().lines().collect();
    let command = all[all.len() - lines..].join("\n");
    let ran = Command::new("sh").args(["-c", &command]).current_dir(program.folder.path()).env_remove("CI").output();
    let ran = said(ran.expect("there is a shell"));
    assert!(!ran.err.contains("error:"), "{command}: {ran:?}");
    assert!(!program.folder.path().join("pasted").exists(), "{command}");
    ran
}

#[test]
fn the_command_of_a_failure_runs_it_again() {
    for name in NAMES {
        let program = program();
        let artifacts = format!("--artifacts={name}");
        let lines = name.lines().count();
        let ran = program.say(&["run", "--scenarios", "violates", "--seed", "3", &artifacts]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        let again = paste(&program, &ran.out, lines);
        assert!(again.code == Some(1) && again.out.contains("the same violation"), "{name}: {again:?}");
        // What is run again says so with the path that it was given.
        let again = paste(&program, &again.out, lines);
        assert_eq!(again.code, Some(1), "{name}: {again:?}");
        let swept = program.say(&["sweep", "--scenarios", "violates", "--seeds", "8..9", &artifacts]);
        assert_eq!(swept.code, Some(1), "{name}: {swept:?}");
        let again = paste(&program, &swept.out, lines);
        assert!(again.code == Some(1) && again.out.contains("the same violation"), "{name}: {again:?}");
    }
}

#[test]
fn paths_of_the_other_commands_can_be_pasted_too() {
    let program = program();
    let ran = program.say(&["run", "--scenarios", "race", "--seed", "1", "--print-plan"]);
    std::fs::write(program.folder.path().join("-p.toml"), &ran.out).expect("a file");
    let first = program.line("run --scenarios violates --seed 3 --artifacts=-x");
    assert_eq!(first.code, Some(1), "{first:?}");
    let shrunk = program.say(&["shrink", "./-x/violates-3", "-o", "./-s.toml", "--budget", "20s"]);
    assert_eq!(shrunk.code, Some(0), "{shrunk:?}");
    assert_eq!(paste(&program, &shrunk.out, 1).code, Some(1));
    let compared = program.say(&["compare", "--", "-p.toml", "-x/violates-3"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert_eq!(paste(&program, &compared.out, 1).code, Some(0));
    let bisected = program.say(&["bisect", "--budget", "5s", "./-x/violates-3"]);
    assert_eq!(bisected.code, Some(0), "{bisected:?}");
    let line = bisected.out.trim_end().lines().next_back().unwrap_or_default();
    assert!(line.contains(" replay ./-x/violates-3"), "{line}");
    let page = program.say(&["report", "-o", "-", "--", "-x"]);
    assert!(page.code == Some(0) && page.out.contains("replay ./-x/violates-3/reproducer.toml"), "{page:?}");
}

#[test]
fn a_value_that_begins_with_a_dash_stays_a_value() {
    let program = program();
    std::fs::write(program.folder.path().join("-f.toml"), "faults = []\n").expect("a file");
    let ran = program.say(&["sweep", "--scenarios", "steady", "--seeds", "0..0", "--faults=-f.toml"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let line = ran.out.trim_end().lines().next_back().unwrap_or_default();
    assert!(line.ends_with(" --faults=-f.toml"), "{line}");
    assert_eq!(paste(&program, &ran.out, 1).code, Some(4));
}

#[test]
fn the_word_of_a_failure_is_told_with_the_program_that_knows_it() {
    let program = program();
    let mut command = program.command(&["run", "--scenarios", "violates", "--seed", "3"]);
    let ran = said(command.env("CI", "1").output().expect("it starts"));
    let line = ran.out.lines().find_map(|line| line.strip_prefix("without it: ")).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(paste(&program, line, 1).code, Some(1), "{line}");
}
