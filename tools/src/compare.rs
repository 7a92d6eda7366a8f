//! `compare`: what two runs are of, and where they part. How that is told is `two_plans`' and `parting`'s; whether two runs of one plan are equal is also a sweep's question
//! (`sweep::determinism`).

use crate::artifacts::TRACE_FILE;
use crate::catalogue::Catalogue;
use crate::checked::Checked;
use crate::cli::CompareArguments;
use crate::exit::{Exit, Problem, Result, unless_closed};
use crate::file_kind::FileKind;
use crate::from_outside::USUAL_CAUSES;
use crate::interrupt;
use crate::keep;
use crate::measured;
use crate::parting::{self, Parting, Place, Side};
use crate::plan_file;
use crate::refused;
use crate::report::SCHEMA_VERSION;
use crate::reproducer::{self, Replayable};
use crate::shell;
use crate::traced::Tracing;
use crate::two_plans::TwoPlans;
use seedstorm_sim::Settings;
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::schedule::Guide;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What some editors begin a text in UTF-8 with.
const BYTE_ORDER_MARK: [u8; 3] = *b"\xEF\xBB\xBF";

/// Compares.
///
/// # Errors
/// What can't be read or run; an output that can't be written.
pub(crate) fn compare(catalogue: Catalogue, arguments: &CompareArguments) -> Result<Exit> {
    interrupt::flag()?;
    let given = [Given::open(catalogue, &arguments.first)?, Given::open(catalogue, &arguments.second)?];
    let mut sides = [given[0].side()?, given[1].side()?];
    let plans = TwoPlans::of(sides[0].head(), sides[1].head());
    let parting = parting::part(&mut sides, arguments.context)?;
    let mut text = Vec::new();
    if arguments.json {
        let object = Object {
            schema_version: SCHEMA_VERSION,
            first: arguments.first.display().to_string(),
            second: arguments.second.display().to_string(),
            is_one_plan: plans.are_one,
            of: &plans.of,
            plans_differ: &plans.differ,
            exact: parting.exact.as_ref(),
            in_deeds: parting.in_deeds.as_ref(),
            events: parting.events,
        };
        writeln!(text, "{}", serde_json::to_string(&object).map_err(anyhow::Error::new)?)?;
    } else {
        tell(&mut text, catalogue.program(), &given, &plans, &parting)?;
    }
    let mut output = std::io::stdout();
    output.write_all(&text).and_then(|()| output.flush()).or_else(unless_closed)?;
    Ok(if parting.exact.is_some() { Exit::Violated } else { Exit::Pass })
}

fn tell(
    text: &mut impl Write,
    program: &str,
    given: &[Given; 2],
    plans: &TwoPlans,
    parting: &Parting,
) -> std::io::Result<()> {
    let Some(place) = parting.in_deeds.as_ref().or(parting.exact.as_ref()) else {
        return writeln!(text, "{parting}: {}", plans.of);
    };
    writeln!(text, "{}", plans.of)?;
    for difference in &plans.differ {
        writeln!(text, "  {difference}")?;
    }
    writeln!(text, "{parting}")?;
    if plans.are_one {
        writeln!(text, "\nunless they are of two builds, or one follows recorded turns, the run is not deterministic")?;
        for line in USUAL_CAUSES {
            writeln!(text, "{line}")?;
        }
    }
    let words = match given.iter().find(|given| given.runs_again) {
        Some(given) => {
            // What is before the first step belongs to no step that can be shown.
            let step = place.step.max(1).to_string();
            shell::line([program, "replay", &shell::path(&given.path), "--until", &step])
        }
        None => shell::line([program, "report", &shell::path(&given[0].path)]),
    };
    writeln!(text, "\n{words}")
}

/// One of the two, as it was given.
struct Given {
    path: PathBuf,
    /// Its trace, where that is another file.
    trace: Option<PathBuf>,
    /// Whether `replay` can run it again.
    runs_again: bool,
    /// A trace that was made for this, removed at the end.
    temporary: Option<keep::Draft>,
}

impl Given {
    fn open(catalogue: Catalogue, path: &Path) -> Result<Given> {
        let wrong = |why: String| Problem::usage(format!("{}: {why}", path.display()));
        let (path, kept) = (path.to_owned(), path.join(TRACE_FILE));
        if path.is_dir() && kept.exists() {
            return Ok(Given { path, trace: Some(kept), runs_again: true, temporary: None });
        }
        if FileKind::of(&path) == Some(FileKind::Trace)
            || !path.is_dir() && !is_text(&path).map_err(|error| wrong(error.to_string()))?
        {
            return Ok(Given { path, trace: None, runs_again: false, temporary: None });
        }
        let temporary = Some(run_traced(catalogue, &path)?);
        Ok(Given { path, trace: None, runs_again: true, temporary })
    }

    fn side(&self) -> Result<Side> {
        match (&self.temporary, &self.trace) {
            (Some(temporary), _) => Side::open(temporary.path(), &self.path),
            (None, Some(trace)) => Side::open(trace, trace),
            (None, None) => Side::open(&self.path, &self.path),
        }
    }
}

/// Whether a file holds text: traces begin with a byte that no text has. A byte order mark is text, too.
fn is_text(path: &Path) -> std::io::Result<bool> {
    use std::io::Read;
    let mut head = Vec::new();
    File::open(path)?.take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut head)?;
    Ok(head == BYTE_ORDER_MARK || head.first().is_none_or(u8::is_ascii))
}

/// Runs a reproducer or a plan, and keeps its trace for as long as it is needed.
fn run_traced(catalogue: Catalogue, path: &Path) -> Result<keep::Draft> {
    let (plan, turns, checked) = match reproducer::read(path)? {
        Replayable::Plan(plan) => (*plan, None, Checked::with(CrashPoints::None)),
        // A violation ends the run where it is found, be it at a crash point.
        Replayable::Recorded(recorded, _) => (recorded.plan, recorded.turns, recorded.checked),
    };
    let scenario = plan_file::scenario_of(catalogue, &plan, Some(path))?;
    let folder = std::env::temp_dir();
    // Anybody may write there: what has a name already is neither opened nor followed.
    let (temporary, file) = keep::Draft::file(&folder).map_err(|error| keep::unwritten(&folder, &error))?;
    let tracing = Tracing::to(file, temporary.path());
    let settings = Settings {
        guide: turns.map(|turns| Guide { turns, ..Guide::default() }),
        listener: Some(tracing.listener()),
        ..checked.settings()
    };
    let measured = measured::run(scenario, &plan, settings);
    let outcome = measured.map_err(|problem| refused::of_run(scenario, problem, Some(path), None))?.outcome;
    tracing.finish(&outcome)?;
    Ok(temporary)
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    first: String,
    second: String,
    /// Whether both are of one plan; what they are of, and what differs in it, in words.
    is_one_plan: bool,
    of: &'a str,
    plans_differ: &'a [String],
    /// Where they first differ in anything.
    exact: Option<&'a Place>,
    /// Where they first differ in what is done.
    in_deeds: Option<&'a Place>,
    events: u64,
}
