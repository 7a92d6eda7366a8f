//! What is not settled is not answered, and what was found is made sure of: commits, documents and claims after a failure in the middle.

mod support;

use seedstorm_model::agent::{Done, Work, WorkKind, prepare, wake};
use seedstorm_model::claims::{Committed, OperationKey};
use seedstorm_model::config::Config;
use seedstorm_model::file::open_document;
use seedstorm_model::store::{Outcome, Store};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::trace::{CallKind, Event};
use seedstorm_sim::{Exit, Plan, Sys, View, World};
use std::rc::Rc;
use support::{Diary, MS, SECOND, fault, pass, timed};

const TASK: &str = "task";

fn config() -> Config {
    Config { busy_timeout_ns: 5 * MS, page_bytes: 1024, autocheckpoint_pages: 0, ..Config::default() }
}

/// Adds the preparation: one task of two items, and an agent's row, so that it needn't wake to write.
fn prepared(world: &mut World) {
    world.prepare(|sys| async move {
        prepare(&sys, &config(), &[], &[TASK.to_owned()], 2).await.expect("nothing goes wrong yet");
        let added = sys.blocking(|_| {
            let add = "INSERT INTO agents VALUES ('agent-0', 'stopped', 1, 0, 0, 1, 0)";
            rusqlite::Connection::open(config().database())?.execute(add, [])
        });
        added.await.expect("nothing goes wrong yet");
        Exit::success()
    });
}

async fn sleep_until(sys: &Sys, at_ns: u64) {
    while sys.monotonic_ns() < at_ns {
        let _ = sys.sleep(at_ns - sys.monotonic_ns()).await;
    }
}

async fn notes(sys: &Sys) -> i64 {
    let count = sys.blocking(|_| {
        rusqlite::Connection::open(config().database())?
            .query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, i64>(0))
    });
    count.await.expect("a sound database")
}

/// Notes acknowledgements of what was found. It looks from outside: a connection more would checkpoint when it is closed.
struct Finds(Diary);

impl Invariant for Finds {
    fn id(&self) -> &'static str {
        "finds"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if event.claim::<Committed>().is_some_and(|committed| committed.was_found) {
            self.0.note("found");
        }
        Ok(())
    }
}

fn power_loss_at(at_ns: u64) -> FaultPlan {
    FaultPlan { id: 2, ..fault(FaultKind::MachineCrash, None, Trigger::AtNs(at_ns), 10 * MS) }
}

/// A life that is killed in its COMMIT, before the fsync, leaves whole frames in the page cache. The next finds its effect there: the yes that it gives is
/// durable all the same.
#[test]
fn an_effect_that_was_found_is_durable_before_it_is_acknowledged() {
    let (mut found, mut before) = (0, 0);
    for nth in 1..=3 {
        for seed in 0..24 {
            let killed = fault(FaultKind::Kill, Some("agent-0"), Trigger::Call { kind: CallKind::Sync, nth }, 0);
            let diary = Diary::default();
            pass(&Plan { faults: vec![killed, power_loss_at(SECOND)], ..timed(seed) }, |world| {
                prepared(world);
                world.invariant(Finds(diary.clone()));
                let noted = diary.clone();
                world.process("agent", 0, move |sys| {
                    let diary = noted.clone();
                    async move {
                        if diary.count("acknowledged") > 0 {
                            assert_eq!(notes(&sys).await, 1, "acknowledged, and lost");
                            diary.note("kept");
                            return Exit::success();
                        }
                        diary.note("tries");
                        let key = OperationKey { agent: sys.name(), number: 1 };
                        let mut store = Store::new(Rc::new(config()));
                        let outcome = store.append_note(&sys, &key, 600).await.expect("a sound database");
                        assert!(matches!(outcome, Outcome::Acknowledged(_)), "{outcome:?}");
                        diary.note("acknowledged");
                        let _ = sys.sleep(60 * SECOND).await;
                        // The connection stays open to the end: closing the last one would checkpoint.
                        store.close(&sys).await;
                        Exit::success()
                    }
                });
            });
            diary.expect("kept");
            found += diary.count("found");
            before += diary.count("tries");
        }
    }
    assert!(found > 10 && before > 80, "{found} effects were found in {before} tries");
}

/// COMMIT fails, and so does the try that would settle it: the answer is none. Asked again, the operation is done once.
#[test]
fn a_failed_commit_is_not_refused() {
    let config = Config { attempts_max: 2, ..config() };
    let failed_sync = fault(FaultKind::FailedSync, Some("agent-0"), Trigger::AtNs(SECOND), 0);
    let then = fault(FaultKind::IoError, Some("agent-0"), Trigger::AtNs(SECOND + 3 * MS), 0);
    for seed in 0..8 {
        let diary = Diary::default();
        let faults = vec![failed_sync.clone(), FaultPlan { id: 2, ..then.clone() }];
        // Calls that take no time to speak of: what lies between the two faults is the back-off.
        let plan = Plan { faults, latency: "flat".into(), ..timed(seed) };
        let outcome = pass(&plan, |world| {
            prepared(world);
            let (noted, config) = (diary.clone(), config.clone());
            world.process_with("agent", 0, RestartPolicy::Never, move |sys| {
                let (diary, config) = (noted.clone(), config.clone());
                async move {
                    let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
                    sleep_until(&sys, SECOND).await;
                    let note = Work { number: 1, kind: WorkKind::Note { bytes: 600 } };
                    assert_eq!(agent.work(&sys, &note).await.ok(), Some(Done::Unanswered), "nobody knows");
                    assert_eq!(agent.work(&sys, &note).await.ok(), Some(Done::Acknowledged));
                    assert_eq!(notes(&sys).await, 1);
                    diary.note("settled");
                    Exit::success()
                }
            });
        });
        assert_eq!(outcome.observations.faults.values().sum::<u64>(), 2, "both fired");
        diary.expect("settled");
    }
}

/// The directory's fsync fails after a rename: the operation is found in the document, and written once more before it is acknowledged.
#[test]
fn a_document_that_was_found_is_written_again() {
    let mut fired = 0;
    for nth in 1..=14 {
        for seed in 0..12 {
            let failed = fault(FaultKind::FailedSync, Some("agent-0"), Trigger::Call { kind: CallKind::Sync, nth }, 0);
            let diary = Diary::default();
            let outcome = pass(&Plan { faults: vec![failed, power_loss_at(2 * SECOND)], ..timed(seed) }, |world| {
                prepared(world);
                let noted = diary.clone();
                world.process("agent", 0, move |sys| {
                    let diary = noted.clone();
                    async move {
                        if diary.count("acknowledged") > 0 {
                            let path = format!("{}/plan", config().documents());
                            let opened = open_document(&sys, &path).await.expect("a working disk");
                            assert_eq!(
                                opened.document.revision_made_by("agent-0", 1),
                                Some(1),
                                "acknowledged, and lost"
                            );
                            diary.note("kept");
                            return Exit::success();
                        }
                        let mut agent = wake(&sys, &config()).await.expect("it tries again");
                        let save = Work { number: 1, kind: WorkKind::Document { name: "plan".into(), bytes: 50 } };
                        assert_eq!(agent.work(&sys, &save).await.ok(), Some(Done::Acknowledged));
                        diary.note("acknowledged");
                        let _ = sys.sleep(60 * SECOND).await;
                        Exit::success()
                    }
                });
            });
            fired += outcome.observations.faults.get(&FaultKind::FailedSync).copied().unwrap_or(0);
            diary.expect("kept");
        }
    }
    assert!(fired > 50, "only {fired} fsyncs failed");
}

/// A claim ran out and has passed to another: the late holder ticks nothing, also not an item that nobody has ticked yet.
#[test]
fn only_the_claim_in_force_ticks_an_item() {
    let config = Config { claim_ns: SECOND, ..config() };
    let diary = Diary::default();
    pass(&timed(1), |world| {
        prepared(world);
        for (index, starts_ns) in [(0, 0), (1, 2 * SECOND)] {
            let (noted, config) = (diary.clone(), config.clone());
            world.process_with("agent", index, RestartPolicy::Never, move |sys| {
                let (diary, config) = (noted.clone(), config.clone());
                async move {
                    let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
                    sleep_until(&sys, starts_ns).await;
                    let claim = Work { number: 1, kind: WorkKind::TaskClaim { task: TASK.into() } };
                    assert_eq!(agent.work(&sys, &claim).await.ok(), Some(Done::Acknowledged), "free, or late");
                    sleep_until(&sys, 2_500 * MS).await;
                    let tick =
                        Work { number: 2, kind: WorkKind::TaskCheck { task: TASK.into(), item: u64::from(index) } };
                    let ticked = agent.work(&sys, &tick).await.ok();
                    assert_eq!(
                        ticked,
                        Some(if index == 0 { Done::Refused } else { Done::Acknowledged }),
                        "agent {index}"
                    );
                    diary.note("done");
                    Exit::success()
                }
            });
        }
    });
    assert_eq!(diary.count("done"), 2);
}
