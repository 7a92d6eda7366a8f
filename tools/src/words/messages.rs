//! What messages say, in the words of the scenario whose programs send them (`Scenario::message_in_words`). Of one that it doesn't know is told how it begins.

use super::cut::cut;
use super::{OF_SCENARIO_MAX, body};
use crate::catalogue::Known;
use std::sync::OnceLock;

/// The scenarios of this program.
static SCENARIOS: OnceLock<&'static [Known]> = OnceLock::new();

/// Learns them, once.
pub(super) fn learn(scenarios: &'static [Known]) {
    let _ = SCENARIOS.set(scenarios);
}

/// The one of this name.
pub(super) fn scenario(name: &str) -> Option<Known> {
    SCENARIOS.get()?.iter().copied().find(|scenario| scenario.name() == name)
}

/// What a message says, after a colon; nothing of no bytes.
pub(super) fn after_colon(scenario: Option<Known>, bytes: &[u8]) -> String {
    let words = scenario.and_then(|scenario| scenario.message_in_words(bytes));
    // Whatever they are, they are a part of a line.
    let line =
        words.map(|words| words.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty());
    line.map_or_else(|| body::after_colon(bytes), |line| format!(": {}", cut(line, OF_SCENARIO_MAX)))
}
