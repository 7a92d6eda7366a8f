//! Seeds that run twice: a difference has its own exit code, and names the first step that differs.

use crate::program;
use serde_json::{Value, json};

#[test]
fn a_run_that_remembers_others_is_found_and_located() {
    let program = program();
    let (lines, summary, said) = program.sweep("--scenarios remembers --seeds 0..10 --jobs 1");
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(lines.len(), 10);
    assert_eq!(summary["run_twice"], json!(1));
    let difference = &summary["differences"][0];
    assert_eq!((&difference["scenario"], &difference["seed"]), (&json!("remembers"), &json!(9)));
    assert_ne!(difference["first_hash"], difference["second_hash"]);
    assert_eq!(difference["first_hash"], lines[9]["trace_hash"]);
    assert!(difference["step"].as_u64().is_some_and(|step| step > 1), "{difference}");
    let words = difference["first_difference"].as_str().expect("words");
    let lines: Vec<&str> = words.lines().collect();
    assert!(lines[0].starts_with("they part at step ") && lines[0].contains(" into the run, event "), "{words}");
    assert!(lines[1].starts_with("  both  "), "{words}");
    for side in ["  first  ", "  second  "] {
        assert!(lines.iter().any(|line| line.starts_with(side) && line.ends_with(" sleep 1.00 ms")), "{words}");
    }
    assert!(words.contains("they ask for 1 000 0"), "what the words don't tell: {words}");
    let traces = program.folder.path().join("artifacts");
    assert_eq!(std::fs::read_dir(traces).expect("artifacts").count(), 2, "both traces are kept");
}

#[test]
fn the_command_that_it_prints_finds_it_again() {
    let program = program();
    let said = program.line("sweep --scenarios remembers --seeds 30..50 --jobs 2");
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(said.out.contains("not deterministic: remembers seed 49"), "{}", said.out);
    assert!(said.out.contains("\n  they part at step ") && said.out.contains("\n    second  "), "{}", said.out);
    assert!(said.out.contains("\n  statics and thread-locals: they outlive a run"), "what it may be: {}", said.out);
    let more =
        said.out.lines().find_map(|line| line.strip_prefix("  more of it: ")).unwrap_or_else(|| panic!("{said:?}"));
    let compared = program.say(&more.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(compared.out.starts_with("both are remembers seed 49, of one plan\n"), "{}", compared.out);
    assert!(compared.out.contains("the order of a std HashMap or HashSet"), "{}", compared.out);
    let command = said.out.lines().last().expect("a last line");
    let again = program.say(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(again.out.contains("remembers seed 49"), "{}", again.out);
}

#[test]
fn the_share_is_kept() {
    let twice = |share: &str, seeds: &str| {
        let (_, summary, said) = program().sweep(&format!("--scenarios steady --seeds {seeds} --determinism {share}"));
        assert_eq!(said.code, Some(0));
        summary["run_twice"].as_u64().expect("a count")
    };
    assert_eq!(twice("2%", "0..1"), 1, "at least one");
    assert_eq!(twice("10%", "0..50"), 5);
    assert_eq!(twice("0%", "0..50"), 0);
    let (_, summary, said) = program().sweep("--scenarios remembers --seeds 0..50 --determinism 0%");
    assert_eq!((said.code, &summary["differences"]), (Some(0), &Value::Array(Vec::new())), "nobody looked");
}
