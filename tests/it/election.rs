//! What `examples/election` finds: a leader elected over a network that fails, and bugs that real software of this kind had.

use super::election;
use seedstorm_tests::folder::Folder;

#[test]
fn without_a_bug_all_seeds_pass_and_all_that_must_happen_happens() {
    let said = election().line("sweep --scenarios election --seeds 0..300 --jobs 1 --determinism 5%");
    assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
    let hundred = election().line("sweep --scenarios election --seeds 300..400 --jobs 1");
    assert_eq!(hundred.code, Some(0), "code 4 is for what never happened: {} {}", hundred.out, hundred.err);
}

/// A self-test ends with 1 if a bug survives, if an invariant fires first that the bug doesn't name, or if a seed fails without it.
#[test]
fn its_self_test_finds_each_planted_bug_by_the_invariant_that_the_bug_names() {
    let said = election().line("selftest --seeds 300 --stop-after 3 --jobs 1");
    assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
    for (bug, invariant) in [
        ("vote-not-synced", "one-vote-per-term 3"),
        ("votes-by-message", "one-leader-per-term 3"),
        ("stays-leader", "one-leader-per-term 3"),
        ("log-not-compared", "tickets-kept 3"),
        ("appends-again", "tickets-kept 3"),
        ("answers-early", "tickets-told 3"),
    ] {
        let line = said.out.lines().find(|line| line.contains(bug)).unwrap_or_default();
        assert!(line.contains(invariant), "{bug}: {}", said.out);
    }
}

#[test]
fn a_minority_s_leader_is_shrunk_to_one_doubled_message() {
    let folder = Folder::new();
    let kept = folder.path().join("kept").display().to_string();
    let said = election().line(&format!(
        "sweep --scenarios election --seeds 0..300 --jobs 1 --determinism 0% --crash-points none --set mutant=votes-by-message \
         --max-failures 1 --artifacts {kept}"
    ));
    assert_eq!(said.code, Some(1), "{} {}", said.out, said.err);
    assert!(said.out.contains(" votes; a majority is "), "{}", said.out);
    let failed = std::fs::read_dir(&kept).expect("failures").next().expect("one").expect("its folder").path();
    let shrunk = election().line(&format!("shrink {}", failed.display()));
    assert_eq!(shrunk.code, Some(0), "{} {}", shrunk.out, shrunk.err);
    let plan = std::fs::read_to_string(failed.join("shrunk.toml")).expect("the shrunk plan");
    let faults: Vec<&str> = plan.lines().filter(|line| line.starts_with("kind = \"message-")).collect();
    assert_eq!(faults, ["kind = \"message-duplicate\""], "{plan}");
    assert!(shrunk.out.contains(" → 1, processes "), "{}", shrunk.out);
}

#[test]
fn a_leader_that_was_cut_off_comes_back_and_does_no_harm() {
    let program = election();
    let faults = |server: u64| {
        format!(
            "[[faults]]\nid = 1\nkind = \"partition\"\nwhen = {{ at-ns = 600000000 }}\nfor_ns = 600000000\n\
             between = {{ from = [\"server-{server}\"] }}\n"
        )
    };
    // One of three leads by then, whichever it is.
    let met = (0..3).filter(|server| {
        std::fs::write(program.folder.path().join("faults.toml"), faults(*server)).expect("a file");
        let said =
            program.line("run --scenarios election --seed 7 --workers 3 --strategy timed --faults faults.toml --json");
        assert_eq!(said.code, Some(0), "{} {}", said.out, said.err);
        said.out.contains(r#""healed_with_old_leader":1"#)
    });
    assert_eq!(met.count(), 1, "the one that led");
}

#[test]
fn what_it_can_t_do_is_refused() {
    let program = election();
    let plan = program.line("run --scenarios election --seed 1 --set mutant=stays-leader --workers 3 --print-plan").out;
    let write = |name: &str, from: &str, to: &str| {
        assert!(plan.contains(from), "{plan}");
        std::fs::write(program.folder.path().join(name), plan.replacen(from, to, 1)).expect("a file");
    };
    write("bug.toml", "stays-leader", "stay-leader");
    write("servers.toml", "servers = 3", "servers = 2");
    write("client.toml", r#"process = "client-1""#, r#"process = "clerk-1""#);
    for (arguments, expected) in [
        ("--scenarios election --seed 1 --workers 2", "--workers: `2` is not possible in `election`; allowed: 3 to 9"),
        ("--scenarios election --seed 1 --faults clock-jump", "`clock-jump` can't happen in `election`; allowed: kill"),
        ("--plan bug.toml", "settings.mutant: `stay-leader` is not possible; did you mean `stays-leader`?"),
        ("--plan servers.toml", "settings.servers: `2` is not possible; allowed: 3 to 9"),
        ("--plan client.toml", "process: `clerk-1` is not possible"),
    ] {
        let said = program.line(&format!("run {arguments}"));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.out);
        assert!(said.err.contains(expected), "{arguments}: {}", said.err);
    }
}
