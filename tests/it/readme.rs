//! README.md is true: what it says that a command prints is what the command prints. Only what real time decides is passed over.

use super::program;
use std::path::Path;

/// Lines that tell of real time, and so differ from run to run.
const TIMED: [&str; 2] = ["simulated to real", "seeds per second"];

#[test]
fn what_readme_shows_is_what_commands_print() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("README.md");
    let mut shown = text.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next()).peekable();
    assert!(shown.peek().is_some(), "README.md shows no command");
    for block in shown {
        let (command, expected) = block.split_once('\n').expect("a command and its output");
        let words = command.strip_prefix("$ seedstorm ").unwrap_or_else(|| panic!("not a command of ours: {command}"));
        let program = program();
        let said = program.line(words);
        let printed = said.out.replace(env!("CARGO_BIN_EXE_seedstorm-under-test"), "seedstorm");
        let steady = |text: &str| -> Vec<String> {
            let lines = text.trim_end().lines().filter(|line| !TIMED.iter().any(|timed| line.contains(timed)));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(steady(&printed), steady(expected), "`{words}` prints something else than README.md shows");
    }
}
