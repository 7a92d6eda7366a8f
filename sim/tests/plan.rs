//! Plans and files of faults as TOML: whatever can be said comes back the same, and what is wrong is told with its place.

use proptest::prelude::*;
use seedstorm_sim::plan::{
    Between, FaultKind, FaultPlan, Operation, PLAN_FORMAT, Place, PlanError, PlantedBug, Position, StrategyPlan,
    Trigger, read_faults,
};
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Plan, Seed};
use std::collections::BTreeMap;

fn plan() -> Plan {
    Plan {
        format: PLAN_FORMAT,
        scenario: "case".into(),
        seed: Seed(1),
        strategy: StrategyPlan::Timed,
        step_counts: None,
        persistence: Persistence::Ext4,
        latency: "flat".into(),
        chaos_ns: 1,
        calm_ns: 2,
        steps_max: 3,
        disk_capacity_bytes: None,
        absent: Vec::new(),
        clock_skew_ns: BTreeMap::new(),
        settings: BTreeMap::new(),
        faults: Vec::new(),
        operations: Vec::new(),
    }
}

const POSITIONS: [Position; 4] =
    [Position::HoldingLock, Position::BetweenTempAndRename, Position::InTransaction, Position::BetweenEffectAndClaim];

/// Every trigger that a fault of this kind can have.
fn triggers(kind: FaultKind) -> Vec<Trigger> {
    let calls = CallKind::ALL.iter().copied().filter(|call| {
        let is_step_of_harness = matches!(call, CallKind::Boot | CallKind::Start | CallKind::Wake);
        !is_step_of_harness && kind.calls().is_none_or(|calls| calls.contains(call))
    });
    let by_call = calls.map(|kind| Trigger::Call { kind, nth: 7 });
    let at_times = [Trigger::AtNs(0), Trigger::AtNs(u64::MAX)].into_iter().chain(by_call);
    if kind.hits_messages() {
        return at_times.chain([Trigger::Weather { from_ns: 0, until_ns: u64::MAX, per_mille: 1000 }]).collect();
    }
    let in_position = POSITIONS.map(|position| Trigger::While { position, nth: u64::MAX });
    at_times.chain(in_position).collect()
}

/// Every kind of fault with every trigger.
fn every_fault() -> Vec<FaultPlan> {
    let all = FaultKind::ALL.iter().flat_map(|kind| triggers(*kind).into_iter().map(|when| (*kind, when)));
    let fault = |(id, (kind, when))| FaultPlan {
        id,
        kind,
        process: Some("agent-3".into()).filter(|_| !matches!(when, Trigger::Weather { .. })),
        for_ns: 1_000_000,
        by_ns: if kind == FaultKind::ClockJump { -5 } else { 0 },
        between: (kind == FaultKind::Partition || matches!(when, Trigger::Weather { .. })).then(|| Between {
            from: vec!["agent-3".into(), "agent-0".into()],
            to: if id % 2 == 0 { Vec::new() } else { vec!["agent-1".into()] },
            one_way: id % 3 == 0,
        }),
        when,
    };
    (0..).zip(all).map(fault).collect()
}

#[test]
fn every_kind_of_fault_with_every_trigger_comes_back_the_same() {
    let faults = every_fault();
    assert!(faults.len() > 300);
    let plan = Plan { faults: faults.clone(), ..plan() };
    let text = plan.to_toml();
    assert_eq!(Plan::from_toml(&text).expect("it was just written"), plan);
    let file = text[text.find("[[faults]]").expect("there are faults")..].to_owned();
    assert_eq!(read_faults(&file).expect("it was just written"), faults);
}

#[test]
fn a_fault_reads_as_people_write_it() {
    let text = r#"
# The third fsync of the second agent lies.
[[faults]]
id = 1
kind = "lying-sync"
process = "agent-1"
when = { call = { kind = "fsync", nth = 3 } }

[[faults]]
id = 2
kind = "machine-crash"
for_ns = 1_000_000_000
when.at-ns = 5_000_000

[[faults]]
id = 3
kind = "kill"
process = "agent-0"
[faults.when.while]
position = "between-temp-and-rename"
nth = 2

# Everybody's messages for two seconds, and one agent apart from the others.
[[faults]]
id = 4
kind = "message-loss"
when.weather = { from_ns = 0, until_ns = 2_000_000_000, per_mille = 100 }

[[faults]]
id = 5
kind = "partition"
for_ns = 1_000_000_000
when.at-ns = 500_000_000
between = { from = ["agent-0"], one_way = true }
"#;
    let fault = |id, kind, process: Option<&str>, when, for_ns| {
        let process = process.map(str::to_owned);
        FaultPlan { id, kind, process, when, for_ns, by_ns: 0, between: None }
    };
    let expected = [
        fault(1, FaultKind::LyingSync, Some("agent-1"), Trigger::Call { kind: CallKind::Sync, nth: 3 }, 0),
        fault(2, FaultKind::MachineCrash, None, Trigger::AtNs(5_000_000), 1_000_000_000),
        fault(
            3,
            FaultKind::Kill,
            Some("agent-0"),
            Trigger::While { position: Position::BetweenTempAndRename, nth: 2 },
            0,
        ),
        fault(
            4,
            FaultKind::MessageLoss,
            None,
            Trigger::Weather { from_ns: 0, until_ns: 2_000_000_000, per_mille: 100 },
            0,
        ),
        FaultPlan {
            between: Some(Between { from: vec!["agent-0".into()], to: Vec::new(), one_way: true }),
            ..fault(5, FaultKind::Partition, None, Trigger::AtNs(500_000_000), 1_000_000_000)
        },
    ];
    assert_eq!(read_faults(text).expect("it is right"), expected);
}

#[test]
fn the_greatest_numbers_come_back_the_same() {
    let arguments = BTreeMap::from([("amount".to_owned(), toml::Value::Integer(i64::MIN))]);
    let operation = Operation {
        id: u64::MAX,
        process: "agent-0".into(),
        kind: "note \"quoted\"\n".into(),
        not_before_ns: u64::MAX,
        think_ns: u64::MAX,
        arguments,
    };
    let plan = Plan {
        seed: Seed(u64::MAX),
        chaos_ns: u64::MAX,
        calm_ns: u64::MAX,
        steps_max: u64::MAX,
        disk_capacity_bytes: Some(u64::MAX),
        clock_skew_ns: BTreeMap::from([("agent-0".into(), i64::MIN), ("agent-1".into(), i64::MAX)]),
        settings: BTreeMap::from([("mutant".into(), toml::Value::String("none at all".into()))]),
        operations: vec![operation],
        ..plan()
    };
    assert_eq!(Plan::from_toml(&plan.to_toml()).expect("it was just written"), plan);
}

/// The line, what stands there, and the problem.
#[test]
fn a_setting_of_another_kind_is_as_one_that_is_not_there() {
    let settings = [("below", toml::Value::Integer(-3)), ("above", 7.into()), ("word", "flat".into())];
    let plan = Plan { settings: settings.map(|(key, value)| (key.to_owned(), value)).into(), ..plan() };
    assert_eq!(["below", "above", "word", "none"].map(|key| plan.setting_i64(key, -1)), [-3, 7, -1, -1]);
    assert_eq!(["below", "above", "word", "none"].map(|key| plan.setting_u64(key, 1)), [1, 7, 1, 1]);
}

#[test]
fn a_planted_bug_is_built_from_what_is_known_of_it() {
    const BUG: PlantedBug = PlantedBug::new("forgets", "a row is left out", "kept").row("a real one").also(&["whole"]);
    assert_eq!((BUG.row, BUG.also, BUG.is_interaction), ("a real one", &["whole"][..], false));
    assert!(["kept", "whole"].iter().all(|invariant| BUG.is_caught_by(invariant)) && !BUG.is_caught_by("other"));
    assert!(BUG.interaction().is_interaction);
}

fn wrong(error: PlanError) -> (usize, String, String) {
    match error {
        PlanError::Malformed { line, text, problem } => (line, text, problem),
        PlanError::TooNew { found } => panic!("not a newer plan: {found}"),
    }
}

/// A file of one fault whose lines 2 to 5 are given.
fn fault_file(lines: [&str; 4]) -> String {
    format!("[[faults]]\n{}\n", lines.join("\n"))
}

#[test]
fn a_wrong_fault_is_told_with_line_key_value_and_what_is_allowed() {
    let (id, kind, process, when) = ("id = 1", "kind = \"kill\"", "process = \"a-0\"", "when.at-ns = 5");
    let cases: [(String, usize, &str, &[&str]); 16] = [
        (fault_file([id, "kind = \"kil\"", process, when]), 3, "kind = \"kil\"", &["`kil`", "`kill`", "`lying-sync`"]),
        (
            fault_file([id, kind, process, "when.at-n = 5"]),
            5,
            "when.at-n = 5",
            &["`at-n`", "`at-ns`, `call`, `while`, `weather`"],
        ),
        (fault_file([id, kind, process, "when.at-ns = -5"]), 5, "when.at-ns = -5", &["-5"]),
        (
            fault_file([id, kind, process, "when.at-ns = \"soon\""]),
            5,
            "when.at-ns = \"soon\"",
            &["soon", "a whole number from 0 to 18446744073709551615"],
        ),
        (
            fault_file([id, kind, process, "when.call = { kind = \"frob\", nth = 1 }"]),
            5,
            "when.call = { kind = \"frob\", nth = 1 }",
            &["`frob`", "`fsync`"],
        ),
        (
            fault_file([id, kind, process, "when.call = { kind = \"fsync\" }"]),
            5,
            "when.call = { kind = \"fsync\" }",
            &["`nth`"],
        ),
        (
            fault_file([id, kind, process, "when.while = { position = \"lost\", nth = 1 }"]),
            5,
            "when.while = { position = \"lost\", nth = 1 }",
            &["`lost`", "`holding-lock`", "`in-transaction`"],
        ),
        (fault_file([id, kind, "proces = \"a-0\"", when]), 4, "proces = \"a-0\"", &["`proces`", "`process`"]),
        (fault_file([id, kind, process, ""]), 1, "[[faults]]", &["`when`"]),
        (fault_file([id, kind, "", when]), 1, "[[faults]]", &["fault 1", "`process` is missing"]),
        (fault_file([id, "kind = \"pause\"", process, when]), 1, "[[faults]]", &["fault 1", "`for_ns` is missing"]),
        (fault_file([id, "kind = \"clock-jump\"", "", when]), 1, "[[faults]]", &["`by_ns` is missing"]),
        (
            fault_file([id, "kind = \"torn-write\"", process, "when.call = { kind = \"fsync\", nth = 1 }"]),
            1,
            "[[faults]]",
            &["can't hit a `fsync` call", "`write`, `pwrite`"],
        ),
        (
            fault_file([id, kind, process, "when.call = { kind = \"fsync\", nth = 0 }"]),
            1,
            "[[faults]]",
            &["the first call is 1"],
        ),
        ("[[fault]]\nid = 1\n".into(), 1, "[[fault]]", &["`fault`", "`faults`"]),
        (fault_file([id, kind, process, "when = { at-ns = 5"]), 5, "when = { at-ns = 5", &["unclosed"]),
    ];
    for (text, line, quoted, parts) in cases {
        let error = read_faults(&text).expect_err(&text);
        let words = error.to_string();
        assert!(!words.contains('\n') && words.starts_with(&format!("line {line}, `{quoted}`: ")), "{words}\n{text}");
        let (_, _, problem) = wrong(error);
        for part in parts {
            assert!(problem.contains(part), "`{part}` is not in: {words}");
        }
    }
    let twice =
        [fault_file([id, kind, process, when]), "\n# again\n".into(), fault_file([id, kind, process, when])].concat();
    assert_eq!(wrong(read_faults(&twice).expect_err("two of one id")).0, 8);
    assert_eq!(wrong(read_faults("").expect_err("nothing")), (1, String::new(), "the file is empty".into()));
    assert_eq!(read_faults("faults = []").expect("none is a choice"), []);
}

#[test]
fn a_wrong_plan_is_told_with_its_place_and_a_newer_one_as_newer() {
    let text = plan().to_toml();
    let line_of = |part: &str| text.lines().position(|line| line.starts_with(part)).expect("it is there") + 1;
    let newer = text.replace("format = 1", "format = 2\nnovelty = true");
    assert_eq!(Plan::from_toml(&newer), Err(PlanError::TooNew { found: 2 }));
    let (line, quoted, problem) = wrong(Plan::from_toml(&text.replace("\"flat\"", "\"tape\"")).expect_err("no tapes"));
    assert_eq!((line, quoted.as_str()), (line_of("latency"), "latency = \"tape\""));
    assert!(problem.contains("`tape`") && problem.contains("nvme, ssd"), "{problem}");
    let (line, _, problem) = wrong(Plan::from_toml(&text.replace("\"timed\"", "\"lucky\"")).expect_err("no luck"));
    assert_eq!(line, line_of("strategy"));
    assert!(problem.contains("`lucky`") && problem.contains("`round-robin`"), "{problem}");
    let operation = "[[operations]]\nid = 4\nprocess = \"a-0\"\nkind = \"note\"\n";
    let without_lists = text.replace("faults = []\n", "").replace("operations = []\n", "");
    let twice = format!("{without_lists}\n{operation}\n{operation}");
    let (line, _, problem) = wrong(Plan::from_toml(&twice).expect_err("two of one id"));
    assert_eq!(line, twice.lines().count() - 3);
    assert!(problem.contains("operation 4") && problem.contains("unique"), "{problem}");
}

#[test]
fn a_place_of_a_plan_has_its_line_wherever_the_plan_is() {
    let operation = |id: u64| Operation {
        id,
        process: "a-0".into(),
        kind: "note".into(),
        not_before_ns: 0,
        think_ns: 0,
        arguments: [("bytes".to_owned(), toml::Value::Integer(id as i64 * 7))].into(),
    };
    let fault = FaultPlan {
        id: 9,
        kind: FaultKind::Kill,
        process: Some("a-0".into()),
        when: Trigger::AtNs(5),
        for_ns: 0,
        by_ns: 0,
        between: None,
    };
    let plan = Plan {
        settings: [("rows".to_owned(), toml::Value::Integer(3))].into(),
        faults: vec![fault],
        operations: vec![operation(1), operation(2)],
        ..plan()
    };
    let within = toml::Table::from_iter([("plan".to_owned(), toml::Value::try_from(&plan).expect("a table"))]);
    let texts: [(String, &[&str]); 2] = [(plan.to_toml(), &[]), (within.to_string(), &["plan"])];
    let of_operation = |id, key: &str| Place::Operation { id, key: Some(key.into()) };
    for (text, within) in &texts {
        for (place, quoted) in [
            (Place::Key("calm_ns"), "calm_ns = 2"),
            (Place::Setting("rows".into()), "rows = 3"),
            (of_operation(2, "kind"), "kind = \"note\""),
            (of_operation(2, "bytes"), "bytes = 14"),
            (Place::Fault { id: 9, key: Some("process") }, "process = \"a-0\""),
        ] {
            let (line, there, problem) = wrong(PlanError::at(text, within, &place, "is wrong".into()));
            assert_eq!((there.as_str(), problem.as_str()), (quoted, "is wrong"), "{place}: {text}");
            assert_eq!(text.lines().nth(line - 1).map(str::trim), Some(quoted));
        }
        // What isn't there is told where it should be.
        for (place, header) in [
            (Place::Setting("slots".into()), "settings]"),
            (of_operation(2, "rows"), "operations"),
            (Place::Fault { id: 9, key: Some("between") }, "faults]]"),
        ] {
            let (_, there, _) = wrong(PlanError::at(text, within, &place, "it is missing".into()));
            assert!(there.contains(header), "{place}: {there}");
        }
    }
}

#[test]
fn a_word_without_quotes_is_told_with_its_key() {
    let text = plan().to_toml();
    // Some begin as truth values do.
    for word in ["random", "timed", "flat", "t", "f"] {
        let bare = text.replace("strategy = \"timed\"", &format!("strategy = {word}"));
        assert_ne!(bare, text);
        let (_, quoted, problem) = wrong(Plan::from_toml(&bare).expect_err("no quotes"));
        assert_eq!(quoted, format!("strategy = {word}"));
        assert_eq!(problem, format!("strategy: words need quotes: write \"{word}\" instead of {word}"));
    }
}

#[test]
fn a_long_line_is_quoted_in_part_and_a_cut_file_is_said_to_be_one() {
    let text = plan().to_toml();
    let long = text.replace("scenario = \"case\"", &format!("scenario = [{}, 3 4]", "\"ä\", ".repeat(400)));
    let (line, quoted, _) = wrong(Plan::from_toml(&long).expect_err("a comma is missing"));
    assert_eq!(line, 2);
    assert!(quoted.contains("3 4]") && quoted.starts_with('…') && quoted.chars().count() < 130, "{quoted}");
    let cut = text.find("calm_ns").expect("it is there") + "calm_ns =".len();
    let (_, quoted, problem) = wrong(Plan::from_toml(&text[..cut]).expect_err("it was cut"));
    assert!(quoted == "calm_ns =" && problem.contains("was it cut short?"), "{quoted}: {problem}");
    let (line, _, problem) = wrong(Plan::from_toml(" \n").expect_err("nothing"));
    assert_eq!((line, problem.as_str()), (1, "the file is empty"));
    let (_, quoted, problem) =
        wrong(Plan::from_toml(&text.replace("steps_max = 3", "steps_max = 0")).expect_err("none"));
    assert!(quoted == "steps_max = 0" && problem.contains("1 or more"), "{problem}");
}

#[test]
fn what_needs_messages_is_all_that_cannot_happen_without() {
    let needs_none = |kind: &FaultKind| !kind.hits_messages() && *kind != FaultKind::Partition;
    let without: Vec<FaultKind> = FaultKind::ALL.iter().copied().filter(needs_none).collect();
    assert_eq!(FaultKind::WITHOUT_MESSAGES, without);
}

#[test]
fn a_wrong_fault_of_messages_is_told_with_what_is_allowed() {
    let (id, loss, partition) = ("id = 1", "kind = \"message-loss\"", "kind = \"partition\"");
    let weather = "when.weather = { from_ns = 5, until_ns = 9, per_mille = 100 }";
    let cases: [([&str; 4], &[&str]); 13] = [
        ([id, "kind = \"kill\"", weather, ""], &["it can't be weather", "`message-loss`, `message-duplicate`"]),
        ([id, loss, weather, "process = \"a-0\""], &["weather has no `process`; allowed: `between`"]),
        ([id, loss, "when.weather = { from_ns = 5, until_ns = 5, per_mille = 1 }", ""], &["`until_ns` is 5", "at 5"]),
        ([id, loss, "when.weather = { from_ns = 5, until_ns = 9, per_mille = 0 }", ""], &["is 0; allowed: 1 to 1000"]),
        ([id, loss, "when.weather = { from_ns = 5, until_ns = 9, per_mille = 1001 }", ""], &["is 1001"]),
        ([id, loss, "when.weather = { from_ns = 5, until_ns = 9 }", ""], &["`per_mille`"]),
        ([id, loss, "when.at-ns = 5", ""], &["`process` is missing"]),
        (
            [id, loss, "when.while = { position = \"holding-lock\", nth = 1 }", "process = \"a-0\""],
            &["allowed: `call` with kind `send`, `at-ns`, `weather`"],
        ),
        (
            [id, loss, "when.call = { kind = \"receive\", nth = 1 }", "process = \"a-0\""],
            &["can't hit a `receive` call; allowed: `send`"],
        ),
        ([id, partition, "when.at-ns = 5", ""], &["`between` is missing"]),
        ([id, partition, "when.at-ns = 5", "between = { from = [] }"], &["names nobody"]),
        (
            [id, partition, "when.at-ns = 5", "between = { from = [\"a\", \"b\"], to = [\"b\"] }"],
            &["`b` on both sides"],
        ),
        (
            [id, "kind = \"machine-crash\"", "when.at-ns = 5", "between = { from = [\"a\"] }"],
            &["it knows no `between`"],
        ),
    ];
    for (lines, parts) in cases {
        let words = read_faults(&fault_file(lines)).expect_err(&lines.concat()).to_string();
        assert!(parts.iter().all(|part| words.contains(part)), "{parts:?} is not in: {words}");
    }
    let endless = fault_file([id, "kind = \"message-delay\"", "when.at-ns = 5", "process = \"a-0\""]);
    let words = read_faults(&endless).expect_err("how long").to_string();
    assert!(words.contains("`for_ns` is missing"), "{words}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_come_back_the_same(
        (seed, chaos_ns, calm_ns) in any::<(u64, u64, u64)>(),
        steps_max in 1..=u64::MAX,
        disk_capacity_bytes in any::<Option<u64>>(),
        (strategy, persistence) in (0..3usize, 0..3usize),
        skews in proptest::collection::btree_map("[a-z]{1,8}-[0-9]{1,3}", any::<i64>(), 0..4),
        faults in proptest::sample::subsequence(every_fault(), 0..12),
        operations in proptest::collection::vec(("\\PC{0,20}", "[a-z-]{1,10}", any::<(u64, u64)>()), 0..6),
        settings in proptest::collection::btree_map("\\PC{1,10}", any::<i64>(), 0..4),
    ) {
        let operation = |(id, (process, kind, (not_before_ns, think_ns)))| {
            Operation { id, process, kind, not_before_ns, think_ns, arguments: BTreeMap::new() }
        };
        let plan = Plan {
            seed: Seed(seed),
            strategy: StrategyPlan::ALL[strategy].0,
            persistence: [Persistence::Strict, Persistence::Ext4, Persistence::Posix][persistence],
            chaos_ns,
            calm_ns,
            steps_max,
            disk_capacity_bytes,
            clock_skew_ns: skews,
            settings: settings.into_iter().map(|(key, value)| (key, toml::Value::Integer(value))).collect(),
            faults,
            operations: (1..).zip(operations).map(operation).collect(),
            ..plan()
        };
        let text = plan.to_toml();
        prop_assert_eq!(Plan::from_toml(&text).expect("it was just written"), plan, "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", at in any::<prop::sample::Index>(), with in "\\PC{0,3}") {
        let _ = Plan::from_toml(&text);
        let _ = read_faults(&text);
        // A right file with a few characters changed comes closer.
        let mut near: Vec<char> = Plan { faults: every_fault()[..3].to_vec(), ..plan() }.to_toml().chars().collect();
        let at = at.index(near.len());
        near.splice(at..(at + 1).min(near.len()), with.chars());
        let _ = Plan::from_toml(&near.into_iter().collect::<String>());
    }
}
