//! What happened at a step that decides: the events there, who could have gone instead, and whether it lies in the violation's causal past.

use super::Subject;
use crate::exit::Result;
use crate::measured;
use crate::words::Narrator;
use seedstorm_sim::Settings;
use seedstorm_sim::causality::{Influence, Past};
use seedstorm_sim::kernel::View;
use seedstorm_sim::schedule::Ready;
use seedstorm_sim::trace::{Event, ProcessId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A step of the chaos, looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Its number in the whole run.
    pub(crate) step: u64,
    /// What happened there, an event in a line.
    pub(crate) events: Vec<String>,
    /// Who could have gone instead, and with which call.
    pub(crate) instead: Vec<String>,
    /// Whether it lies in the causal past of the violation. `None` if no event violated: it was found at the end.
    pub(crate) is_in_past: Option<bool>,
}

#[derive(Default)]
struct Seen {
    moments: BTreeMap<u64, Moment>,
    pasts: Vec<(u64, Past)>,
    violating: Option<Past>,
    /// By process that the violation names: what may have influenced its last event until then. Two who hold one lock don't know of each other, which is
    /// just what is wrong: the violation is of both.
    involved: BTreeMap<ProcessId, Past>,
}

/// Runs the failure once more and looks at these steps of its chaos.
///
/// # Errors
/// The plan can't be run.
pub(crate) fn look(subject: &Subject, chaos_steps: &[u64]) -> Result<Vec<Moment>> {
    let steps: Vec<u64> = chaos_steps.iter().map(|step| subject.step_of(*step)).collect();
    if steps.is_empty() {
        return Ok(Vec::new());
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (watched, kept, violated_at) = (steps.clone(), seen.clone(), subject.violation.step);
    let mut influence = Influence::default();
    let message = subject.violation.message.clone();
    let mut narrator = None;
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        let past = influence.observe(event);
        let narrator = narrator.get_or_insert_with(|| Narrator::of(view));
        let words = narrator.tell(event);
        let mut seen = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(process) = event.process
            && event.step <= violated_at
            && is_named(view.process(process).name, &message)
        {
            seen.involved.insert(process, past.clone());
        }
        if event.step == violated_at {
            seen.violating = Some(past.clone());
        }
        if watched.contains(&event.step) {
            let moment = seen.moments.entry(event.step).or_insert_with(|| Moment {
                step: event.step,
                instead: view.ready().map(|call| ready_words(call, view, narrator)).collect(),
                ..Moment::default()
            });
            let process = event.process.map_or("the machine", |process| view.process(process).name);
            moment.events.push(format!("{process}: {words}"));
            seen.pasts.push((event.step, past));
        }
    };
    let settings =
        Settings { guide: Some(subject.guide()), listener: Some(Box::new(listener)), ..subject.checked.settings() };
    measured::run(subject.scenario, &subject.plan, settings)?;
    let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let violating = seen.violating.filter(|_| !subject.is_of_the_end);
    let moment = |step: &u64| {
        let mut moment = seen.moments.remove(step).unwrap_or_else(|| Moment { step: *step, ..Moment::default() });
        moment.is_in_past = violating.as_ref().map(|violating| {
            let known =
                |past: &Past| std::iter::once(violating).chain(seen.involved.values()).any(|of| of.has(past.stamp()));
            seen.pasts.iter().any(|(at, past)| at == step && known(past))
        });
        moment
    };
    Ok(steps.iter().map(moment).collect())
}

/// Whether a message names a process: `agent-1`, and not a part of `agent-12`.
fn is_named(name: &str, message: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|character: char| character.is_ascii_alphanumeric());
    message.match_indices(name).any(|(at, _)| !goes_on(&message[at + name.len()..]))
}

/// The names of all processes, by id.
fn ready_words(call: &Ready, view: &View<'_>, narrator: &Narrator) -> String {
    let process = view.process(call.process).name;
    let task = if call.ordinal == 0 { String::new() } else { format!("/{}", call.ordinal) };
    match narrator.file(call.object) {
        Some(path) if call.object != 0 => format!("{process}{task}: {} {path}", call.kind),
        _ => format!("{process}{task}: {}", call.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_name_is_no_part_of_another() {
        assert!(is_named("agent-1", "lock `a`: agent-1 and agent-12 hold it"));
        assert!(is_named("agent-1", "lost update: agent-1#3000 and agent-2#4000"));
        assert!(!is_named("agent-1", "lock `a`: agent-10 and agent-12 hold it"));
    }
}
