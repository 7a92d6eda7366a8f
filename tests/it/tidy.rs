//! Rules about the sources themselves: first lines, lengths, what must not be there, what documents must list.

use seedstorm_sim::Scenario;
use seedstorm_sim::invariant::GENERIC;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 600;
const MEMBERS: [&str; 5] = ["sim", "model", "scenarios", "tests", "tools"];

/// Where nothing may come from outside the simulation.
const SIMULATED: [&str; 3] = ["sim/src", "model/src", "scenarios/src"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// A source file: its path in the workspace and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Its lines without comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .zip(1..)
            .map(|(line, number)| (number, line))
    }

    fn is_in(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

fn sources() -> Vec<Source> {
    let mut folders: Vec<PathBuf> = MEMBERS.iter().chain(&["examples"]).map(|member| root().join(member)).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the workspace") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let path = path.strip_prefix(root()).expect("in the workspace").display().to_string();
                sources.push(Source { path, text });
            }
        }
    }
    assert!(sources.len() > 80, "they were found");
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

/// Fails with every line that the rule finds.
fn none(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

#[test]
fn every_file_says_what_lives_in_it_and_stays_short() {
    let sources = sources();
    let is_headless =
        |source: &&Source| !source.text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > 20);
    none(
        "a file's first line says what lives in it",
        sources.iter().filter(is_headless).map(|source| source.path.clone()).collect(),
    );
    let lengths = sources.iter().map(|source| (source.text.lines().count(), &source.path));
    let long =
        lengths.filter(|(lines, _)| *lines > LINES_MAX).map(|(lines, path)| format!("{path}: {lines} lines")).collect();
    none("a file has at most 600 lines", long);
}

/// Every line of code in which one of the words stands alone.
fn lines_with(sources: &[Source], words: &[String]) -> Vec<String> {
    let is_part_of_a_name = |character: char| character.is_alphanumeric() || character == '_';
    let stands_in = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
            !before.is_some_and(is_part_of_a_name)
                && (!after.is_some_and(is_part_of_a_name) || word.ends_with(['!', '[', '(']))
        })
    };
    let hits = |source: &Source| {
        let lines = source.code().filter(|(_, line)| words.iter().any(|word| stands_in(line, word)));
        lines.map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim())).collect::<Vec<_>>()
    };
    sources.iter().flat_map(hits).collect()
}

#[test]
fn nothing_is_unfinished_or_skipped() {
    // Put together, so that this file doesn't find itself.
    let words = ["todo", "unimplemented"].map(|word| format!("{word}!"));
    none("nothing is left to do", lines_with(&sources(), &words));
    let ignored = lines_with(&sources(), &[["#[ign", "ore"].concat()]);
    none("no test is skipped", ignored);
}

#[test]
fn nothing_from_outside_reaches_a_run() {
    let simulated: Vec<Source> = sources().into_iter().filter(|source| source.is_in(&SIMULATED)).collect();
    let words =
        ["Instant::now", "SystemTime::now", "HashMap", "HashSet", "thread::spawn", "thread_rng", "std::env", "std::fs"];
    none(
        "a run has no wall clock, no hash order, no other thread, no environment, no file",
        lines_with(&simulated, &words.map(str::to_owned)),
    );
}

#[test]
fn unsafe_code_has_two_rooms() {
    let outside: Vec<Source> = sources()
        .into_iter()
        .filter(|source| {
            !source.is_in(&[
                "sim/src/sqlite/",
                "sim/src/blocking/",
                "sim/tests/",
                "tools/benches/peers/",
                "tests/it/tidy.rs",
            ])
        })
        .collect();
    none("unsafe code lives in sim::sqlite and sim::blocking", lines_with(&outside, &["unsafe".to_owned()]));
}

#[test]
fn only_sim_names_what_only_sim_may_name() {
    let above: Vec<Source> =
        sources().into_iter().filter(|source| source.is_in(&["model/", "scenarios/", "tools/src/"])).collect();
    let words = ["madsim", "rand_chacha", "corosensei", "bincode", "libsqlite3_sys"].map(|word| format!("{word}::"));
    none(
        "only sim knows madsim, the random generator, coroutines and SQLite's C interface",
        lines_with(&above, &words),
    );
    let model: Vec<Source> = sources().into_iter().filter(|source| source.is_in(&["model/src/"])).collect();
    none(
        "the model doesn't know that it is simulated",
        lines_with(&model, &["World".to_owned(), "View".to_owned(), "FaultKind".to_owned()]),
    );
}

/// The workspace's documents: path and text.
fn documents() -> Vec<(String, String)> {
    let folders = [root().to_path_buf(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of the workspace"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| path.strip_prefix(root()).expect("in the workspace").display().to_string())
        .collect();
    names.sort();
    assert!(names.len() >= 6, "they were found: {names:?}");
    names.into_iter().map(|name| (name.clone(), document(&name))).collect()
}

#[test]
fn no_merge_is_left_half_done() {
    let is_mark =
        |line: &&str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) || *line == "=======";
    let texts = sources().into_iter().map(|source| (source.path, source.text)).chain(documents());
    let marked = texts.flat_map(|(path, text)| {
        text.lines().filter(is_mark).map(|line| format!("{path}: {line}")).collect::<Vec<_>>()
    });
    none("no conflict is left in a text", marked.collect());
}

#[test]
fn documents_name_files_that_are_there() {
    let is_of_a_path = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    let is_path =
        |word: &&str| MEMBERS.iter().any(|member| word.strip_prefix(member).is_some_and(|rest| rest.starts_with('/')));
    let mut named = 0;
    let mut missing = Vec::new();
    for (document, text) in documents() {
        let words = text.split(|character| !is_of_a_path(character)).map(|word| word.trim_end_matches('.'));
        for word in words.filter(is_path) {
            named += 1;
            // A module may be named by its file or without the extension.
            if !root().join(word).exists() && !root().join(format!("{word}.rs")).exists() {
                missing.push(format!("{document}: {word}"));
            }
        }
    }
    assert!(named > 50, "paths were found");
    none("what a document names is there", missing);
}

#[test]
fn the_glossary_is_in_alphabetical_order() {
    let text = document("GLOSSARY.md");
    let words: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("- **").and_then(|line| line.split_once("**")))
        .map(|(word, _)| word.to_lowercase())
        .collect();
    assert!(words.len() > 40, "its words were found");
    let pairs = words.iter().zip(words.iter().skip(1));
    let misplaced = pairs.filter(|(one, next)| one >= next).map(|(one, next)| format!("{one}, then {next}")).collect();
    none("the glossary is in alphabetical order", misplaced);
}

/// Names in backticks that stand for functions of the step loop, in the two places of ARCHITECTURE.md that lead a newcomer through it.
#[test]
fn functions_of_the_step_loop_that_architecture_names_exist() {
    let text = document("ARCHITECTURE.md");
    let kernel: String = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("sim/src/kernel/"))
        .map(|source| source.text)
        .collect();
    let is_about_steps = |line: &&str| line.starts_with("- `sim/src/kernel/core.rs`") || line.starts_with("2. `");
    let lines: Vec<&str> = text.lines().filter(is_about_steps).collect();
    assert_eq!(lines.len(), 2, "both places are there: {lines:?}");
    let names = lines.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|name| name.contains('_'));
    let names: Vec<&str> = names.filter(|name| !name.contains('/')).collect();
    assert!(names.len() >= 3, "{names:?}");
    let unknown = names.into_iter().filter(|name| !kernel.contains(&format!("fn {name}"))).map(str::to_owned).collect();
    none("ARCHITECTURE.md names functions of the kernel", unknown);
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_invariant_and_mutant_is_listed() {
    let text = document("INVARIANTS.md");
    let scenarios = seedstorm_scenarios::all().iter().flat_map(|scenario| scenario.invariants().iter());
    let invariants = GENERIC.iter().chain(seedstorm::WORKER_INVARIANTS).chain(scenarios).map(|(id, _)| *id);
    let mutants = seedstorm_model::mutant::catalogue().map(|mutant| mutant.name);
    let unlisted =
        invariants.chain(mutants).filter(|name| !text.contains(&format!("`{name}`"))).map(str::to_owned).collect();
    none("INVARIANTS.md lists every invariant and mutant", unlisted);
}

#[test]
fn scenarios_have_names_of_their_own() {
    let mut names: Vec<&str> = seedstorm_scenarios::all().iter().map(|scenario| Scenario::name(*scenario)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "each scenario has a name of its own");
    assert!(
        names.iter().all(|name| !name.contains([',', ' ']) && *name != "all"),
        "names can be given in a list: {names:?}"
    );
}

/// The workspaces beside this one, which build with `--locked`.
const BESIDE: [&str; 7] = [
    "examples/election",
    "examples/ledger",
    "tools/peers",
    "tools/sqlite-versions/rusqlite-0.38",
    "tools/sqlite-versions/rusqlite-0.39",
    "tools/sqlite-versions/rusqlite-0.43",
    "tools/sqlite-versions/system",
];

#[test]
fn lock_files_beside_know_what_our_crates_need() {
    let table =
        |name: &str| -> toml::Table { document(name).parse().unwrap_or_else(|error| panic!("{name}: {error}")) };
    let mut missing = Vec::new();
    for workspace in BESIDE {
        let name = format!("{workspace}/Cargo.lock");
        let packages = table(&name)["package"].as_array().cloned().unwrap_or_default();
        let listed = |package: &str| {
            let found = packages.iter().find(|found| found["name"].as_str() == Some(package))?;
            let needs = found.get("dependencies").and_then(|needs| needs.as_array()).cloned().unwrap_or_default();
            // With its version, where there are several.
            let names = needs.iter().filter_map(|need| need.as_str()?.split(' ').next().map(str::to_owned));
            Some(names.collect::<Vec<_>>())
        };
        for member in MEMBERS {
            let manifest = table(&format!("{member}/Cargo.toml"));
            let package = manifest["package"]["name"].as_str().expect("it has a name");
            // A workspace without a crate of ours needs nothing of it.
            let Some(listed) = listed(package) else { continue };
            let needs = manifest["dependencies"].as_table().expect("it has dependencies").iter();
            let is_optional = |how: &toml::Value| how.get("optional").and_then(toml::Value::as_bool) == Some(true);
            let unlisted = needs.filter(|(need, how)| !is_optional(how) && !listed.contains(need));
            missing.extend(unlisted.map(|(need, _)| format!("{name}: {package} needs {need}")));
        }
    }
    none("lock files beside are those of today (cargo metadata in their folders mends them)", missing);
}
