//! Randomness, time, and temporary files of SQLite: each process's own, and never a step where it must not be one.

mod sqlite_support;

use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Exit, Os, Outcome, Plan, View, World};
use sqlite_support::{Said, fault, listen, number, open, open_wal, pass, plan};

/// Drawing processes; each draws for some operations. Gives what each said.
fn drawn(agents: u32, skipped: Option<(u32, u64)>) -> Vec<(String, String)> {
    let (outcome, mut heard) = listen(&plan(5), move |_, world| {
        for index in 0..agents {
            world.process("drawer", index, move |sys| async move {
                sys.blocking(move |os| {
                    let db = open(&format!("/db-{index}")).expect("it opens");
                    let mut drawn = Vec::new();
                    for operation in (1..=4).filter(|operation| skipped != Some((index, *operation))) {
                        // Without a step since the last draw.
                        os.begin_operation(operation);
                        let first: String =
                            db.query_row("SELECT hex(randomblob(8))", [], |row| row.get(0)).expect("it draws");
                        // Others run here, and draw.
                        os.yield_now();
                        let second = number(&db, "SELECT random()").expect("it draws");
                        drawn.push(format!("{operation} {first} {second}"));
                    }
                    drawn.into_iter().for_each(|text| os.claim(&Said(text)));
                })
                .await;
                Exit::success()
            });
        }
    });
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    heard.sort();
    heard
}

#[test]
fn what_a_process_draws_depends_on_its_own_operation_alone() {
    let all = drawn(3, None);
    let texts: std::collections::BTreeSet<&String> = all.iter().map(|(_, text)| text).collect();
    assert_eq!(texts.len(), 12, "no two draws are equal: {all:?}");
    assert_eq!(drawn(3, None), all);
    let of_first =
        |heard: &[(String, String)]| heard.iter().filter(|(who, _)| who == "drawer-0").cloned().collect::<Vec<_>>();
    assert_eq!(of_first(&drawn(1, None)), of_first(&all), "taking away the others shifts nothing");
    let without = drawn(3, Some((0, 2)));
    let expected: Vec<_> =
        all.iter().filter(|(who, text)| !(who == "drawer-0" && text.starts_with('2'))).cloned().collect();
    assert_eq!(without, expected, "taking away an operation shifts nothing");
}

fn steps_of(sql: &'static str) -> Outcome {
    pass(&plan(1), move |_, world| {
        for index in 0..2 {
            world.process("one", index, move |sys| async move {
                sys.blocking(move |_| {
                    let db = open("/db").expect("it opens");
                    (0..5).for_each(|_| db.query_row(sql, [], |_| Ok(())).expect("it runs"));
                })
                .await;
                Exit::success()
            });
        }
    })
}

#[test]
fn neither_randomness_nor_time_is_a_step() {
    let plain = steps_of("SELECT 1").steps;
    assert_eq!(steps_of("SELECT random()").steps, plain);
    assert_eq!(steps_of("SELECT unixepoch()").steps, plain);
}

#[test]
fn sqlite_reads_the_processes_own_wall_clock() {
    let mut skewed = plan(1);
    skewed.clock_skew_ns.insert("skewed-0".into(), 3_600_000_000_000);
    let (outcome, heard) = listen(&skewed, |_, world| {
        for role in ["plain", "skewed"] {
            world.process(role, 0, |sys| async move {
                sys.blocking(|os| {
                    let db = open("/db").expect("it opens");
                    os.sleep(2_000_000_000).expect("nobody ends it");
                    let now_s = number(&db, "SELECT unixepoch()").expect("it knows the time");
                    assert_eq!(now_s, (os.wall_ns() / 1_000_000_000) as i64);
                    os.claim(&Said(now_s.to_string()));
                })
                .await;
                Exit::success()
            });
        }
    });
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    let at = |who: &str| {
        heard.iter().find(|(name, _)| name == who).and_then(|(_, text)| text.parse::<i64>().ok()).expect("it spoke")
    };
    assert_eq!(at("plain-0"), 1_790_000_002);
    assert_eq!(at("skewed-0"), 1_790_003_602);
}

/// Work that spills into temporary files, and a power loss in the middle of it.
fn spill(os: &Os) {
    let db = open_wal("/db").expect("it opens");
    db.execute_batch("PRAGMA temp_store=FILE; PRAGMA cache_size=5; PRAGMA temp.cache_size=5").expect("it spills");
    db.execute_batch("CREATE TEMP TABLE t(x)").expect("it is made");
    for n in 0..40 {
        db.execute("INSERT INTO t VALUES(randomblob(2000 + ?))", [n]).expect("it is written");
    }
    assert_eq!(number(&db, "SELECT count(DISTINCT x) FROM t"), Ok(40));
    os.claim(&Said("spilt".into()));
    os.yield_now();
}

/// No file but the database's own is ever seen; temporary ones are written all the same.
#[derive(Default)]
struct Nameless {
    unnamed: bool,
}

impl Invariant for Nameless {
    fn id(&self) -> &'static str {
        "nameless"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Open).and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::Call { kind: CallKind::Open, data: b"", result: Ok(_), .. } = event.body {
            self.unnamed = true;
        }
        match view.disk().files().find(|(path, ..)| !path.starts_with("/db")) {
            Some((path, ..)) => Err(Violation::new("nameless", path)),
            None => Ok(()),
        }
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        if self.unnamed { Ok(()) } else { Err(Violation::new("nameless", "nothing was spilt")) }
    }
}

#[test]
fn temporary_files_have_no_name_and_leave_nothing() {
    let stormy = |seed| Plan {
        faults: vec![fault(1, FaultKind::MachineCrash, None, Trigger::AtNs(3_000_000 + seed * 500_000))],
        ..plan(seed)
    };
    for seed in 0..10 {
        pass(&stormy(seed), |_, world: &mut World| {
            world.process("spiller", 0, |sys| async move {
                sys.blocking(spill).await;
                Exit::success()
            });
            world.invariant(Nameless::default());
        });
    }
}
