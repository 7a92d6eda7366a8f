//! The harness: one simulated machine under a seeded clock. It knows no model: what runs on it comes from a [`plan::Scenario`].
//!
//! Start at [`run`], then [`sys::Sys`] (what a program can call) and [`invariant::Invariant`] (what must hold).

#[cfg(not(madsim))]
compile_error!(
    "seedstorm simulates only under `--cfg madsim`. The workspace's .cargo/config.toml sets it, but an environment variable RUSTFLAGS \
     replaces that: unset RUSTFLAGS, or add `--cfg madsim` to it. In a workspace of your own, put `[build] rustflags = [\"--cfg\", \
     \"madsim\"]` into .cargo/config.toml."
);

pub mod blocking;
pub mod causality;
pub mod errno;
pub mod explore;
pub mod invariant;
pub mod kernel;
pub mod metrics;
pub mod plan;
pub mod schedule;
pub mod seed;
pub mod sqlite;
pub mod sys;
pub mod trace;

pub use blocking::Os;
pub use errno::Errno;
pub use kernel::{Beat, Exit, Outcome, Settings, View, World, count_steps, run, run_series};
pub use plan::{Options, Plan, Scenario};
pub use seed::{Draw, Seed, Stream};
pub use sys::Sys;
