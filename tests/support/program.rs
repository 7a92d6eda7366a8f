//! Runs the command line in a process and reads what it says.

use crate::folder::Folder;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// What a process said and how it ended.
#[derive(Debug)]
pub struct Said {
    /// The exit code.
    pub code: Option<i32>,
    /// The standard output.
    pub out: String,
    /// The standard error.
    pub err: String,
}

/// The program under test, in a folder of its own.
pub struct Program {
    path: &'static str,
    /// Where it runs.
    pub folder: Folder,
}

impl Program {
    /// The program at a path, which a test has from `env!("CARGO_BIN_EXE_seedstorm-under-test")`.
    pub fn at(path: &'static str) -> Program {
        Program { path, folder: Folder::new() }
    }

    /// A command that has not started yet.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.path);
        command
            .args(words)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env_remove("SEEDSTORM_LOG")
            .env_remove("CI")
            .env_remove("NO_COLOR");
        command
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// When the process can't be started, or says something that is no text.
    pub fn say(&self, words: &[&str]) -> Said {
        said(self.command(words).output().expect("the program under test starts"))
    }

    /// Runs words with spaces between them.
    ///
    /// # Panics
    /// As [`Program::say`].
    pub fn line(&self, words: &str) -> Said {
        self.say(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `run --json`, and gives its one run.
    ///
    /// # Panics
    /// When the output is not one object with one run.
    pub fn run(&self, words: &str) -> Value {
        let said = self.line(&format!("{words} --json"));
        let object: Value =
            serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"));
        let runs = object["runs"].as_array().expect("an array of runs");
        assert_eq!(runs.len(), 1, "{said:?}");
        runs[0].clone()
    }

    /// Runs `sweep --json`: the lines of seeds, the summary, the exit code.
    ///
    /// # Panics
    /// When a line is no JSON object.
    pub fn sweep(&self, words: &str) -> (Vec<Value>, Value, Said) {
        let said = self.line(&format!("sweep {words} --json"));
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"));
        let mut lines: Vec<Value> = said.out.lines().map(parse).collect();
        let summary = lines.pop().unwrap_or_else(|| panic!("{words}: nothing was said: {said:?}"));
        (lines, summary, said)
    }
}

/// Makes text of a process's output.
///
/// # Panics
/// When it is no text.
pub fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}
