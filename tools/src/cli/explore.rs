//! The arguments of `explore`.

use super::sweep::positive_duration;
use super::{ArtifactArguments, CheckArguments, DrawArguments, WatchArguments};
use crate::seeds;
use clap::Args;
use seedstorm_sim::plan::SkipPoints;
use std::path::PathBuf;

/// Run every schedule of one plan, up to a bound: a failure that is found needs as few skips as there can be, and a pass leaves none out.
///
/// The strategy `skips` lets each task go on as long as it can, then the next one in turn; a skip passes over whoever's turn it is. This runs the schedule without
/// a skip, then each with one, each with two, and so on. How many there are grows with each skip by a factor of the steps: draw a small plan, with few
/// workers and operations.
#[derive(Debug, Args)]
pub(crate) struct ExploreArguments {
    /// The scenario.
    #[arg(long, value_name = "S", required_unless_present = "plan", conflicts_with = "plan")]
    pub(crate) scenario: Option<String>,

    /// The seed that draws the plan. Without one, any; it is printed.
    #[arg(long, value_name = "N", conflicts_with = "plan", value_parser = seeds::parse_one, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Explore this plan, or that of a reproducer or of a failure's folder, instead of drawing one; its strategy and turns are left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,

    /// How many skips a schedule may have.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(0..=SkipPoints::MAX as i64), allow_negative_numbers = true)]
    pub(crate) skips: u32,

    /// How much real time the search may take [default: as long as it takes].
    #[arg(long, value_name = "10m", value_parser = positive_duration)]
    pub(crate) budget: Option<u64>,

    /// How many worker processes; without this, one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,

    /// How much real time one run may take before its worker is ended.
    #[arg(long, value_name = "5m", default_value = "5m", value_parser = positive_duration)]
    pub(crate) seed_timeout: u64,

    /// Where a failure is kept.
    #[command(flatten)]
    pub(crate) artifacts: ArtifactArguments,

    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    /// How long is waited for programs.
    #[command(flatten)]
    pub(crate) watch: WatchArguments,

    /// What is checked.
    #[command(flatten)]
    pub(crate) check: CheckArguments,

    /// How the plan is drawn.
    #[command(flatten)]
    pub(crate) draw: DrawArguments,
}
