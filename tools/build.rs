//! Tells the program which commit it is built from: reproducers name it. Where that is not known (no git, no repository) it is left out.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    // The log of the head changes with each commit and each change of branch.
    match git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        Some(log) if std::path::Path::new(&log).exists() => println!("cargo:rerun-if-changed={log}"),
        _ => println!("cargo:rerun-if-changed=build.rs"),
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo:rustc-env=SEEDSTORM_GIT_COMMIT={commit}");
}
