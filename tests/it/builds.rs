//! Which build ran what: two builds of a program don't pass for one, wherever their versions are the same, and one build is the same wherever it lies.

use crate::program;
use seedstorm_tests::program::{Program, said};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Another build of the program under test, or the same one at another place and time: its file with these bytes after it, which nobody loads.
fn copy(program: &Program, name: &str, bytes: &[u8]) -> PathBuf {
    let path = program.folder.path().join(name);
    std::fs::copy(program.command(&[]).get_program(), &path).expect("a copy");
    OpenOptions::new().append(true).open(&path).and_then(|mut file| file.write_all(bytes)).expect("its end");
    path
}

/// Runs a copy, and gives its standard output.
fn run(program: &Program, path: &PathBuf, words: &str) -> String {
    let mut command = Command::new(path);
    command.args(words.split(' ')).current_dir(program.folder.path()).env_remove("CI");
    said(command.output().expect("it starts")).out
}

#[test]
fn runs_of_two_builds_are_not_put_together_and_those_of_one_are() {
    let program = program();
    for (name, bytes, seeds) in [("one", b"1", "0..2"), ("same", b"1", "2..4"), ("other", b"2", "4..6")] {
        let path = copy(&program, name, bytes);
        let words = format!("sweep --scenarios steady --seeds {seeds} --json --jobs 1");
        std::fs::write(program.folder.path().join(format!("{name}.jsonl")), run(&program, &path, &words))
            .expect("a file");
    }
    let said = program.line("merge one.jsonl same.jsonl");
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = program.line("merge one.jsonl other.jsonl");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(
        said.err.contains("other.jsonl:3: it was run by another build than for one.jsonl:3: seedstorm "),
        "{said:?}"
    );
    assert_eq!(said.err.matches(", executable ").count(), 2, "{said:?}");
}

#[test]
fn a_failure_is_of_the_build_that_recorded_it() {
    let program = program();
    let [one, same, other] =
        [("one", b"1"), ("same", b"1"), ("other", b"2")].map(|(name, bytes)| copy(&program, name, bytes));
    run(&program, &one, "run --scenarios violates --seed 8");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    // It comes out otherwise than it says: by the same build for no reason, by another for that.
    std::fs::write(&path, text.replacen("steps = ", "steps = 1", 1)).expect("a file");
    for (copy, is_other) in [(one, false), (same, false), (other, true)] {
        let object: Value =
            serde_json::from_str(&run(&program, &copy, "replay artifacts/violates-8 --json")).expect("an object");
        let differs = object["runs"][0]["replay"]["differs"].to_string();
        assert!(differs.contains("steps: recorded was"), "{differs}");
        assert_eq!(differs.contains("recorded with another build of this program"), is_other, "{copy:?}: {differs}");
    }
}
