//! Bad input ends with exit code 2 and one clear message, before anything runs.

use crate::program;

/// (words, what the message must say).
const BAD: &[(&str, &[&str])] = &[
    ("run --scenarios stedy", &["unknown scenario `stedy`", "did you mean `steady`?", "known: steady, aborts"]),
    ("run --scenarios steady,xyzzy", &["unknown scenario `xyzzy`", "known: steady"]),
    ("run --scenarios all,steady", &["--scenarios all,steady", "`all` stands alone"]),
    ("run --scenarios steady --seed minus", &["--seed", "minus"]),
    ("run --scenarios steady --seed 0x10", &["--seed", "0x10", "decimal digits, from 0 to 18446744073709551615"]),
    ("run --scenarios steady --seed -1", &["--seed", "`-1` is no seed"]),
    ("run --scenarios steady --seed 18446744073709551616", &["--seed"]),
    ("run --scenarios steady --workers 0", &["--workers", "`0` is not possible", "1 or more"]),
    (
        "run --scenarios guillotine --workers 1025",
        &["--workers: `1025`", "`guillotine`", "a whole number from 1 to 1024"],
    ),
    ("run --scenarios guillotine --duration 0s", &["--duration: `0ns`", "from 1ns to 24h", "(ns, us, ms, s, m, h)"]),
    ("run --scenarios guillotine --duration 25h", &["--duration: `90000s`", "from 1ns to 24h"]),
    ("run --scenarios guillotine --lock flok", &["--lock: `flok`", "did you mean `flock`?", "owner-file"]),
    ("run --scenarios sqlite-wal --lock flock", &["--lock: `flock`", "`sqlite-wal`", "there is no setting `lock`"]),
    ("run --scenarios sqlite-wal --backoff x", &["--backoff: `x`", "there is no setting `backoff`"]),
    ("run --scenarios guillotine --set operatons=3", &["--set: `operatons`", "did you mean `operations`?", "mutant"]),
    (
        "run --scenarios guillotine --set page_bytes=1000",
        &["--set page_bytes: `1000`", "a power of two from 512 to 65536"],
    ),
    ("run --scenarios guillotine --set mutant=merge-skiped", &["--set mutant", "did you mean `merge-skipped`?"]),
    ("run --scenarios steady --duration 30", &["--duration", "has no unit", "30s"]),
    ("run --scenarios steady --duration 5parsecs", &["`parsecs` is no unit"]),
    ("run --scenarios steady --strategy tmed", &["unknown strategy `tmed`", "did you mean `timed`?", "random"]),
    ("run --scenarios steady --faults kil", &["unknown fault `kil`", "did you mean `kill`?", "machine-crash"]),
    ("run --scenarios steady --faults kill,", &["unknown fault ``"]),
    ("run --scenarios steady --faults none,kill", &["--faults none,kill", "`none` stands alone"]),
    ("run --scenarios steady --faults kill,default", &["--faults kill,default", "`default` stands alone"]),
    (
        "run --scenarios sqlite-wal --faults message-loss",
        &["--faults: `message-loss` can't happen in `sqlite-wal`", "allowed: kill, "],
    ),
    (
        "run --scenarios sqlite-wal,guillotine --faults kill,partition",
        &["`partition` can't happen in `sqlite-wal`, `guillotine`"],
    ),
    (
        "sweep --scenarios sqlite-wal --seeds 0..3 --faults message-loss",
        &["`message-loss` can't happen in `sqlite-wal`"],
    ),
    ("replay --scenario guillotine --seed 3 --faults message-loss", &["`message-loss` can't happen in `guillotine`"]),
    ("selftest --mutants wal-deleted-on-recovery --seeds 3 --faults partition", &["`partition` can't happen in"]),
    ("selftest --mutants all,wal-deleted-on-recovery --seeds 3", &["--mutants", "`all` stands alone"]),
    ("selftest --strategies all,random --seeds 3", &["--strategies", "`all` stands alone"]),
    ("run --scenarios steady --faults nowhere.toml", &["nowhere.toml", "No such file"]),
    ("run --scenarios steady --set rounds", &["--set rounds", "KEY=VALUE"]),
    ("run --scenarios steady --set rounds=1 --set rounds=2", &["--set rounds", "twice"]),
    ("run --scenarios steady --set nosuch=1", &["nosuch", "rounds=NUMBER"]),
    ("run --scenarios steady --trace nowhere/trace", &["nowhere/trace", "can't be written"]),
    ("run --scenarios steady --artifacts /proc/nowhere", &["/proc/nowhere", "can't be written"]),
    ("run --scenarios steady,violates --trace trace", &["--trace", "one scenario"]),
    ("run --scenarios steady,violates --print-plan", &["--print-plan", "one scenario"]),
    ("run --plan nowhere.toml", &["nowhere.toml", "No such file"]),
    ("run --scenarios steady --log loud", &["--log", "loud", "trace"]),
    ("run --no-such-option", &["--no-such-option"]),
    ("sweep --scenarios steady", &["--seeds"]),
    ("sweep --scenarios steady --seeds a..b", &["--seeds", "`a` is no seed", "A..B"]),
    ("sweep --scenarios steady --seeds 9..3", &["--seeds", "runs backwards"]),
    ("sweep --scenarios stedy --seeds 0..3", &["did you mean `steady`?"]),
    ("sweep --scenarios steady --seeds 0..3 --jobs 0", &["--jobs"]),
    ("sweep --scenarios steady --seeds 0..3 --determinism 200%", &["--determinism", "no share"]),
    ("sweep --scenarios steady --seeds 0..3 --max-failures 0", &["--max-failures"]),
    ("sweep --scenarios steady --seeds 0..3 --seed-timeout 0s", &["--seed-timeout"]),
    ("sweep --scenarios steady --seeds 0..3 --set nosuch=1", &["nosuch", "rounds=NUMBER"]),
    ("sweep --scenarios steady --seeds 0..3 --artifacts /proc/nowhere", &["/proc/nowhere", "can't be written"]),
    ("sweep --scenarios refuses --seeds 0..9 --jobs 1", &["good ones"]),
    ("replay", &["FILE", "--repro WORD", "--scenario S and --seed N"]),
    (
        "sweep --scenarios steady --seeds 0..3 --log trace",
        &["--log", "`run`, `replay` without --git-bisect and `compare`"],
    ),
    ("--log trace list faults", &["--log", "`run`, `replay`"]),
    ("selftest --seeds 1 --log off", &["--log", "`run`, `replay`"]),
    ("run --scenarios steady --print-plan --trace t", &["--print-plan", "--trace"]),
    ("run --scenarios steady --print-plan --json", &["--print-plan", "--json"]),
    ("run --scenarios steady --print-plan --without-invariants", &["--print-plan", "--without-invariants"]),
    ("run --scenarios steady --print-plan --crash-points all", &["--print-plan", "--crash-points"]),
    ("run --scenarios steady --print-plan --artifacts kept", &["--print-plan", "--artifacts"]),
    ("run --scenarios steady --print-plan --log trace", &["--print-plan", "--log"]),
    ("replay --scenario steady", &["--seed"]),
    ("replay nowhere.toml", &["nowhere.toml", "No such file"]),
    ("replay nowhere.toml --seed 4", &["--seed"]),
    ("replay --scenario steady --seed 0x10", &["`0x10` is no seed", "decimal"]),
    ("replay --scenario steady --seed 4 --until 0", &["--until", "`0` is no step", "the first step is 1"]),
    ("replay --scenario stedy --seed 4", &["did you mean `steady`?"]),
    ("bisect nowhere.toml --commits a..b --jobs 2", &["--commits", "--jobs"]),
    ("report", &["TRACE|DIR"]),
    ("report nowhere.trace", &["nowhere.trace", "No such file"]),
    ("report /proc/version", &["/proc/version", "byte 0: this is no trace: it begins with"]),
    ("report /proc/self/fdinfo", &["/proc/self/fdinfo", "no reproducer is in this folder"]),
    ("export nowhere.trace", &["--format"]),
    ("export --format graphviz nowhere.trace", &["graphviz", "perfetto, shiviz, jsonl"]),
    ("export --format jsonl nowhere.trace", &["nowhere.trace", "No such file"]),
    ("export --format jsonl /proc/version", &["/proc/version", "byte 0: this is no trace: it begins with"]),
    ("list nonsense", &["nonsense", "scenarios"]),
    ("completions nosuchshell", &["nosuchshell", "bash"]),
];

#[test]
fn each_is_refused_with_a_message_and_nothing_else() {
    let program = program();
    for (words, parts) in BAD {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        for part in *parts {
            assert!(said.err.contains(part), "{words}: the message doesn't say `{part}`: {}", said.err);
        }
        assert!(said.err.matches("error:").count() == 1, "{words}: one message: {}", said.err);
        assert!(!said.err.contains("panicked"), "{words}: {}", said.err);
        if words.starts_with("run") || words.starts_with("replay") {
            assert_eq!(said.out, "", "{words}: nothing ran");
        }
    }
    assert_eq!(program.folder.names(), [""; 0], "nothing was left behind");
}

/// (contents of the file, what the message must say).
const BAD_FAULTS: &[(&str, &[&str])] = &[
    ("faults = 3", &["line 1", "faults"]),
    ("[[faults]]\nid = 1\nkind = \"kil\"\nwhen = { at-ns = 5 }\n", &["line 3", "kil", "machine-crash"]),
    ("[[faults]]\nid = 1\nkind = \"kill\"\n", &["line 1", "when"]),
    (
        "[[faults]]\nid = 1\nkind = \"kill\"\nwhen = { call = { kind = write, nth = 1 } }\n",
        &["faults.toml: line 4, `when = ", "`: kind: words need quotes: write \"write\" instead of write"],
    ),
    ("[[faults]]\nid = 1\nkind = \"kill\"\nwhen = { at-ns = 5 }\nwho = \"writer-0\"\n", &["line 5", "who"]),
    ("[[faults]]\nid = 1\nkind = \"kill\"\nwhen = { at-ns = -5 }\n", &["line 4", "-5"]),
    ("[[faults]\n", &["line 1"]),
    (
        "[[faults]]\nid = 1\nkind = \"clock-jump\"\nwhen = { at-ns = 5 }\n[[faults]]\nid = 1\nkind = \"clock-jump\"\nwhen = { at-ns = 6 }\n",
        &["id"],
    ),
    ("[[faults]]\nid = 1\nkind = \"kill\"\nprocess = \"nobody-0\"\nwhen = { at-ns = 5 }\n", &["nobody-0"]),
];

#[test]
fn a_malformed_fault_file_is_refused_by_line_and_key() {
    let program = program();
    for (contents, parts) in BAD_FAULTS {
        std::fs::write(program.folder.path().join("faults.toml"), contents).expect("a file");
        let said = program.line("run --scenarios steady --seed 1 --faults faults.toml");
        assert_eq!(said.code, Some(2), "{contents}: {said:?}");
        for part in *parts {
            assert!(said.err.contains(part), "{contents}: the message doesn't say `{part}`: {}", said.err);
        }
    }
}

#[test]
fn a_malformed_plan_or_reproducer_is_refused() {
    let program = program();
    let file = |contents: &str| std::fs::write(program.folder.path().join("file.toml"), contents).expect("a file");
    let plan = program.line("run --scenarios steady --seed 1 --print-plan").out;
    let reproducer = {
        assert_eq!(program.line("run --scenarios violates --seed 3").code, Some(1));
        std::fs::read_to_string(program.folder.path().join("artifacts/violates-3/reproducer.toml"))
            .expect("a reproducer")
    };
    let cases = [
        (plan.replace("format = 1", "format = 99"), "newer"),
        (plan.replace("strategy", "strtegy"), "strtegy"),
        (plan.replace("scenario = \"steady\"", "scenario = \"stedy\""), "did you mean `steady`?"),
        (plan.replace("latency = \"nvme\"", "latency = \"tape\""), "`tape`"),
        (reproducer.replacen("format = 2", "format = 99", 1), "newer"),
        (reproducer.replacen("format = 2", "format = 1", 1), "older"),
        (reproducer.replace("[turns]\nlines = ", "[turns]\nlines = 9"), "turns were recorded"),
        (reproducer.replacen(" sleep", " slepe", 1), "slepe"),
        (reproducer.replacen(" sleep", " sleep*99999999999999", 1), "all counts together at most 134217728"),
        (reproducer.replacen(" sleep", " sleep*18446744073709551615", 1), "`sleep*18446744073709551615"),
        (reproducer.replace("trace_hash", "trace_hsah"), "trace_hsah"),
    ];
    for (contents, part) in cases {
        file(&contents);
        let said = program.line("replay file.toml");
        assert_eq!(said.code, Some(2), "{part}: {said:?}");
        assert!(said.err.contains(part), "the message doesn't say `{part}`: {}", said.err);
        assert!(said.err.contains("error:"), "{}", said.err);
    }
}
