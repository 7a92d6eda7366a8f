//! `bisect --commits` and `replay --git-bisect`, on a made-up repository: its program is the command under test, which behaves as a file of the commit says.

use crate::program;
use seedstorm_tests::folder::Folder;
use seedstorm_tests::program::{Program, Said, said};
use seedstorm_tests::versions::VERSION;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const COMMITS: usize = 40;
const PLANTS_THE_BUG: usize = 23;
const DO_NOT_BUILD: [usize; 3] = [8, 19, 31];
/// Commits that only refactor: the version from there on, but for the bug.
const REFACTOR: [(usize, &str); 5] = [(5, "calls"), (14, "calls draws"), (21, "draws"), (27, ""), (35, "calls")];

pub(super) fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]).args(words).current_dir(folder);
    let said = said(command.output().expect("git starts"));
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
    said.out.trim().to_owned()
}

/// The version of a commit.
fn version(commit: usize) -> String {
    let refactored = REFACTOR.iter().rev().find(|(from, _)| commit >= *from).map_or("", |(_, version)| version);
    let bug = if commit >= PLANTS_THE_BUG { "bug" } else { "" };
    format!("{bug} {refactored}").trim().to_owned()
}

/// Makes the repository. Its build is a shell script that makes a shell script: the command under test, as that version.
fn repository(program: &str, build_first: &str) -> Folder {
    let folder = Folder::new();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    let build = format!(
        "set -e\n{build_first}\ntest ! -e broken\nmkdir -p out\n\
         printf '#!/bin/sh\\nexport {VERSION}=\"%s\"\\nexec {program} \"$@\"\\n' \"$(cat version)\" > out/program\nchmod +x out/program\n"
    );
    put("build.sh", &build);
    for commit in 1..=COMMITS {
        put("version", &version(commit));
        put("number", &commit.to_string());
        if DO_NOT_BUILD.contains(&commit) {
            put("broken", "it does not build");
        } else {
            // Whether there is one or not.
            let _ = std::fs::remove_file(folder.path().join("broken"));
        }
        git(folder.path(), &["add", "--all"]);
        git(folder.path(), &["commit", "--quiet", "-m", &format!("commit {commit}")]);
        git(folder.path(), &["tag", &format!("c{commit}")]);
    }
    folder
}

/// A failure of the last commit, as a reproducer.
pub(super) fn failure(program: &Program) -> String {
    let words = "sweep --scenarios versioned --seeds 0..300 --determinism 0% --max-failures 1 --json";
    let mut command = program.command(&words.split_whitespace().collect::<Vec<_>>());
    let said = said(command.env(VERSION, version(COMMITS)).output().expect("the program under test starts"));
    let last = said.out.lines().next_back().unwrap_or_default();
    let summary: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let path = summary["fingerprints"][0]["reproducers"][0].as_str().unwrap_or_else(|| panic!("{said:?}"));
    program.folder.path().join(path).display().to_string()
}

/// What must be as before.
pub(super) fn state(repository: &Path) -> [String; 4] {
    [
        git(repository, &["status", "--porcelain", "--branch"]),
        git(repository, &["rev-parse", "HEAD"]),
        git(repository, &["worktree", "list"]),
        git(repository, &["for-each-ref"]),
    ]
}

/// Bisects in a repository, with a folder for temporary files of its own.
fn bisecting(program: &Program, repository: &Folder, temporary: &Folder, words: &[&str]) -> Command {
    let mut command = program.command(words);
    command.current_dir(repository.path()).env("TMPDIR", temporary.path());
    command
}

#[test]
fn the_commit_that_plants_the_bug_is_named() {
    let program = program();
    let (repository, temporary) = (repository(env!("CARGO_BIN_EXE_seedstorm-under-test"), ""), Folder::new());
    let reproducer = failure(&program);
    let before = state(repository.path());
    let words =
        ["bisect", &reproducer, "--commits", "c1..main", "--program", "out/program", "--json", "--", "sh", "build.sh"];
    let said = said(bisecting(&program, &repository, &temporary, &words).output().expect("it starts"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let found: Value = serde_json::from_str(&said.out).expect("an object");
    let right = git(repository.path(), &["rev-parse", &format!("c{PLANTS_THE_BUG}")]);
    assert_eq!(found["first_bad"], json!([right]), "{found}");
    assert!(found["subjects"][0].as_str().is_some_and(|subject| subject.ends_with("commit 23")), "{found}");
    assert!(found["confidence"].to_string().contains("is good: none of "), "{found}");
    let verdicts = found["steps"].as_array().expect("steps");
    assert!(verdicts.len() >= 6 && verdicts.len() <= 12, "ends, and some halvings: {found}");
    assert_eq!(state(repository.path()), before, "the user's checkout is as it was");
    assert!(temporary.names().is_empty(), "{:?}", temporary.names());
    assert!(said.err.contains("good") && said.err.contains("bad"), "progress is told: {}", said.err);
}

#[test]
fn commits_that_can_t_be_judged_are_named_with_it() {
    let program = program();
    let (repository, temporary) = (repository(env!("CARGO_BIN_EXE_seedstorm-under-test"), ""), Folder::new());
    let reproducer = failure(&program);
    // Those before the bad one don't build either, so any of them may be it.
    for commit in [PLANTS_THE_BUG - 2, PLANTS_THE_BUG - 1] {
        git(repository.path(), &["tag", &format!("unbuilt{commit}"), &format!("c{commit}")]);
    }
    let build = "case $(cat number) in 21|22) exit 3;; esac; sh build.sh";
    let words =
        ["bisect", &reproducer, "--commits", "c1..main", "--program", "out/program", "--json", "--", "sh", "-c", build];
    let said = said(bisecting(&program, &repository, &temporary, &words).output().expect("it starts"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let found: Value = serde_json::from_str(&said.out).expect("an object");
    let mut named: Vec<&str> =
        found["first_bad"].as_array().expect("commits").iter().filter_map(Value::as_str).collect();
    named.sort_unstable();
    let mut right = [21, 22, 23].map(|commit| git(repository.path(), &["rev-parse", &format!("c{commit}")]));
    right.sort_unstable();
    assert_eq!(named, right, "{found}");
    assert!(temporary.names().is_empty());
}

#[test]
fn it_cleans_up_when_it_is_interrupted() {
    let program = program();
    let (temporary, signs) = (Folder::new(), Folder::new());
    let building = signs.path().join("building");
    // The build of each commit but the ends takes long, in a process of its own.
    let slow = format!("case $(cat number) in 1|40) ;; *) touch {}; sleep 600;; esac", building.display());
    let repository = repository(env!("CARGO_BIN_EXE_seedstorm-under-test"), &slow);
    let reproducer = failure(&program);
    let before = state(repository.path());
    let words = ["bisect", &reproducer, "--commits", "c1..main", "--program", "out/program", "--", "sh", "build.sh"];
    let mut command = bisecting(&program, &repository, &temporary, &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    while !building.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupted = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(interrupted.success());
    let said: Said = said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.out.contains("interrupted"), "{}", said.out);
    assert!(said.out.contains("commit 40") && said.out.contains("commit 1:"), "what was found by then: {}", said.out);
    assert_eq!(state(repository.path()), before);
    assert!(temporary.names().is_empty(), "{:?}", temporary.names());
}

#[test]
fn nothing_outside_of_the_worktree_is_touched() {
    let program = program();
    let (repository, temporary) = (repository(env!("CARGO_BIN_EXE_seedstorm-under-test"), ""), Folder::new());
    let reproducer = failure(&program);
    let precious = repository.path().join("precious");
    std::fs::write(&precious, "keep").expect("a file");
    let absolute = precious.display().to_string();
    let climbing = format!("../../../../../../../..{absolute}");
    for path in [absolute.as_str(), climbing.as_str(), "..", "."] {
        let words = ["bisect", &reproducer, "--commits", "c1..main", "--program", path, "--", "sh", "build.sh"];
        let said = said(bisecting(&program, &repository, &temporary, &words).output().expect("it starts"));
        assert_eq!(said.code, Some(2), "{path}: {said:?}");
        let told =
            format!("--program: `{path}` is not in the worktree; allowed: a path from its top, as target/release/");
        assert!(said.err.contains(&told), "{}", said.err);
        assert_eq!(std::fs::read_to_string(&precious).expect("it is there"), "keep");
    }
}

#[test]
fn what_git_would_take_on_trust_is_looked_at() {
    let program = program();
    let (repository, temporary) = (repository(env!("CARGO_BIN_EXE_seedstorm-under-test"), ""), Folder::new());
    let reproducer = failure(&program);
    let before = state(repository.path());
    for (range, program_path, part) in [
        ("c1..c22", "out/program", "is not bad"),
        ("c25..c40", "out/program", "is not good"),
        ("c40..c1", "out/program", "does not come before"),
        ("c1..nothing", "out/program", "`nothing` is no commit"),
        ("c1", "out/program", "two commits"),
        ("c1..c40", "out/nothing", "--program"),
    ] {
        let words = ["bisect", &reproducer, "--commits", range, "--program", program_path, "--", "sh", "build.sh"];
        let said = said(bisecting(&program, &repository, &temporary, &words).output().expect("it starts"));
        assert_eq!(said.code, Some(2), "{range}: {said:?}");
        assert!(said.err.contains(part), "{range}: {}", said.err);
        assert!(temporary.names().is_empty(), "{range}: {:?}", temporary.names());
    }
    assert_eq!(state(repository.path()), before);
}

#[test]
fn git_bisect_reads_the_exit_codes() {
    let program = program();
    let reproducer = failure(&program);
    let judged = |version: &str, words: &[&str]| {
        let mut command = program.command(&[&["replay", "--git-bisect"], words].concat());
        said(command.env(VERSION, version).output().expect("it starts"))
    };
    for (version, code) in [("bug calls", 1), ("calls", 0), ("bug", 1), ("bug draws", 1), ("", 0), ("draws", 0)] {
        let said = judged(version, &[&reproducer]);
        assert_eq!(said.code, Some(code), "{version}: {said:?}");
    }
    let drifts = judged("bug draws", &[&reproducer]);
    assert!(drifts.out.contains("drift: step"), "{}", drifts.out);
    let text = std::fs::read_to_string(&reproducer).expect("a reproducer");
    let put = |name: &str, text: &str| std::fs::write(program.folder.path().join(name), text).expect("a file");
    put("newer.toml", &text.replace("format = 2", "format = 3"));
    put("elsewhere.toml", &text.replace("versioned", "nowhere"));
    put("torn.toml", &text[..text.len() / 2]);
    for (file, code, part) in [
        ("newer.toml", 125, "newer"),
        ("elsewhere.toml", 125, "no scenario"),
        ("torn.toml", 128, "torn.toml"),
        ("missing.toml", 128, "missing.toml"),
    ] {
        let said = judged("", &[file]);
        assert_eq!(said.code, Some(code), "{file}: {said:?}");
        assert!(said.out.contains(part), "{file}: {}", said.out);
    }
    // 2 would be taken for a bad commit.
    assert_eq!(judged("", &[&reproducer, "--nonsense"]).code, Some(128));
    assert_eq!(judged("", &["--seed", "3", "--scenario", "race"]).code, Some(128));
}
