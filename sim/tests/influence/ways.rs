//! Each way of influence by itself: what goes by it is ordered, and what doesn't is not. Told by hand, apart from both accounts.

use crate::worlds::{MILLI_NS, record, timed};
use seedstorm_sim::causality::{Influence, Past, happened_before};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::sys::claim::Happened;
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::sys::{LockMode, OpenFlags};
use seedstorm_sim::{Exit, Plan, Sys, World};
use std::collections::BTreeMap;
use std::future::Future;

/// Says that the program is here: a step, by which the test asks.
async fn mark(sys: &Sys, what: &str) {
    sys.claim(&Happened { what: what.into() }).await;
}

struct Told(BTreeMap<String, Past>);

impl Told {
    fn is_before(&self, one: &str, other: &str) -> bool {
        happened_before(&self.0[one], &self.0[other])
    }

    fn are_apart(&self, one: &str, other: &str) -> bool {
        !self.is_before(one, other) && !self.is_before(other, one)
    }
}

/// Runs a plan and keeps the pasts of what was marked; of what comes twice, the last.
fn tell(plan: &Plan, populate: impl Fn(&mut World) + Sync) -> Told {
    let (outcome, records) = record(plan, populate);
    assert!(outcome.passed(), "{:#?}", outcome.violations);
    let mut influence = Influence::default();
    let mut told = BTreeMap::new();
    for record in &records {
        let past = influence.observe(&record.event());
        if let Some(Happened { what }) = record.event().claim() {
            told.insert(what, past);
        }
    }
    Told(told)
}

/// `a-0` does one thing, and a millisecond later `b-0` another. Marked are `a before`, `a after`, `b before`, `b after`.
fn one_then_other<A, B>(
    one: impl Fn(Sys) -> A + Copy + Sync + 'static,
    other: impl Fn(Sys) -> B + Copy + Sync + 'static,
) -> Told
where
    A: Future<Output = ()> + 'static,
    B: Future<Output = ()> + 'static,
{
    tell(&timed(), move |world| {
        world.prepare(|sys| async move {
            sys.open("/f", CREATE).await.expect("open").write(b"there").await.expect("write");
            sys.open("/g", CREATE).await.expect("open");
            Exit::success()
        });
        world.process("a", 0, move |sys| async move {
            mark(&sys, "a before").await;
            one(sys.clone()).await;
            mark(&sys, "a after").await;
            Exit::success()
        });
        world.process("b", 0, move |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            mark(&sys, "b before").await;
            other(sys.clone()).await;
            mark(&sys, "b after").await;
            Exit::success()
        });
    })
}

fn influenced(told: &Told) -> bool {
    assert!(told.are_apart("a after", "b before"), "nothing has come from A yet");
    assert!(told.is_before("a before", "a after") && told.is_before("b before", "b after"));
    assert!(!told.is_before("b after", "a after") && !told.is_before("a after", "a after"));
    told.is_before("a before", "b after")
}

const CREATE: OpenFlags = OpenFlags::READ_WRITE.create();

async fn read(sys: &Sys, path: &str) {
    let file = sys.open(path, OpenFlags::READ).await.expect("open");
    file.read(&mut [0; 8]).await.expect("read");
}

async fn write(sys: &Sys, path: &str) {
    let file = sys.open(path, OpenFlags::READ_WRITE).await.expect("open");
    file.write(b"new").await.expect("write");
}

#[test]
fn a_read_is_after_a_write_of_the_same_file() {
    assert!(influenced(&one_then_other(
        |sys| async move { write(&sys, "/f").await },
        |sys| async move { read(&sys, "/f").await }
    )));
    assert!(!influenced(&one_then_other(
        |sys| async move { write(&sys, "/f").await },
        |sys| async move { read(&sys, "/g").await }
    )));
    assert!(!influenced(&one_then_other(
        |sys| async move { read(&sys, "/f").await },
        |sys| async move { read(&sys, "/f").await }
    )));
    assert!(!influenced(&one_then_other(
        |sys| async move { write(&sys, "/f").await },
        |sys| async move { write(&sys, "/f").await }
    )));
}

#[test]
fn a_name_carries_what_was_published_under_it() {
    let publish = |sys: Sys| async move {
        let file = sys.open("/tmp", CREATE).await.expect("open");
        file.write(b"new").await.expect("write");
        sys.rename("/tmp", "/f").await.expect("rename");
    };
    assert!(influenced(&one_then_other(publish, |sys| async move { read(&sys, "/f").await })));
    assert!(!influenced(&one_then_other(publish, |sys| async move { read(&sys, "/g").await })));
    assert!(influenced(&one_then_other(publish, |sys| async move { drop(sys.read_dir("/").await) })));
    // Also that it is gone, or was never there.
    assert!(influenced(&one_then_other(publish, |sys| async move { assert!(sys.stat("/tmp").await.is_err()) })));
    assert!(!influenced(&one_then_other(publish, |sys| async move { assert!(sys.stat("/never").await.is_err()) })));
}

#[test]
fn a_name_that_went_long_ago_still_tells() {
    let told = tell(&timed(), |world| {
        world.process("a", 0, |sys| async move {
            mark(&sys, "a before").await;
            sys.open("/lock", CREATE).await.expect("open");
            sys.unlink("/lock").await.expect("unlink");
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            sys.sleep(MILLI_NS).await.expect("sleep");
            for number in 0..2000 {
                let name = format!("/{number}");
                sys.open(&name, CREATE).await.expect("open");
                sys.unlink(&name).await.expect("unlink");
            }
            mark(&sys, "b after").await;
            Exit::success()
        });
        world.process("c", 0, |sys| async move {
            sys.open("/own", CREATE).await.expect("open");
            sys.sleep(900 * MILLI_NS).await.expect("sleep");
            sys.open("/own", CREATE).await.expect("open");
            mark(&sys, "c before").await;
            sys.open("/lock", CREATE).await.expect("open");
            mark(&sys, "c after").await;
            Exit::success()
        });
    });
    assert!(told.are_apart("a before", "c before") && told.are_apart("b after", "c before"));
    assert!(told.is_before("a before", "c after"));
}

#[test]
fn a_lock_hands_over_what_its_holder_knew() {
    let hold = |mode: LockMode| {
        move |sys: Sys| async move {
            let file = sys.open("/f", OpenFlags::READ).await.expect("open");
            file.lock(mode).await.expect("lock");
            file.unlock().await.expect("unlock");
        }
    };
    let (shared, exclusive) = (hold(LockMode::Shared), hold(LockMode::Exclusive));
    assert!(influenced(&one_then_other(exclusive, exclusive)));
    assert!(influenced(&one_then_other(exclusive, shared)));
    assert!(influenced(&one_then_other(shared, exclusive)));
    assert!(!influenced(&one_then_other(shared, shared)), "neither could have stood in the other's way");
    let of_other = |sys: Sys| async move {
        sys.open("/g", OpenFlags::READ).await.expect("open").lock(LockMode::Exclusive).await.expect("lock");
    };
    assert!(!influenced(&one_then_other(exclusive, of_other)));
    assert!(influenced(&one_then_other(of_other, of_other)), "closed by its end");
}

#[test]
fn a_message_carries_what_its_sender_knew() {
    let told = tell(&timed(), |world| {
        for (role, next) in [("a", "b"), ("b", "c"), ("c", "a")] {
            world.process(role, 0, move |sys| async move {
                let mailbox = sys.bind(1).await.expect("bind");
                sys.sleep(1000).await.expect("sleep");
                if role != "a" {
                    mark(&sys, &format!("{role} before")).await;
                    mailbox.receive().await.expect("receive");
                    mark(&sys, &format!("{role} received")).await;
                }
                if role != "c" {
                    mailbox.send(&Address::new(format!("{next}-0"), 1), b"x").await.expect("send");
                }
                mark(&sys, &format!("{role} sent")).await;
                Exit::success()
            });
        }
    });
    assert!(told.is_before("b received", "c received") && told.is_before("b before", "c received"));
    assert!(
        told.are_apart("a sent", "c received") && told.are_apart("a sent", "b received"),
        "A went on after it had sent"
    );
    assert!(told.are_apart("b before", "c before") && told.are_apart("b sent", "c received"));
}

#[test]
fn a_life_is_after_the_one_before_and_all_lives_after_a_loss_of_power() {
    let fault = |id, kind, process: Option<&str>, at_ns| FaultPlan {
        id,
        kind,
        process: process.map(str::to_owned),
        when: Trigger::AtNs(at_ns),
        for_ns: MILLI_NS,
        by_ns: 0,
        between: None,
    };
    let world = |world: &mut World| {
        for role in ["a", "b"] {
            world.process(role, 0, move |sys| async move {
                let boot = if sys.simulated_ns() < MILLI_NS { "first" } else { "second" };
                mark(&sys, &format!("{role} {boot}")).await;
                sys.sleep(20 * MILLI_NS).await.expect("sleep");
                Exit::success()
            });
        }
    };
    let kill = fault(1, FaultKind::Kill, Some("a-0"), 5 * MILLI_NS);
    let told = tell(&Plan { faults: vec![kill], ..timed() }, world);
    assert!(told.is_before("a first", "a second") && told.are_apart("b first", "a second"));
    let crash = fault(1, FaultKind::MachineCrash, None, 5 * MILLI_NS);
    let told = tell(&Plan { faults: vec![crash], ..timed() }, world);
    assert!(told.is_before("a first", "b second") && told.is_before("b first", "a second"));
    assert!(told.are_apart("a first", "b first") && told.are_apart("a second", "b second"));
}

#[test]
fn a_commit_is_before_the_snapshots_that_others_read_after_it() {
    use crate::sqlite_support::{number, open_wal};
    let told = tell(&timed(), |world| {
        world.prepare(|sys| async move {
            let made = sys.blocking(|_| open_wal("/db")?.execute_batch("CREATE TABLE t(x); CREATE TABLE u(x)"));
            made.await.expect("the schema is made");
            Exit::success()
        });
        for (role, wait_ms, table) in [("a", 0, "t"), ("b", 100, "t"), ("c", 100, "u")] {
            world.process(role, 0, move |sys| async move {
                sys.sleep(wait_ms * MILLI_NS).await.expect("sleep");
                mark(&sys, &format!("{role} before")).await;
                let done = sys.blocking(move |_| {
                    let db = open_wal("/db")?;
                    if role == "a" {
                        db.execute_batch(&format!("INSERT INTO {table} VALUES(1)"))
                    } else {
                        number(&db, &format!("SELECT count(*) FROM {table}")).map(drop)
                    }
                });
                done.await.expect("it is done");
                mark(&sys, &format!("{role} after")).await;
                Exit::success()
            });
        }
    });
    assert!(told.is_before("a before", "b after"));
    assert!(told.is_before("a before", "c after"), "by the memory that the lock hands over");
    assert!(told.are_apart("a after", "b before") && told.are_apart("b before", "c before"));
}
