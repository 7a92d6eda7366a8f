//! Clocks: simulated time everywhere, skew, jumps, and what a machine crash does to them.

use crate::support::{MILLI_NS, SECOND_NS, fault, note, plan, run_world};
use seedstorm_sim::plan::{FaultKind, FaultPlan, Trigger};
use seedstorm_sim::{Exit, Plan};

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test is that a program which reads these clocks reads simulated time"
)]
fn a_program_that_reads_the_standard_library_s_clocks_reads_simulated_time() {
    let ran = run_world(&Plan { latency: "hdd".into(), ..plan() }, |world| {
        for index in 0..3 {
            world.process("a", index, |sys| async move {
                let (instant, system, ours_ns) =
                    (std::time::Instant::now(), std::time::SystemTime::now(), sys.monotonic_ns()); // simulated: that is what is tested
                for round in 1..20 {
                    if round % 3 == 0 {
                        sys.yield_now().await;
                    } else {
                        sys.sleep(round * 1_234_567).await.expect("sleep");
                    }
                    let passed_ns = sys.monotonic_ns() - ours_ns;
                    assert_eq!(instant.elapsed().as_nanos(), u128::from(passed_ns));
                    assert_eq!(system.elapsed().expect("it rises").as_nanos(), u128::from(passed_ns));
                }
                Exit::success()
            });
        }
    });
    ran.passed();
}

#[test]
fn skew_reaches_the_wall_clock_of_its_process_only() {
    let clock_skew_ns = [("a-0".to_owned(), 5 * SECOND_NS as i64), ("c-0".to_owned(), -7)].into();
    let ran = run_world(&Plan { clock_skew_ns, ..plan() }, |world| {
        for role in ["a", "b", "c"] {
            world.process(role, 0, |sys| async move {
                sys.sleep(MILLI_NS).await.expect("sleep");
                let (wall_ns, monotonic_ns) = (sys.wall_ns(), sys.monotonic_ns());
                note(&sys, (wall_ns - monotonic_ns).to_string()).await;
                Exit::success()
            });
        }
    })
    .passed();
    let start_ns: u64 = ran.notes(1)[0].parse().expect("a number");
    assert_eq!(start_ns, 1_790_000_000 * SECOND_NS);
    assert_eq!(ran.notes(0), [(start_ns + 5 * SECOND_NS).to_string()]);
    assert_eq!(ran.notes(2), [(start_ns - 7).to_string()]);
}

#[test]
fn a_jump_moves_every_wall_clock_and_no_monotonic_one() {
    let jump = |id, at_milli: u64, by_ns| FaultPlan {
        id,
        process: None,
        by_ns,
        ..fault(FaultKind::ClockJump, Trigger::AtNs(at_milli * MILLI_NS))
    };
    let (forth_ns, back_ns) = (3600 * SECOND_NS as i64, -7200 * SECOND_NS as i64);
    let faults = vec![jump(1, 10, forth_ns), jump(2, 30, back_ns)];
    let clock_skew_ns = [("b-0".to_owned(), 1000)].into();
    let ran = run_world(&Plan { faults, clock_skew_ns, ..plan() }, |world| {
        for role in ["a", "b"] {
            world.process(role, 0, |sys| async move {
                for _ in 0..3 {
                    let (wall_ns, monotonic_ns) = (sys.wall_ns() as i64, sys.monotonic_ns() as i64);
                    note(&sys, (wall_ns - monotonic_ns - 1_790_000_000 * SECOND_NS as i64).to_string()).await;
                    sys.sleep(20 * MILLI_NS).await.expect("sleep");
                }
                assert!(sys.monotonic_ns() < 70 * MILLI_NS, "sleeps are as long as ever");
                Exit::success()
            });
        }
    })
    .passed();
    let offsets = [0, forth_ns, forth_ns + back_ns];
    assert_eq!(ran.notes(0), offsets.map(|offset| offset.to_string()));
    assert_eq!(ran.notes(1), offsets.map(|offset| (offset + 1000).to_string()));
}
