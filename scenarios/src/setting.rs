//! Settings of a scenario: each has a name, what is allowed, and its own random stream, so that fixing one shifts no other.

use seedstorm_sim::plan::{Given, OptionsError, Place, PlantedBug, Refusal};
use seedstorm_sim::{Draw, Options, Seed};
use std::collections::BTreeMap;
use toml::Value;

/// One setting.
pub struct Setting {
    /// Its key in plans and on the command line.
    pub key: &'static str,
    /// What it means, with its unit.
    pub about: &'static str,
    /// What it can be and what is drawn.
    pub range: Range,
}

/// What a setting can be.
pub enum Range {
    /// A whole number: the least and the greatest that may be given, and the values that are drawn.
    Number(u64, u64, &'static [u64]),
    /// A power of two: as with a number.
    PowerOfTwo(u64, u64, &'static [u64]),
    /// One of these words; drawn evenly. One that is said twice in a row is drawn more often, as a number is.
    Word(&'static [&'static str]),
}

impl Setting {
    fn draw(&self, seed: Seed) -> Value {
        let mut stream = seed.stream(&format!("setting/{}", self.key));
        match &self.range {
            Range::Number(_, _, drawn) | Range::PowerOfTwo(_, _, drawn) => {
                number(drawn[stream.below(drawn.len() as u64) as usize])
            }
            Range::Word(words) => Value::String(words[stream.below(words.len() as u64) as usize].to_owned()),
        }
    }

    /// What may be given, in words.
    pub fn allowed(&self) -> String {
        match &self.range {
            Range::Number(least, greatest, _) => format!("a whole number from {least} to {greatest}"),
            Range::PowerOfTwo(least, greatest, _) => format!("a power of two from {least} to {greatest}"),
            Range::Word(words) => {
                let mut each = words.to_vec();
                each.dedup();
                each.join(", ")
            }
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let within = |least: u64, greatest: u64| text.parse().ok().filter(|given| (least..=greatest).contains(given));
        match &self.range {
            Range::Number(least, greatest, _) => within(*least, *greatest).map(number),
            Range::PowerOfTwo(least, greatest, _) => {
                within(*least, *greatest).filter(|given| given.is_power_of_two()).map(number)
            }
            Range::Word(words) => words.contains(&text).then(|| Value::String(text.to_owned())),
        }
    }
}

fn number(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Draws every setting, then puts in what was asked for.
///
/// # Errors
/// A key that doesn't exist, or a value that isn't allowed.
pub fn settle(settings: &[Setting], seed: Seed, options: &Options) -> Result<BTreeMap<String, Value>, OptionsError> {
    let mut settled: BTreeMap<String, Value> =
        settings.iter().map(|setting| (setting.key.to_owned(), setting.draw(seed))).collect();
    for Given { option, key, value, has_option } in options.given() {
        let refuse =
            |option: String, value: &str, allowed: String| OptionsError { option, value: value.to_owned(), allowed };
        let parsed = match settings.iter().find(|setting| setting.key == key) {
            _ if key == MUTANT && is_mutant(value) => Value::String(value.to_owned()),
            _ if key == MUTANT => return Err(refuse(option, value, mutants())),
            Some(setting) => setting.parse(value).ok_or_else(|| refuse(option, value, setting.allowed()))?,
            None if has_option => return Err(refuse(option, value, format!("none, there is no setting `{key}`"))),
            None => return Err(refuse("--set".to_owned(), key, keys(settings))),
        };
        settled.insert(key.to_owned(), parsed);
    }
    Ok(settled)
}

/// Checks the settings of a plan that came from a file; `others` are keys that the scenario adds itself.
///
/// # Errors
/// A key that doesn't exist or is missing, or a value that isn't allowed.
pub fn check(settings: &[Setting], found: &BTreeMap<String, Value>, others: &[&str]) -> Result<(), Refusal> {
    for (key, value) in found {
        let place = Place::Setting(key.clone());
        // As on a command line: there is one reading of a value.
        let text = text(value);
        if key == MUTANT {
            if !value.is_str() || !is_mutant(&text) {
                return Err(Refusal::value(place, text, mutants()));
            }
            continue;
        }
        if others.contains(&key.as_str()) {
            continue;
        }
        let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
            return Err(Refusal::unknown(place, key, keys(settings)));
        };
        if setting.parse(&text).as_ref() != Some(value) {
            return Err(Refusal::value(place, text, setting.allowed()));
        }
    }
    match settings.iter().find(|setting| !found.contains_key(setting.key)) {
        Some(setting) => Err(missing(setting.key, &setting.allowed())),
        None => Ok(()),
    }
}

/// What is said of a setting that a plan should have.
pub(crate) fn missing(key: &str, allowed: &str) -> Refusal {
    Refusal::words(Place::Setting(key.to_owned()), format!("it is missing; allowed: {allowed}"))
}

/// A value as a person writes it on a command line.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn keys(settings: &[Setting]) -> String {
    let keys: Vec<&str> = settings.iter().map(|setting| setting.key).chain([MUTANT]).collect();
    keys.join(", ")
}

/// The plainest value of each setting: the least that is drawn, or the first word. Latency and persistence are parts of the plan of their own.
pub(crate) fn plainest(settings: &[Setting]) -> BTreeMap<String, Value> {
    let value = |setting: &Setting| match &setting.range {
        Range::Number(least, _, drawn) | Range::PowerOfTwo(least, _, drawn) => {
            number(drawn.iter().copied().min().unwrap_or(*least))
        }
        Range::Word(words) => Value::String(words.first().copied().unwrap_or_default().to_owned()),
    };
    settings.iter().map(|setting| (setting.key.to_owned(), value(setting))).collect()
}

pub use seedstorm_sim::plan::MUTANT;

/// The bugs of the engine that a scenario of this name must catch.
pub(crate) fn planted_bugs(scenario: &str) -> Vec<PlantedBug> {
    let mutants = seedstorm_model::mutant::catalogue().filter(|mutant| mutant.scenario == scenario);
    mutants.map(seedstorm_model::mutant::MutantInfo::planted_bug).collect()
}

fn is_mutant(name: &str) -> bool {
    seedstorm_model::mutant::catalogue().any(|mutant| mutant.name == name)
}

fn mutants() -> String {
    seedstorm_model::mutant::catalogue().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ")
}

/// Times at which all agents begin at once.
pub(crate) const BURSTS: Setting = Setting {
    key: "bursts",
    about: "times at which all agents begin at once",
    range: Range::Number(1, 1000, &[1, 2, 3, 5]),
};

/// Pauses between operations.
pub(crate) const THINK: Setting = Setting {
    key: "think_us",
    about: "the longest pause between two operations of an agent, in microseconds",
    range: Range::Number(0, 60_000_000, &[0, 100, 1_000, 10_000, 100_000]),
};

/// How named locks work.
pub(crate) const LOCK: Setting =
    Setting { key: "lock", about: "how named locks work", range: Range::Word(&["flock", "owner-file", "lease"]) };

/// How waiters back off.
pub(crate) const BACKOFF: Setting = Setting {
    key: "backoff",
    about: "how waiters back off",
    range: Range::Word(&["exponential", "full-jitter", "decorrelated-jitter", "fair-queue"]),
};

/// The mode of explicit checkpoints.
pub(crate) const CHECKPOINT: Setting = Setting {
    key: "checkpoint",
    about: "the mode of explicit checkpoints",
    range: Range::Word(&["passive", "full", "restart", "truncate"]),
};

/// The latency profile.
pub(crate) const LATENCY: Setting = Setting {
    key: "latency",
    about: "the latency profile of the machine",
    range: Range::Word(&["nvme", "ssd", "hdd"]),
};

/// The persistence profile.
pub(crate) const PERSISTENCE: Setting = Setting {
    key: "persistence",
    about: "what a machine crash may lose",
    range: Range::Word(&["strict", "ext4", "posix"]),
};

/// SQLite's busy timeout, one of these.
pub(crate) const fn busy_timeout_ms(drawn: &'static [u64]) -> Setting {
    let about = "SQLite's busy timeout, in milliseconds";
    Setting { key: "busy_timeout_ms", about, range: Range::Number(0, 600_000, drawn) }
}

/// The database's page size, one of these.
pub(crate) const fn page_bytes(drawn: &'static [u64]) -> Setting {
    let about = "the database's page size, in bytes";
    Setting { key: "page_bytes", about, range: Range::PowerOfTwo(512, 65_536, drawn) }
}

/// When a commit checkpoints, one of these.
pub(crate) const fn autocheckpoint_pages(drawn: &'static [u64]) -> Setting {
    let about = "pages of WAL after which a commit checkpoints";
    Setting { key: "autocheckpoint_pages", about, range: Range::Number(1, 100_000, drawn) }
}

/// SQLite's page cache, one of these.
pub(crate) const fn cache_pages(drawn: &'static [u64]) -> Setting {
    Setting { key: "cache_pages", about: "SQLite's page cache, in pages", range: Range::Number(1, 100_000, drawn) }
}
