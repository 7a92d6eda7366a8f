//! What is read of the machine once for all who judge it at the same event.

use seedstorm_sim::View;
use std::cell::RefCell;
use std::rc::Rc;

/// A reading, kept until something else happens. Not for as long as a step: the machine may lose power between two steps, and has another disk then.
pub(crate) struct PerEvent<T> {
    last: Rc<RefCell<Option<(u64, T)>>>,
}

impl<T: Clone> PerEvent<T> {
    /// The reading at the event that is shown. `read` makes it, from the one before it, if there is one.
    pub(crate) fn at(&self, view: &View<'_>, read: impl FnOnce(Option<T>) -> T) -> T {
        let mut last = self.last.borrow_mut();
        let event = view.events();
        let reading = match last.take() {
            Some((at, reading)) if at == event => reading,
            before => read(before.map(|(_, reading)| reading)),
        };
        *last = Some((event, reading.clone()));
        reading
    }

    /// Whether somebody has read at the event that is shown.
    pub(crate) fn is_there(&self, view: &View<'_>) -> bool {
        matches!(&*self.last.borrow(), Some((event, _)) if *event == view.events())
    }
}

impl<T> Clone for PerEvent<T> {
    fn clone(&self) -> Self {
        PerEvent { last: self.last.clone() }
    }
}

impl<T> Default for PerEvent<T> {
    fn default() -> Self {
        PerEvent { last: Rc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::invariant::{Invariant, Violation};
    use seedstorm_sim::plan::{FaultKind, FaultPlan, Options, OptionsError, Trigger};
    use seedstorm_sim::sys::OpenFlags;
    use seedstorm_sim::sys::claim::LockReleased;
    use seedstorm_sim::trace::{Body, Event, Interest};
    use seedstorm_sim::{Exit, Plan, Scenario, Seed, Settings, World, run};

    const FILE: &str = "/file";

    /// A process that writes, says so and sleeps.
    struct Writes;

    impl Scenario for Writes {
        fn name(&self) -> &'static str {
            "writes"
        }

        fn about(&self) -> &'static str {
            "a write that is read just before a power loss and just after it"
        }

        fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
            Ok(Plan::plain(self.name(), seed))
        }

        fn populate(&self, _plan: &Plan, world: &mut World) {
            world.process("writer", 0, |sys| async move {
                if let Ok(file) = sys.open(FILE, OpenFlags::READ_WRITE.create_exclusive()).await {
                    file.write(b"not synced").await.expect("room");
                    sys.claim(&LockReleased { lock: String::new() }).await;
                    sys.sleep(100_000_000).await.expect("it is not interrupted");
                }
                Exit::success()
            });
            world.invariant(Reads::default());
        }

        fn coverage(&self) -> &'static [&'static str] {
            &[]
        }

        fn invariants(&self) -> &'static [(&'static str, &'static str)] {
            &[("reads", "what is read is what is there")]
        }
    }

    #[derive(Default)]
    struct Reads {
        file: PerEvent<Option<Vec<u8>>>,
        at_claim: u64,
    }

    impl Invariant for Reads {
        fn id(&self) -> &'static str {
            "reads"
        }

        fn interest(&self) -> Interest {
            Interest::CLAIMS.and(Interest::LIVES)
        }

        fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
            let there = || view.disk().visible_read(FILE);
            let read = self.file.at(view, |_| there());
            let again = self.file.at(view, |_| panic!("it has been read at this event"));
            assert!(read == there() && read == again && self.file.is_there(view), "{read:?}");
            match event.body {
                Body::Claim { .. } => self.at_claim = event.step,
                Body::MachineCrashed if event.step == self.at_claim => {
                    view.count("crashed_in_the_step_of_a_reading", 1)
                }
                _ => {}
            }
            Ok(())
        }
    }

    #[test]
    fn a_power_loss_between_two_steps_ends_a_reading() {
        let crash = FaultPlan {
            id: 1,
            kind: FaultKind::MachineCrash,
            process: None,
            when: Trigger::AtNs(50_000_000),
            for_ns: 1_000_000,
            by_ns: 0,
            between: None,
        };
        let plan = Plan { faults: vec![crash], chaos_ns: 1_000_000_000, ..Plan::plain(Writes.name(), Seed(1)) };
        let outcome = run(&Writes, &plan, Settings::default()).expect("the plan runs");
        assert!(outcome.passed(), "{:?}", outcome.violations);
        assert_eq!(outcome.observations.counters["crashed_in_the_step_of_a_reading"], 1);
    }
}
