//! A run that doesn't come to its end: which limit it has reached, and who is at what.

use super::core::Core;
use super::process::Life;
use super::task::TaskState;
use crate::metrics::Nanoseconds;
use crate::schedule::Ready;
use std::fmt::Write as _;

/// So many tasks are told of, where a run doesn't end.
const UNFINISHED_TOLD: usize = 12;
/// Room for a few of them.
const UNFINISHED_BYTES: usize = 256;

impl Core {
    /// Says which limit was reached.
    #[cold]
    pub(super) fn stands_still(&mut self) {
        // Whose role it is that hangs, if it is one.
        let mut roles = self.processes.iter().filter(|process| process.is_unfinished()).map(|process| process.role);
        let role = roles.next().filter(|role| roles.all(|other| other == *role));
        let (why, loss) = if self.ready.is_empty() {
            ("nothing can run, and nobody will wake anybody".to_owned(), "stuck")
        } else if self.step >= self.steps_max {
            (format!("the step budget of {} is used up", self.steps_max), "steps")
        } else {
            (format!("not all have finished {} into the calm phase", Nanoseconds(self.plan.calm_ns)), "time")
        };
        let message = self.and_who_is_unfinished(why);
        self.no_progress(message, role, loss);
    }

    /// Adds who has not finished, and what each of their tasks is at.
    // Piece by piece: in a search for deadlocks it is made for each second schedule.
    #[cold]
    fn and_who_is_unfinished(&self, mut text: String) -> String {
        text.reserve(UNFINISHED_BYTES);
        let mut tasks = 0;
        let is_told = |text: &mut String, tasks: &mut usize| {
            text.push_str(match *tasks {
                0 => ": ",
                1..UNFINISHED_TOLD => ", ",
                _ => "",
            });
            *tasks += 1;
            *tasks <= UNFINISHED_TOLD
        };
        for process in self.processes.iter().filter(|process| process.is_unfinished()) {
            if !process.is_live() && is_told(&mut text, &mut tasks) {
                text.push_str(&process.name);
                text.push_str(" is down");
            }
            for task in process.tasks.iter().map(|task| &self.tasks[task.0 as usize]) {
                if !is_told(&mut text, &mut tasks) {
                    continue;
                }
                let Ready { kind, object, ordinal, .. } = task.call;
                text.push_str(&process.name);
                // A string takes all that is written.
                let _ = write!(text, " (task {ordinal}) ");
                if process.life == Life::Paused {
                    text.push_str("is paused and ");
                }
                match task.state {
                    TaskState::Waiting { .. } => {
                        text.push_str("waits for `");
                        text.push_str(kind.name());
                        let _ = write!(text, "` of #{object}");
                    }
                    TaskState::Asleep { .. } => text.push_str("sleeps"),
                    TaskState::Ready(_) | TaskState::Held | TaskState::Picked => {
                        text.push_str("is at `");
                        text.push_str(kind.name());
                        text.push('`');
                    }
                    _ => text.push_str("waits for something that is no system call"),
                }
            }
        }
        if let more @ 1.. = tasks.saturating_sub(UNFINISHED_TOLD) {
            let _ = write!(text, ", and {more} more");
        }
        text
    }
}
