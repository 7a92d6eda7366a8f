//! Chrome's trace event format as JSON, which ui.perfetto.dev and chrome://tracing read (Duca and Sinclair, "Trace Event Format").
//!
//! A process of the run is a process, a task a thread. Calls are complete slices (`X`), what lasts (lock waits and holds, transactions, operations, pauses,
//! lives) nestable asynchronous ones (`b`, `e`), messages flow arrows (`s`, `f`), everything else instants (`i`). Times are simulated microseconds.

use super::Trouble;
use crate::picture::{Arrows, Bars, End, Place};
use crate::words::Narrator;
use seedstorm_sim::trace::file::Reader;
use seedstorm_sim::trace::{Body, Event, ProcessId};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::ops::Range;

/// A slice that bears a flow's end lasts at least so long: one without any length bears none.
const FLOW_NS_MIN: u64 = 1;

/// Events of the output as text, with the time of each, in nanoseconds, and its rank among those of one time. As values they would take many times the
/// memory, and a trace may have millions.
#[derive(Default)]
struct Texts {
    text: String,
    places: Vec<(u64, u8, Range<usize>)>,
}

impl Texts {
    fn push(&mut self, (at_ns, rank, value): Timed) {
        let start = self.text.len();
        // Writing to a string can't fail.
        let _ = write!(self.text, "{value}");
        self.places.push((at_ns, rank, start..self.text.len()));
    }

    fn sorted(&mut self) -> impl Iterator<Item = &str> {
        self.places.sort_by_key(|(at_ns, rank, _)| (*at_ns, *rank));
        self.places.iter().map(|(.., range)| &self.text[range.clone()])
    }
}

/// An event of the output with its time, in nanoseconds, and its rank among those of one time.
type Timed = (u64, u8, Value);

/// Ranks of events of one time: what ends comes before what begins, and what begins before what happens in it.
const ENDS: u8 = 0;
const BEGINS: u8 = 1;
const HAPPENS: u8 = 2;

/// Writes it.
pub(super) fn write(mut reader: Reader<impl Read>, out: &mut impl Write) -> Result<(), Trouble> {
    let head = reader.head().clone();
    let machine = ProcessId(head.processes.len() as u32);
    let mut narrator = Narrator::new(&head.scenario, &head.processes);
    let (mut bars, mut arrows) = (Bars::default(), Arrows::default());
    let (mut events, mut tasks): (Texts, BTreeSet<(u32, u32)>) = (Texts::default(), BTreeSet::new());
    let mut at = Place { index: 0, time_ns: 0 };
    for (index, record) in (0..).zip(reader.by_ref()) {
        let record = record?;
        let event = record.event();
        let words = narrator.tell(&event);
        at = Place { index, time_ns: event.time_ns };
        bars.observe(&event, at, &narrator);
        arrows.observe(&event, at);
        let process = event.process.unwrap_or(machine);
        let task = thread(event.task.map(|task| task.0));
        tasks.insert((pid(process), task));
        events.push(slice_or_instant(&event, process, task, &words));
    }
    for (number, bar) in bars.finish(at).into_iter().enumerate() {
        let common = json!({ "name": bar.label, "cat": bar.kind.name(), "id": format!("0x{number:x}"), "pid": pid(bar.process), "tid": 0 });
        // What begins and ends at one time must not end first.
        let rank = if bar.from.time_ns == bar.to.time_ns { HAPPENS } else { ENDS };
        events.push((bar.from.time_ns, BEGINS, with(&common, "b", bar.from.time_ns)));
        events.push((bar.to.time_ns, rank, with(&common, "e", bar.to.time_ns)));
    }
    for (number, arrow) in arrows.finish().into_iter().enumerate() {
        let Some(to) = arrow.to else { continue };
        for (phase, end) in [("s", arrow.from), ("f", to)] {
            let at_ns = flow_ns(&end);
            let mut flow = json!({
                "name": "message", "cat": "message", "ph": phase, "id": number + 1, "ts": micros(at_ns),
                "pid": pid(end.process), "tid": thread(end.task.map(|task| task.0)),
            });
            if phase == "f" {
                // To the slice around it, not to the next one.
                flow["bp"] = json!("e");
            }
            events.push((at_ns, HAPPENS, flow));
        }
    }
    let metadata = metadata(&head.processes, &tasks);
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"scenario\":{},\"seed\":{}}},\"traceEvents\":[",
        json!(head.scenario),
        json!(head.seed.0.to_string())
    )?;
    let metadata = metadata.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (number, event) in metadata.iter().map(String::as_str).chain(events.sorted()).enumerate() {
        let comma = if number == 0 { "" } else { "," };
        write!(out, "{comma}\n{event}")?;
    }
    writeln!(out, "\n]}}")?;
    Ok(())
}

/// Process ids begin with 1: viewers take 0 for their own idle process.
fn pid(process: ProcessId) -> u32 {
    process.0 + 1
}

/// Thread 0 is what happens to the process as a whole.
fn thread(task: Option<u32>) -> u32 {
    task.map_or(0, |task| task + 1)
}

/// Nanoseconds as microseconds, exactly: three digits after the point.
fn micros(ns: u64) -> Value {
    if ns.is_multiple_of(1000) { json!(ns / 1000) } else { json!(ns as f64 / 1000.0) }
}

fn with(common: &Value, phase: &str, at_ns: u64) -> Value {
    let mut event = common.clone();
    event["ph"] = json!(phase);
    event["ts"] = micros(at_ns);
    event
}

/// Inside the slice of the call that sent or received.
fn flow_ns(end: &End) -> u64 {
    end.at.time_ns.saturating_sub(FLOW_NS_MIN)
}

fn slice_or_instant(event: &Event<'_>, process: ProcessId, task: u32, words: &str) -> Timed {
    let arguments = json!({ "step": event.step, "what": words });
    let common = json!({ "pid": pid(process), "tid": task, "args": arguments });
    let mut value = common;
    match &event.body {
        Body::Call { kind, took_ns, .. } => {
            let is_message = kind.name() == "send" || kind.name() == "receive";
            let took_ns = if is_message { (*took_ns).max(FLOW_NS_MIN) } else { *took_ns };
            let from_ns = event.time_ns.saturating_sub(took_ns);
            value["name"] = json!(kind.name());
            value["cat"] = json!("call");
            value["ph"] = json!("X");
            value["ts"] = micros(from_ns);
            value["dur"] = micros(event.time_ns - from_ns);
            (from_ns, BEGINS, value)
        }
        body => {
            let (category, scope) = match body {
                Body::Fault { .. } | Body::MessageFault { .. } => ("fault", "p"),
                Body::Claim { .. } => ("claim", "t"),
                Body::MachineCrashed | Body::MachineStarted | Body::CalmBegan => ("machine", "g"),
                _ => ("life", "p"),
            };
            value["name"] = json!(words);
            value["cat"] = json!(category);
            value["ph"] = json!("i");
            value["s"] = json!(scope);
            value["ts"] = micros(event.time_ns);
            (event.time_ns, HAPPENS, value)
        }
    }
}

/// Names of processes and threads.
fn metadata(processes: &[String], tasks: &BTreeSet<(u32, u32)>) -> Vec<Value> {
    let named = |name: &str, pid: u32, tid: u32, text: &str| json!({ "name": name, "ph": "M", "pid": pid, "tid": tid, "ts": 0, "args": { "name": text } });
    let mut events = Vec::new();
    for (pid, name) in (1..).zip(processes.iter().map(String::as_str).chain(["machine"])) {
        events.push(named("process_name", pid, 0, name));
        let order = json!({ "name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "ts": 0, "args": { "sort_index": pid } });
        events.push(order);
    }
    for (pid, tid) in tasks {
        let name = if *tid == 0 { "process".to_owned() } else { format!("task {}", tid - 1) };
        events.push(named("thread_name", *pid, *tid, &name));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;
    use std::collections::BTreeMap;

    fn exported(trace: &[u8]) -> Vec<Value> {
        let mut text = Vec::new();
        write(Reader::new(trace).expect("a trace"), &mut text).expect("memory takes everything");
        let value: Value = serde_json::from_slice(&text).expect("it is JSON");
        value["traceEvents"].as_array().expect("a list").clone()
    }

    /// Does something wrong to an event.
    type Break = fn(&mut Value);

    /// The rules of the trace event format that viewers rely on.
    fn check(events: &[Value]) -> Result<(), String> {
        let number = |event: &Value, key: &str| event[key].as_f64();
        let mut last_ts = 0.0;
        let (mut open, mut flows): (BTreeMap<String, u32>, BTreeMap<u64, [u32; 2]>) =
            (BTreeMap::new(), BTreeMap::new());
        let mut slices: Vec<(u64, u64, f64, f64)> = Vec::new();
        let mut named = BTreeSet::new();
        for event in events {
            let wrong = |why: &str| Err(format!("{why}: {event}"));
            let Some(phase) = event["ph"].as_str() else { return wrong("no phase") };
            let (Some(pid), Some(tid), Some(ts)) = (event["pid"].as_u64(), event["tid"].as_u64(), number(event, "ts"))
            else {
                return wrong("pid, tid and ts are required");
            };
            if !event["name"].is_string() || (phase != "M" && !event["cat"].is_string()) {
                return wrong("name and cat are required");
            }
            if phase != "M" && (ts < last_ts || ts < 0.0) {
                return wrong("times don't rise");
            }
            match phase {
                "M" if event["name"] == "process_name" => drop(named.insert((pid, 0))),
                "M" if event["args"].is_object() => {}
                "X" => match number(event, "dur") {
                    Some(dur) if dur >= 0.0 => slices.push((pid, tid, ts, ts + dur)),
                    _ => return wrong("a complete event has a duration"),
                },
                "i" if ["g", "p", "t"].contains(&event["s"].as_str().unwrap_or_default()) => {}
                "b" | "e" => {
                    let Some(id) = event["id"].as_str() else { return wrong("no id") };
                    let key = format!("{} {id} {pid} {}", event["cat"], event["name"]);
                    let count = open.entry(key).or_default();
                    match (phase, *count) {
                        ("b", 0) => *count = 1,
                        ("e", 1) => *count = 2,
                        _ => return wrong("its beginning and end don't match"),
                    }
                }
                "s" | "f" => {
                    let Some(id) = event["id"].as_u64() else { return wrong("no id") };
                    flows.entry(id).or_default()[usize::from(phase == "f")] += 1;
                    if phase == "f" && (event["bp"] != "e" || flows[&id][0] == 0) {
                        return wrong("a flow ends in the slice around it, after its beginning");
                    }
                    let bears = |slice: &&(u64, u64, f64, f64)| {
                        slice.0 == pid && slice.1 == tid && slice.2 <= ts && ts < slice.3
                    };
                    if !slices.iter().any(|slice| bears(&slice)) {
                        return wrong("no slice bears it");
                    }
                }
                _ => return wrong("an unknown phase, or one without what it needs"),
            }
            if phase != "M" {
                last_ts = ts;
                if !named.contains(&(pid, 0)) {
                    return wrong("its process has no name");
                }
            }
        }
        match (open.values().all(|count| *count == 2), flows.values().all(|ends| *ends == [1, 1])) {
            (true, true) => Ok(()),
            (false, _) => Err("something begins and never ends".to_owned()),
            (_, false) => Err(format!("flows don't match: {flows:?}")),
        }
    }

    #[test]
    fn the_export_keeps_the_rules_of_the_format() {
        let events = exported(&made_up::failing());
        check(&events).expect("it keeps them");
        let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        assert_eq!((count("s"), count("f")), (1, 1), "one message has arrived");
        assert_eq!(count("b"), count("e"));
        assert_eq!(count("X") + count("i"), Reader::new(made_up::failing().as_slice()).expect("a trace").count());
        let held = events.iter().filter(|event| event["cat"] == "lock-hold" && event["ph"] == "b");
        assert_eq!(held.map(|event| event["pid"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
    }

    #[test]
    fn what_breaks_a_rule_is_found() {
        let events = exported(&made_up::failing());
        let index = |phase: &str| events.iter().position(|event| event["ph"] == phase).expect("there is one");
        let broken: [(&str, Break); 6] = [
            ("X", |event| event["dur"] = json!(-1)),
            ("f", |event| event["id"] = json!(999)),
            ("s", |event| event["tid"] = json!(77)),
            ("b", |event| event["id"] = json!("0xffff")),
            ("i", |event| event["s"] = json!("everywhere")),
            ("i", |event| event["ts"] = json!(-5)),
        ];
        for (phase, breaks) in broken {
            let mut events = events.clone();
            breaks(&mut events[index(phase)]);
            assert!(check(&events).is_err(), "{phase}: {}", events[index(phase)]);
        }
    }
}
