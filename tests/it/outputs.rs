//! Files that are written: whole or not at all, and nothing beside them is left.

use crate::program;
use seedstorm_tests::program::Program;
use serde_json::json;
use std::path::Path;

fn hidden(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

fn cut_trace(program: &Program) {
    program.line("run --scenarios steady --seed 1 --set rounds=200 --trace trace.bin");
    let path = program.folder.path().join("trace.bin");
    let trace = std::fs::read(&path).expect("a trace");
    std::fs::write(program.folder.path().join("cut.bin"), &trace[..trace.len() - 40]).expect("a file");
}

#[test]
fn an_export_that_fails_leaves_what_was_there() {
    let program = program();
    cut_trace(&program);
    let path = program.folder.path().join("out");
    for format in ["jsonl", "perfetto", "shiviz"] {
        std::fs::write(&path, "a good one").expect("a file");
        let said = program.line(&format!("export --format {format} cut.bin -o out"));
        assert_eq!(said.code, Some(2), "{format}: {said:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), "a good one", "{format}");
        let said = program.line(&format!("export --format {format} trace.bin -o out"));
        assert_eq!(said.code, Some(0), "{format}: {said:?}");
        assert_ne!(std::fs::read_to_string(&path).expect("the file"), "a good one", "{format}");
    }
    let said = program.line("report cut.bin -o out");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!std::fs::read_to_string(&path).expect("the file").contains("<html"), "no page of half a trace");
    assert_eq!(program.folder.names(), ["cut.bin", "out", "trace.bin"], "no draft is left");
    let said = program.line("export --format jsonl trace.bin -o nowhere/out");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.starts_with("error: nowhere/out: can't be written: "), "{said:?}");
}

#[test]
fn a_smaller_reproducer_goes_where_it_was_asked_to() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    let path = |name: &str| program.folder.path().join(name);
    let shrink = |output: &str| program.line(&format!("shrink artifacts/violates-8 --jobs 1 -o {output}"));
    let said = shrink("nowhere/small.toml");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.starts_with("error: nowhere/small.toml: can't be written: ") && !path("nowhere").exists());
    let said = shrink("small.reproducer");
    assert_eq!(said.code, Some(0), "{said:?}");
    let small = std::fs::read_to_string(path("small.reproducer")).expect("it has the name that was given");
    std::fs::write(path("taken.toml"), "scenario = 1\n").expect("a file");
    let said = shrink("taken.toml");
    assert!(said.code == Some(2) && said.err.contains("is not overwritten"), "{said:?}");
    assert_eq!(std::fs::read_to_string(path("taken.toml")).expect("the file"), "scenario = 1\n");
    // The standard output has nothing but the reproducer then.
    let said = shrink("-");
    assert_eq!((said.code, &said.out), (Some(0), &small), "{said:?}");
    assert!(said.err.contains("preemptions ") && said.err.contains("violated: few-writes"), "{said:?}");
    let said = shrink("- --json");
    assert!(said.code == Some(2) && said.err.contains("-o -: "), "{said:?}");
    assert_eq!(program.folder.names(), ["artifacts", "small.reproducer", "taken.toml"]);
}

#[test]
fn workers_that_are_gone_leave_no_drafts() {
    let program = program();
    // They end in the middle of keeping, too: the run that is written down aborts or hangs again.
    for words in
        ["--scenarios aborts --seeds 0..9 --jobs 2", "--scenarios hangs --seeds 2..4 --jobs 1 --seed-timeout 2s"]
    {
        let (_, summary, said) = program.sweep(words);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(summary["workers_replaced"].as_u64().is_some_and(|count| count > 0), "{summary}");
        assert_eq!(hidden(&program.folder.path().join("artifacts")), [""; 0], "{words}");
    }
}

#[test]
fn a_worker_that_dies_in_a_second_run_is_counted() {
    let (_, summary, said) = program().sweep("--scenarios aborts-fresh --seeds 0..4 --jobs 1 --determinism 100%");
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!((&summary["run_twice"], &summary["workers_replaced"]), (&json!(4), &json!(1)), "{summary}");
    let words = summary["differences"][0]["first_difference"].as_str().expect("words");
    assert!(words.starts_with("the second run: the worker process ended"), "{words}");
}

#[test]
fn a_byte_order_mark_makes_no_trace_of_a_text() {
    let program = program();
    let temporary = program.folder.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    let plan = program.line("run --scenarios steady --seed 1 --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), &plan).expect("a plan");
    std::fs::write(program.folder.path().join("marked.toml"), format!("\u{feff}{plan}")).expect("a plan");
    let mut command = program.command(&["compare", "plan.toml", "marked.toml"]);
    let said = seedstorm_tests::program::said(command.env("TMPDIR", &temporary).output().expect("it starts"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("the same "), "{said:?}");
    assert_eq!(std::fs::read_dir(&temporary).expect("the folder").count(), 0, "its traces are gone");
}
