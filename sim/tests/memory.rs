//! Memory stays flat: the 2000th run in a process needs no more than the 200th. Alone in its process, so that nothing else moves the numbers.

use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::sync::{Mutex, channel};
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Exit, Options, Plan, Scenario, Seed, Settings, World, run};

/// Processes with tasks, files and channels, kills and crashes. Each third run ends in a panic, and some in the step that starts a task.
struct Busy;

impl Scenario for Busy {
    fn name(&self) -> &'static str {
        "busy"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        let of = |id: u32, kind, call| {
            let when = Trigger::Call { kind: call, nth: 3 };
            FaultPlan { id, kind, process: Some(format!("a-{id}")), when, for_ns: 1_000_000, by_ns: 0, between: None }
        };
        Ok(Plan {
            chaos_ns: 1_000_000_000,
            calm_ns: 10_000_000_000,
            steps_max: 100_000,
            faults: vec![of(0, FaultKind::Kill, CallKind::Spawn), of(1, FaultKind::MachineCrash, CallKind::Sync)],
            ..Plan::plain(self.name(), seed)
        })
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        let panics = plan.seed.0.is_multiple_of(3);
        for index in 0..4 {
            world.process("a", index, move |sys| async move {
                let (mutex, (sender, receiver)) = (Mutex::new(&sys, vec![0u8; 10_000]), channel(&sys, Some(2)));
                for round in 0..4u8 {
                    let (mutex, sender) = (mutex.clone(), sender.clone());
                    let work = move |sys: seedstorm_sim::Sys| async move {
                        let file = sys.open(&format!("/{round}"), OpenFlags::WRITE.create()).await.expect("open");
                        file.write(&vec![round; 20_000]).await.expect("write");
                        file.sync().await.expect("fsync");
                        mutex.lock().await.expect("lock")[0] += 1;
                        // A message that holds the kernel.
                        let _ = sender.send((sys.clone(), file)).await;
                    };
                    let task = sys.spawn(work).await;
                    if panics && index == 3 && round == 2 {
                        assert!(sys.pid() == 0, "as planned");
                    }
                    let _message = receiver.receive().await;
                    sys.join(task).await;
                }
                Exit::success()
            });
        }
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// The memory of this process that is resident, in pages.
fn resident_pages() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("the second field is a number")
}

#[test]
fn two_thousand_runs_leave_nothing_behind() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut ended = [0; 2];
    let mut runs = |seeds: std::ops::Range<u64>| {
        for seed in seeds {
            let plan = Busy.plan(Seed(seed), &Options::default()).expect("no option is wrong");
            let outcome = run(&Busy, &plan, Settings::default()).expect("it can be run");
            ended[usize::from(outcome.passed())] += 1;
        }
    };
    runs(0..200);
    let early = resident_pages();
    runs(200..2000);
    let late = resident_pages();
    let _ = std::panic::take_hook();
    assert!(ended[0] > 500 && ended[1] > 1000, "{ended:?} runs failed and passed");
    // A run holds some hundred kilobytes: if one in a hundred stayed, this would show it.
    assert!(late * 4096 < early * 4096 + (2 << 20), "{early} pages after 200 runs, {late} after 2000");
}
