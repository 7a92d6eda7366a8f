//! The arguments of `list`.

use clap::{Args, ValueEnum};

/// List what there is.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: Listed,

    /// Print a JSON array of objects with at least `name` and `about`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// What can be run.
    Scenarios,
    /// What may go wrong.
    Faults,
    /// Who may step next.
    Strategies,
    /// What must hold.
    Invariants,
    /// Bugs that can be planted.
    Mutants,
}
