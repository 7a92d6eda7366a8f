//! `list`: what there is. The lists themselves are kept where the things are.

use crate::catalogue::Catalogue;
use crate::cli::{ListArguments, Listed};
use crate::exit::{Exit, Result};
use crate::sweep::WORKER_INVARIANTS;
use seedstorm_sim::invariant::GENERIC;
use seedstorm_sim::plan::{FaultKind, PlantedBug, StrategyPlan};
use serde::Serialize;
use std::io::Write;

/// One thing.
#[derive(Debug, Serialize)]
struct Item {
    name: String,
    about: String,
    /// A mutant's: the row of the fault catalogue that it is taken from, in its scenario's own words, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<String>,
    /// A fault's: the invariants that are not judged once it has fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    voids: Option<Vec<String>>,
    /// A mutant's: the invariant that must catch it.
    #[serde(skip_serializing_if = "Option::is_none")]
    invariant: Option<String>,
    /// An invariant's: the scenarios that check it; empty means all. A mutant's: the scenario in which it must be caught.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenarios: Option<Vec<String>>,
    /// A mutant's: other invariants that catch it rightly.
    #[serde(skip_serializing_if = "Option::is_none")]
    also: Option<Vec<String>>,
    /// A mutant's: whether it shows only where two things come together: a kill and a particular schedule, or two faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction: Option<bool>,
    /// A scenario's: what must happen sometimes in a sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Vec<String>>,
}

impl Item {
    fn new(name: &str, about: &str) -> Item {
        let (name, about) = (name.to_owned(), about.trim().to_owned());
        Item {
            name,
            about,
            row: None,
            voids: None,
            invariant: None,
            scenarios: None,
            also: None,
            interaction: None,
            coverage: None,
        }
    }
}

/// Prints a list.
///
/// # Errors
/// The output can't be written.
pub(crate) fn list(catalogue: Catalogue, arguments: &ListArguments, output: &mut impl Write) -> Result<Exit> {
    let items = items(catalogue, arguments.what);
    if arguments.json {
        let text = serde_json::to_string_pretty(&items).map_err(anyhow::Error::new)?;
        writeln!(output, "{text}")?;
    } else {
        output.write_all(table(&items).as_bytes())?;
    }
    output.flush()?;
    Ok(Exit::Pass)
}

/// How wide a list is at most: what is longer goes on under its beginning.
const COLUMNS: usize = 120;

/// The items in columns: name, row where some have one, what it is.
fn table(items: &[Item]) -> String {
    let width = |text: fn(&Item) -> &str| items.iter().map(|item| text(item).chars().count()).max().unwrap_or(0);
    let row = |item: &Item| item.row.clone().unwrap_or_default();
    let (name_width, row_width) = (width(|item| &item.name), width(|item| item.row.as_deref().unwrap_or_default()));
    let mut text = String::new();
    for item in items {
        let mut head = format!("{:<name_width$}  ", item.name);
        if row_width > 0 {
            head.push_str(&format!("{:<row_width$}  ", row(item)));
        }
        let indent = head.chars().count();
        for line in folded(&item.about, COLUMNS.saturating_sub(indent)) {
            text.push_str(&format!("{head}{line}\n"));
            head = " ".repeat(indent);
        }
    }
    text
}

/// The words of a text in lines of so many characters; a longer word has one of its own.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn items(catalogue: Catalogue, what: Listed) -> Vec<Item> {
    let owned = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    match what {
        Listed::Scenarios => {
            let item = |scenario: &crate::catalogue::Known| Item {
                coverage: owned(scenario.coverage()),
                ..Item::new(scenario.name(), scenario.about())
            };
            catalogue.all().iter().map(item).collect()
        }
        Listed::Faults => FaultKind::ALL
            .iter()
            .map(|kind| {
                let voids: &[&str] = if kind.voids_durability() { &["durability"] } else { &[] };
                Item { voids: owned(voids), ..Item::new(kind.name(), kind.about()) }
            })
            .collect(),
        Listed::Strategies => {
            let portfolio = Item::new(StrategyPlan::PORTFOLIO, "each seed picks one of them; the default");
            let each = StrategyPlan::ALL.iter().map(|(strategy, about)| Item::new(strategy.name(), about));
            each.chain([portfolio]).collect()
        }
        Listed::Invariants => invariants(catalogue),
        Listed::Mutants => catalogue
            .planted_bugs()
            .map(|(bug, scenario)| Item {
                row: Some(bug.row.to_owned()).filter(|row| !row.is_empty()),
                invariant: Some(bug.invariant.to_owned()),
                scenarios: owned(&[scenario.name()]),
                also: owned(bug.also),
                interaction: Some(bug.is_interaction),
                ..Item::new(bug.name, &about(&bug))
            })
            .collect(),
    }
}

/// What is wrong, and whether it takes two things to show.
fn about(bug: &PlantedBug) -> String {
    let interaction = if bug.is_interaction { " (interaction)" } else { "" };
    format!("{}{interaction}", bug.about)
}

/// Generic ones first, then each scenario's; one that several scenarios check comes once.
fn invariants(catalogue: Catalogue) -> Vec<Item> {
    let everywhere = GENERIC.iter().chain(WORKER_INVARIANTS);
    let mut items: Vec<Item> =
        everywhere.map(|(id, about)| Item { scenarios: Some(Vec::new()), ..Item::new(id, about) }).collect();
    for scenario in catalogue.all() {
        for (id, about) in scenario.invariants() {
            match items.iter_mut().find(|item| item.name == *id) {
                Some(item) => item.scenarios.get_or_insert_default().push(scenario.name().to_owned()),
                None => items.push(Item { scenarios: Some(vec![scenario.name().to_owned()]), ..Item::new(id, about) }),
            }
        }
    }
    items
}
