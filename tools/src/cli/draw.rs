//! Arguments about how a plan is drawn: they become `sim`'s `Options`. Which values a scenario takes is for the scenario to say.

use crate::catalogue::{Known, unknown};
use crate::duration;
use crate::exit::{Problem, Result};
use crate::fault_options;
use crate::shell;
use clap::Args;
use seedstorm_sim::Options;
use seedstorm_sim::plan::{StrategyError, StrategyPlan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How plans are drawn. What is not given is drawn from the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "How plans are drawn")]
pub(crate) struct DrawArguments {
    /// How many agents.
    #[arg(long, value_name = "N", value_parser = some_workers, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workers: Option<u32>,

    /// How long faults may fire and work may start, in simulated time.
    #[arg(long, value_name = "30s", value_parser = checked_duration)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<String>,

    /// Which faults: `default`, `none`, kinds with commas between them, or a TOML file.
    #[arg(long, value_name = "default|none|LIST|FILE.toml")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) faults: Option<String>,

    /// Who steps next (see `list strategies`).
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<String>,

    /// Which lock implementation.
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lock: Option<String>,

    /// Which back-off policy.
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backoff: Option<String>,

    /// A setting of the scenario's own; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) set: Vec<String>,
}

/// How many agents. The most that there can be, each scenario says.
pub(super) fn some_workers(text: &str) -> std::result::Result<u32, String> {
    let workers = text.trim().parse().ok().filter(|workers| *workers > 0);
    workers.ok_or_else(|| format!("`{text}` is not possible; allowed: a whole number of 1 or more"))
}

/// Keeps the text, so that a command to reproduce says it as it was given.
fn checked_duration(text: &str) -> std::result::Result<String, String> {
    duration::parse(text).map(|_| text.to_owned())
}

/// The strategy that a person means; `None`: the portfolio.
fn parse_strategy(text: &str) -> Result<Option<StrategyPlan>> {
    if text == StrategyPlan::PORTFOLIO {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| {
        let names = StrategyPlan::ALL.iter().map(|(strategy, _)| strategy.name()).chain([StrategyPlan::PORTFOLIO]);
        match error {
            StrategyError::Unknown(name) => Problem::usage(unknown("strategy", &name, &names.collect::<Vec<_>>())),
            StrategyError::Parameter { .. } => Problem::usage(format!("--strategy {text}: {error}")),
        }
    })
}

impl DrawArguments {
    /// The options that they mean. Reads a fault file.
    ///
    /// # Errors
    /// An unknown strategy or fault, a fault file that can't be read, a setting without `=` or given twice.
    pub(crate) fn options(&self) -> Result<Options> {
        let strategy = self.strategy.as_deref().map(parse_strategy).transpose()?.flatten();
        let duration_ns = self.duration.as_deref().map(duration::parse).transpose().map_err(Problem::Usage)?;
        let mut set = BTreeMap::new();
        for text in &self.set {
            let (key, value) = text
                .split_once('=')
                .filter(|(key, _)| !key.trim().is_empty())
                .ok_or_else(|| Problem::usage(format!("--set {text}: a setting is KEY=VALUE")))?;
            if set.insert(key.trim().to_owned(), value.to_owned()).is_some() {
                return Err(Problem::usage(format!("--set {key}: given twice")));
            }
        }
        Ok(Options {
            workers: self.workers,
            duration_ns,
            faults: fault_options::parse(self.faults.as_deref())?,
            strategy,
            lock: self.lock.clone(),
            backoff: self.backoff.clone(),
            set,
        })
    }

    /// The file that the faults come from, if they do.
    pub(crate) fn faults_file(&self) -> Option<&Path> {
        self.faults.as_deref().and_then(fault_options::path)
    }

    /// The words of a command line that mean the same for one of the scenarios that they were given for: faults that can't happen in it are left out.
    pub(crate) fn words_for(&self, scenario: Known) -> Vec<String> {
        let faults = self.faults.as_deref().map(|text| fault_options::within(text, scenario));
        DrawArguments { faults, ..self.clone() }.words()
    }

    /// The words of a command line that mean the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                words.extend(shell::option(name, value));
            }
        };
        add("workers", &self.workers.map(|workers| workers.to_string()));
        add("duration", &self.duration);
        add("faults", &self.faults);
        add("strategy", &self.strategy);
        add("lock", &self.lock);
        add("backoff", &self.backoff);
        for setting in &self.set {
            words.extend(shell::option("set", setting));
        }
        words
    }

    /// Those that were given, by name; settings have names of their own.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let workers = self.workers.map(|workers| workers.to_string());
        let set = (!self.set.is_empty()).then(|| self.set.join(", "));
        let all = [
            ("workers", workers),
            ("duration", self.duration.clone()),
            ("faults", self.faults.clone()),
            ("strategy", self.strategy.clone()),
            ("lock", self.lock.clone()),
            ("backoff", self.backoff.clone()),
            ("set", set),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The names of those that were given, each once.
    pub(crate) fn given(&self) -> Vec<String> {
        let option = |word: String| word.split('=').next().filter(|name| name.starts_with("--")).map(str::to_owned);
        let mut names: Vec<String> = self.words().into_iter().filter_map(option).collect();
        names.dedup();
        names
    }

    /// Whether nothing was given: a plan from a file takes none of them.
    pub(crate) fn is_empty(&self) -> bool {
        self.words().is_empty()
    }
}
