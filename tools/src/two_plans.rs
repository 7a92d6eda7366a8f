//! Whether two traces are of one scenario, seed and plan, and if not, what differs. Where their runs part is told by `parting`.

use crate::report::{counted, grouped};
use crate::words::cut;
use seedstorm_sim::trace::file::Head;

/// Whether two traces are of one plan, in words.
pub(crate) struct TwoPlans {
    /// Whether they are. Where a trace doesn't tell its plan, scenario, seed, strategy and processes speak for it.
    pub(crate) are_one: bool,
    /// What they are of.
    pub(crate) of: String,
    /// What differs in plans of one scenario and seed: key, and both values.
    pub(crate) differ: Vec<String>,
}

/// So many keys are told in which plans differ.
const KEYS_MAX: usize = 6;

impl TwoPlans {
    /// Looks at what two traces are of.
    pub(crate) fn of(first: &Head, second: &Head) -> TwoPlans {
        let name = |head: &Head| format!("{} seed {}", head.scenario, head.seed.0);
        if (&first.scenario, first.seed) != (&second.scenario, second.seed) {
            let of = format!("first is {}, second {}: two plans, which need not run alike", name(first), name(second));
            return TwoPlans { are_one: false, of, differ: Vec::new() };
        }
        let mut differ = Vec::new();
        match [&first.plan, &second.plan].map(|plan| plan.parse::<toml::Table>()) {
            [Ok(one), Ok(other)] if !first.plan.is_empty() && !second.plan.is_empty() => {
                differences("", &toml::Value::Table(one), &toml::Value::Table(other), &mut differ);
            }
            _ if first.strategy != second.strategy => {
                differ.push(format!("strategy: {} and {}", first.strategy, second.strategy));
            }
            _ if first.processes != second.processes => differ.push("the processes".to_owned()),
            _ => {}
        }
        let are_one = differ.is_empty();
        if let Some(more) = differ.len().checked_sub(KEYS_MAX).filter(|more| *more > 0) {
            differ.truncate(KEYS_MAX);
            differ.push(format!("and {more} more"));
        }
        let plans = if are_one { "of one plan" } else { "of two plans, which need not run alike" };
        TwoPlans { are_one, of: format!("both are {}, {plans}", name(first)), differ }
    }
}

/// The keys in which two values differ, with both values.
fn differences(key: &str, first: &toml::Value, second: &toml::Value, differ: &mut Vec<String>) {
    use toml::Value::{Array, Table};
    match (first, second) {
        (Table(one), Table(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for name in keys {
                let whole = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => differences(&whole, one, other, differ),
                    (one, other) => {
                        let [one, other] = [one, other].map(|value| value.map_or("none".to_owned(), brief));
                        differ.push(format!("{whole}: {one} and {other}"));
                    }
                }
            }
        }
        (Array(one), Array(other)) if one.len() == other.len() => {
            // Of many operations the first one says what is different about them.
            let pairs = || one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
            if let Some((place, (first, second))) = pairs().next() {
                let mut of_first = Vec::new();
                differences(&format!("{key}[{place}]"), first, second, &mut of_first);
                let count = pairs().count();
                let others =
                    if count > 1 { format!(", and {} more of them", grouped(count as u64 - 1)) } else { String::new() };
                differ.push(format!("{}{others}", of_first.join(", ")));
            }
        }
        _ if first == second => {}
        _ => differ.push(format!("{key}: {} and {}", brief(first), brief(second))),
    }
}

/// The longest value that is told whole.
const VALUE_CHARACTERS_MAX: usize = 40;

fn brief(value: &toml::Value) -> String {
    match value {
        toml::Value::Array(all) => counted(all.len() as u64, "item"),
        toml::Value::Table(all) => cut(all.keys().cloned().collect::<Vec<_>>().join(", "), VALUE_CHARACTERS_MAX),
        value => cut(value.to_string(), VALUE_CHARACTERS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plans_differ_in_is_told_by_key() {
        let value = |text: &str| toml::Value::Table(text.parse().expect("TOML"));
        let one = value("a = 1\nb = [{ x = 1, y = 2 }, { x = 1 }, { x = 3 }]\nc = [1]\n[d]\ne = 'x'\n");
        let other = value("b = [{ x = 2, y = 3 }, { x = 2 }, { x = 3 }]\nc = [1, 2]\n[d]\ne = 'y'\n");
        let mut differ = Vec::new();
        differences("", &one, &other, &mut differ);
        let expected = [
            "a: 1 and none",
            "b[0].x: 1 and 2, b[0].y: 2 and 3, and 1 more of them",
            "c: 1 item and 2 items",
            "d.e: \"x\" and \"y\"",
        ];
        assert_eq!(differ, expected);
        differ.clear();
        let long = value("d = { first = 1, second = 2, third = 3, fourth = 4, fifth = 5, sixth = 6 }");
        differences("", &long, &value("d = 1"), &mut differ);
        // Keys are sorted, and so many are long.
        assert_eq!(differ, ["d: fifth, first, fourth, second, sixth, thi… and 1"]);
        differ.clear();
        differences("", &one, &one, &mut differ);
        assert!(differ.is_empty(), "{differ:?}");
    }
}
