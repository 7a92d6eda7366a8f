//! A log for ShiViz (<https://bestchai.bitbucket.io/shiviz/>): two header lines, the regular expression that takes an entry apart and the delimiter of
//! several executions (none), then an entry for each event: its vector clock as JSON, and its words.
//!
//! Hosts are incarnations, since a clock's entry belongs to one: `agent-3` is its first boot, `agent-3.2` its second. What befalls messages is the machine's.

use super::Trouble;
use crate::words::Narrator;
use seedstorm_sim::causality::Influence;
use seedstorm_sim::trace::Event;
use seedstorm_sim::trace::file::{Head, Reader};
use std::fmt::Write as _;
use std::io::{Read, Write};

/// Takes an entry apart, in JavaScript's dialect with named groups. `host`, `clock` and `event` are those that ShiViz asks for; the others are shown beside.
const EXPRESSION: &str = r"(?<host>\S+) (?<clock>\{.*?\}) step (?<step>\d+) at (?<time>\d+) ns: (?<event>.*)";

/// The machine's host.
const MACHINE: &str = "machine";

/// Writes it.
pub(super) fn write(mut reader: Reader<impl Read>, out: &mut impl Write) -> Result<(), Trouble> {
    let Head { scenario, processes, .. } = reader.head().clone();
    let (mut narrator, mut influence) = (Narrator::new(&scenario, &processes), Influence::default());
    // By line.
    let mut hosts = vec![MACHINE.to_owned()];
    writeln!(out, "{EXPRESSION}\n")?;
    for record in reader.by_ref() {
        let record = record?;
        let event = record.event();
        let words = narrator.tell(&event);
        let past = influence.observe(&event);
        for line in hosts.len()..influence.lines() {
            let incarnation = influence.incarnation(line as u32);
            hosts.push(incarnation.map_or_else(
                || MACHINE.to_owned(),
                |(process, boot)| host(processes.get(process.0 as usize).map_or("process", String::as_str), boot),
            ));
        }
        let mut clock = String::new();
        for stamp in past.counters() {
            let comma = if clock.is_empty() { "" } else { ", " };
            // Writing to a string can't fail.
            let _ = write!(clock, "{comma}\"{}\": {}", hosts[stamp.line as usize], stamp.tick);
        }
        let host = &hosts[past.stamp().line as usize];
        let words = if host == MACHINE { of_whom(&event, &processes, words) } else { words };
        let words = words.replace(['\n', '\r'], " ");
        writeln!(out, "{host} {{{clock}}} step {} at {} ns: {words}", event.step, event.time_ns)?;
    }
    Ok(())
}

fn host(process: &str, boot: u32) -> String {
    // A space would end it, a quotation mark its name in the clock.
    let name = process.replace(|character: char| character.is_whitespace() || "\"\\{}".contains(character), "_");
    if boot > 1 { format!("{name}.{boot}") } else { name }
}

/// What befalls a message says whose it is: its host doesn't.
fn of_whom(event: &Event<'_>, processes: &[String], words: String) -> String {
    match event.process.and_then(|process| processes.get(process.0 as usize)) {
        Some(process) => format!("{process}: {words}"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;
    use serde_json::Value;
    use std::collections::BTreeMap;

    fn log(trace: &[u8]) -> String {
        let mut text = Vec::new();
        write(Reader::new(trace).expect("a trace"), &mut text).expect("memory takes everything");
        String::from_utf8(text).expect("text")
    }

    /// An entry taken apart as the expression does. That it does so is checked with a real engine of regular expressions in tests/browser.
    fn entry(line: &str) -> (String, BTreeMap<String, u64>, String) {
        let (host, rest) = line.split_once(' ').expect("a host");
        let (clock, rest) = rest.split_once('}').expect("a clock");
        let clock: Value = serde_json::from_str(&format!("{clock}}}")).expect("the clock is JSON");
        let clock = clock.as_object().expect("an object").iter();
        let clock = clock.map(|(host, tick)| (host.clone(), tick.as_u64().expect("a number"))).collect();
        let (place, event) = rest.split_once(" ns: ").expect("a place");
        assert!(place.starts_with(" step "), "{line}");
        (host.to_owned(), clock, event.to_owned())
    }

    #[test]
    fn clocks_are_as_shiviz_wants_them() {
        let log = log(&made_up::failing());
        let mut lines = log.lines();
        assert_eq!((lines.next(), lines.next()), (Some(EXPRESSION), Some("")));
        let mut last: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let (mut sent, mut entries) = (None, 0);
        for line in lines {
            let (host, clock, event) = entry(line);
            let before = last.get(&host).and_then(|clock| clock.get(&host)).copied().unwrap_or(0);
            assert_eq!(clock[&host], before + 1, "a host's own entry counts its events: {line}");
            for (other, tick) in last.get(&host).into_iter().flatten() {
                assert!(clock[other] >= *tick, "a clock only rises: {line}");
            }
            for (other, tick) in clock.iter().filter(|(other, _)| **other != host) {
                assert!(last[other][other] >= *tick, "nobody knows what has not happened: {line}");
            }
            if event.starts_with("send") && sent.is_none() {
                sent = Some(clock.clone());
            } else if event.starts_with("receive") {
                assert!(clock["a-0"] >= sent.as_ref().expect("it was sent")["a-0"], "{line}");
            }
            last.insert(host, clock);
            entries += 1;
        }
        assert_eq!(entries, Reader::new(made_up::failing().as_slice()).expect("a trace").count());
        assert!(last.contains_key(MACHINE) && last.contains_key("a-2"), "{:?}", last.keys());
    }

    #[test]
    fn hosts_have_no_spaces() {
        assert_eq!((host("a \"b\"", 1), host("a-1", 3)), ("a__b_".to_owned(), "a-1.3".to_owned()));
    }
}
