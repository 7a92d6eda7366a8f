//! `merge`: what several sweeps wrote tells what one would have told.

use crate::program;
use seedstorm_tests::program::{Program, Said};
use serde_json::{Value, json};

/// Runs a sweep, and keeps what it writes.
fn sweep(program: &Program, words: &str, file: &str) -> Said {
    let said = program.line(&format!("sweep {words} --json"));
    std::fs::write(program.folder.path().join(file), &said.out).expect("a file");
    said
}

/// Runs the shards of a sweep; the names of their files.
fn shards(program: &Program, words: &str, count: usize) -> String {
    let names = (1..=count).map(|index| {
        let name = format!("{index}.jsonl");
        sweep(program, &format!("{words} --shard {index}/{count}"), &name);
        name
    });
    names.collect::<Vec<_>>().join(" ")
}

fn lines(program: &Program, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(program.folder.path().join(file)).expect("a file");
    text.lines().map(str::to_owned).collect()
}

fn write(program: &Program, file: &str, lines: &[String]) {
    std::fs::write(program.folder.path().join(file), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .expect("a file");
}

/// The summary of a merge, and how it ended.
fn merged(program: &Program, words: &str) -> (Value, Said) {
    let said = program.line(&format!("merge {words} --json"));
    let summary = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"));
    (summary, said)
}

/// A summary without what depends on real time.
fn timeless(mut summary: Value) -> Value {
    for name in ["wall_ns", "seeds_per_s", "simulated_to_real"] {
        summary.as_object_mut().expect("an object").remove(name).expect("it is there");
    }
    summary
}

/// What people are told, without its head and what depends on real time.
fn steady(said: &Said) -> Vec<String> {
    let lines = said.out.lines().skip(1).map(str::trim_end);
    lines
        .filter(|line| !["seeds per second", "simulated to real"].iter().any(|timed| line.contains(timed)))
        .map(str::to_owned)
        .collect()
}

#[test]
fn shards_merged_tell_what_the_whole_tells() {
    for (words, code) in [
        ("--scenarios violates,steady --seeds 5..125 --jobs 2 --determinism 100%", 1),
        ("--scenarios vacuous --seeds 0..100 --jobs 2 --determinism 0%", 4),
        ("--scenarios vacuous --seeds 0..100 --jobs 2 --determinism 0% --set rounds=3", 0),
        ("--scenarios concurrency-storm --seeds 0..12 --jobs 2 --determinism 0% --set mutant=board-lost-update", 1),
        ("--scenarios steady --seeds 0..2 --jobs 2 --determinism 0% --crash-points all", 0),
    ] {
        let program = program();
        let files = shards(&program, words, 3);
        let (summary, said) = merged(&program, &files);
        let (_, whole, alone) = program.sweep(words);
        assert_eq!((said.code, alone.code), (Some(code), Some(code)), "{words}: {said:?}");
        assert_eq!(timeless(summary), timeless(whole), "{words}");
        let (told, whole) = (program.line(&format!("merge {files}")), program.line(&format!("sweep {words}")));
        let [mut told_lines, mut whole_lines] = [steady(&told), steady(&whole)];
        if code == 4 {
            // All of it again: of a sweep the command that was given, of a merge what its files were asked for.
            let commands = [told_lines.pop(), whole_lines.pop()].map(Option::unwrap_or_default);
            assert!(commands.iter().all(|command| command.contains(" sweep --scenarios vacuous --seeds 0..100")));
        }
        assert_eq!((told.code, told_lines), (Some(code), whole_lines), "{words}");
        let head = told.out.lines().next().unwrap_or_default();
        assert!(head.starts_with("merge of ") && head.ends_with(" runs, 3 files"), "{head}");
    }
}

#[test]
fn other_ranges_come_together_too() {
    let program = program();
    sweep(&program, "--scenarios violates --seeds 20..60", "b.jsonl");
    sweep(&program, "--scenarios violates --seeds 0..20", "a.jsonl");
    sweep(&program, "--scenarios steady --seeds 0..10", "c.jsonl");
    let (summary, said) = merged(&program, "b.jsonl c.jsonl a.jsonl");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(summary["seeds"], json!(70));
    assert_eq!(summary["fingerprints"][0]["seeds"], json!([3, 13, 23, 33, 43, 53]));
    let path = |seed| format!("artifacts/violates-{seed}/reproducer.toml");
    assert_eq!(summary["fingerprints"][0]["reproducers"], json!([3, 13, 23].map(path)), "those of the first three");
    // One after the other in one stream.
    let all = ["b.jsonl", "c.jsonl", "a.jsonl"].map(|name| lines(&program, name)).concat();
    write(&program, "all.jsonl", &all);
    let mut command = program.command(&["merge", "-", "--json"]);
    let stream = std::fs::File::open(program.folder.path().join("all.jsonl")).expect("the file");
    let streamed = seedstorm_tests::program::said(command.stdin(stream).output().expect("it starts"));
    assert_eq!(streamed.out, said.out);
    let (again, _) = merged(&program, "all.jsonl");
    assert_eq!(again, summary);
}

#[test]
fn the_command_of_a_failure_runs_its_seed_where_nothing_was_kept() {
    let program = program();
    let files = shards(&program, "--scenarios violates,steady --seeds 0..20 --set rounds=5 --crash-points none", 2);
    std::fs::remove_dir_all(program.folder.path().join("artifacts")).expect("it was on another machine");
    let said = program.line(&format!("merge {files}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    let last = said.out.lines().last().expect("a last line");
    assert!(last.ends_with(" replay --scenario violates --seed 3 --set rounds=5 --crash-points none"), "{last}");
    let words: Vec<&str> = last.split(' ').skip(1).collect();
    assert_eq!(program.say(&words).code, Some(1), "{last}");
}

#[test]
fn a_run_that_is_told_twice_counts_once() {
    let program = program();
    sweep(&program, "--scenarios steady --seeds 0..12 --determinism 0%", "whole.jsonl");
    sweep(&program, "--scenarios steady --seeds 3..9 --determinism 0%", "part.jsonl");
    let (whole, _) = merged(&program, "whole.jsonl");
    let (summary, said) = merged(&program, "whole.jsonl part.jsonl whole.jsonl");
    assert_eq!((said.code, timeless(summary)), (Some(0), timeless(whole)), "{said:?}");
    // Each has runs that the other hasn't: their latencies can't be told apart any more.
    sweep(&program, "--scenarios steady --seeds 6..20 --determinism 0%", "later.jsonl");
    let (summary, said) = merged(&program, "whole.jsonl later.jsonl");
    assert_eq!((said.code, &summary["seeds"], &summary["latencies"]), (Some(0), &json!(20), &json!({})), "{said:?}");
    let said = program.line("merge whole.jsonl later.jsonl");
    assert!(said.out.contains("not told: latencies: some runs are in several files"), "{}", said.out);
}

#[test]
fn one_seed_with_two_hashes_is_nondeterminism() {
    let program = program();
    sweep(&program, "--scenarios steady --seeds 0..12", "one.jsonl");
    sweep(&program, "--scenarios steady --seeds 8..16", "two.jsonl");
    let mut changed = lines(&program, "two.jsonl");
    let mut line: Value = serde_json::from_str(&changed[1]).expect("JSON");
    let hash = line["trace_hash"].clone();
    line["trace_hash"] = json!("0123456789abcdef0123456789abcdef");
    changed[1] = line.to_string();
    write(&program, "two.jsonl", &changed);
    let (summary, said) = merged(&program, "one.jsonl two.jsonl");
    assert_eq!(said.code, Some(5), "{said:?}");
    let difference = &summary["differences"][0];
    assert_eq!(
        (&difference["seed"], &difference["first_hash"], &difference["second_hash"]),
        (&json!(9), &hash, &line["trace_hash"])
    );
    let said = program.line("merge one.jsonl two.jsonl");
    assert!(said.out.contains("one.jsonl:10 and two.jsonl:2 tell of two runs"), "{}", said.out);
    let last = said.out.lines().last().expect("a last line");
    assert!(last.ends_with(" sweep --scenarios steady --seeds 0..=9 --jobs 1 --determinism 100%"), "{last}");
}

#[test]
fn what_is_missing_is_named_and_is_no_pass() {
    let program = program();
    let files = shards(&program, "--scenarios steady --seeds 0..60 --set rounds=5", 3);
    assert_eq!(program.line(&format!("merge {files}")).code, Some(0));
    let said = program.line("merge 1.jsonl 3.jsonl");
    assert_eq!(said.code, Some(4), "{said:?}");
    for line in
        ["INCOMPLETE: 40 passed, 0 failed\n", "missing: shard 2/3 of seeds 0..60 of steady: all of it, 20 runs\n"]
    {
        assert!(said.out.contains(line), "{}", said.out);
    }
    let last = said.out.lines().last().expect("a last line");
    let words: Vec<&str> = last.split(' ').skip(1).collect();
    assert_eq!(words.join(" "), "sweep --scenarios steady --seeds 0..60 --shard 2/3 --json --set rounds=5");
    // Killed in the middle of a line.
    let whole = std::fs::read(program.folder.path().join("2.jsonl")).expect("the file");
    let lines = lines(&program, "2.jsonl");
    let cut = lines[..7].iter().map(|line| line.len() + 1).sum::<usize>();
    for len in [cut, cut + 1, cut + 200, cut + lines[7].len()] {
        std::fs::write(program.folder.path().join("cut.jsonl"), &whole[..len]).expect("a file");
        let (summary, said) = merged(&program, "1.jsonl cut.jsonl 3.jsonl");
        assert_eq!(said.code, Some(4), "{len}: {said:?}");
        let has_eighth = len == cut + lines[7].len();
        let (runs, seed) = if has_eighth { (8, 22) } else { (7, 19) };
        let what = [
            format!(
                "cut.jsonl: it ends after {runs} runs, at seed {seed}, without a summary: its sweep was killed, or goes on"
            ),
            format!("shard 2/3 of seeds 0..60 of steady: {} runs of 20, from seed {} on", 20 - runs, seed + 3),
        ];
        let missing = summary["missing"].as_array().expect("a list");
        assert_eq!(missing.iter().map(|part| part["what"].clone()).collect::<Vec<_>>(), what.map(|what| json!(what)));
        let command = missing[1]["command"].as_str().expect("a command");
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let rest = program.say(&words);
        std::fs::write(program.folder.path().join("rest.jsonl"), &rest.out).expect("a file");
        let (summary, _) = merged(&program, "1.jsonl rest.jsonl cut.jsonl 3.jsonl");
        assert_eq!(
            (&summary["seeds"], summary["missing"].as_array().map(Vec::len)),
            (&json!(60), Some(1)),
            "{summary}"
        );
    }
    // Nothing at all.
    std::fs::write(program.folder.path().join("empty.jsonl"), "").expect("a file");
    let said = program.line("merge empty.jsonl");
    assert!(said.code == Some(4) && said.out.contains("NOTHING RAN"), "{said:?}");
    assert!(said.out.contains("missing: empty.jsonl: it ends without any run, without a summary"), "{}", said.out);
    assert!(said.out.contains("missing: no file has a summary: how plans were drawn is not known"), "{}", said.out);
}

#[test]
fn what_never_happened_in_a_part_is_not_judged() {
    let program = program();
    shards(&program, "--scenarios vacuous --seeds 0..240 --determinism 0%", 2);
    let (summary, said) = merged(&program, "1.jsonl");
    assert_eq!((said.code, &summary["never_happened"]), (Some(4), &json!([])), "{said:?}");
    let (summary, said) = merged(&program, "1.jsonl 2.jsonl");
    assert_eq!((said.code, &summary["never_happened"]), (Some(4), &json!([["vacuous", "flew"]])), "{said:?}");
}

#[test]
fn a_failure_is_told_though_something_is_missing() {
    let program = program();
    shards(&program, "--scenarios violates --seeds 0..20", 2);
    let said = program.line("merge 2.jsonl");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("missing: shard 1/2") && said.out.contains("2 × no-late-writes"), "{}", said.out);
    assert!(said.out.trim_end().ends_with("replay artifacts/violates-3/reproducer.toml"), "{}", said.out);
}

#[test]
fn budgets_are_judged_over_all_shards() {
    let program = program();
    let words = "--scenarios concurrency-storm --workers 3 --set operations=6 --strategy timed --faults none --seeds 0..15 --determinism 0%";
    let files = shards(&program, words, 2);
    sweep(&program, words, "before.jsonl");
    let budgets = "--baseline before.jsonl --latency-budget lock-acquire:p99=1ns,fsync:max=1h,fsync:p50=+0%";
    let (summary, said) = merged(&program, &format!("{files} {budgets}"));
    let (_, whole, _) = program.sweep(&format!("{words} {budgets}"));
    assert_eq!((said.code, timeless(summary)), (Some(3), timeless(whole)), "{said:?}");
    let told = |said: Said| said.out.lines().last().map(str::to_owned);
    let whole = told(program.line(&format!("sweep {words} {budgets}")));
    assert_eq!(told(program.line(&format!("merge {files} {budgets}"))), whole);
    sweep(&program, "--scenarios steady --seeds 0..2", "other.jsonl");
    let said = program.line("merge other.jsonl --latency-budget fsync:p99=1s");
    assert!(said.code == Some(2) && said.err.contains("sweep with `--strategy timed`"), "{said:?}");
}

#[test]
fn what_cannot_be_put_together_is_refused_by_name() {
    let program = program();
    sweep(&program, "--scenarios steady --seeds 0..4", "a.jsonl");
    let a = lines(&program, "a.jsonl");
    for (words, name) in [
        ("--seeds 4..8 --set rounds=5", "rounds.jsonl"),
        ("--seeds 4..8 --strategy timed", "timed.jsonl"),
        ("--seeds 4..8 --crash-points none", "points.jsonl"),
    ] {
        sweep(&program, &format!("--scenarios steady {words}"), name);
    }
    let changed = |name: &str, change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = a.clone();
        change(&mut lines);
        write(&program, name, &lines);
    };
    changed("version.jsonl", &|lines| lines[1] = lines[1].replacen("\"schema_version\":1", "\"schema_version\":2", 1));
    changed("text.jsonl", &|lines| lines[2] = "PASSED".to_owned());
    changed("kind.jsonl", &|lines| lines[0] = lines[0].replacen("\"seed\"", "\"mutant\"", 1));
    changed("field.jsonl", &|lines| lines[0] = lines[0].replacen("\"verdict\"", "\"verdikt\"", 1));
    changed("lost.jsonl", &|lines| drop(lines.remove(1)));
    changed("twice.jsonl", &|lines| lines[1] = lines[0].clone());
    changed("strange.jsonl", &|lines| lines[1] = lines[1].replacen("\"seed\":1", "\"seed\":7", 1));
    changed("unknown.jsonl", &|lines| lines[0] = lines[0].replacen("\"steady\"", "\"stedy\"", 1));
    changed("earlier.jsonl", &|lines| lines[4] = lines[4].replacen("\"asked\"", "\"unknown\"", 1));
    changed("build.jsonl", &|lines| lines[4] = lines[4].replacen("\"build\":\"", "\"build\":\"no ", 1));
    let timed = lines(&program, "timed.jsonl");
    write(&program, "killed.jsonl", &timed[..2]);
    let rounds = lines(&program, "rounds.jsonl");
    write(&program, "killed-rounds.jsonl", &rounds[..2]);
    std::fs::create_dir(program.folder.path().join("folder")).expect("a folder");
    for (words, parts) in [
        ("nothing.jsonl", ["nothing.jsonl: it can't be read", ""]),
        ("folder", ["folder: this is a folder", ""]),
        ("a.jsonl version.jsonl", ["version.jsonl:2: its `schema_version` is 2; this program reads 1", ""]),
        ("text.jsonl", ["text.jsonl:3: no line of `sweep --json`: ", ""]),
        ("kind.jsonl", ["kind.jsonl:1: ", "its type is `mutant`"]),
        ("field.jsonl", ["field.jsonl:1: ", "missing field `verdict`"]),
        ("lost.jsonl", ["lost.jsonl:4: ", "the summary is of 4 runs, but the lines before it are of 3 runs"]),
        ("twice.jsonl", ["twice.jsonl:5: ", "seed 0 is there twice in one sweep"]),
        ("strange.jsonl", ["strange.jsonl:5: ", "a run of seed 7 in steady, which its sweep didn't have"]),
        ("unknown.jsonl", ["unknown.jsonl:1: unknown scenario `stedy`", "did you mean `steady`?"]),
        ("earlier.jsonl", ["earlier.jsonl:5: ", "an earlier version wrote it"]),
        (
            "a.jsonl build.jsonl",
            ["build.jsonl:5: it was run by another build than for a.jsonl:5: no seedstorm", "not seedstorm"],
        ),
        (
            "a.jsonl rounds.jsonl",
            ["rounds.jsonl:5: its plans were drawn otherwise than for a.jsonl:5: `--set rounds=5`", "not no option"],
        ),
        (
            "timed.jsonl a.jsonl",
            ["a.jsonl:5: its plans were drawn otherwise than for timed.jsonl:5: no option", "not `--strategy timed`"],
        ),
        (
            "a.jsonl points.jsonl",
            ["points.jsonl:5: other crash points", "`--crash-points none`, not `--crash-points 4`"],
        ),
        ("a.jsonl killed-rounds.jsonl", ["killed-rounds.jsonl:1: its plan was drawn otherwise than for a.jsonl:5", ""]),
        ("- -", ["-: the standard input can be read once only", ""]),
        ("", ["<FILE>...", ""]),
    ] {
        let said = program.line(&format!("merge {words}"));
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(parts.iter().all(|part| said.err.contains(part)), "{words}: {}", said.err);
        assert_eq!(said.out, "", "{words}");
    }
}
