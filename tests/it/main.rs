//! Integration tests of the whole workspace: one module for each subject. What they share is in `support`.

mod bad_input;
mod bisect;
mod commits;
mod crash_points;
mod determinism;
mod failures;
mod hashes;
mod json;
mod lists;
mod moments;
mod output;
mod pasting;
mod pictures;
mod plan_files;
mod plans;
mod readme;
mod replay;
mod selftest;
mod shrink;
mod sweeps;
mod tidy;
mod unplanted;
mod wrong_files;

use seedstorm_tests::program::Program;

/// The command line under test, in an empty folder.
fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_seedstorm-under-test"))
}
