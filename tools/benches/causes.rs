//! From a failing seed to its cause, for each planted bug: `cargo bench -p seedstorm --bench causes [-- NAME…]` takes the first seed of each that fails,
//! shrinks it, bisects what is left in time, and prints a table as docs/causes.md has it, with medians. `--shrink` or `--bisect` does one of the two.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seeds that are tried for a first failure.
const SEEDS: &str = "0..5000";

/// How much real time a bisection may take.
const BUDGET: &str = "30s";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (options, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with("--"));
    let wants = |option: &str| options.is_empty() || options.iter().any(|given| *given == option);
    let program = Path::new(env!("CARGO_BIN_EXE_seedstorm"));
    let folder = std::env::temp_dir().join(format!("seedstorm-causes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for artefacts");
    let listed = said(program, &folder, &["list", "mutants", "--json"]);
    let mutants: Vec<Value> = serde_json::from_str(&listed).expect("a list of mutants");
    let mut table = Table::new(wants("--shrink"), wants("--bisect"));
    for mutant in &mutants {
        let name = mutant["name"].as_str().expect("a name");
        if names.is_empty() || names.iter().any(|wanted| *wanted == name) {
            let scenario = mutant["scenarios"][0].as_str().expect("a scenario");
            table.row(program, &folder.join(name), name, scenario);
        }
    }
    table.medians();
    // What was found of each is in the table; the folder has hundreds of megabytes of traces.
    let _ = std::fs::remove_dir_all(&folder);
}

struct Table {
    shrinks: bool,
    bisects: bool,
    /// Faults, processes, operations, preemptions of the shrunk ones, and seconds.
    shrunk: [Vec<f64>; 5],
    lost: u32,
    decided: u32,
    undecided: u32,
}

const SIZES: [&str; 4] = ["faults", "processes", "operations", "preemptions"];

impl Table {
    fn new(shrinks: bool, bisects: bool) -> Table {
        let mut head = "| mutant | seed |".to_owned();
        if shrinks {
            head += " faults | processes | operations | preemptions | runs | seconds |";
        }
        if bisects {
            head += " decides | P before | P after | in its past | runs | seconds |";
        }
        println!("{head}\n{}|", "|---".repeat(head.matches('|').count() - 1));
        Table { shrinks, bisects, shrunk: Default::default(), lost: 0, decided: 0, undecided: 0 }
    }

    fn row(&mut self, program: &Path, folder: &Path, name: &str, scenario: &str) {
        std::fs::create_dir_all(folder).expect("a folder");
        let Some((seed, reproducer)) = first_failure(program, folder, name, scenario) else {
            self.lost += 1;
            println!("| {name} | none of {SEEDS} |");
            return;
        };
        let mut row = format!("| {name} | {seed} |");
        let mut smaller = None;
        if self.shrinks {
            let (cells, path) = self.shrink(program, folder, &reproducer);
            (row, smaller) = (row + &cells, path);
        }
        if self.bisects {
            // What is small is bisected sooner. One that is left with no choice of schedule has nothing to bisect.
            row += &self.bisect(program, folder, smaller.as_deref(), &reproducer);
        }
        println!("{row}");
    }

    fn shrink(&mut self, program: &Path, folder: &Path, reproducer: &Path) -> (String, Option<PathBuf>) {
        let path = reproducer.display().to_string();
        let said = said(program, folder, &["shrink", &path, "--json"]);
        let Ok(found) = serde_json::from_str::<Value>(&said) else {
            self.lost += 1;
            return (" lost | | | | | |".to_owned(), None);
        };
        let mut cells = String::new();
        for (index, what) in SIZES.iter().enumerate() {
            cells += &format!(" {} → {} |", found["from"][what], found["to"][what]);
            self.shrunk[index].push(found["to"][what].as_f64().expect("a size"));
        }
        let seconds = found["wall_ns"].as_f64().expect("a time") / 1e9;
        self.shrunk[4].push(seconds);
        // The smaller one must fail as the first did, by itself.
        let smaller = found["reproducer"].as_str().expect("a reproducer");
        let replayed = crate::said(program, folder, &["replay", smaller, "--json"]);
        let replayed: Value = serde_json::from_str(&replayed).expect("a replay");
        if replayed["runs"][0]["violations"][0]["fingerprint"] != found["fingerprint"] {
            self.lost += 1;
            cells += " LOST";
        }
        (cells + &format!(" {} | {seconds:.1} |", found["runs"]), Some(PathBuf::from(smaller)))
    }

    fn bisect(&mut self, program: &Path, folder: &Path, smaller: Option<&Path>, reproducer: &Path) -> String {
        let bisected = |path: &Path| {
            let path = path.display().to_string();
            let said = said(program, folder, &["bisect", &path, "--budget", BUDGET, "--json"]);
            serde_json::from_str::<Value>(&said).ok().filter(|found| found["chaos_steps"].as_u64() > Some(0))
        };
        let Some(found) = smaller.and_then(bisected).or_else(|| bisected(reproducer)) else {
            self.undecided += 1;
            return " no answer | | | | | |".to_owned();
        };
        let share = |counted: &Value| {
            let percent = |value: &Value| value.as_f64().unwrap_or(0.0) * 100.0;
            format!(
                "{} of {} ({:.0}–{:.0} %)",
                counted["failed"],
                counted["runs"],
                percent(&counted["low"]),
                percent(&counted["high"])
            )
        };
        let cells = match found["decisive"].get(0) {
            Some(step) => {
                self.decided += 1;
                let past = match step["is_in_causal_past"].as_bool() {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "?",
                };
                format!(" step {} | {} | {} | {past} |", step["step"], share(&step["before"]), share(&step["after"]))
            }
            None => {
                self.undecided += 1;
                let between = &found["rises_between"];
                match between.as_array() {
                    Some(ends) => format!(" no single step: {} to {} kept | | | |", ends[0], ends[1]),
                    None => " none: the plan decides | | | |".to_owned(),
                }
            }
        };
        cells + &format!(" {} | {:.1} |", found["runs"], found["seconds"].as_f64().unwrap_or(0.0))
    }

    fn medians(&mut self) {
        if self.shrinks {
            let mut medians = String::new();
            for (what, values) in SIZES.iter().chain(&["seconds"]).zip(&mut self.shrunk) {
                values.sort_by(f64::total_cmp);
                let median = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
                let most = values.last().copied().unwrap_or(f64::NAN);
                medians += &format!(" {what} {median:.1} (at most {most:.1})");
            }
            println!("\nmedians:{medians}; lost {}", self.lost);
        }
        if self.bisects {
            println!("\na step decides in {}, none in {}", self.decided, self.undecided);
        }
    }
}

fn first_failure(program: &Path, folder: &Path, name: &str, scenario: &str) -> Option<(u64, PathBuf)> {
    let mutant = format!("mutant={name}");
    let words = ["sweep", "--scenarios", scenario, "--seeds", SEEDS, "--set", &mutant];
    let rest = ["--max-failures", "1", "--determinism", "0%", "--json"];
    let said = said(program, folder, &[&words[..], &rest[..]].concat());
    let summary: Value = serde_json::from_str(said.lines().last()?).ok()?;
    let group = summary["fingerprints"].get(0)?;
    Some((group["seeds"][0].as_u64()?, PathBuf::from(group["reproducers"][0].as_str()?)))
}

/// What a command prints. Commands that find failures end with 1.
fn said(program: &Path, folder: &Path, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(folder).output().expect("the program starts");
    String::from_utf8(output.stdout).expect("text")
}
