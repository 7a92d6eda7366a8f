//! The few events before a violation that a person should read first: whatever names what the violation names, and the faults of its causal past.

use super::classes::Class;
use super::scene::{Scene, Sealed};

/// So many events that name the same things, the last ones.
const NAMING_MAX: usize = 14;
/// So many faults, deaths and starts, the last ones.
const FAULTS_MAX: usize = 8;
/// So many claims of whoever showed the violation, if nothing else tells of it.
const CLAIMS_MAX: usize = 6;

/// Deaths and starts that are part of a story.
const TURNS: [&str; 6] = ["restarted", "killed", "crashed", "asked-to-end", "machine-started", "paused"];

/// Rows of the events to read first, in order; the last is the violation's own.
pub(super) fn rows(scene: &Scene, sealed: &Sealed) -> Vec<usize> {
    let columns = &scene.columns;
    let names = names(&sealed.violation.message, &scene.head.processes);
    let past = || (0..sealed.row).rev().filter(|row| sealed.past[*row]);
    let is_turn = |row: &usize| columns.class(*row) == Class::Faults || TURNS.contains(&columns.kind(*row));
    let is_quiet = |row: &usize| ["stat", "access", "readdir", "pread", "read", "close"].contains(&columns.kind(*row));
    // Not only of the causal past: that two did not know of each other is often the very thing that is wrong.
    let naming = (0..sealed.row).rev().filter(|row| !is_turn(row) && !is_quiet(row));
    let mut rows: Vec<usize> = naming.filter(|row| mentions(&columns.words(*row), &names)).take(NAMING_MAX).collect();
    if rows.len() < CLAIMS_MAX {
        let own = past().filter(|row| columns.lanes[*row] == columns.lanes[sealed.row]);
        let own = own.filter(|row| columns.class(*row) == Class::Claims || is_loud(columns.kind(*row)));
        rows.extend(own.take(CLAIMS_MAX));
    }
    rows.extend(past().filter(is_turn).take(FAULTS_MAX));
    rows.push(sealed.row);
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Calls that change what others see.
fn is_loud(kind: &str) -> bool {
    ["rename", "unlink", "link", "fsync", "lock-acquired", "lock-released"].contains(&kind)
}

/// Things that a violation names: what stands in backticks, paths, and words with digits or `#` in them. Processes are no things.
fn names(message: &str, processes: &[String]) -> Vec<String> {
    // What a crash lost is a long list, and not what is wrong.
    let message = message.lines().next().unwrap_or_default();
    let quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let words = message.split_whitespace().map(|word| word.trim_matches(|edge: char| ",.;:()`'".contains(edge)));
    let has = |word: &str, is: fn(char) -> bool| word.chars().any(is);
    let named = words.filter(|word| {
        let mixed = has(word, |character| character.is_ascii_digit()) && has(word, char::is_alphabetic);
        word.len() > 1 && (mixed || word.contains('/') || word.contains('#'))
    });
    let mut names: Vec<String> = quoted.chain(named.map(str::to_owned)).collect();
    names.retain(|name| !name.is_empty() && !processes.contains(name));
    names.sort();
    names.dedup();
    names
}

/// Whether words have one of the names in them, and not as a part of a longer one. What stands beside a file and bears its name is meant, too: a temporary
/// one, a damaged one that was put aside.
fn mentions(words: &str, names: &[String]) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "-_#/.".contains(character);
    names.iter().any(|name| {
        words.match_indices(name.as_str()).any(|(at, _)| {
            let before = words[..at].chars().next_back();
            let after = words[at + name.len()..].chars().next();
            let is_beside = name.starts_with('/') && after == Some('.');
            !before.is_some_and(is_part) && (is_beside || !after.is_some_and(is_part))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;

    #[test]
    fn what_a_violation_names_is_found_in_words() {
        let processes = ["agent-2", "agent-3"].map(str::to_owned);
        let message = "lost update: agent-3#4000008 and agent-2 both made version 3 of `key-1`, see /swarm/documents/document-0\nlost x-9";
        let names = names(message, &processes);
        assert_eq!(names, ["/swarm/documents/document-0", "agent-3#4000008", "key-1"]);
        assert!(mentions("acknowledges agent-3#4000008: wrote", &names));
        assert!(mentions("read key-1 version 2", &names));
        assert!(mentions("open /swarm/documents/document-0.tmp.7 (create, exclusive)", &names));
        for words in ["agent-3#40000081 ends", "read key-12 version 2", "open /swarm/documents/document-01", ""] {
            assert!(!mentions(words, &names), "{words}");
        }
    }

    #[test]
    fn a_story_ends_with_its_violation_and_begins_with_what_it_names() {
        let scene = Scene::read(made_up::failing().as_slice()).expect("it is whole");
        let sealed = scene.violation.as_ref().expect("it failed");
        let told: Vec<String> = rows(&scene, sealed).into_iter().map(|row| scene.columns.words(row)).collect();
        let last = told.last().map(String::as_str);
        assert_eq!(last, Some("has acquired lock compaction"), "{told:#?}");
        assert!(told.iter().any(|words| words.starts_with("waits for lock compaction")), "{told:#?}");
        // a-0's hold is not in the past of a-1's: that is what is wrong.
        assert_eq!(told.iter().filter(|words| *words == "has acquired lock compaction").count(), 2, "{told:#?}");
        assert!(!told.iter().any(|words| words.contains("/aside")), "{told:#?}");
    }
}
