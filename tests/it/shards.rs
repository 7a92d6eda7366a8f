//! Shards: a sweep on several machines. What they wrote together is in `merging`.

use crate::program;
use seedstorm_tests::program::said;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// The seeds of lines.
fn seeds(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["seed"].as_u64().expect("a seed")).collect()
}

#[test]
fn shards_are_disjoint_and_together_all_seeds() {
    let program = program();
    let mut all = Vec::new();
    for index in 1..=4 {
        let words = format!("--scenarios steady --seeds 7..29 --shard {index}/4 --jobs 2");
        let (lines, summary, said) = program.sweep(&words);
        assert_eq!(said.code, Some(0), "{said:?}");
        let seeds = seeds(&lines);
        assert_eq!(seeds, (6 + index..29).step_by(4).collect::<Vec<_>>(), "shard {index}");
        assert_eq!(summary["shard"], json!({"index": index, "count": 4}));
        assert_eq!(summary["asked"]["seeds"], json!(["7..29"]), "those of the whole");
        assert_eq!(summary["run_twice"], json!(1), "each shard looks for nondeterminism");
        all.extend(seeds);
    }
    all.sort_unstable();
    assert_eq!(all, (7..29).collect::<Vec<_>>());
}

#[test]
fn people_are_told_which_shard_it_is_and_who_judges() {
    let said = program().line("sweep --scenarios vacuous --seeds 0..200 --shard 2/2 --jobs 2");
    assert_eq!(said.code, Some(0), "what never happened is not judged: {said:?}");
    let head = said.out.lines().next().unwrap_or_default();
    assert_eq!(head, "sweep of vacuous: seeds 200 from 0, of them 100 in shard 2/2, 100 runs, 2 workers");
    let line = "not judged: whether all happened that must happen sometimes: `seedstorm-under-test merge` does, over all shards\n";
    assert!(said.out.contains(line), "{}", said.out);
    assert!(!said.out.contains("never happened"), "{}", said.out);
}

#[test]
fn a_shard_stops_at_its_own_failures() {
    let (lines, summary, said) =
        program().sweep("--scenarios violates --seeds 0..100000 --shard 2/2 --max-failures 2 --determinism 0%");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!((summary["failed"].clone(), seeds(&lines).last().copied()), (json!(2), Some(13)));
}

#[test]
fn a_shard_without_seeds_ran_nothing() {
    let said = program().line("sweep --scenarios steady --seeds 0..3 --shard 4/4");
    assert_eq!(said.code, Some(4), "{said:?}");
    let last = said.out.lines().last().expect("a last line");
    assert!(last.ends_with(" sweep --scenarios steady --seeds 0..3 --shard 4/4"), "{last}");
}

#[test]
fn what_is_no_shard_is_refused() {
    let program = program();
    for text in ["0/4", "5/4", "x", "1/0", "4", "-1/4", ""] {
        let said = program.say(&["sweep", "--seeds", "0..4", &format!("--shard={text}")]);
        assert_eq!(said.code, Some(2), "{text}: {said:?}");
        let allowed = "allowed: K/N, the K-th of N shards, with whole numbers from 1/1 on and K at most N, as in 2/4";
        assert!(
            said.err.contains("--shard <K/N>") && (text.is_empty() || said.err.contains(allowed)),
            "{text}: {}",
            said.err
        );
    }
    for given in ["--latency-budget fsync:p99=1s", "--baseline before.jsonl"] {
        let said = program.line(&format!("sweep --seeds 0..4 --strategy timed --shard 1/2 {given}"));
        assert_eq!(said.code, Some(2), "{given}: {said:?}");
        let option = given.split(' ').next().unwrap_or_default();
        let why = format!(
            "--shard 1/2: {option} is about the whole sweep, and no shard can judge it; leave it out here, and give it to `seedstorm-under-test merge`"
        );
        assert!(said.err.contains(&why), "{}", said.err);
    }
}

#[test]
fn what_depends_on_the_runs_before_it_is_shown_with_those_of_its_shard() {
    let program = program();
    let (_, summary, said) = program.sweep("--scenarios remembers --seeds 0..90 --shard 2/3 --jobs 1 --determinism 5%");
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(summary["differences"][0]["shard"], json!({"index": 2, "count": 3}), "{summary}");
    let said = program.line("sweep --scenarios remembers --seeds 0..90 --shard 2/3 --jobs 1 --determinism 5%");
    let last = said.out.lines().last().expect("a last line");
    let seed = summary["differences"][0]["seed"].as_u64().expect("a seed");
    assert_eq!(seed, 58, "the 20th of the shard");
    assert!(
        last.ends_with(" sweep --scenarios remembers --seeds 1..=58 --shard 1/3 --jobs 1 --determinism 100%"),
        "{last}"
    );
    let words: Vec<&str> = last.split(' ').skip(1).collect();
    assert_eq!(program.say(&words).code, Some(5), "{last}");
}

#[test]
fn a_shard_that_was_interrupted_goes_on() {
    let program = program();
    let words = "sweep --scenarios steady,vacuous --seeds 0..1500 --shard 2/3 --jobs 2 --json";
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("an output"));
    let mut first = String::new();
    while !first.contains("\"seed\":31,") {
        assert!(output.read_line(&mut first).expect("a line") > 0, "it goes on");
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill(1)").success());
    output.read_to_string(&mut first).expect("the rest");
    let said = said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, Some(130), "{said:?}");
    let summary: Value = serde_json::from_str(first.lines().last().expect("a summary")).expect("JSON");
    let command = summary["command"].as_str().expect("a command");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(words.windows(2).any(|pair| pair == ["--shard", "2/3"]) && words.contains(&"--json"), "{command}");
    let second = program.say(&words);
    assert_eq!(second.code, Some(0), "{second:?}");
    for (name, text) in [("first.jsonl", &first), ("second.jsonl", &second.out)] {
        std::fs::write(program.folder.path().join(name), text).expect("a file");
    }
    let merged = program.line("merge first.jsonl second.jsonl --json");
    assert_eq!(merged.code, Some(4), "two shards were not run: {merged:?}");
    let summary: Value = serde_json::from_str(&merged.out).expect("a summary");
    assert_eq!(summary["seeds"], json!(1000), "all of its own");
    let missing: Vec<&Value> =
        summary["missing"].as_array().expect("a list").iter().map(|part| &part["what"]).collect();
    let expected =
        [1, 3].map(|index| format!("shard {index}/3 of seeds 0..1500 of steady, vacuous: all of it, 1 000 runs"));
    assert_eq!(missing, [&json!(expected[0]), &json!(expected[1])]);
}
