//! The page of a sweep: the failures that a folder of artifacts holds, by fingerprint, each with a link to its picture. Only what the page needs of a
//! reproducer is read here; running one again is `replay`'s business.

use super::findings::Findings;
use super::page::{STYLE, page};
use crate::artifacts::TRACE_FILE;
use crate::catalogue::Catalogue;
use crate::exit::{Problem, Result};
use crate::keep;
use crate::report::grouped;
use crate::shell;
use askama::Template;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The name of a failure's picture, beside its reproducer.
pub(crate) const PICTURE_FILE: &str = "report.html";

#[derive(Template)]
#[template(path = "sweep.html")]
struct Page<'a> {
    version: &'static str,
    folder: String,
    failures: usize,
    groups: Vec<Group<'a>>,
    style: &'static str,
}

struct Group<'a> {
    fingerprint: &'a str,
    message: &'a str,
    failures: Vec<&'a Failure>,
}

/// What the page tells of a failure.
struct Failure {
    scenario: String,
    seed: i64,
    steps: String,
    steps_count: i64,
    fingerprint: String,
    message: String,
    /// The picture, seen from the folder.
    report: Option<String>,
    command: String,
    /// Where it is kept, and under which name.
    folder: PathBuf,
    name: String,
    /// Of one that has been shrunk: the name of the smallest, and how many steps it had.
    smaller: Option<String>,
}

/// The page of a folder of artifacts. A failure that has a trace and no picture gets one.
///
/// # Errors
/// A folder without a reproducer in it, or with one that can't be read.
pub(super) fn page_of_folder(catalogue: Catalogue, folder: &Path) -> Result<String> {
    let mut failures = Vec::new();
    for path in reproducers(folder)? {
        failures.extend(read(catalogue, folder, &path)?);
    }
    if failures.is_empty() {
        let what = "no reproducer is in this folder or in a folder in it: is it one that `--artifacts` named?";
        return Err(Problem::usage(format!("{}: {what}", folder.display())));
    }
    failures.sort_by_key(|failure| (failure.steps_count, failure.seed));
    let failures = one_each(failures);
    let mut groups: BTreeMap<&str, Vec<&Failure>> = BTreeMap::new();
    for failure in &failures {
        groups.entry(&failure.fingerprint).or_default().push(failure);
    }
    let mut groups: Vec<Group<'_>> = groups
        .into_iter()
        .map(|(fingerprint, failures)| Group { fingerprint, message: &failures[0].message, failures })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.failures.len()));
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        folder: folder.display().to_string(),
        failures: failures.len(),
        groups,
        style: STYLE,
    };
    Ok(page.render().expect("a template writes to memory"))
}

impl Failure {
    /// Whether both were made of one failure.
    fn is_of(&self, other: &Failure) -> bool {
        (&self.folder, &self.scenario, self.seed, &self.fingerprint)
            == (&other.folder, &other.scenario, other.seed, &other.fingerprint)
    }
}

/// The same failure once: what `shrink` has made of one is no other. They come with the fewest steps first, so that the command and the steps of a failure are those of its smallest copy,
/// and its name is told.
fn one_each(failures: Vec<Failure>) -> Vec<Failure> {
    let mut each: Vec<Failure> = Vec::new();
    for failure in failures {
        match each.iter_mut().find(|known| known.is_of(&failure)) {
            None => each.push(failure),
            Some(known) => {
                let name = known.name.clone();
                known.smaller = Some(format!("{name}, the smallest; {} before", failure.steps));
                known.report = known.report.take().or(failure.report);
            }
        }
    }
    each
}

/// Reproducers of a folder: TOML files in it and in the folders in it.
fn reproducers(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(entries(&path)?.into_iter().filter(|path| path.is_file()));
        } else {
            found.push(path);
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    Ok(found)
}

/// What is in a folder, in the order of names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |error: std::io::Error| Problem::usage(format!("{}: {error}", folder.display()));
    let read = fs::read_dir(folder).map_err(wrong)?;
    let mut paths =
        read.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>().map_err(wrong)?;
    paths.sort();
    Ok(paths)
}

/// Reads what the page tells of a failure; nothing of a TOML file that is no reproducer, or one of a run that held.
fn read(catalogue: Catalogue, folder: &Path, path: &Path) -> Result<Option<Failure>> {
    let wrong = |why: String| Problem::usage(format!("{}: {}", path.display(), why.trim_end()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let (Some(plan), Some(violation)) = (table.get("plan"), table.get("violation")) else { return Ok(None) };
    let missing = |key: &str, allowed: &str| wrong(format!("`{key}` is missing or is not {allowed}"));
    let text_at = |table: &toml::Value, key: &str, name: &str| {
        table.get(key).and_then(toml::Value::as_str).map(str::to_owned).ok_or_else(|| missing(name, "a text"))
    };
    let seed =
        plan.get("seed").and_then(toml::Value::as_integer).ok_or_else(|| missing("plan.seed", "a whole number"))?;
    let steps =
        table.get("steps").and_then(toml::Value::as_integer).ok_or_else(|| missing("steps", "a whole number"))?;
    let message = text_at(violation, "message", "violation.message")?;
    let command = shell::line([catalogue.program(), "replay", &shell::path(path)]);
    Ok(Some(Failure {
        scenario: text_at(plan, "scenario", "plan.scenario")?,
        seed,
        steps: grouped(steps.unsigned_abs()),
        steps_count: steps,
        fingerprint: text_at(violation, "fingerprint", "violation.fingerprint")?,
        message: message.lines().next().unwrap_or_default().to_owned(),
        report: picture(catalogue, folder, path, &command)?,
        command,
        folder: path.parent().unwrap_or(folder).to_owned(),
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        smaller: None,
    }))
}

/// The picture of a failure, as a link from the folder; made if there is a trace and none yet.
fn picture(catalogue: Catalogue, folder: &Path, reproducer: &Path, command: &str) -> Result<Option<String>> {
    let beside = reproducer.parent().unwrap_or(folder);
    if beside == folder {
        // Failures of several runs share the folder: nothing says whose a picture in it is.
        return Ok(None);
    }
    let (trace, picture) = (beside.join(TRACE_FILE), beside.join(PICTURE_FILE));
    if !picture.exists() && trace.exists() {
        let wrong = |why: String| Problem::usage(format!("{}: {why}", trace.display()));
        let file = File::open(&trace).map_err(|error| wrong(error.to_string()))?;
        let findings = Findings { reproduce: Some(command.to_owned()), ..Findings::default() };
        let text = page(catalogue, BufReader::new(file), &findings).map_err(|error| wrong(error.to_string()))?;
        keep::replace(&picture, text.as_bytes())?;
    }
    let relative = picture.strip_prefix(folder).ok().filter(|_| picture.exists());
    Ok(relative.map(|path| link(&path.display().to_string())))
}

/// A path as a link: what has a meaning in one is escaped (RFC 3986).
fn link(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("seedstorm-folder-{name}-{}", std::process::id()));
        // Left over from a process of the same number, perhaps.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn reproducer(fingerprint: &str, seed: u64, steps: u64) -> String {
        format!(
            "format = 1\nsteps = {steps}\n[plan]\nscenario = \"storm\"\nseed = {seed}\n\
             [violation]\ninvariant = \"i\"\nfingerprint = \"{fingerprint}\"\nmessage = \"first <b>\\nmore\"\n"
        )
    }

    #[test]
    fn failures_are_listed_by_fingerprint_and_linked() {
        let folder = folder("lists");
        for (name, fingerprint, seed, steps) in [("a b-1", "i/x", 1, 90), ("b-2", "i/x", 2, 7), ("c-3", "i/y", 3, 5)] {
            let own = folder.join(name);
            fs::create_dir(&own).expect("a folder");
            fs::write(own.join("reproducer.toml"), reproducer(fingerprint, seed, steps)).expect("a file");
        }
        // What was made of one by shrinking is no failure of its own, and comes as the smaller one.
        for (name, steps) in [("shrunk.toml", 30), ("shrunk-2.toml", 20)] {
            fs::write(folder.join("a b-1").join(name), reproducer("i/x", 1, steps)).expect("a file");
        }
        fs::write(folder.join("a b-1").join(TRACE_FILE), made_up::failing()).expect("a file");
        fs::write(folder.join("plan.toml"), "format = 1\nscenario = \"storm\"\n").expect("a file");
        let page = page_of_folder(made_up::catalogue(), &folder).expect("they can be read");
        assert!(page.contains("3 failures, 2 different fingerprints"), "{page}");
        let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is not in {page}"));
        assert!(place("i/x") < place("i/y"), "the larger group comes first");
        assert!(place("</span> 2</td>") < place("</span> 1</td>"), "the shortest of a group comes first");
        assert!(
            page.contains("shrunk-2.toml, the smallest; 90 before") && page.contains("b-1/shrunk-2.toml"),
            "{page}"
        );
        assert!(!page.contains("b-1/reproducer.toml"), "{page}");
        // The picture that a trace allows is made, and the link leads to it.
        assert!(page.contains("href=\"a%20b-1/report.html\"") && folder.join("a b-1").join(PICTURE_FILE).exists());
        assert!(page.contains("first &#60;b&#62;") && !page.contains("more<"), "one line, escaped");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn what_is_damaged_or_absent_is_told_with_its_place() {
        let folder = folder("damaged");
        let told = || match page_of_folder(made_up::catalogue(), &folder) {
            Err(Problem::Usage(message)) => message,
            _ => panic!("it has no page"),
        };
        assert!(told().contains("no reproducer is in this folder"), "{}", told());
        fs::write(folder.join("x.toml"), "[plan]\nscenario = \"s\"\n[violation]\n").expect("a file");
        assert!(told().contains("x.toml: `plan.seed` is missing or is not a whole number"), "{}", told());
        fs::write(folder.join("x.toml"), "= 3").expect("a file");
        assert!(told().contains("x.toml: ") && told().contains("line 1"), "{}", told());
        fs::remove_dir_all(&folder).expect("cleaning up");
    }
}
