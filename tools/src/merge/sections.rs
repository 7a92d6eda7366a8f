//! What sweeps wrote, as sections: the lines of seeds of one sweep, and its summary after them. A file has one, or several one after the other. What they come to together
//! is in `merge`.

use super::source::{Place, Source};
use crate::catalogue::Catalogue;
use crate::exit::{Interrupted, Problem, Result};
use crate::interrupt;
use crate::report::{Drawn, RunResult, SCHEMA_VERSION, SweepSummary, counted};
use crate::seeds::Seeds;
use crate::shard::Shard;
use crate::sweep::Asked;
use seedstorm_sim::Seed;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A seed in a scenario, by the scenario's place in the list: runs in the order of a sweep.
pub(super) type Key = (u64, u32);

/// A line of a run: which section it is of, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) section: usize,
    pub(super) place: Place,
}

/// What one sweep wrote.
pub(super) struct Section {
    /// Which file it is in.
    pub(super) source: usize,
    /// Its runs.
    pub(super) keys: Vec<Key>,
    /// What its sweep says of itself. `None`: it was cut off before that.
    pub(super) end: Option<End>,
}

/// The end of a sweep that told it.
pub(super) struct End {
    pub(super) summary: SweepSummary,
    pub(super) asked: Asked,
    /// The seeds; of a shard, those of the whole sweep.
    pub(super) seeds: Seeds,
    line: u64,
}

impl End {
    /// The shard that was run; the only one, where it isn't shared out.
    pub(super) fn shard(&self) -> Shard {
        self.summary.shard.unwrap_or(Shard::WHOLE)
    }
}

/// All files.
pub(super) struct Sections {
    pub(super) sources: Vec<Source>,
    pub(super) sections: Vec<Section>,
    /// The scenarios, in the order in which a seed runs in them.
    pub(super) scenarios: Vec<String>,
    /// Where each run is told; more than once, if it is in several sections.
    pub(super) runs: BTreeMap<Key, Vec<Line>>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    schema_version: u32,
}

impl Sections {
    /// Reads files.
    ///
    /// # Errors
    /// A file that can't be read, or is not what `sweep --json` writes; sweeps that ran other things.
    pub(super) fn read(catalogue: Catalogue, paths: &[PathBuf]) -> Result<Sections> {
        if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Problem::usage("-: the standard input can be read once only"));
        }
        let interrupt = interrupt::flag()?;
        let mut all =
            Sections { sources: Vec::new(), sections: Vec::new(), scenarios: Vec::new(), runs: BTreeMap::new() };
        for (index, path) in paths.iter().enumerate() {
            let source = Source::open(path)?;
            let mut reader = Reader { catalogue, all: &mut all, name: &source.name, source: index, is_open: false };
            source.lines(|place, line, has_end| {
                if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(Problem::Interrupted(Interrupted::Else("while files were read; nothing was judged")));
                }
                reader.line(place, line, has_end)
            })?;
            reader.end();
            all.sources.push(source);
        }
        all.check_same(catalogue)?;
        Ok(all)
    }

    /// Reads a run again.
    ///
    /// # Errors
    /// The file can't be read any more.
    pub(super) fn run(&self, line: Line) -> Result<RunResult> {
        let source = &self.sources[self.sections[line.section].source];
        let text = source.line(line.place)?;
        serde_json::from_slice(&text).map_err(|error| {
            Problem::usage(format!("{}:{}: it is another line than before: {error}", source.name, line.place.line))
        })
    }

    /// Where a line is, as messages name it.
    pub(super) fn name(&self, line: Line) -> String {
        format!("{}:{}", self.sources[self.sections[line.section].source].name, line.place.line)
    }

    /// The ends of those that have one, with their places.
    fn ends(&self) -> impl Iterator<Item = (String, &End)> {
        self.sections.iter().filter_map(|section| {
            let end = section.end.as_ref()?;
            Some((format!("{}:{}", self.sources[section.source].name, end.line), end))
        })
    }

    /// Makes sure that a seed means the same run in all of them.
    fn check_same(&self, catalogue: Catalogue) -> Result<()> {
        let Some((first_place, first)) = self.ends().next() else { return Ok(()) };
        for (place, end) in self.ends() {
            if let Some((what, here, there)) = end.asked.other_runs(&first.asked) {
                return Err(Problem::usage(format!(
                    "{place}: {what} than for {first_place}: {here}, not {there}; only runs of one kind can be put together"
                )));
            }
        }
        // Of a sweep that was cut off only its runs can tell: the plan of the first is drawn again.
        for (index, section) in self.sections.iter().enumerate().filter(|(_, section)| section.end.is_none()) {
            let Some((seed, scenario)) = section.keys.first().copied() else { continue };
            let mut lines = self.runs.get(&(seed, scenario)).into_iter().flatten();
            let Some(line) = lines.find(|line| line.section == index) else { continue };
            let scenario = catalogue.named(&self.scenarios[scenario as usize])?;
            let plan = interrupt::draw(scenario, Seed(seed), &first.asked.options)?;
            if !plan.is_ok_and(|plan| self.run(*line).is_ok_and(|run| run.options == Drawn::of(&plan))) {
                return Err(Problem::usage(format!(
                    "{}: its plan was drawn otherwise than for {first_place}; only runs of one kind can be put together",
                    self.name(*line)
                )));
            }
        }
        Ok(())
    }
}

/// Takes the lines of one file.
struct Reader<'a> {
    catalogue: Catalogue,
    all: &'a mut Sections,
    name: &'a str,
    source: usize,
    /// Whether the last section goes on.
    is_open: bool,
}

impl Reader<'_> {
    fn line(&mut self, place: Place, line: &[u8], has_end: bool) -> Result<()> {
        let name = self.name;
        let complain = |why: &dyn std::fmt::Display| Problem::usage(format!("{name}:{}: {why}", place.line));
        let no_line = |error: serde_json::Error| complain(&format!("no line of `sweep --json`: {error}"));
        // Some shells begin a file so.
        let line = line.strip_prefix("\u{feff}".as_bytes()).filter(|_| place.line == 1).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let head: Head = match serde_json::from_slice(line) {
            // Whoever wrote it was killed in the middle of it.
            Err(error) if error.is_eof() && !has_end && line.starts_with(b"{") => {
                self.open();
                return Ok(());
            }
            head => head.map_err(no_line)?,
        };
        if head.schema_version != SCHEMA_VERSION {
            return Err(complain(&format!(
                "its `schema_version` is {}; this program reads {SCHEMA_VERSION}",
                head.schema_version
            )));
        }
        match head.kind.as_str() {
            "seed" => {
                let run: RunResult = serde_json::from_slice(line).map_err(no_line)?;
                let scenario = self.scenario(&run.scenario).map_err(|problem| complain(&problem))?;
                let section = self.open();
                let key = (run.seed, scenario);
                self.all.sections[section].keys.push(key);
                self.all.runs.entry(key).or_default().push(Line { section, place });
                Ok(())
            }
            "summary" => {
                let summary = serde_json::from_slice(line).map_err(no_line)?;
                let section = self.open();
                self.is_open = false;
                let end = self.summary(section, summary, place.line).map_err(|why| complain(&why))?;
                self.all.sections[section].end = Some(end);
                Ok(())
            }
            kind => {
                Err(complain(&format!("no line of `sweep --json`: its type is `{kind}`, neither seed nor summary")))
            }
        }
    }

    /// The section that the next line is of.
    fn open(&mut self) -> usize {
        if !self.is_open {
            self.all.sections.push(Section { source: self.source, keys: Vec::new(), end: None });
            self.is_open = true;
        }
        self.all.sections.len() - 1
    }

    /// The file has ended. One with nothing in it is what is left of a sweep that told nothing.
    fn end(&mut self) {
        if self.all.sections.last().is_none_or(|section| section.source != self.source) {
            self.open();
        }
    }

    fn scenario(&mut self, name: &str) -> Result<u32> {
        let place = self.all.scenarios.iter().position(|known| known == name);
        let place = match place {
            Some(place) => place,
            None => {
                self.catalogue.named(name)?;
                self.all.scenarios.push(name.to_owned());
                self.all.scenarios.len() - 1
            }
        };
        Ok(place as u32)
    }

    /// Makes sure that a summary is of the lines before it.
    fn summary(&mut self, section: usize, summary: SweepSummary, line: u64) -> std::result::Result<End, String> {
        let asked = summary.asked.clone();
        let asked = asked.ok_or("the summary doesn't say what was asked for (`asked`): an earlier version wrote it")?;
        let [seeds] = asked.seeds[..] else {
            return Err("the summary is of a merge: give what was merged there".to_owned());
        };
        for name in &asked.scenarios {
            self.scenario(name).map_err(|problem| problem.to_string())?;
        }
        let end = End { summary, asked, seeds, line };
        let keys = &self.all.sections[section].keys;
        if keys.len() as u64 != end.summary.seeds {
            let (told, here) = (counted(end.summary.seeds, "run"), counted(keys.len() as u64, "run"));
            return Err(format!("the summary is of {told}, but the lines before it are of {here}"));
        }
        let shard = end.shard();
        let is_asked = |(seed, scenario): &&Key| {
            shard.has(seeds, *seed) && end.asked.scenarios.contains(&self.all.scenarios[*scenario as usize])
        };
        if let Some((seed, scenario)) = keys.iter().find(|key| !is_asked(key)) {
            let scenario = &self.all.scenarios[*scenario as usize];
            return Err(format!(
                "before the summary is a run of seed {seed} in {scenario}, which its sweep didn't have"
            ));
        }
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("seed {} is there twice in one sweep", pair[0].0));
        }
        Ok(end)
    }
}
