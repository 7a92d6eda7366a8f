//! Pages and exports of real runs, from the command line. What is on a page is tested in `seedstorm`, how it behaves in a browser in tests/browser.

use crate::program;
use serde_json::Value;
use std::fs;

#[test]
fn a_failing_run_has_a_page_that_says_what_failed() {
    let program = program();
    assert_eq!(program.line("run --scenarios violates --seed 3 --trace run.trace").code, Some(1));
    let said = program.line("report run.trace");
    assert_eq!((said.code, said.out.trim()), (Some(0), "run.html"), "{said:?}");
    let page = fs::read_to_string(program.folder.path().join("run.html")).expect("the page");
    let told = program.run("run --scenarios violates --seed 3");
    let violation = &told["violations"][0];
    for key in ["invariant", "fingerprint"] {
        let text = violation[key].as_str().expect("a text");
        assert!(page.contains(text), "{text} is not on the page");
    }
    assert!(page.contains(&format!("#step={}", violation["step"])), "the page leads to the step");
    assert!(page.contains("FAILED") && page.contains(told["trace_hash"].as_str().expect("a hash")));
    // Again, elsewhere: the same trace has the same page.
    assert_eq!(program.line("report run.trace -o again.html").code, Some(0));
    assert_eq!(fs::read_to_string(program.folder.path().join("again.html")).expect("the page"), page);
    assert_eq!(program.line("report run.trace -o -").out, page);
    assert_eq!(program.line("report run.trace -o nowhere/page.html").code, Some(2));
}

#[test]
fn a_sweep_s_failures_have_a_page_with_links() {
    let program = program();
    let sweep = program.line("sweep --scenarios violates --seeds 0..9 --jobs 1 --artifacts kept");
    assert_eq!(sweep.code, Some(1), "{sweep:?}");
    let said = program.line("report kept");
    assert_eq!((said.code, said.out.trim()), (Some(0), "kept/index.html"), "{said:?}");
    let page = fs::read_to_string(program.folder.path().join("kept/index.html")).expect("the page");
    let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let pictures: Vec<&&str> = links.iter().filter(|link| link.ends_with("report.html")).collect();
    assert!(!pictures.is_empty(), "{links:?}");
    for link in pictures {
        assert!(program.folder.path().join("kept").join(link).exists(), "{link} leads nowhere");
    }
    assert!(page.contains("replay kept/"), "how to run it again is there");
}

#[test]
fn a_trace_that_is_cut_short_is_refused_with_its_place() {
    let program = program();
    assert_eq!(program.line("run --scenarios steady --seed 1 --trace run.trace").code, Some(0));
    let path = program.folder.path().join("run.trace");
    let whole = fs::read(&path).expect("the trace");
    fs::write(&path, &whole[..whole.len() - 9]).expect("it can be written");
    for words in ["report run.trace", "export --format shiviz run.trace -o log", "export --format perfetto run.trace"] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.err.contains("run.trace: byte ") && said.err.contains("cut short"), "{words}: {}", said.err);
    }
    assert!(!program.folder.path().join("run.html").exists(), "half a page is none");
}

#[test]
fn exports_hold_every_event() {
    let program = program();
    let told = program.run("run --scenarios steady --seed 1 --trace run.trace");
    let events = told["events"].as_u64().expect("a number") as usize;
    let lines = program.line("export --format jsonl run.trace");
    assert_eq!((lines.code, lines.out.lines().count()), (Some(0), events + 2), "{}", lines.err);
    for line in lines.out.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert_eq!(program.line("export --format shiviz run.trace -o run.log").code, Some(0));
    let log = fs::read_to_string(program.folder.path().join("run.log")).expect("the log");
    assert_eq!(log.lines().count(), events + 2, "two header lines, and an entry for each event");
    let perfetto = program.line("export --format perfetto run.trace");
    let value: Value = serde_json::from_str(&perfetto.out).expect("JSON");
    let all = value["traceEvents"].as_array().expect("a list");
    let own = all.iter().filter(|event| event["ph"] == "X" || event["ph"] == "i").count();
    assert_eq!(own, events, "each is a slice or an instant");
}
