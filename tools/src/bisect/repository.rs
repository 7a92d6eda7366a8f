//! The git repository that commits are bisected in, and the worktree beside it. Which commits are looked at is git's business.

use super::surroundings;
use crate::exit::{Problem, Result};
use anyhow::Context;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often a waiting command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a command that was asked to end has for it, before it is killed: so many looks.
const LOOKS_TO_END: u32 = 150;

/// A repository, and the two ends of the search.
pub(super) struct Repository {
    top: PathBuf,
    /// The folder that this is called in, from the top; empty at the top itself.
    pub(super) folder: PathBuf,
    /// A commit without the failure.
    pub(super) good: String,
    /// One that has it.
    pub(super) bad: String,
}

impl Repository {
    /// The one that this is called in, and `GOOD..BAD`.
    ///
    /// # Errors
    /// There is none, or the ends are no commits, or not one before the other.
    pub(super) fn here(range: &str) -> Result<Repository> {
        let wrong = |why: String| Problem::usage(format!("--commits {range}: {why}"));
        let form = || wrong("two commits are wanted, as in v1.0..main: the good one, two dots, the bad one".to_owned());
        let (good, bad) = range.split_once("..").ok_or_else(form)?;
        if good.is_empty() || bad.is_empty() || bad.starts_with('.') {
            return Err(form());
        }
        let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]).map_err(|error| wrong(error.to_string()))?;
        let folder = git(Path::new("."), &["rev-parse", "--show-prefix"]).map_err(|error| wrong(error.to_string()))?;
        let (top, folder) = (PathBuf::from(top), folder.trim_end_matches('/').into());
        let mut repository = Repository { top, folder, good: String::new(), bad: String::new() };
        let commit = |name: &str| {
            let found = git(&repository.top, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
            found.map_err(|_| wrong(format!("`{name}` is no commit here")))
        };
        (repository.good, repository.bad) = (commit(good)?, commit(bad)?);
        if repository.good == repository.bad || !repository.is_before(&repository.good, &repository.bad) {
            return Err(wrong(format!("`{good}` does not come before `{bad}`")));
        }
        Ok(repository)
    }

    /// Whether a commit is another's ancestor, or it itself.
    pub(super) fn is_before(&self, one: &str, other: &str) -> bool {
        git(&self.top, &["merge-base", "--is-ancestor", one, other]).is_ok()
    }

    /// How many commits lie between.
    pub(super) fn distance(&self, one: &str, other: &str) -> u64 {
        let count = git(&self.top, &["rev-list", "--count", &format!("{one}..{other}")]);
        count.ok().and_then(|count| count.parse().ok()).unwrap_or(u64::MAX)
    }

    /// A commit as people know it: the short name and the first line.
    pub(super) fn subject(&self, commit: &str) -> String {
        git(&self.top, &["log", "-1", "--format=%h %s", commit]).unwrap_or_else(|_| commit.to_owned())
    }
}

/// A folder for temporary files with a worktree in it, among links to what lies around the repository. All of it goes with it.
pub(super) struct Workplace {
    top: PathBuf,
    folder: PathBuf,
    worktree: PathBuf,
}

impl Workplace {
    /// Makes it, with the bad end checked out.
    ///
    /// # Errors
    /// There is no place for it.
    pub(super) fn create(repository: &Repository) -> Result<Workplace> {
        let parent = std::env::temp_dir();
        let free = (0..1000_u32).map(|number| parent.join(format!("seedstorm-bisect-{}-{number}", std::process::id())));
        let made = free.into_iter().find(|folder| fs::create_dir(folder).is_ok());
        let folder =
            made.ok_or_else(|| Problem::usage(format!("{}: no folder can be made there", parent.display())))?;
        // Held from here on: whatever fails, the folder goes.
        let mut workplace = Workplace { top: repository.top.clone(), worktree: folder.join("around"), folder };
        workplace.worktree = surroundings::link(&repository.top, &workplace.worktree)?;
        let worktree = workplace.worktree.display().to_string();
        git(&repository.top, &["worktree", "add", "--quiet", "--detach", &worktree, &repository.bad])?;
        Ok(workplace)
    }

    /// Where the worktree is.
    pub(super) fn worktree(&self) -> &Path {
        &self.worktree
    }

    /// A file that belongs to the search, and to no commit.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs git in the worktree.
    ///
    /// # Errors
    /// What git says.
    pub(super) fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        git(&self.worktree, arguments)
    }

    /// Goes to a commit.
    ///
    /// # Errors
    /// What git says.
    pub(super) fn check_out(&self, commit: &str) -> anyhow::Result<()> {
        self.git(&["checkout", "--quiet", "--detach", "--force", commit]).map(|_| ())
    }

    /// A copy of this program that no build replaces.
    ///
    /// # Errors
    /// It can't be copied.
    pub(super) fn own_program(&self) -> anyhow::Result<PathBuf> {
        // On Linux the program that runs now, even if another has been built in its place.
        let running = PathBuf::from("/proc/self/exe");
        let from = if running.exists() { running } else { std::env::current_exe().context("finding this program")? };
        let copy = self.file("seedstorm");
        fs::copy(from, &copy).context("copying this program")?;
        Ok(copy)
    }

    /// What git has found: the first bad commit, or those that may be it.
    ///
    /// # Errors
    /// What git says.
    pub(super) fn first_bad(&self) -> anyhow::Result<Vec<String>> {
        let log = self.git(&["bisect", "log"])?;
        let named = |line: &str, before: &str| {
            let (commit, _) = line.strip_prefix(before)?.split_once(']')?;
            Some(commit.to_owned())
        };
        let found = log.lines().filter_map(|line| {
            named(line, "# first bad commit: [").or_else(|| named(line, "# possible first bad commit: ["))
        });
        Ok(found.collect())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let worktree = self.worktree.display().to_string();
        // Whatever is left, the folder goes, and git forgets a worktree that is gone.
        let _ = git(&self.top, &["worktree", "remove", "--force", &worktree]);
        let _ = fs::remove_dir_all(&self.folder);
        let _ = git(&self.top, &["worktree", "prune"]);
    }
}

/// Git in a folder: nothing of the environment leads it to another repository, and hooks of the user's have no business in this.
pub(super) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    command.arg("-c").arg("core.hooksPath=/dev/null").current_dir(folder);
    command
}

/// Runs git; what it prints, without the end of the line.
fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = git_command(folder).args(arguments).stdin(Stdio::null()).output().context("git can't be started")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::bail!("git {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Runs a command to its end, with what it prints in a file (or nowhere). If its end is asked for before, it and all that it has started are ended.
///
/// # Errors
/// It can't be started.
pub(super) fn run_to_end(
    command: &mut Command,
    log: Option<&Path>,
    must_end: &dyn Fn() -> bool,
) -> anyhow::Result<ExitStatus> {
    let sink = |file: Option<File>| file.map_or_else(Stdio::null, Stdio::from);
    let file = log.map(File::create).transpose().context("creating a log")?;
    let copy = file.as_ref().map(File::try_clone).transpose().context("a second handle of a log")?;
    // A group of its own: a signal from the terminal is for this program, and it can end the whole group.
    command.stdin(Stdio::null()).stdout(sink(file)).process_group(0);
    if log.is_some() {
        command.stderr(sink(copy));
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().with_context(|| format!("{name} can't be started"))?;
    loop {
        if let Some(status) = child.try_wait().context("waiting for a command")? {
            return Ok(status);
        }
        if must_end() {
            return end(&mut child);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn end(child: &mut Child) -> anyhow::Result<ExitStatus> {
    signal_group(child, "TERM");
    for _ in 0..LOOKS_TO_END {
        if let Some(status) = child.try_wait().context("waiting for a command")? {
            // Its own end is not that of what it has started.
            signal_group(child, "KILL");
            return Ok(status);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    signal_group(child, "KILL");
    child.wait().context("waiting for a command")
}

/// Sends a signal to a whole process group. The standard library can't, and kill(1) is everywhere.
fn signal_group(child: &Child, signal: &str) {
    let group = format!("-{}", child.id());
    // A group that is gone needs no signal.
    let _ = Command::new("kill").args(["-s", signal, "--", &group]).stderr(Stdio::null()).status();
}
