//! What people see: what was drawn first, the verdict, the events before a violation, the command last.

use crate::{election, program};
use seedstorm_tests::program::{Program, said};
use std::process::Stdio;

#[test]
fn a_pass_tells_what_was_drawn_and_measured() {
    let said = program().line("run --scenarios steady --seed 5 --faults kill --set rounds=6");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("steady seed 5\n"), "the seed comes first: {}", said.out);
    let (head, rest) = said.out.split_once("┌").expect("a table");
    for part in [
        "strategy",
        "persistence",
        "latency",
        "chaos, then calm",
        "rounds",
        "workers",
        "faults planned           1: kill 1",
    ] {
        assert!(head.contains(part), "`{part}`: {head}");
    }
    for part in [
        "steps",
        "simulated time",
        "simulated to real",
        "faults that fired",
        "kill 1",
        "transactions per simulated second",
    ] {
        assert!(rest.contains(part), "`{part}`: {rest}");
    }
    for part in ["lock-acquire p50 / p90 / p99 / max", "coverage", "wrote", "trace hash", "PASSED steady seed 5"] {
        assert!(rest.contains(part), "`{part}`: {rest}");
    }
    assert!(!said.out.contains('\u{1b}'), "no colours where nobody sees them");
}

#[test]
fn what_a_scenario_does_not_have_is_no_row_and_what_did_not_happen_is_one() {
    let program = program();
    let of_databases = ["transactions", "zero-byte files", "lock-acquire"];
    for (program, words, are_there) in [
        (&program, "run --scenarios steady --seed 5", [true, false, true]),
        (&program, "run --scenarios signal-flood --seed 1 --workers 3 --strategy timed", [false, false, true]),
        (&program, "run --scenarios concurrency-storm --seed 42", [true, true, true]),
        (&election(), "run --scenarios election --seed 1 --strategy timed", [false, false, false]),
        (&election(), "sweep --scenarios election --seeds 0..3 --jobs 1 --strategy timed", [false, false, false]),
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(0), "{said:?}");
        let has = |row: &str| said.out.lines().any(|line| line.starts_with(&format!("│ {row} ")));
        assert_eq!(of_databases.map(has), are_there, "{words}: {}", said.out);
        assert!(has("fsync p50 / p90 / p99 / max") || !words.contains("timed"), "{words}: {}", said.out);
    }
    // Machines are told all.
    let metrics = election().run("run --scenarios election --seed 1")["metrics"].clone();
    for metric in ["transactions", "transactions_per_simulated_s", "zero_byte_files", "lock_acquire_ns"] {
        assert!(!metrics[metric].is_null(), "{metric}: {metrics}");
    }
    let cells = |out: &str, row: &str| {
        let line = out.lines().find(|line| line.starts_with(&format!("│ {row} "))).map(str::to_owned);
        line.map(|line| line[row.len() + 4..].trim_matches([' ', '│']).to_owned())
    };
    let out = program.line("run --scenarios vacuous --seed 5").out;
    assert_eq!(cells(&out, "coverage").as_deref(), Some("wrote 12"), "{out}");
    assert_eq!(cells(&out, "did not happen").as_deref(), Some("flew"), "{out}");
    let out = program.line("run --scenarios steady --seed 5").out;
    assert_eq!(cells(&out, "did not happen"), None, "{out}");
    let out = program.line("selftest --mutants board-lost-update --strategies random --seeds 2 --jobs 1").out;
    let (_, table) = out.split_once("what must happen sometimes").expect("a table");
    let rows = table.lines().filter(|line| line.ends_with(" 0 │"));
    let rows: Vec<&str> = rows.map(|line| line.trim_matches([' ', '│', '0'])).collect();
    assert_eq!(rows, ["concurrency-storm: did not happen:"], "{out}");
}

#[test]
fn a_failure_ends_with_a_command_that_fails_again() {
    let program = program();
    let said = program.line("run --scenarios violates --seed 3");
    assert_eq!(said.code, Some(1), "{said:?}");
    let parts = [
        "FAILED violates seed 3",
        "The last events up to the violation:",
        "violated: no-late-writes",
        "fingerprint no-late-writes/file/writer/late",
        "reproducer: artifacts/violates-3/reproducer.toml",
    ];
    let places = parts.map(|part| said.out.find(part).unwrap_or_else(|| panic!("`{part}`: {}", said.out)));
    assert!(places.is_sorted(), "in this order: {}", said.out);
    let events: Vec<&str> = said.out[places[1]..places[2]].lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert!(events.len() > 5, "{events:?}");
    assert!(
        events.last().is_some_and(|event| event.contains(" write ")),
        "the last one is the violation's: {events:?}"
    );
    let command = said.out.lines().last().expect("a last line");
    let again = program.say(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(again.code, Some(1), "{command}: {again:?}");
}

#[test]
fn a_seed_that_nobody_named_is_told_and_repeats() {
    let program = program();
    let run = program.run("run --scenarios steady");
    let again = program.run(&format!("run --scenarios steady --seed {}", run["seed"]));
    assert_eq!(run["trace_hash"], again["trace_hash"]);
    let other = program.run("run --scenarios steady");
    assert_ne!(run["seed"], other["seed"], "another time, another seed");
}

#[test]
fn a_run_of_no_scenario_steps_is_no_pass() {
    // Without agents nothing steps.
    let program = program();
    let plan = program.line("run --scenarios steady --seed 1 --print-plan").out.replace("workers = 3", "workers = 0");
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a file");
    let said = program.line("run --plan plan.toml");
    assert_eq!(said.code, Some(4), "{said:?}");
}

#[test]
fn an_output_that_cannot_be_written_is_told_once() {
    let program = program();
    for words in [
        "run --scenarios steady --seed 1",
        "run --scenarios steady --seed 1 --json",
        "run --scenarios violates --seed 3 --json",
        "run --scenarios steady --seed 1 --print-plan",
        "sweep --scenarios steady --seeds 0..3 --json",
        "list faults",
        "man",
        "--help",
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
        let said = said(command.stdout(full).output().expect("it starts"));
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{words}: {said:?}");
        assert!(said.err.starts_with("error: the standard output can't be written: "), "{words}: {said:?}");
    }
}

#[test]
fn the_result_is_told_although_what_goes_with_it_cannot_be_written() {
    let program = program();
    let said = program.line("run --scenarios steady --seed 1 --trace /dev/full");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.out.contains("PASSED steady seed 1"), "{said:?}");
    assert!(said.err.starts_with("error: writing the trace /dev/full: "), "{said:?}");
    // A name that leads nowhere passes for a folder that is still to be made.
    std::os::unix::fs::symlink("/proc/nowhere", program.folder.path().join("artifacts")).expect("a link");
    for (words, verdict) in [
        ("run --scenarios violates --seed 3", "FAILED violates seed 3"),
        ("sweep --scenarios violates --seeds 0..5 --jobs 1", "FAILED 4 passed, 1 failed"),
        ("sweep --scenarios aborts --seeds 0..5 --jobs 1", "FAILED 4 passed, 1 failed"),
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.out.contains(verdict), "{words}: {said:?}");
        assert!(said.err.starts_with("error: ") && said.err.contains("artifacts"), "{words}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{words}: {said:?}");
    }
}

/// Commands that say something on stderr, and how they end.
const ASIDE: &[(&str, i32, &str)] = &[
    ("run --scenarios steady --seed 1 --log trace", 0, "PASSED steady seed 1"),
    ("run --scenarios steady --seed 1 --log trace --json", 0, "\"verdict\":\"pass\""),
    ("run --scenarios violates --seed 3 --log trace", 1, "FAILED violates seed 3"),
    // Warnings.
    ("sweep --scenarios signal-flood --seeds 0..0 --set mutant=synchronous-normal", 4, "NOTHING RAN"),
    (
        "run --scenarios sqlite-wal,signal-flood --seed 1 --faults message-loss,kill --duration 1ms",
        0,
        "PASSED signal-flood",
    ),
    ("selftest --mutants board-lost-update --seeds 1 --workers 1 --markdown", 1, "board-lost-update"),
    ("run --scenarios stedy", 2, ""),
];

#[test]
fn a_stderr_that_nobody_reads_takes_nothing_from_the_verdict() {
    let program = program();
    for (words, code, part) in ASIDE {
        let words: Vec<&str> = words.split(' ').collect();
        let said_something = program.say(&words).err;
        assert_ne!(said_something, "", "{words:?}: it says something there");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let full = said(program.command(&words).stderr(full).output().expect("it starts"));
        let mut closed =
            program.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(closed.stderr.take());
        let closed = said(closed.wait_with_output().expect("it ends"));
        for said in [full, closed] {
            assert_eq!(said.code, Some(*code), "{words:?}: {said:?}");
            assert!(said.out.contains(part), "{words:?}: {said:?}");
        }
    }
}

#[test]
fn the_log_has_time_process_and_all_fields() {
    let program = program();
    let words = "run --scenarios concurrency-storm --seed 1 --duration 1s --crash-points none";
    let said = program.line(&format!("{words} --log debug"));
    let failed: Vec<&str> = said.err.lines().filter(|line| line.contains("a transaction failed")).collect();
    assert!(!failed.is_empty(), "{}", said.err);
    for line in &failed {
        let (time, rest) = line.trim_start().split_once("s agent-").unwrap_or_else(|| panic!("no process: {line}"));
        assert!(time.parse::<f64>().is_ok_and(|seconds| seconds > 0.0), "no time: {line}");
        for part in [" DEBUG a transaction failed attempt=", " step=", " error="] {
            assert!(rest.contains(part), "`{part}`: {line}");
        }
    }
    // Nothing of the runtime's, be it at the finest level.
    let said = program.line(&format!("{words} --log trace"));
    assert!(
        said.err
            .lines()
            .all(|line| line.contains("s agent-") || line.contains("s machine") || line.contains("s prepare-")),
        "{}",
        said.err
    );
    assert!(said.err.lines().any(|line| line.contains(" step=1")), "{}", said.err);
    // It may stand before the command, too.
    let before = program.line(&format!("--log trace {words}"));
    assert_eq!(before.err, said.err);
}

#[test]
fn the_command_is_that_of_the_run_that_decides() {
    let program = program();
    let said = program.line("run --scenarios idle,violates --seed 3");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.ends_with(" replay artifacts/violates-3/reproducer.toml\n"), "{}", said.out);
    let said = program.line("run --scenarios steady,idle --seed 3");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.ends_with(" run --scenarios idle --seed 3\n"), "{}", said.out);
}

#[test]
fn no_output_ends_in_an_empty_line() {
    let program = program();
    for (words, code) in [
        ("run --scenarios steady --seed 3", 0),
        ("run --scenarios steady,chatty --seed 3", 0),
        ("run --scenarios violates --seed 3 --trace t.bin", 1),
        ("sweep --scenarios steady --seeds 0..3", 0),
        ("sweep --scenarios violates --seeds 0..9", 1),
        ("sweep --scenarios vacuous --seeds 0..100", 4),
        ("sweep --scenarios remembers --seeds 0..10 --jobs 1", 5),
        ("replay artifacts/violates-3", 1),
        ("replay artifacts/violates-3 --until 9", 0),
        ("replay --scenario steady --seed 3", 0),
        ("shrink artifacts/violates-3", 0),
        ("bisect artifacts/violates-3 --budget 5s", 0),
        ("compare artifacts/violates-3 artifacts/violates-8", 1),
        ("compare t.bin t.bin", 0),
        ("report artifacts", 0),
        ("export t.bin --format jsonl -o -", 0),
        ("selftest --mutants board-lost-update --seeds 1 --workers 1", 1),
        ("list scenarios", 0),
        ("list mutants", 0),
        ("list strategies", 0),
        ("completions bash", 0),
        ("run --scenarios steady --seed 3 --print-plan", 0),
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(code), "{words}: {said:?}");
        assert!(said.out.ends_with('\n') && !said.out.ends_with("\n\n"), "{words}: {:?}", said.out);
    }
}

#[test]
fn a_failure_tells_what_to_do_next() {
    let program = program();
    for words in ["run --scenarios violates --seed 3", "sweep --scenarios violates --seeds 0..9"] {
        let said = program.line(words);
        let told = |what: &str| {
            said.out.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{what}: {}", said.out))
        };
        let page = program.folder.path().join(told("a page of what happened: "));
        assert!(page.ends_with("violates-3/report.html") && page.exists(), "{page:?}");
        for what in ["a page of all failures: ", "a smaller run that fails alike: "] {
            let again = program.say(&told(what).split(' ').skip(1).collect::<Vec<_>>());
            assert_eq!(again.code, Some(0), "{what}: {again:?}");
        }
        let last = said.out.lines().next_back().unwrap_or_default();
        assert!(last.contains(" replay artifacts/violates-3"), "{last}");
    }
    // Nothing can be seen of one that has ended its process.
    let said = program.line("sweep --scenarios aborts --seeds 3..4 --jobs 1");
    assert!(said.code == Some(1) && !said.out.contains(" shrink "), "{}", said.out);
}

#[test]
fn a_reader_that_leaves_is_no_panic() {
    let program = program();
    for words in [
        "run --scenarios steady --seed 1",
        "list faults --json",
        "completions bash",
        "man",
        "run --scenarios steady --print-plan",
    ] {
        let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let said = said(child.wait_with_output().expect("it ends"));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words}: {said:?}");
    }
    // The exit code tells, although nobody listens.
    for words in [
        "run --scenarios violates --seed 3",
        "run --scenarios violates --seed 3 --json",
        "replay --scenario violates --seed 3",
        "run --scenarios violates --seed 8",
        "replay --git-bisect artifacts/violates-3",
        "compare artifacts/violates-3 artifacts/violates-8",
        "selftest --mutants board-lost-update --seeds 1 --workers 1 --json",
    ] {
        assert_eq!(code_unread(&program, words), Some(1), "{words}");
    }
    // As does that of a sweep, to which all of its seeds belong.
    for (words, code) in [
        ("--scenarios steady --seeds 0..40", 0),
        ("--scenarios violates --seeds 0..40", 1),
        ("--scenarios steady --seeds 0..40 --strategy timed --latency-budget lock-acquire:p99=1ns", 3),
        ("--scenarios vacuous --seeds 0..100", 4),
    ] {
        for form in ["", " --json"] {
            assert_eq!(code_unread(&program, &format!("sweep {words}{form}")), Some(code), "{words}{form}");
        }
    }
    assert!(program.folder.path().join("artifacts/violates-28").exists(), "the later failures are kept, too");
}

/// How a command ends whose output nobody reads.
fn code_unread(program: &Program, words: &str) -> Option<i32> {
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    let said = said(child.wait_with_output().expect("it ends"));
    assert_eq!(said.err, "", "{words}");
    said.code
}
