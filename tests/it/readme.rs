//! README.md is true: what it says that a command prints is what the command prints (only what real time decides is passed over), what it links
//! to is there, and its exit codes are the program's.

use super::{election, ledger, program};
use std::path::{Path, PathBuf};

/// Lines that tell of real time, and so differ from run to run.
const TIMED: [&str; 3] = ["simulated to real", "seeds per second", "runs per second"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn what_readme_links_to_is_there() {
    let text = document("README.md");
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let links: Vec<&str> = links.filter(|link| !link.is_empty() && !link.contains("://")).collect();
    assert!(links.len() > 5, "they were found: {links:?}");
    let missing: Vec<&str> = links.into_iter().filter(|link| !root().join(link).exists()).collect();
    assert!(missing.is_empty(), "README.md links to what is not there: {missing:?}");
}

#[test]
fn documents_and_help_name_the_same_exit_codes() {
    let codes = |name: &str| -> Vec<String> {
        let text = document(name);
        let (_, rest) = text.split_once("## Exit codes\n").unwrap_or_else(|| panic!("{name} has no exit codes"));
        let line = rest.lines().next().unwrap_or_default();
        line.trim_end_matches('.').split(" · ").map(str::to_owned).collect()
    };
    let readme = codes("README.md");
    let numbers: Vec<&str> = readme.iter().filter_map(|code| code.split(' ').next()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3", "4", "5", "70", "130"]);
    assert_eq!(codes("ARCHITECTURE.md"), readme);
    let help = program().line("--help").out.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<&String> = readme.iter().filter(|code| !help.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "the help doesn't have {missing:?}: {help}");
}

#[test]
fn what_readme_shows_is_what_commands_print() {
    let text = document("README.md");
    let mut shown = text.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next()).peekable();
    assert!(shown.peek().is_some(), "README.md shows no command");
    for block in shown {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        let called = command.strip_prefix("$ ").and_then(|command| command.split_once(' '));
        let (name, words) = called.unwrap_or_else(|| panic!("no command: {command}"));
        let (path, program) = match name {
            "seedstorm" => (env!("CARGO_BIN_EXE_seedstorm-under-test"), program()),
            "ledger" => (env!("CARGO_BIN_EXE_ledger"), ledger()),
            "election" => (env!("CARGO_BIN_EXE_election"), election()),
            _ => panic!("not a command of ours: {command}"),
        };
        let printed = program.line(words).out.replace(path, name);
        let steady = |text: &str| -> Vec<String> {
            let lines = text.trim_end().lines().filter(|line| !TIMED.iter().any(|timed| line.contains(timed)));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(steady(&printed), steady(expected), "`{words}` prints something else than README.md shows");
    }
}
