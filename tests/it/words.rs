//! Events in words: what `--log` prints is what reports tell, once for each event, and a message is told as its scenario says.

use crate::{election, ledger, program};
use seedstorm_tests::program::{Program, Said};
use serde_json::Value;

/// The words of each event, as they are exported from a trace.
fn exported(program: &Program, trace: &str) -> Vec<String> {
    let said = program.line(&format!("export --format jsonl {trace}"));
    let objects = said.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    objects.filter_map(|object| Some(object.get("words")?.as_str()?.to_owned())).collect()
}

/// The words of each line of a log that is an event's.
fn logged(said: &Said) -> Vec<String> {
    let words = |line: &str| {
        let (_, rest) = line.split_once("s ")?;
        let (_, rest) = rest.split_once(' ')?;
        let (words, step) = rest.trim_start().rsplit_once(" step=")?;
        step.parse::<u64>().is_ok().then(|| words.to_owned())
    };
    said.err.lines().filter_map(words).collect()
}

#[test]
fn a_log_has_the_words_of_reports_and_each_event_once() {
    for (program, words) in [
        (ledger(), "--scenarios ledger --seed 0"),
        (ledger(), "--scenarios ledger --seed 0 --set mutant=reads-early"),
        (election(), "--scenarios election --seed 1 --strategy urw"),
    ] {
        let said = program.line(&format!("run {words} --log trace --trace t.bin"));
        let (logged, exported) = (logged(&said), exported(&program, "t.bin"));
        assert!(exported.len() > 500, "{words}: {}", exported.len());
        let first = logged.iter().zip(&exported).find(|(logged, exported)| logged != exported);
        assert_eq!(first, None, "{words}");
        assert_eq!(logged.len(), exported.len(), "{words}");
    }
}

#[test]
fn messages_are_told_as_their_scenario_says() {
    let program = election();
    let said = program.line("run --scenarios election --seed 0 --set mutant=stays-leader --trace t.bin");
    assert_eq!(said.code, Some(1), "{said:?}");
    let (_, events) = said.out.split_once("The last events up to the violation:").expect("events");
    assert!(events.contains(" to server-0: leads term 3, with a log of "), "{events}");
    assert!(!events.contains("{\"term\""), "{events}");
    let page = std::fs::read_to_string(program.folder.path().join("artifacts/election-0/report.html")).expect("a page");
    assert!(page.contains("leads term "), "the page tells it, too");
    let events = exported(&program, "t.bin");
    assert!(events.contains(&"bind port 1, for 128 messages".to_owned()), "ports go by their number");
    for part in ["asks for a vote in term ", "a vote in term ", "has stored ", "asks for a ticket, request ", "ticket "]
    {
        let told =
            |kind: &str| events.iter().any(|event| event.starts_with(kind) && event.contains(&format!(": {part}")));
        assert!(told("send ") && told("receive "), "{part}");
    }
    let moment = program.line("replay artifacts/election-0 --until 1400");
    assert!(moment.out.contains("waits in receive on port 1\n"), "{moment:?}");
    let compared = program.line("compare t.bin artifacts/election-0/reproducer.toml --log off");
    assert_eq!(compared.code, Some(0), "{compared:?}");
}

#[test]
fn a_message_that_its_scenario_does_not_know_is_told_by_its_beginning() {
    let program = program();
    let words =
        "run --scenarios signal-flood --seed 1 --workers 6 --faults message-garble --crash-points none --trace t.bin";
    let said = program.line(words);
    assert_eq!(said.code, Some(0), "{said:?}");
    let events = exported(&program, "t.bin");
    assert!(events.iter().any(|event| event.contains(": a copy of signal ")), "{events:?}");
    assert!(events.iter().any(|event| event.starts_with("receive ") && event.contains(": 0x")), "one is garbled");
    assert!(events.iter().all(|event| !event.starts_with("send ") || !event.contains(": 0x")), "none is sent so");
}
