//! Integration tests of the whole workspace: one module for each subject. What they share is in `support`.

mod bad_input;
mod bisect;
mod budgets;
mod builds;
mod commits;
mod crash_points;
mod determinism;
mod election;
mod explore;
mod failures;
mod hangs;
mod hashes;
mod interruptions;
mod json;
mod junit;
mod lists;
mod merging;
mod misdeclared;
mod moments;
mod output;
mod outputs;
mod own;
mod own_commits;
mod pasting;
mod pictures;
mod plan_files;
mod plans;
mod readme;
mod replay;
mod selftest;
mod shards;
mod shrink;
mod sweeps;
mod terminals;
mod tidy;
mod unplanted;
mod words;
mod wrong_files;

use seedstorm_tests::program::Program;

/// The command line under test, in an empty folder.
fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_seedstorm-under-test"))
}

/// The program of `examples/ledger`, in an empty folder.
fn ledger() -> Program {
    Program::at(env!("CARGO_BIN_EXE_ledger"))
}

/// The program of `examples/election`, in an empty folder.
fn election() -> Program {
    Program::at(env!("CARGO_BIN_EXE_election"))
}
