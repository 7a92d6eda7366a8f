//! Tracing: events of a run as `tracing` events, and a tracing-subscriber format that prints simulated time and process. Off costs nothing:
//! whether anybody listens is asked once a run.

use super::event::{Body, Dropped, Event};
use crate::kernel::View;
use crate::sys::net::{MailboxKey, MessageId};
use std::fmt;
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The target of the harness's own events.
pub const TARGET: &str = "seedstorm::step";

/// Whether a subscriber wants the events of runs.
pub(crate) fn is_wanted() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

/// Gives an event to the subscriber, inside a span that names its process.
pub(crate) fn emit(event: &Event<'_>, view: &View<'_>) {
    let process = event.process.map_or("machine", |process| view.process(process).name);
    let span = tracing::trace_span!(target: TARGET, "process", name = process, boot = event.boot);
    let _entered = span.enter();
    tracing::trace!(target: TARGET, time_ns = event.time_ns, step = event.step, process, "{}", Words(event));
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

/// Prints an event of a run as `12.345678s agent-3 pwrite #7 (0, 24) = 24`; others in their own words. For `tracing_subscriber::fmt().event_format(..)`.
pub struct SimulatedTime;

impl<S, N> FormatEvent<S, N> for SimulatedTime
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(time_ns) = fields.time_ns {
            write!(writer, "{:>4}.{:09}s {:<12} ", time_ns / 1_000_000_000, time_ns % 1_000_000_000, fields.process)?;
        }
        writeln!(writer, "{}", fields.message)
    }
}

#[derive(Default)]
struct Fields {
    time_ns: Option<u64>,
    process: String,
    message: String,
}

impl tracing::field::Visit for Fields {
    fn record_u64(&mut self, field: &tracing::field::Field, value: u64) {
        if field.name() == "time_ns" {
            self.time_ns = Some(value);
        }
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        if field.name() == "process" {
            value.clone_into(&mut self.process);
        }
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}
