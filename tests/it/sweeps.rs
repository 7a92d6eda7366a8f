//! Sweeps: order, number of workers, limits, groups, vacuity, interruption.

use crate::program;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// A line without what depends on real time.
fn timeless(mut line: Value) -> Value {
    for name in ["wall_ns", "seeds_per_s", "simulated_to_real"] {
        line.as_object_mut().expect("an object").remove(name);
    }
    line
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let sweep = |jobs: u32| {
        let (lines, summary, said) =
            program().sweep(&format!("--scenarios violates,steady --seeds 5..45 --jobs {jobs}"));
        assert_eq!(said.code, Some(1));
        (lines.into_iter().map(timeless).collect::<Vec<_>>(), timeless(summary))
    };
    let one = sweep(1);
    assert_eq!(one.0.len(), 80);
    assert_eq!(one, sweep(2));
    assert_eq!(one, sweep(7));
}

#[test]
fn a_sweep_stops_at_the_same_failure_whatever_the_number_of_workers() {
    let sweep = |jobs: u32| {
        let words = format!("--scenarios violates --seeds 0..100000 --max-failures 3 --jobs {jobs} --determinism 0%");
        let (lines, summary, said) = program().sweep(&words);
        assert_eq!(said.code, Some(1));
        assert_eq!(summary["failed"], json!(3));
        (lines.into_iter().map(timeless).collect::<Vec<_>>(), timeless(summary))
    };
    let one = sweep(1);
    assert_eq!(one.0.len(), 14, "the third bad seed is 13");
    assert_eq!(one, sweep(4));
}

#[test]
fn failures_are_grouped_and_the_first_ones_get_reproducers() {
    let program = program();
    let (_, summary, said) = program.sweep("--scenarios violates --seeds 0..60 --jobs 2");
    assert_eq!(said.code, Some(1));
    let group = &summary["fingerprints"][0];
    assert_eq!(group["seeds"], json!([3, 13, 23, 33, 43, 53]));
    let paths = [
        "artifacts/violates-3/reproducer.toml",
        "artifacts/violates-13/reproducer.toml",
        "artifacts/violates-23/reproducer.toml",
    ];
    assert_eq!(group["reproducers"], json!(paths));
    for path in paths {
        let replayed = program.run(&format!("replay {path}"));
        assert_eq!(replayed["replay"]["reproduced"], json!(true), "{path}: {replayed}");
    }
}

#[test]
fn people_get_a_summary_and_a_command() {
    let program = program();
    let said = program.line("sweep --scenarios violates --seeds 0..60 --jobs 2");
    assert_eq!(said.code, Some(1));
    for part in
        ["48 passed, 12 failed", "6 × no-late-writes/file/writer/late", "seeds 3 13 23 33 43 53", "violates: wrote"]
    {
        assert!(said.out.contains(part), "`{part}`: {}", said.out);
    }
    assert_eq!(said.err, "", "no progress bar where nobody watches");
    let command = said.out.lines().last().expect("a last line");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(words, ["replay", "artifacts/violates-3/reproducer.toml"]);
    assert_eq!(program.say(&words).code, Some(1), "it fails again");
}

#[test]
fn what_never_happens_is_told_when_a_sweep_is_long_enough() {
    let (_, summary, said) = program().sweep("--scenarios vacuous --seeds 0..99");
    assert_eq!(said.code, Some(0), "99 seeds need not show everything");
    assert_eq!(summary["coverage"]["vacuous"]["flew"], json!({"total": 0, "seeds": 0}));
    let said = program().line("sweep --scenarios vacuous --seeds 0..100");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("never happened: flew (vacuous)"), "{}", said.out);
    let row = said.out.lines().find(|line| line.contains("vacuous: did not happen")).unwrap_or_default();
    assert!(row.ends_with(" flew │") && !said.out.contains(" 0 in 0 seeds"), "{}", said.out);
    let last = said.out.lines().last().expect("a last line");
    assert!(last.ends_with("sweep --scenarios vacuous --seeds 0..100"), "{last}");
    let (_, summary, said) = program().sweep("--scenarios vacuous,violates --seeds 0..100");
    assert_eq!(said.code, Some(1), "a failure comes first");
    assert_eq!(summary["never_happened"], json!([["vacuous", "flew"]]));
}

#[test]
fn what_never_happens_is_not_judged_when_options_restrict_the_draws() {
    for (words, option) in [
        ("--faults none", "--faults"),
        ("--workers 2", "--workers"),
        ("--duration 1s", "--duration"),
        ("--strategy timed", "--strategy"),
        ("--lock any", "--lock"),
        ("--backoff any", "--backoff"),
        ("--set rounds=3", "--set"),
    ] {
        let sweep = format!("--scenarios vacuous --seeds 0..100 --determinism 0% {words}");
        let (_, summary, said) = program().sweep(&sweep);
        assert_eq!(said.code, Some(0), "{words}: {said:?}");
        assert_eq!(summary["never_happened"], json!([]), "{words}");
        assert_eq!(summary["never_happened_not_judged_for"], json!([option]), "{words}");
    }
    let said = program().line("sweep --scenarios vacuous --seeds 0..100 --faults none --set rounds=3");
    assert_eq!(said.code, Some(0), "{said:?}");
    let words = "not judged: whether all happened that must happen sometimes (draws restricted by --faults, --set)";
    assert!(said.out.contains(words), "{}", said.out);
}

#[test]
fn a_sweep_of_nothing_is_no_pass() {
    let (lines, summary, said) = program().sweep("--scenarios steady --seeds 5..5");
    assert_eq!((lines.len(), said.code), (0, Some(4)));
    assert_eq!(summary["seeds"], json!(0));
    assert!(program().line("sweep --scenarios steady --seeds 5..5").out.contains("NOTHING RAN"));
}

#[test]
fn ctrl_c_tells_what_was_found() {
    let program = program();
    let words = "sweep --scenarios violates --seeds 0..100000000 --jobs 2 --json";
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    let mut line = String::new();
    while !line.contains("\"seed\":20,") {
        line.clear();
        assert!(output.read_line(&mut line).expect("a line") > 0, "it goes on");
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill(1)").success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "failures had been found");
    let summary: Value = serde_json::from_str(rest.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((&summary["type"], &summary["interrupted"]), (&json!("summary"), &json!(true)));
    assert!(summary["failed"].as_u64().is_some_and(|failed| failed >= 4), "{summary}");
    assert_eq!(summary["fingerprints"].as_array().map(Vec::len), Some(2), "{summary}");
}

#[test]
fn a_number_alone_is_told_as_what_it_was_taken_for() {
    for (seeds, head) in [("5", "1 seed: 5, 1 run"), ("0..5", "seeds 5 from 0, 5 runs")] {
        let said = program().line(&format!("sweep --scenarios steady --seeds {seeds} --jobs 1"));
        let first = said.out.lines().next().unwrap_or_default();
        assert_eq!(first, format!("sweep of steady: {head}, 1 worker"), "{said:?}");
    }
    let help = |command: &str| {
        program().line(&format!("{command} --help")).out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(help("sweep").contains("`A` alone is that one seed, while `selftest`"), "{}", help("sweep"));
    assert!(help("selftest").contains("N alone is 0..N, so many seeds; `sweep`"), "{}", help("selftest"));
}
