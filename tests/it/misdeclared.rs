//! What a scenario says of itself and isn't so is told once, before anything runs.

use seedstorm_tests::program::Program;

fn program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_misdeclared"))
}

#[test]
fn a_planted_bug_whose_invariant_does_not_exist_is_refused_before_anything_runs() {
    for (bug, parts) in [
        (
            "forgets",
            [
                "error: `Scenario::planted_bugs` of `misspelt`: the bug `forgets`: unknown invariant `counts-kpet`; ",
                "did you mean `counts-kept`?",
                "(known: progress, no-panic, ",
            ],
        ),
        (
            "forgets-all",
            ["the bug `forgets-all`: unknown invariant `no-panik`", "did you mean `no-panic`?", "counts-kept)"],
        ),
    ] {
        let said = program().line(&format!("selftest --mutants {bug} --seeds 9 --jobs 1"));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert_eq!(said.err.lines().count(), 1, "it is told once: {}", said.err);
        assert!(parts.iter().all(|part| said.err.contains(part)), "{}", said.err);
    }
}

#[test]
fn an_invariant_that_is_not_listed_is_refused_at_the_first_run() {
    let program = program();
    let plan = program.line("run --scenarios unlisted --seed 1 --print-plan").out;
    std::fs::write(program.folder.path().join("plan.toml"), plan).expect("a plan");
    for words in [
        "run --scenarios unlisted --seed 1",
        "run --plan plan.toml",
        "replay plan.toml",
        "sweep --scenarios unlisted --seeds 0..9 --jobs 2",
        "explore --scenario unlisted --seed 1",
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        let why = "the scenario `unlisted` adds the invariant `counts-rise`, which its `Scenario::invariants` doesn't list; listed: counts-kept";
        assert!(said.err.starts_with("error: ") && said.err.contains(why), "{words}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{words}: {}", said.err);
    }
    assert_eq!(program.folder.names(), ["plan.toml"], "nothing was kept");
}
