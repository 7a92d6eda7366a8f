//! `bisect` in time: the step that decides is known beforehand, and is found; where none decides none is named. Commits are in `commits`.

use crate::program;
use seedstorm_tests::program::Program;
use serde_json::{Value, json};

/// The reproducer of the first seed that fails.
fn failing(program: &Program, words: &str) -> String {
    let (_, summary, said) = program.sweep(&format!("{words} --determinism 0% --max-failures 1"));
    let path = summary["fingerprints"][0]["reproducers"][0].as_str();
    path.unwrap_or_else(|| panic!("no seed fails: {said:?}")).to_owned()
}

fn bisect(program: &Program, path: &str) -> Value {
    let said = program.line(&format!("bisect {path} --jobs 2 --json"));
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_step_that_decides_is_found() {
    let program = program();
    let path = failing(&program, "--scenarios race --seeds 0..60");
    let found = bisect(&program, &path);
    let decisive = found["decisive"].as_array().expect("steps");
    assert!(!decisive.is_empty(), "{found}");
    // Whoever creates the file first has won, and the violation comes some thirty calls later.
    let creates = decisive.iter().find(|step| step["events"].to_string().contains("racer-3: open /prize"));
    let creates = creates.unwrap_or_else(|| panic!("{found}"));
    assert!(number(&creates["before"]["high"]) < number(&creates["after"]["low"]), "{creates}");
    assert_eq!(
        number(&creates["after"]["failed"]),
        number(&creates["after"]["runs"]),
        "then it always wins: {creates}"
    );
    assert_eq!(creates["is_in_causal_past"], json!(true));
    assert!(!creates["instead"].as_array().expect("a list").is_empty(), "others could have gone: {creates}");
    assert!(number(&creates["step"]) + 20.0 < number(&found["violation_step"]), "{found}");
    assert_eq!(found["is_complete"], json!(true));
    assert!(found["command"].as_str().is_some_and(|command| command.contains("--until")), "{found}");
}

#[test]
fn where_no_step_decides_none_is_named() {
    let program = program();
    let path = failing(&program, "--scenarios violates --seeds 8..=8");
    let found = bisect(&program, &path);
    assert_eq!((&found["decisive"], &found["rises_between"]), (&json!([]), &json!(null)), "{found}");
    let said = program.line(&format!("bisect {path} --jobs 1"));
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("no step decides") && said.out.contains("100 %"), "{}", said.out);
    assert!(said.out.contains("95 % interval") && said.out.contains('█'), "{}", said.out);
    let last = said.out.lines().next_back().unwrap_or_default();
    assert!(last.contains(&format!("replay {path}")), "{last}");
}

#[test]
fn the_same_search_finds_the_same() {
    let program = program();
    let path = failing(&program, "--scenarios race --seeds 0..60");
    let (mut one, mut other) = (bisect(&program, &path), bisect(&program, &path));
    for found in [&mut one, &mut other] {
        found["seconds"] = json!(0);
    }
    assert_eq!(one, other);
}

#[test]
fn a_search_that_has_no_time_says_so() {
    let program = program();
    let path = failing(&program, "--scenarios race --seeds 0..60");
    let said = program.line(&format!("bisect {path} --budget 1ns"));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--budget"), "{}", said.err);
}

#[test]
fn what_can_t_be_bisected_is_refused() {
    let program = program();
    let path = failing(&program, "--scenarios race --seeds 0..60");
    let text = std::fs::read_to_string(program.folder.path().join(&path)).expect("a reproducer");
    let put = |name: &str, text: &str| std::fs::write(program.folder.path().join(name), text).expect("a file");
    put("other.toml", &text.replace("never-the-third/prize", "never-the-third/price"));
    let plan = program.line("run --scenarios race --seed 1 --print-plan").out;
    put("plan.toml", &plan);
    failing(&program, "--scenarios aborts --seeds 3..=3");
    for (words, part) in [
        ("bisect nowhere.toml", "nowhere.toml"),
        ("bisect plan.toml", "plan"),
        ("bisect other.toml", "does not come out as recorded"),
        ("bisect artifacts/aborts-3", "ends its process"),
        ("bisect other.toml --budget 0s", "longer than nothing"),
        ("bisect other.toml --program x", "--commits"),
    ] {
        let said = program.line(words);
        assert_eq!(said.code, Some(2), "{words}: {said:?}");
        assert!(said.err.contains(part), "{words}: {}", said.err);
    }
}
