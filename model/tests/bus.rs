//! The bus between a few members: whole sends or none, limits, answers, and a kill at each stage of sending and delivering.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{AgentError, prepare};
use seedstorm_model::bus::{BusConfig, From, Member, Outgoing, RateLimit, SendOutcome, To};
use seedstorm_model::config::Config;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, FaultPlan, Plan, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Sys, World};
use std::future::Future;
use support::{Diary, MS, SECOND, fault, pass, timed};

fn config(bus: BusConfig) -> Config {
    Config { bus: Some(bus), ..Config::default() }
}

fn unlimited() -> BusConfig {
    BusConfig { rate_limit: None, ..BusConfig::default() }
}

fn prepared(world: &mut World) {
    world.prepare(|sys| async move {
        prepare(&sys, &config(unlimited()), &[], &[], 0).await.expect("nothing goes wrong yet");
        Exit::success()
    });
}

/// Adds process `ROLE-0`, a member that lives again after a kill.
fn member<F>(
    world: &mut World,
    role: &'static str,
    bus: &BusConfig,
    program: impl Fn(Sys, Member) -> F + Clone + 'static,
) where
    F: Future<Output = Result<(), AgentError>> + 'static,
{
    let config = config(bus.clone());
    let restart = RestartPolicy::OnFailure { first_ns: 5 * MS, last_ns: 5 * MS };
    world.process_with(role, 0, restart, move |sys| {
        let (config, program) = (config.clone(), program.clone());
        async move {
            let member = Member::join(&sys, &config).await.expect("nothing is in the way");
            program(sys, member).await.expect("nothing is in the way");
            Exit::success()
        }
    });
}

fn signal(to: To, operation: u64) -> Outgoing {
    Outgoing { to, content: b"signal".as_slice().into(), answer_by: None, operation }
}

async fn until(sys: &Sys, at_ns: u64) {
    let _ = sys.sleep(at_ns.saturating_sub(sys.simulated_ns())).await;
}

/// Receives until a time.
async fn receive(sys: &Sys, member: &mut Member, until_ns: u64) -> Result<usize, AgentError> {
    let mut count = 0;
    while sys.simulated_ns() < until_ns {
        member.listen(sys, 10 * MS).await;
        count += member.deliver(sys, From::Queue).await?.map_or(0, |delivered| delivered.signals.len());
    }
    Ok(count)
}

/// One number out of the database.
async fn number(sys: &Sys, sql: &'static str) -> i64 {
    let read = move || Connection::open(config(unlimited()).database())?.query_row(sql, [], |row| row.get(0));
    sys.blocking(move |_| read()).await.expect("a sound database")
}

#[test]
fn a_signal_goes_to_all_or_to_nobody_when_a_queue_is_full() {
    let diary = Diary::default();
    let bus = BusConfig { queue_max: 2, ..unlimited() };
    let notes = diary.clone();
    pass(&timed(1), |world| {
        prepared(world);
        let diary = notes.clone();
        member(world, "sender", &bus, move |sys, mut member| {
            let diary = diary.clone();
            async move {
                until(&sys, SECOND).await;
                for operation in 1..=3 {
                    let sent = member.send(&sys, &signal(To::All, operation)).await?;
                    diary.note(format!("{operation}: {}", if sent == SendOutcome::Sent { "sent" } else { "full" }));
                }
                diary.note(format!("queued {}", number(&sys, "SELECT count(*) FROM signal_queue").await));
                diary.note(format!("signals {}", number(&sys, "SELECT count(*) FROM signals").await));
                until(&sys, 3 * SECOND).await;
                assert_eq!(member.send(&sys, &signal(To::All, 3)).await?, SendOutcome::Sent, "there is room again");
                member.leave(&sys).await
            }
        });
        for role in ["one", "two"] {
            member(world, role, &bus, |sys, mut member| async move {
                until(&sys, 2 * SECOND).await;
                assert_eq!(receive(&sys, &mut member, 4 * SECOND).await?, 3);
                member.leave(&sys).await
            });
        }
    });
    for note in ["1: sent", "2: sent", "3: full", "queued 4", "signals 2"] {
        diary.expect(note);
    }
}

#[test]
fn a_sender_is_limited_and_told_for_how_long() {
    const LIMIT: RateLimit = RateLimit { signals: 3, within_ns: 60 * SECOND };
    let bus = BusConfig { rate_limit: Some(LIMIT), ..BusConfig::default() };
    assert_eq!(BusConfig::default().rate_limit, Some(RateLimit { signals: 10, ..LIMIT }), "ten in sixty seconds");
    pass(&Plan { chaos_ns: 300 * SECOND, ..timed(1) }, |world| {
        prepared(world);
        member(world, "sender", &bus, |sys, mut member| async move {
            let mut sent_ns = Vec::new();
            for operation in 1..=8 {
                loop {
                    match member.send(&sys, &signal(To::All, operation)).await? {
                        SendOutcome::Sent => break,
                        SendOutcome::Limited { wait_ns } => {
                            assert!(wait_ns <= LIMIT.within_ns);
                            let _ = sys.sleep(wait_ns).await;
                        }
                        other => panic!("{other:?}"),
                    }
                }
                sent_ns.push(sys.wall_ns());
            }
            for window in sent_ns.windows(LIMIT.signals as usize + 1) {
                let took_ns = window[LIMIT.signals as usize] - window[0];
                // What is measured here is a little after what was counted.
                assert!(took_ns + SECOND >= LIMIT.within_ns, "{sent_ns:?}");
            }
            assert!(sent_ns[7] - sent_ns[0] < 130 * SECOND, "and no longer than it must: {sent_ns:?}");
            member.leave(&sys).await
        });
    });
}

#[test]
fn a_clock_that_is_set_back_limits_a_sender_for_no_longer_than_the_limit_says() {
    const LIMIT: RateLimit = RateLimit { signals: 3, within_ns: 60 * SECOND };
    let bus = BusConfig { rate_limit: Some(LIMIT), ..BusConfig::default() };
    let back_ns = 3600 * SECOND as i64;
    let jump = FaultPlan { by_ns: -back_ns, ..fault(FaultKind::ClockJump, None, Trigger::AtNs(10 * SECOND), 0) };
    pass(&Plan { chaos_ns: 300 * SECOND, faults: vec![jump], ..timed(1) }, |world| {
        prepared(world);
        member(world, "sender", &bus, |sys, mut member| async move {
            for operation in 1..=3 {
                assert_eq!(member.send(&sys, &signal(To::All, operation)).await?, SendOutcome::Sent);
            }
            until(&sys, 20 * SECOND).await;
            let limited = SendOutcome::Limited { wait_ns: LIMIT.within_ns };
            assert_eq!(
                member.send(&sys, &signal(To::All, 4)).await?,
                limited,
                "what was sent in the time to come was sent now"
            );
            until(&sys, 21 * SECOND + LIMIT.within_ns).await;
            assert_eq!(member.send(&sys, &signal(To::All, 4)).await?, SendOutcome::Sent, "and then that is past");
            member.leave(&sys).await
        });
    });
}

#[test]
fn a_signal_for_nobody_waits_for_its_recipient_to_join() {
    pass(&timed(1), |world| {
        prepared(world);
        member(world, "sender", &unlimited(), |sys, mut member| async move {
            let direct = signal(To::Agent("late-0".into()), 1);
            assert_eq!(member.send(&sys, &direct).await?, SendOutcome::NoSuchMember);
            until(&sys, 2 * SECOND).await;
            assert_eq!(member.send(&sys, &direct).await?, SendOutcome::Sent);
            assert_eq!(member.send(&sys, &direct).await?, SendOutcome::Sent, "it is done, and not done again");
            assert_eq!(number(&sys, "SELECT count(*) FROM signals").await, 1);
            member.leave(&sys).await
        });
        world.process("late", 0, |sys| async move {
            until(&sys, SECOND).await;
            let mut member = Member::join(&sys, &config(unlimited())).await.expect("nothing is in the way");
            let got = receive(&sys, &mut member, 3 * SECOND).await.expect("nothing is in the way");
            assert_eq!(got, 1);
            Exit::success()
        });
    });
}

/// A asks B for three answers, and one of them is killed at a call: each signal has had its effect once, and there are three answers.
fn questions(plan: &Plan) -> bool {
    let outcome = pass(plan, |world| {
        prepared(world);
        member(world, "a", &unlimited(), |sys, mut member| async move {
            until(&sys, 100 * MS).await;
            for operation in 1..=3 {
                let question = Outgoing { answer_by: Some("b-0".into()), ..signal(To::Agent("b-0".into()), operation) };
                while member.send(&sys, &question).await? != SendOutcome::Sent {
                    let _ = sys.sleep(5 * MS).await;
                }
            }
            receive(&sys, &mut member, 2 * SECOND).await?;
            let effects = "SELECT sum(signals) FROM signal_effects";
            assert_eq!(number(&sys, effects).await, 6, "three questions, three answers");
            assert_eq!(number(&sys, "SELECT count(*) FROM signal_queue").await, 0);
            assert_eq!(number(&sys, "SELECT count(*) FROM signals").await, 0, "what everybody has had is gone");
            assert_eq!(number(&sys, "SELECT sum(queued) FROM members").await, 0);
            member.leave(&sys).await
        });
        member(world, "b", &unlimited(), |sys, mut member| async move {
            while sys.simulated_ns() < 1500 * MS {
                receive(&sys, &mut member, sys.simulated_ns() + 20 * MS).await?;
                while member.owes_answers() && member.answer(&sys).await? == SendOutcome::Sent {}
            }
            member.leave(&sys).await
        });
    });
    outcome.observations.faults.get(&FaultKind::Kill) == Some(&1)
}

#[test]
fn a_kill_at_any_stage_loses_nothing_and_does_nothing_twice() {
    assert!(!questions(&timed(1)));
    for process in ["a-0", "b-0"] {
        for (kind, calls) in [(CallKind::Claim, 16), (CallKind::Sync, 30), (CallKind::Send, 3), (CallKind::WriteAt, 60)]
        {
            let kills = (1..=calls).filter(|nth| {
                let kill = fault(FaultKind::Kill, Some(process), Trigger::Call { kind, nth: *nth }, 0);
                questions(&Plan { faults: vec![kill], ..timed(1) })
            });
            assert!(kills.count() >= 3, "{kind} of {process}");
        }
    }
}
