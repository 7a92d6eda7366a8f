//! One commit of a bisection: build it, ask its program whether the failure is there, write down what it said. Which commit it is, is decided by git.

use super::repository::{git_command, run_to_end};
use crate::exit::{Exit, Result};
use crate::git_bisect::{Judged, Report};
use crate::interrupt;
use crate::stderr;
use anyhow::Context;
use seedstorm_sim::explore::Share;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;

/// What every step needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Where commits are checked out.
    pub(super) worktree: PathBuf,
    /// In which folder of it they are built: empty for its top.
    pub(super) folder: PathBuf,
    /// How they are built.
    pub(super) build: Vec<String>,
    /// Where the build leaves the program.
    pub(super) program: PathBuf,
    /// What is asked for.
    pub(super) reproducer: PathBuf,
    /// How many of how many runs at random fail so at the bad end, once that is known.
    pub(super) expected: Option<Share>,
    /// Where steps are written down, one in a line.
    pub(super) log: PathBuf,
    /// What the last build has printed.
    pub(super) build_log: PathBuf,
}

/// A commit that was judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    /// The commit's full name.
    pub(super) commit: String,
    /// Its first line.
    subject: String,
    /// What its program said.
    pub(super) report: Report,
}

impl Step {
    /// It in a line.
    pub(super) fn line(&self) -> String {
        let verdict = match self.report.verdict {
            Judged::Gone => "good",
            Judged::There => "bad ",
            Judged::Unclear => "skip",
            Judged::Broken => "stop",
        };
        let short = self.commit.get(..10).unwrap_or(&self.commit);
        format!("{verdict} {short} {}: {}", self.subject, self.report.why)
    }
}

/// The hidden command that `git bisect run` calls.
///
/// # Errors
/// What it is told to do can't be read.
pub(crate) fn command(job: &Path) -> Result<Exit> {
    let text = fs::read_to_string(job).with_context(|| format!("reading {}", job.display()))?;
    let job: Job = serde_json::from_str(&text).with_context(|| format!("reading {}", job.display()))?;
    let interrupt = interrupt::flag()?;
    let step = take(&job, false, &|| interrupt.load(Ordering::Relaxed))?;
    Ok(step.report.verdict.exit())
}

/// Builds and judges what is checked out.
///
/// # Errors
/// Git or the log can't be used.
pub(super) fn take(job: &Job, counts_all: bool, must_end: &dyn Fn() -> bool) -> anyhow::Result<Step> {
    let named = |format: &str| {
        let output = git_command(&job.worktree).args(["log", "-1", format]).output()?;
        anyhow::Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (commit, subject) = (named("--format=%H")?, named("--format=%s")?);
    let report = judge(job, counts_all, must_end);
    let step = Step { commit, subject, report };
    let mut log = OpenOptions::new().create(true).append(true).open(&job.log).context("writing a step down")?;
    writeln!(log, "{}", serde_json::to_string(&step)?).context("writing a step down")?;
    // Progress is told as it comes; if nobody listens, the log has it.
    stderr::say(step.line());
    Ok(step)
}

fn judge(job: &Job, counts_all: bool, must_end: &dyn Fn() -> bool) -> Report {
    let folder = job.worktree.join(&job.folder);
    if !has_folder(job) {
        return Report::of(Judged::Unclear, format!("it has no folder `{}`", job.folder.display()));
    }
    let program = job.worktree.join(&job.program);
    // What an earlier commit has left there must not pass for this one's.
    let _ = fs::remove_file(&program);
    let [build, arguments @ ..] = &job.build[..] else {
        return Report::of(Judged::Broken, "there is no build command");
    };
    let mut command = Command::new(build);
    // The program is looked for in the worktree: no environment may send it elsewhere.
    command.args(arguments).current_dir(&folder).env("CARGO_TARGET_DIR", job.worktree.join("target"));
    match run_to_end(&mut command, Some(&job.build_log), must_end) {
        Err(error) => return Report::of(Judged::Broken, format!("the build command: {error:#}")),
        Ok(_) if must_end() => return Report::of(Judged::Broken, "interrupted"),
        Ok(status) if !status.success() => {
            let said = fs::read_to_string(&job.build_log).unwrap_or_default();
            return Report::of(Judged::Unclear, format!("it does not build ({status}): {}", why_not_built(&said)));
        }
        Ok(_) => {}
    }
    if !program.is_file() {
        let why = format!(
            "it was built, but there is no program {}: call it in the folder of the crate, or say where it is with --program",
            job.program.display()
        );
        return Report::of(Judged::Broken, why);
    }
    ask(job, &program, counts_all, must_end)
}

/// Whether what is checked out has the folder. That it is there says nothing: what is not git's stays there from commit to commit.
fn has_folder(job: &Job) -> bool {
    let mut command = git_command(&job.worktree);
    command
        .args(["cat-file", "-e", &format!("HEAD:{}", job.folder.display())])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Of what a build has said its first error, and the causes under it; its last line, where it names none.
fn why_not_built(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(error) = lines.find(|line| line.starts_with("error")) else {
        return said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned();
    };
    let causes = lines.take(CAUSES).filter(|line| *line != "Caused by:");
    [error].into_iter().chain(causes).collect::<Vec<_>>().join("; ")
}

/// So many lines under a build's error are told.
const CAUSES: usize = 6;

/// Asks the program that was built.
fn ask(job: &Job, program: &Path, counts_all: bool, must_end: &dyn Fn() -> bool) -> Report {
    let mut command = Command::new(program);
    command.args(["replay", "--git-bisect", "--json"]);
    if counts_all {
        command.arg("--count-all");
    }
    if let Some(Share { count, of }) = job.expected {
        command.arg("--expected").arg(format!("{count}/{of}"));
    }
    let answer = job.build_log.with_file_name("answer");
    command.arg(&job.reproducer).current_dir(&job.worktree).stderr(Stdio::null());
    let status = match run_to_end(&mut command, Some(&answer), must_end) {
        Ok(status) => status,
        Err(error) => return Report::of(Judged::Unclear, format!("its program does not run: {error:#}")),
    };
    if must_end() {
        return Report::of(Judged::Broken, "interrupted");
    }
    read_answer(&fs::read_to_string(&answer).unwrap_or_default(), status)
}

/// What a program has said. Whatever is wrong with it concerns this commit only.
fn read_answer(text: &str, status: ExitStatus) -> Report {
    let told = text.lines().find_map(|line| serde_json::from_str::<Report>(line).ok());
    match told {
        Some(report) if status.code() == Some(report.verdict.exit() as i32) => match report.verdict {
            Judged::Broken => {
                Report { verdict: Judged::Unclear, why: format!("its program fails: {}", report.why), ..report }
            }
            Judged::Gone | Judged::There | Judged::Unclear => report,
        },
        _ => {
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
            Report::of(
                Judged::Unclear,
                format!("its program knows no `replay --git-bisect` ({status}; it said: {})", last.trim()),
            )
        }
    }
}

/// The steps that were written down.
pub(super) fn read_log(log: &Path) -> Vec<Step> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn answer(text: &str, code: i32) -> Judged {
        read_answer(text, ExitStatus::from_raw(code << 8)).verdict
    }

    #[test]
    fn an_answer_counts_only_with_its_exit_code() {
        assert_eq!(answer(r#"{"verdict":"gone","why":"x"}"#, 0), Judged::Gone);
        assert_eq!(answer(r#"{"verdict":"there","why":"x"}"#, 1), Judged::There);
        assert_eq!(answer(r#"{"verdict":"there","why":"x"}"#, 0), Judged::Unclear);
        assert_eq!(answer("", 0), Judged::Unclear, "a program that does nothing has judged nothing");
        assert_eq!(answer("error: unexpected argument", 2), Judged::Unclear);
        assert_eq!(answer(r#"{"verdict":"broken","why":"x"}"#, 128), Judged::Unclear);
        assert_eq!(read_answer("", ExitStatus::from_raw(11)).verdict, Judged::Unclear, "it crashed");
    }
}
