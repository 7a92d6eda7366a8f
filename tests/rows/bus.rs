//! Rows of the fault catalogue, family bus: what a signal and a clock survive. Each runs one schedule with the model as it is and with the row's planted bug; the oracles of
//! signals watch both, so the schedule is known to bite.

use crate::script::{Diary, MS, Ran, SECOND, fault, plan, play, with};
use rusqlite::{Connection, params};
use seedstorm_model::agent::{AgentError, prepare};
use seedstorm_model::bus::{BusConfig, From, Member, Outgoing, SendOutcome, To};
use seedstorm_model::claims::digest_of;
use seedstorm_model::config::Config;
use seedstorm_model::mutant::Mutant;
use seedstorm_scenarios::oracle::signals::watch_signals;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Plan, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Sys, World};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

fn config(mutant: Option<Mutant>) -> Config {
    let bus = BusConfig { rate_limit: None, ..BusConfig::default() };
    Config { bus: Some(bus), busy_timeout_ns: 50 * MS, mutant, ..Config::default() }
}

/// Adds the preparation, and the oracles.
fn watched(world: &mut World) {
    world.prepare(|sys| async move {
        prepare(&sys, &config(None), &[], &[], 0).await.expect("nothing goes wrong yet");
        Exit::success()
    });
    watch_signals(world);
}

/// Adds process `ROLE-0`, which lives again after a kill: its program is told which of its lives it is, from 0.
fn lives<F>(world: &mut World, role: &'static str, program: impl Fn(Sys, u32) -> F + 'static)
where
    F: Future<Output = Result<(), AgentError>> + 'static,
{
    let lives = Rc::new(Cell::new(0));
    let restart = RestartPolicy::OnFailure { first_ns: 10 * MS, last_ns: 10 * MS };
    world.process_with(role, 0, restart, move |sys| {
        let life = lives.replace(lives.get() + 1);
        let running = program(sys, life);
        async move {
            match running.await {
                Ok(()) => Exit::success(),
                Err(error) => Exit { code: 0, why: error.to_string() },
            }
        }
    });
}

fn broadcast(operation: u64) -> Outgoing {
    let content = format!("signal {operation}").into_bytes().into();
    Outgoing { to: To::All, content, answer_by: None, operation }
}

/// Sends until it is sent.
async fn send(sys: &Sys, member: &mut Member, operation: u64) -> Result<(), AgentError> {
    while member.send(sys, &broadcast(operation)).await? != SendOutcome::Sent {
        let _ = sys.sleep(5 * MS).await;
    }
    Ok(())
}

/// Polls until so much time has passed since the start of the run.
async fn receive(sys: &Sys, member: &mut Member, until_ns: u64) -> Result<(), AgentError> {
    while sys.simulated_ns() < until_ns {
        member.listen(sys, 20 * MS).await;
        member.deliver(sys, From::Queue).await?;
    }
    Ok(())
}

/// A sends three signals, B receives them.
fn a_to_b(world: &mut World, mutant: Option<Mutant>) {
    watched(world);
    lives(world, "a", move |sys, _| async move {
        let mut member = Member::join(&sys, &config(mutant)).await?;
        let _ = sys.sleep((200 * MS).saturating_sub(sys.simulated_ns())).await;
        for operation in 1..=3 {
            send(&sys, &mut member, operation).await?;
        }
        receive(&sys, &mut member, SECOND).await?;
        member.leave(&sys).await
    });
    lives(world, "b", move |sys, _| async move {
        let mut member = Member::join(&sys, &config(mutant)).await?;
        receive(&sys, &mut member, SECOND).await?;
        member.leave(&sys).await
    });
}

fn killed(process: &str, kind: CallKind, nth: u64) -> Plan {
    with([fault(FaultKind::Kill, Some(process), Trigger::Call { kind, nth }, 0)], 1)
}

/// Kills a process at each of its first calls of a kind: the model must take none of these amiss, and the planted bug at least one, as this invariant says.
fn at_each(process: &str, kind: CallKind, calls: u64, mutant: Mutant, invariant: &str) {
    let mut caught = 0;
    for nth in 1..=calls {
        let plan = killed(process, kind, nth);
        play(&plan, |world, _| a_to_b(world, None)).passed();
        let ran = play(&plan, |world, _| a_to_b(world, Some(mutant)));
        if !ran.outcome.passed() {
            ran.violated(invariant);
            caught += 1;
        }
    }
    assert!(caught > 0, "no kill at a {kind} of {process} shows it");
}

/// B takes m1, archives it; kill B; m1 is delivered again.
#[test]
fn m1_a_signal_is_acknowledged_when_it_has_been_delivered() {
    at_each("b-0", CallKind::Sync, 24, Mutant::AcknowledgedBeforeDelivered, "exactly-once-in-causal-order");
    // Among these is the moment of the catalogue: handed over, not acknowledged.
    let redelivered = (1..=24).filter(|nth| {
        let ran = play(&killed("b-0", CallKind::Sync, *nth), |world, _| a_to_b(world, None)).passed();
        ran.fired(FaultKind::Kill) == 1 && ran.outcome.observations.coverage.contains_key("redelivered_after_kill")
    });
    assert!(redelivered.count() > 0);
}

/// C waits for the write lock from this moment on, and keeps it as soon as it has it: whoever comes next is busy, for longer than SQLite waits.
fn c_keeps_the_lock(world: &mut World, from_ns: u64) {
    lives(world, "c", move |sys, _| async move {
        let _ = sys.sleep(from_ns.saturating_sub(sys.simulated_ns())).await;
        let path = config(None).database();
        sys.blocking(move |os| {
            let connection = Connection::open(path).expect("it is there");
            connection.busy_timeout(std::time::Duration::ZERO).expect("nothing hinders it");
            while connection.execute_batch("BEGIN IMMEDIATE").is_err() {
                os.sleep(MS / 100).expect("nobody sends signals here");
            }
            os.sleep(300 * MS).expect("nobody sends signals here");
            connection.execute_batch("ROLLBACK").expect("it is open");
        })
        .await;
        Ok(())
    });
}

/// Outbound commits; inbound is busy.
#[test]
fn m2_inbound_is_busy_after_outbound_has_been_committed() {
    let mut caught = 0;
    for step in 0..40 {
        let scene = |mutant| {
            move |world: &mut World, _: &Diary| {
                a_to_b(world, mutant);
                c_keeps_the_lock(world, 200 * MS + step * MS / 10);
            }
        };
        play(&plan(1), scene(None)).passed();
        let ran = play(&plan(1), scene(Some(Mutant::TwoStepSend)));
        if !ran.outcome.passed() {
            ran.violated("exactly-once-in-causal-order");
            caught += 1;
        }
    }
    assert!(caught > 0, "the lock never fell between the two");
}

/// As above, by death instead of the lock.
#[test]
fn m2_a_send_is_one_transaction() {
    at_each("a-0", CallKind::Sync, 24, Mutant::TwoStepSend, "exactly-once-in-causal-order");
    at_each("a-0", CallKind::WriteAt, 40, Mutant::TwoStepSend, "exactly-once-in-causal-order");
}

/// Snapshot; send; kill; restart; send.
#[test]
fn m4_a_clock_is_its_snapshot_and_what_came_after() {
    let scene = |mutant: Option<Mutant>| {
        move |world: &mut World, _: &Diary| {
            watched(world);
            lives(world, "a", move |sys, life| async move {
                let mut member = Member::join(&sys, &config(mutant)).await?;
                send(&sys, &mut member, u64::from(life) * 2 + 1).await?;
                send(&sys, &mut member, u64::from(life) * 2 + 2).await?;
                member.leave(&sys).await
            });
        }
    };
    // Begun: two claims; the first send: two; the third call is the second send's intent.
    let plan = killed("a-0", CallKind::Claim, 5);
    let ran = play(&plan, scene(None)).passed();
    assert!(ran.fired(FaultKind::Kill) == 1 && ran.outcome.observations.coverage.contains_key("incarnation_changed"));
    play(&plan, scene(Some(Mutant::ClockFromSnapshot))).violated("clocks-agree");
    play(&plan, scene(Some(Mutant::TickNotPersisted))).violated("clocks-agree");
}

/// Prune a descendant; compare it with its ancestor.
#[test]
fn m5_pruning_keeps_descent() {
    let scene = |mutant: Option<Mutant>| {
        move |world: &mut World, _: &Diary| {
            watched(world);
            lives(world, "a", move |sys, life| async move {
                let mut member = Member::join(&sys, &config(mutant)).await?;
                let _ = sys.sleep((200 * MS).saturating_sub(sys.simulated_ns())).await;
                for number in 1..=8 {
                    send(&sys, &mut member, u64::from(life) * 8 + number).await?;
                    receive(&sys, &mut member, sys.simulated_ns() + 60 * MS).await?;
                }
                receive(&sys, &mut member, 3 * SECOND).await?;
                member.leave(&sys).await
            });
            lives(world, "b", move |sys, _| async move {
                let mut member = Member::join(&sys, &config(mutant)).await?;
                for operation in 1..=20 {
                    receive(&sys, &mut member, sys.simulated_ns() + 70 * MS).await?;
                    send(&sys, &mut member, operation).await?;
                }
                receive(&sys, &mut member, 2 * SECOND).await?;
                member.leave(&sys).await
            });
        }
    };
    let plan = with([fault(FaultKind::Kill, Some("a-0"), Trigger::AtNs(400 * MS), 0)], 1);
    let ran = play(&plan, scene(None)).passed();
    assert!(ran.outcome.observations.coverage.contains_key("clock_pruned"), "{:?}", ran.outcome.observations.coverage);
    play(&plan, scene(Some(Mutant::PruningBreaksDescent))).violated("clocks-agree");
}

/// Take, mark, fail, deliver again.
#[test]
fn m6_a_signal_counts_as_seen_when_it_has_been_processed() {
    at_each("b-0", CallKind::Sync, 24, Mutant::SeenBeforeProcessed, "exactly-once-in-causal-order");
}

/// B receives from A, then sends.
#[test]
fn m7_a_delivery_merges_and_then_ticks() {
    let scene = |mutant: Option<Mutant>| {
        move |world: &mut World, _: &Diary| {
            watched(world);
            for role in ["a", "b"] {
                lives(world, role, move |sys, _| async move {
                    let mut member = Member::join(&sys, &config(mutant)).await?;
                    let starts_ns = if role == "a" { 200 * MS } else { 500 * MS };
                    receive(&sys, &mut member, starts_ns).await?;
                    send(&sys, &mut member, 1).await?;
                    receive(&sys, &mut member, SECOND).await?;
                    member.leave(&sys).await
                });
            }
        }
    };
    play(&plan(1), scene(None)).passed();
    play(&plan(1), scene(Some(Mutant::ReceiveWithoutTick))).violated("clocks-agree");
    play(&plan(1), scene(Some(Mutant::MergeSkipped))).violated("clocks-agree");
}

/// Rows of B's clock, and of clocks that were refused.
fn clock_rows(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut select = connection.prepare(&format!("SELECT clock FROM {table} ORDER BY number"))?;
    select.query_map([], |row| row.get(0))?.collect()
}

/// Corrupt the stored clock; load it.
#[test]
fn m8_a_clock_with_a_key_twice_is_refused_and_kept() {
    // Version 1, nothing pruned, two entries with one key, the digest that belongs to them: as a program with a bug would write it.
    let body = "\u{1}\u{0}\u{2}\u{1}\u{1}\u{5}\u{1}\u{1}\u{2}";
    let mut corrupt = body.as_bytes().to_vec();
    corrupt.extend_from_slice(&digest_of(body).to_le_bytes());
    let scene = |mutant: Option<Mutant>| {
        let corrupt = corrupt.clone();
        move |world: &mut World, diary: &Diary| {
            watched(world);
            let (corrupt, diary) = (corrupt.clone(), diary.clone());
            lives(world, "a", move |sys, _| {
                let (corrupt, diary) = (corrupt.clone(), diary.clone());
                async move {
                    let mut member = Member::join(&sys, &config(mutant)).await?;
                    for operation in 1..=3 {
                        send(&sys, &mut member, operation).await?;
                    }
                    let spoilt = corrupt.clone();
                    let write = move |connection: &Connection| {
                        let clock = "UPDATE clock_journal SET clock = ?1 WHERE number = (SELECT max(number) FROM clock_journal)";
                        connection.execute(clock, params![spoilt])
                    };
                    let written = sys.blocking(move |_| write(&Connection::open(config(None).database())?)).await;
                    assert_eq!(written.expect("a sound database"), 1);
                    member.leave(&sys).await?;
                    // A new process of its name begins a new life.
                    for again in 0..2 {
                        match next_life(&sys, mutant).await {
                            Ok(member) => {
                                diary.note("a life began");
                                return member.leave(&sys).await;
                            }
                            Err(error @ AgentError::ClockRefused { .. }) => {
                                diary.note(format!("refused {again}: {error}"))
                            }
                            Err(error) => return Err(error),
                        }
                    }
                    let rows = |table: &'static str| {
                        sys.blocking(move |_| clock_rows(&Connection::open(config(None).database())?, table))
                    };
                    let kept = rows("refused_clocks").await.expect("a sound database");
                    diary.note(if kept == [corrupt.clone()] { "kept" } else { "lost" });
                    assert!(
                        rows("clock_journal").await.expect("a sound database").contains(&corrupt),
                        "nothing is saved over it"
                    );
                    Ok(())
                }
            });
        }
    };
    let ran: Ran = play(&plan(1), scene(None));
    assert!(ran.notes.iter().any(|note| note.starts_with("refused 0") && note.contains("twice")), "{:?}", ran.notes);
    assert!(ran.notes.iter().any(|note| note.starts_with("refused 1")), "each wake refuses: {:?}", ran.notes);
    assert!(ran.has("kept") && !ran.has("a life began"), "{:?}", ran.notes);
    let ran = play(&plan(1), scene(Some(Mutant::DuplicateKeysAccepted)));
    ran.violated("clocks-agree");
}

/// Begins a life as a new process of this one's name would: the store counts it as another.
async fn next_life(sys: &Sys, mutant: Option<Mutant>) -> Result<Member, AgentError> {
    let renewed = sys
        .blocking(|_| {
            let connection = Connection::open(config(None).database())?;
            connection.execute("UPDATE agents SET started_ns = started_ns - 1", [])
        })
        .await;
    assert_eq!(renewed.expect("a sound database"), 1);
    Member::join(sys, &config(mutant)).await
}
