//! What happened at a step that decides: the events there, who could have gone instead, and whether it lies in the violation's causal past.

use super::Subject;
use crate::exit::Result;
use crate::measured;
use seedstorm_sim::Settings;
use seedstorm_sim::causality::{Influence, Past};
use seedstorm_sim::kernel::View;
use seedstorm_sim::schedule::Ready;
use seedstorm_sim::sys::disk::InodeId;
use seedstorm_sim::trace::{Event, layer};
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
    /// Whether it lies in the causal past of the event that violated. `None` if no event did: the violation was found at the end.
    pub(crate) is_in_past: Option<bool>,
}

#[derive(Default)]
struct Seen {
    moments: BTreeMap<u64, Moment>,
    pasts: Vec<(u64, Past)>,
    violating: Option<Past>,
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
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        let past = influence.observe(event);
        let mut seen = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if event.step == violated_at {
            seen.violating = Some(past.clone());
        }
        if watched.contains(&event.step) {
            let moment = seen.moments.entry(event.step).or_insert_with(|| Moment {
                step: event.step,
                instead: view.ready().map(|call| ready_words(call, view)).collect(),
                ..Moment::default()
            });
            moment.events.push(words(event, view));
            seen.pasts.push((event.step, past));
        }
    };
    let settings = Settings {
        guide: Some(subject.guide()),
        crash_points: subject.crash_points,
        listener: Some(Box::new(listener)),
        ..Settings::default()
    };
    measured::run(subject.scenario, &subject.plan, settings)?;
    let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let violating = seen.violating.filter(|_| !subject.is_of_the_end);
    let moment = |step: &u64| {
        let mut moment = seen.moments.remove(step).unwrap_or_else(|| Moment { step: *step, ..Moment::default() });
        moment.is_in_past = violating
            .as_ref()
            .map(|violating| seen.pasts.iter().any(|(at, past)| at == step && violating.has(past.stamp())));
        moment
    };
    Ok(steps.iter().map(moment).collect())
}

fn words(event: &Event<'_>, view: &View<'_>) -> String {
    let process = event.process.map_or("the machine", |process| view.process(process).name);
    let words = layer::Words(event).to_string();
    let path = object_of(event).and_then(|object| path_of(object, view));
    let words = match (&path, object_of(event)) {
        (Some(path), Some(object)) => words.replacen(&format!("#{object}"), path, 1),
        _ => words,
    };
    format!("{process}: {words}")
}

fn object_of(event: &Event<'_>) -> Option<u64> {
    use seedstorm_sim::trace::Body;
    match event.body {
        Body::Call { object, .. } | Body::Blocked { object, .. } if object != 0 => Some(object),
        _ => None,
    }
}

fn ready_words(call: &Ready, view: &View<'_>) -> String {
    let process = view.process(call.process).name;
    let task = if call.ordinal == 0 { String::new() } else { format!("/{}", call.ordinal) };
    match (call.object != 0).then(|| path_of(call.object, view)).flatten() {
        Some(path) => format!("{process}{task}: {} {path}", call.kind),
        None => format!("{process}{task}: {}", call.kind),
    }
}

/// The first path of an inode, if that is what the object is.
fn path_of(object: u64, view: &View<'_>) -> Option<String> {
    view.disk().files().find(|(_, inode, _)| *inode == InodeId(object)).map(|(path, ..)| path)
}
