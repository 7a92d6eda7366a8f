//! Reproducers: what was recorded happens again, and what changed is said.

use crate::program;
use serde_json::json;

#[test]
fn a_failure_comes_out_as_it_was_recorded() {
    for strategy in ["timed", "random", "round-robin"] {
        let program = program();
        let words = format!("--scenarios violates --seed 8 --strategy {strategy} --faults kill,delay --set rounds=9");
        let run = program.run(&format!("run {words}"));
        assert_eq!(run["verdict"], json!("fail"));
        let path = run["reproducer"].as_str().expect("a reproducer");
        let replayed = program.run(&format!("replay {path}"));
        assert_eq!(replayed["replay"], json!({"reproduced": true, "drift": null, "differs": []}), "{strategy}");
        for field in ["trace_hash", "steps", "violations", "coverage", "faults", "metrics"] {
            assert_eq!(replayed[field], run[field], "{strategy}: {field}");
        }
        let said = program.line(&format!("replay {path}"));
        assert_eq!(said.code, Some(1));
        assert!(said.out.contains("the same violation, step and trace hash as recorded"), "{}", said.out);
        assert_eq!(program.folder.names(), ["artifacts"], "a replay leaves nothing");
    }
}

#[test]
fn a_recorded_failure_needs_no_place_for_another() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    std::fs::write(program.folder.path().join("taken"), "a file").expect("a file");
    let replayed = program.run("replay artifacts/violates-8 --artifacts taken/below");
    assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    let drawn = program.line("replay --scenario violates --seed 8 --artifacts taken/below");
    assert_eq!(drawn.code, Some(2), "{drawn:?}");
    assert!(drawn.err.contains("can't be written there"), "{}", drawn.err);
}

#[test]
fn turns_decide() {
    let program = program();
    program.run("run --scenarios violates --seed 8 --strategy random");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    // The same plan without its turns takes another way: the default rule alone.
    let start = text.find("[turns]").expect("turns");
    let end = text.find("[plan]").expect("a plan");
    let without = format!("{}[turns]\nlines = 0\ntext = \"\"\n\n{}", &text[..start], &text[end..]);
    std::fs::write(&path, without).expect("a file");
    let replayed = program.run("replay artifacts/violates-8/reproducer.toml");
    assert_eq!(replayed["replay"]["reproduced"], json!(false), "{replayed}");
    assert!(replayed["replay"]["differs"].as_array().is_some_and(|differs| !differs.is_empty()), "{replayed}");
}

#[test]
fn drift_is_told() {
    let program = program();
    program.run("run --scenarios violates --seed 8 --strategy random");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    let line = text.lines().find(|line| line.ends_with(" sleep")).expect("a turn that ends with a sleep");
    std::fs::write(&path, text.replacen(line, &line.replace("sleep", "rename"), 1)).expect("a file");
    let replayed = program.run("replay artifacts/violates-8/reproducer.toml");
    let drift = replayed["replay"]["drift"].as_str().expect("a drift");
    assert!(drift.contains("rename") && drift.contains("step"), "{drift}");
    assert_eq!(replayed["replay"]["reproduced"], json!(false));
    // Strictly it goes no further.
    let said = program.line("replay artifacts/violates-8/reproducer.toml --strict");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("stopped at the first step that is not as recorded"), "{}", said.out);
    assert!(said.out.contains(drift) && !said.out.contains("FAILED"), "{}", said.out);
    assert!(said.out.lines().last().is_some_and(|line| line.contains(" replay ")), "{}", said.out);
}

#[test]
fn many_turns_go_into_a_file_of_their_own() {
    let program = program();
    let run = program.run("run --scenarios panics --seed 3 --strategy random --workers 300");
    assert_eq!(run["verdict"], json!("fail"));
    let folder = program.folder.path().join("artifacts/panics-3");
    let turns = folder.join("turns.txt.zst");
    let bytes = std::fs::read(&turns).expect("a side file");
    for path in ["artifacts/panics-3/reproducer.toml", "artifacts/panics-3"] {
        let replayed = program.run(&format!("replay {path}"));
        assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    }
    std::fs::write(&turns, &bytes[..bytes.len() / 2]).expect("a file");
    let said = program.line("replay artifacts/panics-3");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("turns.txt.zst"), "{}", said.err);
    std::fs::remove_file(&turns).expect("removing");
    assert_eq!(program.line("replay artifacts/panics-3").code, Some(2));
}

#[test]
fn a_failure_has_a_folder_with_all_that_is_known_of_it() {
    let program = program();
    let said = program.line("run --scenarios violates --seed 8");
    let folder = program.folder.path().join("artifacts/violates-8");
    let summary = std::fs::read_to_string(folder.join("summary.txt")).expect("a summary");
    let last = said.out.lines().last().expect("a last line");
    assert!(last.ends_with("replay artifacts/violates-8/reproducer.toml"), "{last}");
    // The program that is told of is this one: another may not know the scenario.
    assert!(summary.ends_with(&format!("\n{last}\n")), "{summary}");
    assert!(summary.contains("FAILED violates seed 8") && summary.contains("The last events up to the violation"));
    // The trace is that of the run.
    let trace = program.folder.path().join("again.trace");
    program.line("replay artifacts/violates-8 --trace again.trace");
    assert_eq!(std::fs::read(folder.join("trace.bin")).expect("a trace"), std::fs::read(trace).expect("a trace"));
}

#[test]
fn what_is_kept_names_the_program_that_knows_the_scenario() {
    let program = program();
    let own = program.command(&[]).get_program().to_str().expect("text").to_owned();
    // A worker keeps it, and speaks for its sweep.
    assert_eq!(program.line("sweep --scenarios violates --seeds 8..9 --jobs 1").code, Some(1));
    let folder = program.folder.path().join("artifacts/violates-8");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let command = format!("{own} replay artifacts/violates-8/reproducer.toml");
    assert!(read("summary.txt").ends_with(&format!("\n{command}\n")), "{}", read("summary.txt"));
    let page = read("report.html");
    assert!(page.contains(&command) && !page.contains("seedstorm replay"), "{command} is not on the page");
    // What its invariants say is known to no other program either.
    assert!(page.contains("nobody writes more than twice, in bad seeds"), "the page has no statement of the invariant");
    let said = program.line("shrink artifacts/violates-8 --budget 20s --jobs 1");
    assert_eq!(said.code, Some(0), "{said:?}");
    let command = format!("{own} replay artifacts/violates-8/shrunk.toml");
    assert!(
        read("findings.json").contains(&command) && read("report.html").contains(&command),
        "{}",
        read("findings.json")
    );
}

#[test]
fn a_failure_without_invariants_is_kept_as_that_failure() {
    let program = program();
    let plan = program.line("run --scenarios violates --seed 8 --print-plan").out;
    let plan = plan.replace("steps_max = 100000", "steps_max = 30");
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a plan");
    let with = program.run("run --plan plan.toml --artifacts with");
    assert_eq!(with["violations"][0]["invariant"], json!("few-writes"), "an invariant says more: {with}");
    let run = program.run("run --plan plan.toml --without-invariants");
    assert_eq!(run["violations"][0]["invariant"], json!("progress"), "{run}");
    let replayed = program.run("replay artifacts/violates-8");
    assert_eq!(replayed["replay"], json!({"reproduced": true, "drift": null, "differs": []}), "{replayed}");
    let word = run["repro"].as_str().expect("a word");
    assert_eq!(program.run(&format!("replay --repro {word}"))["violations"], run["violations"]);
    assert_eq!(program.line("replay --git-bisect artifacts/violates-8").code, Some(1));
    let said = program.line("shrink artifacts/violates-8 --jobs 1 --json");
    assert_eq!(said.code, Some(0), "{said:?}");
    let replayed = program.run("replay artifacts/violates-8/shrunk.toml");
    assert_eq!(replayed["violations"][0]["invariant"], json!("progress"), "{replayed}");
    assert_eq!(replayed["replay"]["reproduced"], json!(true), "{replayed}");
    let said = program.line("bisect artifacts/violates-8 --jobs 1 --budget 5s");
    assert!(!said.err.contains("does not come out as recorded"), "{said:?}");
    // With invariants it is another failure: that reproducer says nothing of them.
    let kept = |folder: &str| {
        std::fs::read_to_string(program.folder.path().join(folder).join("violates-8/reproducer.toml")).expect("a file")
    };
    assert!(
        kept("artifacts").contains("\nwithout_invariants = true\n") && !kept("with").contains("without_invariants")
    );
}

#[test]
fn nothing_is_overwritten() {
    let program = program();
    for _ in 0..2 {
        program.run("run --scenarios violates --seed 8");
    }
    let artifacts = program.folder.path().join("artifacts");
    let names = || std::fs::read_dir(&artifacts).expect("artifacts").count();
    assert_eq!(names(), 1, "the same again is the same file");
    let other = program.run("run --scenarios violates --seed 8 --workers 5");
    assert_eq!(other["reproducer"], json!("artifacts/violates-8-2/reproducer.toml"));
    assert_eq!(names(), 2);
}

#[test]
fn a_failure_that_passes_for_no_reason_is_nondeterminism() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    // Another seed, a good one: what stands in the file passes, and the file says that it failed.
    let passes = text.replacen("seed = \"8\"", "seed = \"9\"", 1).replacen("seed = 8", "seed = 9", 1);
    assert_ne!(passes, text);
    std::fs::write(&path, &passes).expect("a file");
    let said = program.line("replay artifacts/violates-8/reproducer.toml");
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(said.out.contains("nothing explains that it passes now"), "{}", said.out);
    assert!(said.out.contains("  statics and thread-locals: they outlive a run"), "{}", said.out);
    let compare = "compare artifacts/violates-8/trace.bin artifacts/violates-8/reproducer.toml";
    assert!(said.out.contains(&format!(" {compare}\n")));
    assert!(program.line(compare).out.starts_with("first is violates seed 8, second violates seed 9: "));
    // What explains it, is told instead.
    for (key, explains) in [
        ("sqlite_source_id", "recorded with SQLite 1"),
        ("seedstorm", "recorded with seedstorm 1"),
        ("build", "recorded with another build of this program"),
    ] {
        let old = passes.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("a key");
        std::fs::write(&path, passes.replacen(old, &format!("{key} = \"1\""), 1)).expect("a file");
        let said = program.line("replay artifacts/violates-8/reproducer.toml");
        assert_eq!(said.code, Some(0), "{key}: {said:?}");
        assert!(said.out.contains(explains) && said.out.contains("not as recorded"), "{key}: {}", said.out);
        assert!(!said.out.contains("nothing explains"), "{key}: {}", said.out);
    }
}

#[test]
fn another_sqlite_is_said_when_it_does_not_come_out() {
    let program = program();
    program.run("run --scenarios violates --seed 8");
    let path = program.folder.path().join("artifacts/violates-8/reproducer.toml");
    let text = std::fs::read_to_string(&path).expect("a reproducer");
    let old = text.lines().find(|line| line.starts_with("sqlite_source_id")).expect("a source id");
    let text = text.replace(old, "sqlite_source_id = \"2019-01-01\"").replacen("steps = ", "steps = 1", 1);
    std::fs::write(&path, text).expect("a file");
    let replayed = program.run("replay artifacts/violates-8/reproducer.toml");
    assert!(replayed["replay"]["differs"].to_string().contains("recorded with SQLite 2019-01-01"), "{replayed}");
}
