//! JSON lines: one object for each event, after one for the run's head and before one for its end. Fields keep their meaning; new ones may come.

use super::Trouble;
use crate::words::Narrator;
use seedstorm_sim::trace::file::Reader;
use seedstorm_sim::trace::{Body, CallKind, Ended, Event};
use serde_json::{Map, Value, json};
use std::io::{Read, Write};

/// Writes them.
pub(super) fn write(mut reader: Reader<impl Read>, out: &mut impl Write) -> Result<(), Trouble> {
    let head = reader.head().clone();
    let mut narrator = Narrator::new(&head.scenario, &head.processes);
    let line = json!({
        "scenario": head.scenario, "seed": head.seed.0, "strategy": head.strategy.to_string(), "processes": head.processes,
    });
    writeln!(out, "{line}")?;
    for record in reader.by_ref() {
        let record = record?;
        let event = record.event();
        let words = narrator.tell(&event);
        let process = event.process.and_then(|process| head.processes.get(process.0 as usize));
        let mut object = json!({
            "step": event.step, "time_ns": event.time_ns, "process": process, "boot": event.boot,
            "task": event.task.map(|task| task.0), "words": words,
        });
        if let Value::Object(fields) = &mut object {
            body(&event, fields);
        }
        writeln!(out, "{object}")?;
    }
    let Some(tail) = reader.tail() else { return Ok(()) };
    let ending = tail.ending.as_ref().map(|ending| {
        json!({
            "steps": ending.steps, "simulated_ns": ending.simulated_ns, "violations": ending.violations,
            "measurements": ending.measurements,
        })
    });
    writeln!(out, "{}", json!({ "events": tail.events, "trace_hash": tail.trace_hash.to_string(), "ending": ending }))?;
    Ok(())
}

/// Fields of their own for each kind of event; `event` names the kind.
fn body(event: &Event<'_>, fields: &mut Map<String, Value>) {
    let own = match &event.body {
        Body::Call { kind, object, arguments, result, data, took_ns } => {
            let (value, error) = (result.as_ref().ok(), result.as_ref().err().map(ToString::to_string));
            json!({
                "event": "call", "call": kind.name(), "object": object, "arguments": arguments, "result": value,
                "error": error, "took_ns": took_ns, "paths": paths(*kind, data), "data_bytes": data.len(),
            })
        }
        Body::Blocked { kind, object } => json!({ "event": "blocked", "call": kind.name(), "object": object }),
        Body::Claim { kind, bytes } => json!({ "event": "claim", "claim": kind, "data_bytes": bytes.len() }),
        Body::Fault { kind, id } => json!({ "event": "fault", "fault": kind.name(), "id": id }),
        Body::Started { pid } => json!({ "event": "started", "pid": pid }),
        Body::Ended(Ended::Exited { code, why }) => json!({ "event": "exited", "code": code, "why": why }),
        Body::Ended(Ended::Killed) => json!({ "event": "killed" }),
        Body::Ended(Ended::Crashed) => json!({ "event": "crashed" }),
        Body::Paused => json!({ "event": "paused" }),
        Body::Resumed => json!({ "event": "resumed" }),
        Body::TerminationRequested => json!({ "event": "termination-requested" }),
        Body::MachineCrashed => json!({ "event": "machine-crashed" }),
        Body::MachineStarted => json!({ "event": "machine-started" }),
        Body::ClockJumped(by_ns) => json!({ "event": "clock-jumped", "by_ns": by_ns }),
        Body::CalmBegan => json!({ "event": "calm-began" }),
        Body::MessageFault { kind, id, message } => {
            json!({ "event": "message-fault", "fault": kind.name(), "id": id, "message": message })
        }
        Body::MessageDropped { message, why } => {
            json!({ "event": "message-dropped", "message": message, "why": format!("{why:?}") })
        }
        Body::PartitionHealed { id } => json!({ "event": "partition-healed", "id": id }),
    };
    if let Value::Object(own) = own {
        fields.extend(own.into_iter().filter(|(_, value)| !value.is_null()));
    }
}

/// The paths that a call named.
fn paths(kind: CallKind, data: &[u8]) -> Value {
    if !kind.names_paths() || data.is_empty() {
        return Value::Null;
    }
    String::from_utf8_lossy(data).split('\0').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;

    #[test]
    fn every_event_is_one_object() {
        let trace = made_up::failing();
        let mut text = Vec::new();
        write(Reader::new(trace.as_slice()).expect("a trace"), &mut text).expect("memory takes everything");
        let lines: Vec<Value> = String::from_utf8(text)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("one object a line"))
            .collect();
        let events = Reader::new(trace.as_slice()).expect("a trace").count();
        assert_eq!(lines.len(), events + 2);
        assert_eq!((&lines[0]["seed"], &lines[0]["processes"][2]), (&json!(7), &json!("a-2")));
        let sent = lines.iter().find(|line| line["call"] == "send").expect("there is one");
        assert_eq!((&sent["process"], &sent["words"]), (&json!("a-0"), &json!("send 3 bytes to a-1")));
        assert_eq!(lines.iter().filter(|line| line["event"] == "killed").count(), 1);
        let opened = lines.iter().find(|line| line["call"] == "open").expect("there is one");
        assert_eq!(opened["paths"], json!(["/shared </script>\u{2028}"]));
        let failed = lines.iter().find(|line| line["error"].is_string()).expect("there is one");
        assert_eq!((failed["call"].as_str(), failed.get("result")), (Some("access"), None));
        let last = lines.last().expect("the end");
        assert_eq!(last["ending"]["violations"][0]["invariant"], "lock-exclusion");
    }
}
