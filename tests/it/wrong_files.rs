//! A file that a command can't take: what it is, and which command takes it; what was cut short.

use crate::program;
use seedstorm_tests::program::Program;
use std::path::Path;

/// A folder with one file of each kind.
fn with_files() -> Program {
    let program = program();
    let said = program.line(
        "run --scenarios guillotine --seed 0 --faults none --set mutant=wal-deleted-on-recovery --crash-points all",
    );
    assert_eq!(said.code, Some(1), "{said:?}");
    let folder = program.folder.path();
    std::fs::rename(folder.join("artifacts/guillotine-0"), folder.join("failure")).expect("a failure");
    std::fs::create_dir(folder.join("failures")).expect("a folder");
    copy(&folder.join("failure"), &folder.join("failures/one"));
    let plan = program.line("run --scenarios steady --seed 1 --print-plan").out;
    std::fs::write(folder.join("plan.toml"), plan).expect("a file");
    std::fs::write(folder.join("faults.toml"), "faults = []\n").expect("a file");
    std::fs::create_dir(folder.join("nothing")).expect("a folder");
    program
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file");
    }
}

const TRACE: &str = "this is a trace: `report`, `export` and `compare` take it";
const REPRODUCER: &str = "this is a reproducer: `replay`, `shrink`, `bisect` and `compare` take it";
const PLAN: &str = "this is a plan: `run --plan`, `replay` and `compare` take it";
const FAULTS: &str = "this is a file of faults: `--faults` takes it";
const PAGE: &str = "this is a page: a browser shows it";
const FAILURE: &str = "this is the folder of a failure: `replay`, ";
const FAILURES: &str = "this is a folder of failures: `report` takes it, `replay`, ";
const NOTHING: &str = "this is a folder, and no failure is in it";

#[test]
fn what_a_file_is_is_said_and_which_command_takes_it() {
    let program = with_files();
    let all = [
        ("failure/trace.bin", TRACE),
        ("failure/reproducer.toml", REPRODUCER),
        ("plan.toml", PLAN),
        ("faults.toml", FAULTS),
        ("failure/report.html", PAGE),
        ("failure", FAILURE),
        ("failures", FAILURES),
        ("nothing", NOTHING),
    ];
    let taken: [(&str, &[&str]); 6] = [
        ("run --plan", &["plan.toml"]),
        ("replay", &["failure/reproducer.toml", "plan.toml", "failure"]),
        // A plan can be read, and tells of no failure.
        ("shrink", &["failure/reproducer.toml", "plan.toml", "failure"]),
        ("bisect", &["failure/reproducer.toml", "plan.toml", "failure"]),
        ("export --format jsonl", &["failure/trace.bin"]),
        ("compare plan.toml", &["failure/trace.bin", "failure/reproducer.toml", "plan.toml", "failure"]),
    ];
    for (command, taken) in taken {
        for (file, about) in all.iter().filter(|(file, _)| !taken.contains(file)) {
            let said = program.line(&format!("{command} {file}"));
            assert_eq!(said.code, Some(2), "{command} {file}: {said:?}");
            let told = format!("error: {file}: {about}");
            assert!(said.err.starts_with(&told), "{command} {file} doesn't say {told}: {}", said.err);
        }
    }
    for (file, about) in [("plan.toml", PLAN), ("failure/reproducer.toml", REPRODUCER), ("failure/report.html", PAGE)] {
        let said = program.line(&format!("report {file}"));
        assert!(said.code == Some(2) && said.err.starts_with(&format!("error: {file}: {about}")), "{said:?}");
    }
    for (file, about) in [("plan.toml", PLAN), ("failure/reproducer.toml", REPRODUCER)] {
        let said = program.line(&format!("run --scenarios steady --seed 1 --faults {file}"));
        assert!(said.code == Some(2) && said.err.starts_with(&format!("error: --faults {file}: {about}")), "{said:?}");
    }
}

#[test]
fn what_was_cut_short_is_said_to_be() {
    let program = with_files();
    let folder = program.folder.path();
    let reproducer = std::fs::read_to_string(folder.join("failure/reproducer.toml")).expect("a reproducer");
    let lines = |count: usize| reproducer.lines().take(count).collect::<Vec<_>>().join("\n");
    let plan = reproducer.lines().position(|line| line == "[plan]").expect("a plan");
    let key = reproducer.find("\nlatency = ").expect("a key") + "\nlatency =".len();
    for (text, part) in [
        (lines(plan), "a reproducer without its `[plan]`: was the file cut short?"),
        (lines(plan + 1), "missing field"),
        (reproducer[..key].to_owned(), "`latency =`: latency: there is no value; the file ends there"),
        (String::new(), "line 1: the file is empty"),
    ] {
        std::fs::write(folder.join("cut.toml"), text).expect("a file");
        for command in ["replay", "shrink", "bisect", "compare plan.toml"] {
            let said = program.line(&format!("{command} cut.toml"));
            assert_eq!(said.code, Some(2), "{part}: {command}: {said:?}");
            let is_told = said.err.starts_with("error: cut.toml: ") && said.err.contains(part);
            assert!(is_told && said.err.lines().count() == 1, "{command} doesn't say {part}: {}", said.err);
        }
    }
    let trace = std::fs::read(folder.join("failure/trace.bin")).expect("a trace");
    for (len, part) in
        [(0, "this is no trace"), (3, "this is no trace"), (20, "cut short"), (trace.len() - 9, "cut short")]
    {
        std::fs::write(folder.join("cut.bin"), &trace[..len]).expect("a file");
        for command in ["export --format jsonl", "report"] {
            let said = program.line(&format!("{command} cut.bin"));
            assert_eq!(said.code, Some(2), "{len} bytes: {command}: {said:?}");
            assert!(
                said.err.starts_with("error: cut.bin: byte ") && said.err.contains(part),
                "{command}: {}",
                said.err
            );
        }
        std::fs::write(folder.join("out.jsonl"), "older").expect("a file");
        assert_eq!(program.line("export --format jsonl cut.bin -o out.jsonl").code, Some(2));
        assert_eq!(std::fs::read_to_string(folder.join("out.jsonl")).expect("it is there"), "older", "nothing is lost");
        assert!(program.folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", program.folder.names());
    }
}

#[test]
fn the_damaged_one_of_two_is_named() {
    let program = program();
    program.line("run --scenarios steady --seed 1 --set rounds=200 --trace whole.bin");
    let path = |name: &str| program.folder.path().join(name);
    let trace = std::fs::read(path("whole.bin")).expect("a trace");
    std::fs::write(path("cut.bin"), &trace[..trace.len() - 40]).expect("a file");
    for words in ["compare whole.bin cut.bin", "compare cut.bin whole.bin"] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.err.starts_with("error: cut.bin: byte ") && !said.err.contains("whole.bin"), "{words}: {said:?}");
    }
    std::fs::write(path("cut.bin"), &trace[..20]).expect("a file");
    let said = program.line("compare whole.bin cut.bin");
    assert_eq!(said.err.matches("cut short").count(), 1, "what is wrong is told once: {said:?}");
}

#[test]
fn turns_that_are_gone_or_cut_are_missed() {
    let program = with_files();
    let turns = program.folder.path().join("failure/turns.txt.zst");
    if !turns.exists() {
        // Few turns are in the reproducer itself: a longer failure has them beside it.
        let path = program.folder.path().join("failure/reproducer.toml");
        let text = std::fs::read_to_string(&path).expect("a reproducer");
        let start = text.find("text = ").expect("turns");
        let end = start + text[start..].find("\n[").expect("what follows");
        let changed = [&text[..start], "file = \"turns.txt.zst\"\n", &text[end..]].concat();
        std::fs::write(&path, changed).expect("a file");
    }
    let _ = std::fs::remove_file(&turns);
    let said = program.line("replay failure");
    assert_eq!(said.code, Some(2), "{said:?}");
    let told = "error: failure/turns.txt.zst: the turns of the reproducer belong beside it: No such file";
    assert!(said.err.starts_with(told), "{}", said.err);
    std::fs::write(&turns, [0x28, 0xb5, 0x2f, 0xfd, 0x04]).expect("a file");
    let said = program.line("replay failure");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("the turns of the reproducer are damaged or cut short"), "{}", said.err);
    for command in ["replay", "run --plan", "export --format jsonl"] {
        let said = program.line(&format!("{command} failure/turns.txt.zst"));
        assert!(said.code == Some(2) && said.err.contains("as the turns of a failure are: `replay` takes"), "{said:?}");
    }
}
