//! `list`, `completions` and `man`: what there is.

use crate::program;
use serde_json::Value;

fn list(what: &str) -> Vec<Value> {
    let said = program().line(&format!("list {what} --json"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let items: Vec<Value> = serde_json::from_str(&said.out).expect("an array");
    for item in &items {
        for field in ["name", "about"] {
            assert!(item[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {item}");
        }
    }
    let plain = program().line(&format!("list {what}"));
    let begins_one = |line: &&str| !line.starts_with(' ');
    assert_eq!(plain.out.lines().filter(begins_one).count(), items.len(), "{}", plain.out);
    assert!(plain.out.lines().all(|line| line.chars().count() <= 120 && line.trim_end() == line), "{}", plain.out);
    items
}

fn has(items: &[Value], name: &str) -> bool {
    items.iter().any(|item| item["name"] == name)
}

#[test]
fn everything_is_listed_once() {
    for (what, names) in [
        ("scenarios", ["concurrency-storm", "steady"]),
        ("faults", ["kill", "lying-sync"]),
        ("strategies", ["timed", "random"]),
        ("invariants", ["progress", "worker-timed-out"]),
        ("mutants", ["claim-check-then-act", "board-lost-update"]),
    ] {
        let items = list(what);
        for name in names {
            assert!(has(&items, name), "{what}: {name}");
        }
        let mut all: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{what}: {all:?}");
    }
}

#[test]
fn each_mutant_names_an_invariant_that_exists() {
    let invariants = list("invariants");
    for mutant in list("mutants") {
        let invariant = mutant["invariant"].as_str().expect("an invariant");
        assert!(has(&invariants, invariant), "{mutant}");
        let also = mutant["also"].as_array().expect("a list");
        assert!(also.iter().all(|name| name.as_str().is_some_and(|name| has(&invariants, name))), "{mutant}");
    }
    let interactions = list("mutants").iter().filter(|mutant| mutant["interaction"] == true).count();
    assert!(interactions >= 4, "{interactions} need two things");
}

#[test]
fn a_mutant_has_the_row_of_the_fault_catalogue_that_it_is_taken_from() {
    let catalogue = include_str!("../../docs/faults.md");
    let plain = program().line("list mutants").out;
    let mutants = list("mutants");
    let with_row = mutants.iter().filter_map(|mutant| Some((mutant["name"].as_str()?, mutant["row"].as_str()?)));
    let with_row: Vec<(&str, &str)> = with_row.collect();
    assert!(with_row.len() > 60, "{} have one", with_row.len());
    for (name, row) in with_row {
        let is_there =
            |line: &str| line.split('|').nth(1).is_some_and(|rows| rows.split(',').any(|is| is.trim() == row));
        assert!(catalogue.lines().any(is_there), "{name}: {row}");
        let mut lines = plain.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
        assert!(lines.any(|line| line == [name, row]), "{name}: {plain}");
    }
}

#[test]
fn only_an_fsync_that_lies_or_fails_voids_durability() {
    for fault in list("faults") {
        let voids = fault["voids"].as_array().expect("a list");
        let is_sync = fault["name"] == "lying-sync" || fault["name"] == "failed-sync";
        assert_eq!(voids.iter().any(|what| what == "durability"), is_sync, "{fault}");
    }
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let program = program();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = program.line(&format!("completions {shell}"));
        assert_eq!(said.code, Some(0));
        assert!(said.out.contains("sweep") && said.out.contains("determinism"), "{shell}");
    }
    let said = program.line("man");
    assert_eq!(said.code, Some(0));
    for part in [".TH", "sweep", "determinism", "replay", "strategies"] {
        assert!(said.out.contains(part), "{part}");
    }
    assert!(!said.out.contains("worker\\-"), "what is hidden stays hidden");
}

#[test]
fn help_is_no_error_and_names_the_exit_codes() {
    let said = program().line("--help");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains("5 nondeterminism"), "{}", said.out);
    assert_eq!(program().line("--version").code, Some(0));
    assert_eq!(program().line("").code, Some(2), "no command is bad usage");
}
