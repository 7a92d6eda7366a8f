//! What a person may say about how a plan is drawn. Reading it from a command line is the business of `tools`.

use super::{FaultKind, FaultPlan, StrategyPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Options of a scenario. What is `None` is drawn from the seed or has the scenario's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// How many agents.
    pub workers: Option<u32>,
    /// How long the chaos lasts, in simulated nanoseconds.
    pub duration_ns: Option<u64>,
    /// Which faults may be drawn.
    pub faults: Faults,
    /// Who steps next.
    pub strategy: Option<StrategyPlan>,
    /// Which lock implementation.
    pub lock: Option<String>,
    /// Which back-off policy.
    pub backoff: Option<String>,
    /// The scenario's own settings, by key.
    pub set: BTreeMap<String, String>,
}

/// Which faults a plan may hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// The scenario's own choice.
    #[default]
    Default,
    /// None.
    None,
    /// These kinds only.
    Kinds(Vec<FaultKind>),
    /// Exactly these.
    Exactly(Vec<FaultPlan>),
}

/// An option that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option}: `{value}` is not possible; allowed: {allowed}")]
pub struct OptionsError {
    /// The option or key.
    pub option: String,
    /// The value that was given.
    pub value: String,
    /// What would have been possible.
    pub allowed: String,
}
