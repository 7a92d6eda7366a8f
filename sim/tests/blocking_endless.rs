//! Code that goes on for ever after its death. Alone in its file: it retires the OS process that runs it.

mod sqlite_support;

use seedstorm_sim::blocking::must_retire;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Exit, Os, Plan, World};
use sqlite_support::{fault, pass, plan, run_plan};
use std::sync::Mutex;

/// The flag is the process's: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn killed() -> Plan {
    Plan {
        faults: vec![fault(1, FaultKind::Kill, Some("victim-0"), Trigger::Call { kind: CallKind::Sleep, nth: 2 })],
        ..plan(1)
    }
}

fn endless(work: fn(&Os)) -> impl Fn(&Plan, &mut World) + Sync {
    move |_, world| {
        world.process_with("victim", 0, RestartPolicy::Never, move |sys| async move {
            sys.blocking(work).await;
            Exit::success()
        });
        world.process("other", 0, |sys| async move {
            sys.sleep(1_000_000_000).await.expect("nobody ends it");
            Exit::success()
        });
    }
}

#[test]
fn code_that_retries_for_ever_after_its_death_is_left_behind_and_reported() {
    let _turn = TURN.lock().expect("no test panicked");
    // A retry loop that takes no error for an answer; one that looks at the clock alone; one that asks whether it should end, and doesn't.
    let loops: [fn(&Os); 3] = [
        |os| while os.sleep(1_000).is_err() || os.is_alive() {},
        |os| {
            os.sleep(1_000).ok();
            os.sleep(1_000).ok();
            let start_ns = os.monotonic_ns();
            while os.monotonic_ns() - start_ns < 1_000_000 {}
        },
        |os| {
            let _ = os.sleep(1_000);
            loop {
                if os.sleep(1_000) != Err(Errno::Interrupted) && os.is_alive() {
                    continue;
                }
            }
        },
    ];
    for work in loops {
        let outcome = run_plan(&killed(), endless(work));
        assert_eq!(outcome.violations.len(), 1, "{:#?}", outcome.violations);
        let violation = &outcome.violations[0];
        assert_eq!(violation.fingerprint, "leaves-when-dead/process/victim/endless");
        assert!(violation.message.contains("victim-0 went on for 100001 calls"), "{}", violation.message);
        assert!(must_retire());
        // The harness still works; what was left behind disturbs no later run.
        pass(&plan(2), |_, world| {
            world.process("next", 0, |sys| async move {
                sys.blocking(|os| os.sleep(5)).await.expect("nobody ends it");
                Exit::success()
            });
        });
    }
}

#[test]
fn the_limit_leaves_room_for_long_error_paths() {
    let _turn = TURN.lock().expect("no test panicked");
    pass(
        &killed(),
        endless(|os| {
            while os.sleep(1_000).is_ok() {}
            (0..90_000).for_each(|_| assert_eq!(os.sleep(1_000), Err(Errno::Dead)));
        }),
    );
}
