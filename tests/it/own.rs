//! A crate of somebody's own: what `examples/ledger` can do with nothing but the public API. That it builds by itself is tried by `.ci/run`.

use super::ledger;
use seedstorm_tests::folder::Folder;

#[test]
fn a_program_goes_by_its_own_name() {
    let version = ledger().line("--version").out;
    assert!(version.starts_with("ledger (seedstorm ") && version.lines().count() == 1, "{version}");
    let help = ledger().line("--help").out;
    assert!(help.contains("Usage: ledger "), "{help}");
}

#[test]
fn it_lists_its_own_and_nothing_else() {
    let listed = |what: &str| -> Vec<String> {
        let out = ledger().line(&format!("list {what}")).out;
        out.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    assert_eq!(listed("scenarios"), ["ledger"]);
    assert_eq!(listed("mutants"), ["reads-early", "tells-early"]);
    let invariants = listed("invariants");
    assert!(invariants.ends_with(&["money-kept".to_owned(), "transfers-kept".to_owned()]), "{invariants:?}");
}

#[test]
fn its_self_test_plants_its_own_bugs() {
    let said = ledger().line("selftest --seeds 20 --stop-after 3 --jobs 1");
    assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
    assert!(said.out.contains("reads-early") && said.out.contains("money-kept 3"), "{}", said.out);
    assert!(said.out.contains("tells-early") && said.out.contains("transfers-kept 3"), "{}", said.out);
    let said = ledger().line("selftest --mutants board-lost-update");
    assert_eq!(said.code, Some(2), "a bug of the product's engine: {}", said.err);
    assert!(said.err.contains("known: reads-early, tells-early"), "{}", said.err);
}

#[test]
fn a_failure_of_its_own_is_kept_replayed_and_shrunk() {
    let folder = Folder::new();
    let kept = folder.path().join("kept").display().to_string();
    let said = ledger().line(&format!(
        "sweep --scenarios ledger --seeds 0..3 --jobs 1 --set mutant=reads-early --max-failures 1 --artifacts {kept}"
    ));
    assert_eq!(said.code, Some(1), "{} {}", said.out, said.err);
    let replayed = ledger().line(&format!("replay {kept}/ledger-0/reproducer.toml"));
    assert_eq!(replayed.code, Some(1), "{} {}", replayed.out, replayed.err);
    assert!(replayed.out.contains("money-kept"), "{}", replayed.out);
    let shrunk = ledger().line(&format!("shrink {kept}/ledger-0"));
    assert_eq!(shrunk.code, Some(0), "{} {}", shrunk.out, shrunk.err);
    assert!(shrunk.out.contains("processes 3 → "), "{}", shrunk.out);
    let path = folder.path().join("kept/ledger-0/reproducer.toml");
    let recorded = std::fs::read_to_string(&path).expect("a reproducer");
    let (before, operations) = recorded.split_once("[[plan.operations]]").expect("operations");
    let stray = operations.replacen("process = \"clerk-", "process = \"clerk-7", 1);
    std::fs::write(&path, format!("{before}[[plan.operations]]{stray}")).expect("a file");
    for command in ["replay", "bisect", "shrink"] {
        let said = ledger().line(&format!("{command} {kept}/ledger-0"));
        assert_eq!(said.code, Some(2), "{command}: {said:?}");
        assert!(said.err.contains("operation 1, process: `clerk-7"), "{command}: {}", said.err);
    }
}

#[test]
fn events_name_files_and_say_what_was_claimed() {
    let folder = Folder::new();
    let kept = folder.path().join("kept").display().to_string();
    let said = ledger().line(&format!("run --scenarios ledger --seed 0 --set mutant=reads-early --artifacts {kept}"));
    assert_eq!(said.code, Some(1), "{}", said.err);
    let (_, events) = said.out.split_once("The last events up to the violation:").expect("events");
    assert!(events.contains("claims transferred: number "), "{events}");
    assert!(events.contains(" /ledger.db"), "{events}");
    let exported = ledger().line(&format!("export --format jsonl {kept}/ledger-0/trace.bin"));
    assert!(exported.out.contains(r#""words":"claims transferred: number "#), "{}", exported.err);
}

#[test]
fn what_it_does_not_have_is_refused() {
    for (arguments, expected) in [
        ("--workers 5000", "--workers: `5000` is not possible in `ledger`; allowed: 1 to 100"),
        ("--faults machine-crash", "`machine-crash` can't happen in `ledger`; allowed: kill"),
        ("--set pages=3", "--set: `pages` is not possible in `ledger`; allowed: mutant"),
        (
            "--set mutant=board-lost-update",
            "--set mutant: `board-lost-update` is not possible in `ledger`; allowed: reads-early, tells-early",
        ),
        ("--lock flock", "--lock: `flock` is not possible in `ledger`; allowed: none"),
    ] {
        let said = ledger().line(&format!("run --scenarios ledger --seed 1 {arguments}"));
        assert_eq!(said.code, Some(2), "{arguments}");
        assert!(said.err.contains(expected), "{arguments}: {}", said.err);
    }
}

#[test]
fn what_its_files_may_not_hold_is_refused() {
    let program = ledger();
    let write = |name: &str, text: &str| std::fs::write(program.folder.path().join(name), text).expect("a file");
    write("faults.toml", "[[faults]]\nid = 1\nkind = \"machine-crash\"\nwhen = { at-ns = 5 }\n");
    let plan = program.line("run --scenarios ledger --seed 1 --set mutant=tells-early --print-plan").out;
    write("plan.toml", &plan.replace("tells-early", "tels-early"));
    write("many.toml", &plan.replace("clerks = 3", "clerks = 5000"));
    write("text.toml", &plan.replace("clerks = 3", "clerks = \"three\""));
    write("none.toml", &plan.replace("clerks = 3\n", ""));
    let (before, first) = plan.split_once("\nfrom = ").expect("an account");
    write("account.toml", &format!("{before}\nfrom = 4{}", &first[1..]));
    write("stranger.toml", "[[faults]]\nid = 1\nkind = \"kill\"\nprocess = \"clrek-1\"\nwhen = { at-ns = 5 }\n");
    let stranger = "--faults stranger.toml: line 4, `process = \"clrek-1\"`: fault 1, process: `clrek-1` is not possible; \
        did you mean `clerk-1`? allowed: clerk-0, clerk-1, clerk-2 (scenario `ledger`)";
    for (arguments, expected) in [
        ("run --scenarios ledger --seed 1 --faults faults.toml", "fault 1, kind: `machine-crash` is not possible"),
        ("run --scenarios ledger --seed 1 --faults stranger.toml", stranger),
        ("replay --scenario ledger --seed 1 --faults stranger.toml --until 5", stranger),
        ("run --plan many.toml", "`clerks = 5000`: settings.clerks: `5000` is not possible; allowed: 1 to 100"),
        ("replay text.toml", "settings.clerks: `\"three\"` is not possible; allowed: 1 to 100"),
        ("run --plan none.toml", "settings.clerks: `nothing` is not possible; allowed: 1 to 100"),
        ("run --plan account.toml", "`from = 4`: operation 1, from: `4` is not possible; allowed: 0 to 3"),
        ("run --plan plan.toml", "settings.mutant: `tels-early` is not possible; did you mean `tells-early`?"),
    ] {
        let said = program.line(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments}");
        assert!(said.err.contains(expected), "{arguments}: {}", said.err);
    }
}

#[test]
fn an_operation_of_a_process_that_it_does_not_have_is_refused() {
    let program = ledger();
    let plan = program.line("run --scenarios ledger --seed 1 --workers 3 --strategy urw --print-plan").out;
    let (before, operations) = plan.split_once("[[operations]]").expect("operations");
    let at = before.lines().count() + operations.lines().position(|line| line == "process = \"clerk-1\"").expect("one");
    for (name, meant) in [("clerk-3", ""), ("clrek-1", " did you mean `clerk-1`?")] {
        let stray = format!("process = \"{name}\"");
        let changed = format!("{before}[[operations]]{}", operations.replacen("process = \"clerk-1\"", &stray, 1));
        std::fs::write(program.folder.path().join("plan.toml"), changed).expect("a file");
        for command in
            ["run --plan plan.toml", "replay plan.toml", "replay plan.toml --until 9", "compare plan.toml plan.toml"]
        {
            let said = program.line(command);
            assert_eq!(said.code, Some(2), "{command}: {said:?}");
            let told = format!(
                "error: plan.toml: line {}, `{stray}`: operation 1, process: `{name}` is not possible;",
                at + 1
            );
            assert!(said.err.starts_with(&told), "{command}: {}", said.err);
            assert!(
                said.err.contains(&format!("{meant} allowed: clerk-0, clerk-1, clerk-2\n")),
                "{command}: {}",
                said.err
            );
        }
    }
    assert_eq!(program.folder.names(), ["plan.toml"], "nothing ran");
    // One that shrinking has taken away is still a process of the scenario.
    let absent = plan.replacen("format = 1\n", "format = 1\nabsent = [\"clerk-1\"]\n", 1);
    std::fs::write(program.folder.path().join("plan.toml"), absent).expect("a file");
    let said = program.line("run --plan plan.toml");
    assert_eq!(said.code, Some(0), "{said:?}");
}
