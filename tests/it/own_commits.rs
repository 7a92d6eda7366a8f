//! `bisect --commits` of crates that name others by relative paths: beside their repository, farther away, and within it. Cargo builds them, as it does without options.

use super::commits::{failure, git, state};
use crate::program;
use seedstorm_tests::folder::Folder;
use seedstorm_tests::program::{Program, said};
use std::path::Path;

/// The command under test, as the version of each commit; the name of the variable for it comes from the other crate.
fn main_of(version: &str) -> String {
    let program = env!("CARGO_BIN_EXE_seedstorm-under-test");
    format!(
        "use std::os::unix::process::CommandExt;\nfn main() {{\n    let mut command = std::process::Command::new({program:?});\n    \
         panic!(\"{{}}\", command.args(std::env::args_os().skip(1)).env(beside::VARIABLE, {version:?}).exec());\n}}\n"
    )
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// The crate that the other one needs.
fn put_beside(folder: &Path) {
    put(folder, "Cargo.toml", "[package]\nname = \"beside\"\nedition = \"2024\"\n");
    put(folder, "src/lib.rs", "pub const VARIABLE: &str = \"SEEDSTORM_TEST_VERSION\";\n");
}

/// A repository with three commits that hold a crate; the last one has the bug. The first has no crate in this folder.
fn commit_all(repository: &Path, folder: &str, beside: &str) {
    git(repository, &["init", "--quiet", "--initial-branch=main"]);
    let commit = |name: &str| {
        git(repository, &["add", "--all"]);
        git(repository, &["commit", "--quiet", "-m", name]);
        git(repository, &["tag", name]);
    };
    put(repository, "README", "empty");
    commit("empty");
    let mine = repository.join(folder);
    put(&mine, ".gitignore", "target\nCargo.lock\n");
    let manifest = format!(
        "[package]\nname = \"seedstorm-under-test\"\nedition = \"2024\"\n[dependencies]\nbeside = {{ path = {beside:?} }}\n"
    );
    put(&mine, "Cargo.toml", &manifest);
    for (name, version) in [("first", ""), ("second", "calls"), ("third", "bug calls")] {
        put(&mine, "src/main.rs", &main_of(version));
        commit(name);
    }
}

#[test]
fn crates_are_built_with_what_lies_beside_their_repository_and_in_their_own_folder() {
    let program = program();
    let reproducer = failure(&program);
    // Where the repository is, where in it the crate, where the other one, and how the crate names that.
    for (top, folder, other, beside) in [
        ("mine", ".", "beside", "../beside"),
        ("deep/er/mine", "crates/mine", "else/beside", "../../../../../else/beside"),
        ("whole", "examples/mine", "whole/lib", "../../lib"),
    ] {
        let (place, temporary) = (Folder::new(), Folder::new());
        put_beside(&place.path().join(other));
        let repository = place.path().join(top);
        std::fs::create_dir_all(&repository).expect("a folder");
        commit_all(&repository, folder, beside);
        let before = state(&repository);
        let said =
            bisect(&program, &repository.join(folder), temporary.path(), &[&reproducer, "--commits", "first..main"]);
        assert_eq!(said.code, Some(0), "{top}: {said:?}");
        assert!(said.out.contains("first bad commit: ") && said.out.contains(" third\n"), "{top}: {}", said.out);
        assert_eq!(state(&repository), before, "{top}");
        assert!(temporary.names().is_empty(), "{top}: {:?}", temporary.names());
        assert!(place.path().join(other).join("src/lib.rs").exists(), "{top}: what lies beside is as it was");
    }
}

#[test]
fn a_commit_without_the_folder_is_told_so() {
    let program = program();
    let reproducer = failure(&program);
    let (place, temporary) = (Folder::new(), Folder::new());
    put_beside(&place.path().join("lib"));
    commit_all(place.path(), "examples/mine", "../../lib");
    let folder = place.path().join("examples/mine");
    let said = bisect(&program, &folder, temporary.path(), &[&reproducer, "--commits", "empty..main"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("is not good: it has no folder `examples/mine`"), "{}", said.err);
    // At the top there is no crate, and a build of something else leaves no program of it.
    let words = [&reproducer, "--commits", "first..main", "--", "true"];
    let said = bisect(&program, place.path(), temporary.path(), &words);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("call it in the folder of the crate"), "{}", said.err);
}

fn bisect(program: &Program, folder: &Path, temporary: &Path, words: &[&str]) -> seedstorm_tests::program::Said {
    let mut command = program.command(&[&["bisect"], words].concat());
    command.current_dir(folder).env("TMPDIR", temporary).env_remove("CARGO_TARGET_DIR");
    said(command.output().expect("it starts"))
}
