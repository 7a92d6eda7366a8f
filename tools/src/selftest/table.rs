//! A self-test for people: one table, what is wrong, the command last; and the same table in Markdown, for documents. No field of the machine output is
//! defined here.

use super::trial::Trial;
use super::verdict::Verdict;
use crate::cli::SelftestArguments;
use crate::exit::Exit;
use crate::report::{Screen, counted, grouped, some_a_line};
use comfy_table::{Cell, CellAlignment, Table};
use seedstorm_sim::explore::Share;
use std::fmt::Write;

const HEADINGS: [&str; 9] = [
    "mutant",
    "strategy",
    "detected by",
    "95 % interval",
    "first seed",
    "median seeds",
    "median steps",
    "fired first",
    "one fingerprint",
];

/// The table, the findings, the verdict; not the command.
pub(crate) fn human(verdict: &Verdict<'_>, is_confusion_wanted: bool, screen: Screen) -> String {
    let mut text = String::new();
    let mut say = |line: &dyn std::fmt::Display| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{line}");
    };
    say(&trials(verdict, screen));
    say(&coverage(verdict, screen));
    if is_confusion_wanted {
        say(&confusion(verdict, screen));
    }
    say(&verdict.checked());
    for trial in verdict.scattered() {
        let share = percent(trial.one_fingerprint());
        let (name, strategy) = (trial.planted.info.name, &trial.strategy);
        say(&format!("several fingerprints: {name} ({strategy}): the most frequent one is that of {share}"));
    }
    for finding in &verdict.findings {
        say(&finding.words());
    }
    for line in verdict.ratios().iter().flat_map(super::verdict::Ratio::lines) {
        say(&line);
    }
    say(&conclusion(verdict));
    text
}

/// The last line before the command.
pub(crate) fn conclusion(verdict: &Verdict<'_>) -> String {
    let word = match verdict.exit {
        Exit::Pass => "PASSED",
        Exit::Vacuous => "NOTHING RAN:",
        Exit::Interrupted => "UNDECIDED",
        _ => "FAILED",
    };
    let cut = if verdict.interrupted { ", interrupted" } else { "" };
    let wrong: usize = verdict.trials.iter().map(|trial| trial.wrong.len()).sum();
    let (detected, mutants) = (verdict.detected(), counted(verdict.mutants() as u64, "planted bug"));
    let wrong = counted(wrong as u64, "seed");
    format!("{word} {detected} of {mutants} detected, another invariant first in {wrong}{cut}")
}

fn trials(verdict: &Verdict<'_>, screen: Screen) -> Table {
    let mut table = screen.table();
    table.set_header(HEADINGS);
    for trial in verdict.trials {
        let cells = [
            trial.planted.info.name.to_owned(),
            trial.strategy.clone(),
            detected(trial),
            interval(trial.share()),
            trial.detected.first().map_or("-".to_owned(), u64::to_string),
            median(trial.seed_lengths.median(), trial.runs),
            median(trial.step_lengths.median(), trial.steps),
            fired(trial).join("\n"),
            percent(trial.one_fingerprint()),
        ];
        let is_text = |column: usize| matches!(column, 0 | 1 | 7);
        table.add_row(cells.into_iter().enumerate().map(|(column, text)| {
            let alignment = if is_text(column) { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(alignment)
        }));
    }
    table
}

/// How often everything happened that must happen sometimes. A bug may keep it from happening, so that is not judged here.
fn coverage(verdict: &Verdict<'_>, screen: Screen) -> Table {
    let mut table = screen.table();
    table.set_header(["what must happen sometimes", "times", "in seeds"]);
    for (scenario, events) in verdict.coverage() {
        let mut row = |what: String, counts: [u64; 2]| {
            let counts = counts.map(|count| Cell::new(grouped(count)).set_alignment(CellAlignment::Right));
            table.add_row([Cell::new(what)].into_iter().chain(counts));
        };
        let (happened, never): (Vec<_>, Vec<_>) = events.iter().partition(|(_, coverage)| coverage.total > 0);
        for (name, coverage) in happened {
            row(format!("{scenario}: {name}"), [coverage.total, coverage.seeds]);
        }
        if !never.is_empty() {
            let names: Vec<&str> = never.into_iter().map(|(name, _)| *name).collect();
            row(format!("{scenario}: did not happen:\n{}", some_a_line(&names, 2)), [0, 0]);
        }
    }
    table
}

/// How many fingerprints of a bug are shown.
const FINGERPRINTS_SHOWN: usize = 4;

/// Which bug shows under which fingerprints, and which other bugs show under them too.
fn confusion(verdict: &Verdict<'_>, screen: Screen) -> Table {
    let mut table = screen.table();
    table.set_header(["mutant", "fingerprint", "failures", "also of"]);
    for [name, fingerprint, count, others] in confused(verdict) {
        let count = Cell::new(count).set_alignment(CellAlignment::Right);
        table.add_row([Cell::new(name), Cell::new(fingerprint), count, Cell::new(others)]);
    }
    table
}

/// The rows of that: bug, fingerprint, failures, other bugs with theirs.
fn confused(verdict: &Verdict<'_>) -> Vec<[String; 4]> {
    let confusion = verdict.confusion();
    let mut rows: Vec<(&str, &str, u64)> = Vec::new();
    for trial in verdict.trials.iter().filter(|trial| !trial.fingerprints.is_empty()) {
        let name = trial.planted.info.name;
        if rows.iter().all(|(known, ..)| *known != name) {
            let of_it = confusion.iter().filter_map(|(print, bugs)| bugs.get(name).map(|count| (name, *print, *count)));
            let mut of_it: Vec<(&str, &str, u64)> = of_it.collect();
            of_it.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
            rows.extend(of_it.into_iter().take(FINGERPRINTS_SHOWN));
        }
    }
    let row = |(name, fingerprint, count): (&str, &str, u64)| {
        let others = confusion.get(fingerprint).into_iter().flatten().filter(|(other, _)| **other != name);
        let others: Vec<String> = others.map(|(other, count)| format!("{other} {}", grouped(*count))).collect();
        [name.to_owned(), fingerprint.to_owned(), grouped(count), others.join(", ")]
    };
    rows.into_iter().map(row).collect()
}

/// The table of docs/detection.md, with the command that makes it.
pub(crate) fn markdown(program: &str, verdict: &Verdict<'_>, arguments: &SelftestArguments) -> String {
    let mut text = String::new();
    let mut stop = arguments.stop_after.map_or(String::new(), |count| format!(" --stop-after {count}"));
    if arguments.confusion {
        stop += " --confusion";
    }
    let given = [arguments.draw(None, None).words(), arguments.check.words()].concat();
    let given: String = given.iter().map(|word| format!(" {word}")).collect();
    let (mutants, strategies, seeds) = (&arguments.mutants, &arguments.strategies, arguments.seeds);
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "`{program} selftest --mutants {mutants} --strategies {strategies} --seeds {seeds}{stop}{given} --markdown`\n\n\
         | mutant | what is wrong | row | scenario | strategy | detected by | 95 % interval | first seed | median seeds | \
         median steps | fired first | one fingerprint |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for trial in verdict.trials {
        let info = trial.planted.info;
        let cells = [
            info.name.to_owned(),
            info.about.replace('|', "\\|"),
            info.row.to_owned(),
            trial.planted.scenario.name().to_owned(),
            trial.strategy.clone(),
            detected(trial),
            interval(trial.share()),
            trial.detected.first().map_or("-".to_owned(), u64::to_string),
            median(trial.seed_lengths.median(), trial.runs),
            median(trial.step_lengths.median(), trial.steps),
            fired(trial).join(", "),
            percent(trial.one_fingerprint()),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for line in verdict.ratios().iter().flat_map(super::verdict::Ratio::lines) {
        let _ = writeln!(text, "\n`{line}`");
    }
    let _ = writeln!(text, "\n{}; {}.", conclusion(verdict), verdict.checked().replace('\n', "; "));
    if arguments.confusion {
        text.push_str("\n| mutant | fingerprint | failures | also of |\n|---|---|---|---|\n");
        for [name, fingerprint, count, others] in confused(verdict) {
            let _ = writeln!(text, "| {name} | `{fingerprint}` | {count} | {others} |");
        }
    }
    text.push_str("\n| scenario | what must happen sometimes | times | seeds |\n|---|---|---|---|\n");
    for (scenario, events) in verdict.coverage() {
        let (happened, never): (Vec<_>, Vec<_>) = events.iter().partition(|(_, coverage)| coverage.total > 0);
        for (name, coverage) in happened {
            let [total, seeds] = [coverage.total, coverage.seeds].map(grouped);
            let _ = writeln!(text, "| {scenario} | {name} | {total} | {seeds} |");
        }
        if !never.is_empty() {
            let names: Vec<&str> = never.into_iter().map(|(name, _)| *name).collect();
            let _ = writeln!(text, "| {scenario} | did not happen: {} | 0 | 0 |", names.join(", "));
        }
    }
    text
}

/// How many of the seeds detected the bug.
fn detected(trial: &Trial) -> String {
    let Share { count, of } = trial.share();
    format!("{} of {}, {}", grouped(count), grouped(of), percent(trial.share()))
}

fn interval(share: Share) -> String {
    let tenths = |value: f64| format!("{:.1}", value * 100.0);
    share
        .known()
        .map(Share::interval)
        .map_or("-".to_owned(), |(low, high)| format!("{}–{} %", tenths(low), tenths(high)))
}

fn percent(share: Share) -> String {
    share.known().map(Share::value).map_or("-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

/// A median, or more than what was run.
fn median(median: Option<u64>, run: u64) -> String {
    median.map_or_else(|| format!("> {}", grouped(run)), grouped)
}

/// The invariants that fired first, the most frequent one first.
fn fired(trial: &Trial) -> Vec<String> {
    let mut fired: Vec<(&String, &u64)> = trial.fired.iter().collect();
    fired.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    if fired.is_empty() {
        return vec!["-".to_owned()];
    }
    fired.into_iter().map(|(invariant, count)| format!("{invariant} {}", grouped(*count))).collect()
}
