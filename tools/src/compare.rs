//! `compare`: the first event where two runs part, with its context. Reading traces is `sim`'s; whether two runs of one plan are equal is also a sweep's question
//! (`sweep::determinism`).

use crate::artifacts::TRACE_FILE;
use crate::catalogue::Catalogue;
use crate::checked::Checked;
use crate::cli::CompareArguments;
use crate::exit::{Exit, Problem, Result, unless_closed};
use crate::file_kind::FileKind;
use crate::interrupt;
use crate::keep;
use crate::measured;
use crate::plan_file;
use crate::report::{SCHEMA_VERSION, counted, grouped};
use crate::reproducer::{self, Replayable};
use crate::shell;
use crate::traced::{self, Tracing};
use seedstorm_sim::Settings;
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::schedule::Guide;
use seedstorm_sim::trace::drift::Difference;
use seedstorm_sim::trace::file::Reader;
use seedstorm_sim::trace::{Body, Record, layer};
use serde::Serialize;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

/// What some editors begin a text in UTF-8 with.
const BYTE_ORDER_MARK: [u8; 3] = *b"\xEF\xBB\xBF";

/// Compares.
///
/// # Errors
/// What can't be read or run; an output that can't be written.
pub(crate) fn compare(catalogue: Catalogue, arguments: &CompareArguments) -> Result<Exit> {
    interrupt::flag()?;
    let mut sides = [Side::open(catalogue, &arguments.first)?, Side::open(catalogue, &arguments.second)?];
    let parting = part(&mut sides, arguments.context)?;
    let mut text = Vec::new();
    if arguments.json {
        let object = Object {
            schema_version: SCHEMA_VERSION,
            first: arguments.first.display().to_string(),
            second: arguments.second.display().to_string(),
            exact: parting.exact.as_ref(),
            in_deeds: parting.in_deeds.as_ref(),
            events: parting.events,
        };
        writeln!(text, "{}", serde_json::to_string(&object).map_err(anyhow::Error::new)?)?;
    } else {
        parting.tell(&mut text)?;
        let step = parting.in_deeds.as_ref().or(parting.exact.as_ref()).map(|place| place.step);
        if let Some(step) = step
            && let Some(source) = sides.iter().find_map(|side| side.runs_again.as_ref())
        {
            // What is before the first step belongs to no step that can be shown.
            let (source, step) = (shell::path(source), step.max(1).to_string());
            writeln!(text, "\n{}", shell::line([catalogue.program(), "replay", &source, "--until", &step]))?;
        }
    }
    let mut output = std::io::stdout();
    output.write_all(&text).and_then(|()| output.flush()).or_else(unless_closed)?;
    Ok(if parting.exact.is_some() { Exit::Violated } else { Exit::Pass })
}

/// One of the two, opened.
struct Side {
    /// What was given, for what is wrong with it.
    path: PathBuf,
    trace: Reader<BufReader<File>>,
    /// What `replay` can run again.
    runs_again: Option<PathBuf>,
    /// A trace that was made for this, removed at the end.
    _temporary: Option<keep::Draft>,
}

impl Side {
    fn open(catalogue: Catalogue, path: &Path) -> Result<Side> {
        let wrong = |why: String| Problem::usage(format!("{}: {why}", path.display()));
        let kept = path.join(TRACE_FILE);
        if path.is_dir() && kept.exists() {
            let trace = traced::open(&kept).map_err(|error| Problem::usage(format!("{error:#}")))?;
            return Ok(Side { path: kept, trace, runs_again: Some(path.to_owned()), _temporary: None });
        }
        if FileKind::of(path) == Some(FileKind::Trace)
            || !path.is_dir() && !is_text(path).map_err(|error| wrong(error.to_string()))?
        {
            let trace = traced::open(path).map_err(|error| Problem::usage(format!("{error:#}")))?;
            return Ok(Side { path: path.to_owned(), trace, runs_again: None, _temporary: None });
        }
        let temporary = run_traced(catalogue, path)?;
        let trace = traced::open(temporary.path()).map_err(|error| Problem::usage(format!("{error:#}")))?;
        let path = path.to_owned();
        Ok(Side { path: path.clone(), trace, runs_again: Some(path), _temporary: Some(temporary) })
    }

    fn process(&self, record: &Record) -> &str {
        let name = record.process.map(|id| self.trace.head().processes.get(id.0 as usize).map_or("?", String::as_str));
        name.unwrap_or("the machine")
    }

    fn line(&self, record: &Record) -> String {
        let (seconds, rest_ns) = (record.time_ns / 1_000_000_000, record.time_ns % 1_000_000_000);
        let words = layer::Words(&record.event()).to_string();
        format!("{seconds:>4}.{rest_ns:09}s step {:<8} {:<14} {words}", record.step, self.process(record))
    }

    /// What is done, without times, bytes and numbers that differ between any two runs.
    fn deed(&self, record: &Record) -> String {
        let event = record.event();
        let process = self.process(record);
        match event.body {
            Body::Call { kind, result, .. } => match result {
                Ok(_) => format!("{process} {kind}"),
                Err(error) => format!("{process} {kind} failed: {error}"),
            },
            Body::Blocked { kind, .. } => format!("{process} {kind} waits"),
            Body::Claim { kind, .. } => format!("{process} claims {kind}"),
            Body::Fault { kind, .. } => format!("{process} {}", kind.name()),
            Body::Started { .. } => format!("{process} starts"),
            Body::ClockJumped(_) => "the clock jumps".to_owned(),
            Body::MessageFault { kind, .. } => format!("{process} {}", kind.name()),
            Body::MessageDropped { .. } => format!("{process} loses a message"),
            Body::PartitionHealed { .. } => "a partition heals".to_owned(),
            Body::Ended(_)
            | Body::Paused
            | Body::Resumed
            | Body::TerminationRequested
            | Body::MachineCrashed
            | Body::MachineStarted
            | Body::CalmBegan => format!("{process} {}", layer::Words(&event)),
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
    let outcome = measured::run(scenario, &plan, settings)?.outcome;
    tracing.finish(&outcome)?;
    Ok(temporary)
}

/// Where they part, in one way of looking at it.
#[derive(Serialize)]
struct Place {
    /// The number of the event, from 0.
    event: u64,
    /// The step of the earlier of the two events.
    step: u64,
    /// The last events before it, as the first has them.
    before: Vec<String>,
    /// What the first does from there on.
    first: Vec<String>,
    /// What the second does.
    second: Vec<String>,
    /// What else differs in the two events.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

struct Parting {
    exact: Option<Place>,
    in_deeds: Option<Place>,
    /// Events that both have, up to the end or to where they part in what is done.
    events: u64,
}

fn part(sides: &mut [Side; 2], context: usize) -> Result<Parting> {
    let mut parting = Parting { exact: None, in_deeds: None, events: 0 };
    let mut before = VecDeque::new();
    loop {
        let (first, second) = (next(&mut sides[0])?, next(&mut sides[1])?);
        if first.is_none() && second.is_none() {
            return Ok(parting);
        }
        let deed = |side: &Side, record: &Option<Record>| record.as_ref().map(|record| side.deed(record));
        let is_same_deed = deed(&sides[0], &first) == deed(&sides[1], &second);
        // Events hold the numbers of processes: those of two scenarios may be equal, and be of processes with other names.
        if parting.exact.is_none() && (first != second || !is_same_deed) {
            let place = place(sides, parting.events, &before, &first, &second);
            let difference = Difference { index: parting.events, first: first.clone(), second: second.clone() };
            let words = if first == second {
                let (step, event) = (place.step, place.event);
                format!("the traces part at step {step}, event {event}: it is of processes with other names")
            } else {
                difference.in_words(&sides[0].trace.head().processes).to_string()
            };
            parting.exact = Some(Place { difference: Some(words), ..place });
        }
        if !is_same_deed {
            let mut place = place(sides, parting.events, &before, &first, &second);
            for (side, lines) in sides.iter_mut().zip([&mut place.first, &mut place.second]) {
                while lines.len() < context
                    && let Some(record) = next(side)?
                {
                    lines.push(side.line(&record));
                }
            }
            parting.in_deeds = Some(place);
            return Ok(parting);
        }
        if let Some(record) = &first {
            if before.len() == context {
                before.pop_front();
            }
            if context > 0 {
                before.push_back(sides[0].line(record));
            }
        }
        parting.events += 1;
    }
}

fn next(side: &mut Side) -> Result<Option<Record>> {
    let next = side.trace.next().transpose();
    next.map_err(|error| Problem::usage(format!("{}: {error}", side.path.display())))
}

fn place(
    sides: &[Side; 2],
    event: u64,
    before: &VecDeque<String>,
    first: &Option<Record>,
    second: &Option<Record>,
) -> Place {
    let step = [first, second].into_iter().flatten().map(|record| record.step).min().unwrap_or(0);
    let line = |side: &Side, record: &Option<Record>| record.iter().map(|record| side.line(record)).collect();
    Place {
        event,
        step,
        before: before.iter().cloned().collect(),
        first: line(&sides[0], first),
        second: line(&sides[1], second),
        difference: None,
    }
}

impl Parting {
    fn tell(&self, output: &mut impl Write) -> std::io::Result<()> {
        let Some(exact) = &self.exact else {
            return writeln!(output, "the same {}", counted(self.events, "event"));
        };
        writeln!(output, "{}", exact.difference.as_deref().unwrap_or_default())?;
        match &self.in_deeds {
            None => writeln!(
                output,
                "\ntimes, bytes and numbers aside they do the same to the end: {}",
                counted(self.events, "event")
            ),
            Some(place) => {
                writeln!(
                    output,
                    "\ntimes, bytes and numbers aside they part at step {}, event {}",
                    grouped(place.step),
                    grouped(place.event)
                )?;
                for line in &place.before {
                    writeln!(output, "    {line}")?;
                }
                for (name, lines) in [("first ", &place.first), ("second", &place.second)] {
                    if lines.is_empty() {
                        writeln!(output, "  {name} has ended")?;
                    }
                    for line in lines {
                        writeln!(output, "  {name} {line}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    first: String,
    second: String,
    /// Where they first differ in anything.
    exact: Option<&'a Place>,
    /// Where they first differ in what is done.
    in_deeds: Option<&'a Place>,
    events: u64,
}
