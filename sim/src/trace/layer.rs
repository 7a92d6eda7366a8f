//! Tracing: events of a run as `tracing` events, and a tracing-subscriber format that prints simulated time and process. Off costs nothing:
//! whether anybody listens is asked once a run.

use super::event::{Body, Dropped, Event};
use crate::kernel::{Teller, View};
use crate::sys::net::{MailboxKey, MessageId};
use std::cell::RefCell;
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The target of the harness's own events.
pub const TARGET: &str = "seedstorm::step";

/// Whether a subscriber wants the events of runs.
pub fn is_wanted() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

/// Gives an event to the subscriber, inside a span that names its process, in the words of a teller if there is one.
pub(crate) fn emit(event: &Event<'_>, view: &View<'_>, teller: &mut Option<Teller>) {
    let process = event.process.map_or("machine", |process| view.process(process).name);
    let span = tracing::trace_span!(target: TARGET, "process", name = process, boot = event.boot);
    let _entered = span.enter();
    let told = teller.as_mut().map(|teller| teller(event, view));
    match told {
        Some(words) => tracing::trace!(target: TARGET, time_ns = event.time_ns, step = event.step, process, "{words}"),
        None => {
            tracing::trace!(target: TARGET, time_ns = event.time_ns, step = event.step, process, "{}", Words(event))
        }
    }
}

/// An event in one line of words, without time and process.
pub struct Words<'a, 'b>(pub &'a Event<'b>);

impl fmt::Display for Words<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.body {
            Body::Call { kind, object, arguments, result, data, .. } => {
                write!(f, "{kind}")?;
                if let Some(message) = message_text(*kind, *object, *arguments) {
                    return match result {
                        Ok(len_bytes) => write!(f, " {message} = {len_bytes}"),
                        Err(error) => write!(f, " {message} failed: {error}"),
                    };
                }
                if let Some(path) = path_text(*kind, data) {
                    write!(f, " {path}")?;
                } else if *object != 0 {
                    write!(f, " #{object}")?;
                }
                if *arguments != [0; 2] {
                    write!(f, " ({}, {})", arguments[0], arguments[1])?;
                }
                match result {
                    Ok(value) => write!(f, " = {value}"),
                    Err(error) => write!(f, " failed: {error}"),
                }
            }
            Body::Blocked { kind, object } => write!(f, "{kind} #{object} waits"),
            Body::Claim { kind, bytes } => write!(f, "claims {kind} ({} bytes)", bytes.len()),
            Body::Fault { kind, id } => write!(f, "FAULT {} (id {id})", kind.name()),
            Body::Started { pid } => write!(f, "started with PID {pid}, boot {}", self.0.boot),
            Body::Ended(ended) => write!(f, "ended: {ended:?}"),
            Body::Paused => f.write_str("paused"),
            Body::Resumed => f.write_str("resumed"),
            Body::TerminationRequested => f.write_str("asked to end (SIGTERM)"),
            Body::MachineCrashed => f.write_str("MACHINE CRASHED"),
            Body::MachineStarted => f.write_str("machine started"),
            Body::ClockJumped(by_ns) => write!(f, "wall clock jumped by {by_ns} ns"),
            Body::CalmBegan => f.write_str("the calm begins"),
            Body::MessageFault { kind, id, message } => {
                write!(f, "FAULT {} (id {id}) hits message {}", kind.name(), MessageId(*message))
            }
            Body::MessageDropped { message, why } => {
                let message = MessageId(*message);
                match why {
                    Dropped::Nobody => write!(f, "message {message} finds nobody"),
                    Dropped::Full => write!(f, "message {message} finds a full mailbox"),
                    Dropped::Unread => write!(f, "message {message} was never taken out of its mailbox"),
                    Dropped::Cut(id) => write!(f, "message {message} is cut off by the partition with id {id}"),
                    Dropped::PowerLoss => write!(f, "message {message} is lost with the machine's power"),
                }
            }
            Body::PartitionHealed { id } => write!(f, "the partition with id {id} heals"),
        }
    }
}

/// Which message a `send` or `receive` is about, and from which mailbox to which: process numbers and ports. Nothing for one that didn't happen.
fn message_text(kind: super::CallKind, object: u64, arguments: [u64; 2]) -> Option<String> {
    let [from, to] = arguments.map(MailboxKey);
    if !matches!(kind, super::CallKind::Send | super::CallKind::Receive) || object == arguments[1] {
        return None;
    }
    let end = |key: MailboxKey| key.process().map_or("nobody".to_owned(), |id| format!("{}:{}", id.0, key.port()));
    Some(format!("message {} ({} -> {})", MessageId(object), end(from), end(to)))
}

/// The path or paths of a call that names them.
fn path_text(kind: super::CallKind, data: &[u8]) -> Option<String> {
    let named = kind.names_paths() && (kind != super::CallKind::Stat || !data.is_empty());
    named.then(|| String::from_utf8_lossy(data).replace('\0', " -> "))
}

/// What tells of itself and is no part of a program: the runtime that the simulation is built upon.
const NOT_OF_PROGRAMS: &[&str] = &["madsim"];

/// Whether an event or a span is the harness's or a program's. Which crates make up a program nobody knows beforehand.
pub fn is_of_programs(metadata: &Metadata<'_>) -> bool {
    let of = metadata.target().split("::").next().unwrap_or_default();
    !NOT_OF_PROGRAMS.contains(&of)
}

/// The moment at which a program is polled, while it is. Events of its own don't know it.
pub(crate) struct Polled(());

/// When and who.
struct Moment {
    time_ns: u64,
    process: String,
}

thread_local! {
    /// A run has a thread, and events are formatted on the thread that they come from.
    static POLLED: RefCell<Option<Moment>> = const { RefCell::new(None) };
}

/// Whether anybody listens to anything.
pub(crate) fn is_listened() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

impl Polled {
    /// A process is polled at a simulated time.
    pub(crate) fn new(time_ns: u64, process: &str) -> Polled {
        POLLED.set(Some(Moment { time_ns, process: process.to_owned() }));
        Polled(())
    }

    /// Nobody listens.
    pub(crate) fn of_nobody() -> Polled {
        Polled(())
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        POLLED.set(None);
    }
}

/// Prints an event of a run as `12.345678000s agent-3 pwrite #7 (0, 24) = 24 step=81`, and one of a program's own as
/// `12.345678000s agent-3 DEBUG a transaction failed attempt=1`: with the simulated time and the process in which it came, its spans and all its fields.
/// For `tracing_subscriber::fmt().event_format(..)`.
pub struct SimulatedTime;

impl<S, N> FormatEvent<S, N> for SimulatedTime
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let is_of_harness = metadata.target() == TARGET;
        let mut fields = Fields { is_of_harness, ..Fields::default() };
        event.record(&mut fields);
        let Fields { time_ns, process, message, others, .. } = fields;
        if let Some(time_ns) = time_ns {
            write_moment(&mut writer, time_ns, &process)?;
        } else {
            POLLED.with_borrow(|polled| match polled {
                Some(Moment { time_ns, process }) => write_moment(&mut writer, *time_ns, process),
                None => Ok(()),
            })?;
        }
        if !is_of_harness {
            write!(writer, "{} ", metadata.level())?;
            let spans = context.event_scope().into_iter().flat_map(|scope| scope.from_root());
            for span in spans.filter(|span| is_of_programs(span.metadata())) {
                write!(writer, "{}", span.name())?;
                match span.extensions().get::<FormattedFields<N>>() {
                    Some(fields) if !fields.is_empty() => write!(writer, "{{{fields}}}: ")?,
                    _ => write!(writer, ": ")?,
                }
            }
        }
        let space = if message.is_empty() || others.is_empty() { "" } else { " " };
        writeln!(writer, "{message}{space}{others}")
    }
}

fn write_moment(writer: &mut Writer<'_>, time_ns: u64, process: &str) -> fmt::Result {
    write!(writer, "{:>4}.{:09}s {process:<12} ", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

/// The fields of an event. Time and process are the harness's: one of a program may have a field of that name.
#[derive(Default)]
struct Fields {
    is_of_harness: bool,
    time_ns: Option<u64>,
    process: String,
    message: String,
    /// `name=value` of each other one.
    others: String,
}

impl Fields {
    fn other(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let space = if self.others.is_empty() { "" } else { " " };
        self.others.push_str(&format!("{space}{}={value}", field.name()));
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "time_ns" if self.is_of_harness => self.time_ns = Some(value),
            _ => self.other(field, format_args!("{value}")),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "process" if self.is_of_harness => value.clone_into(&mut self.process),
            "message" => value.clone_into(&mut self.message),
            _ => self.other(field, format_args!("{value:?}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ => self.other(field, format_args!("{value:?}")),
        }
    }
}
