//! What the chaos of a run is scheduled by: the plan's strategy or turns that are followed, and whether it is written down who went when.

use super::guided::{Following, Guide, Guided, Report};
use super::recorder::{Recorder, Recording};
use super::{FirstRun, Strategy, Turns, strategy};
use crate::plan::StrategyPlan;
use crate::seed::Seed;
use std::rc::Rc;
use std::sync::PoisonError;

/// What the chaos of a run is scheduled by, from its beginning to its end.
pub(crate) struct ChaosStrategy {
    plan: StrategyPlan,
    seed: Seed,
    first_run: FirstRun,
    /// The names of the processes, by id, where turns are followed or written down.
    names: Option<Rc<[String]>>,
    /// Turns to follow instead.
    pub(crate) guide: Option<Guide>,
    /// Where who went when is written down, if somebody wants to know.
    pub(crate) recording: Option<Recording>,
    report: Option<Report>,
}

impl ChaosStrategy {
    /// That of a plan.
    pub(crate) fn new(
        plan: StrategyPlan,
        seed: Seed,
        first_run: FirstRun,
        names: Option<Rc<[String]>>,
    ) -> ChaosStrategy {
        ChaosStrategy { plan, seed, first_run, names, guide: None, recording: None, report: None }
    }

    /// The chaos begins.
    pub(crate) fn begin(&mut self) -> Box<dyn Strategy> {
        let strategy: Box<dyn Strategy> = match self.guide.take() {
            None => strategy(self.plan, self.seed, &self.first_run),
            Some(guide) => {
                let report = self.report.get_or_insert_default().clone();
                Box::new(Following::new(guide, self.names.clone().unwrap_or_default(), report))
            }
        };
        match &self.recording {
            None => strategy,
            Some(recording) => {
                Box::new(Recorder::new(strategy, self.names.clone().unwrap_or_default(), recording.clone()))
            }
        }
    }

    /// The run has ended, and with it every strategy: who went when, and how well the guide could be followed.
    pub(crate) fn end(&mut self) -> (Option<Turns>, Option<Guided>) {
        let turns = self
            .recording
            .take()
            .map(|turns| std::mem::take(&mut *turns.lock().unwrap_or_else(PoisonError::into_inner)));
        let guided =
            self.report.take().map(|found| std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner)));
        (turns, guided)
    }
}
