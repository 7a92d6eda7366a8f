//! Finds the place of something in a TOML text that has been read already. What is wrong with it is said elsewhere.

use super::Place;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a place of a plan begins in a text, in bytes; as near as can be found. `within` names the tables around the plan.
pub(super) fn offset(text: &str, within: &[&str], place: &Place) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 0 };
    let mut at = 0;
    // Each step that succeeds comes nearer.
    let _ = search(document.get_ref(), within, place, &mut at);
    at
}

fn search(mut table: &DeTable<'_>, within: &[&str], place: &Place, at: &mut usize) -> Option<()> {
    for key in within {
        table = enter(table, key, at)?.as_table()?;
    }
    match place {
        Place::Key(key) => drop(enter(table, key, at)?),
        Place::Setting(key) => drop(enter(enter(table, "settings", at)?.as_table()?, key, at)?),
        Place::Operation { id, key } => {
            let operation = with_id(enter(table, "operations", at)?, *id, at)?;
            let key = key.as_deref()?;
            // A key of its own goes before an argument of the same name.
            if enter(operation, key, at).is_none() {
                enter(enter(operation, "arguments", at)?.as_table()?, key, at)?;
            }
        }
        Place::Fault { id, key } => {
            let fault = with_id(enter(table, "faults", at)?, u64::from(*id), at)?;
            enter(fault, key.as_deref()?, at)?;
        }
    }
    Some(())
}

/// What a key holds; `at` is then where the key stands.
fn enter<'a, 'i>(table: &'a DeTable<'i>, key: &str, at: &mut usize) -> Option<&'a DeValue<'i>> {
    let (key, value) = table.iter().find(|(found, _)| found.get_ref() == key)?;
    *at = key.span().start;
    Some(value.get_ref())
}

/// The table of that id in a list. Where two have it, the last one is the one that is wrong.
fn with_id<'a, 'i>(list: &'a DeValue<'i>, id: u64, at: &mut usize) -> Option<&'a DeTable<'i>> {
    let has_id = |item: &&Spanned<DeValue<'_>>| {
        let found = item.get_ref().get("id").and_then(|found| found.get_ref().as_integer());
        found.and_then(|found| u64::from_str_radix(found.as_str(), found.radix()).ok()) == Some(id)
    };
    let item = list.as_array()?.iter().rfind(has_id)?;
    *at = item.span().start;
    item.get_ref().as_table()
}
