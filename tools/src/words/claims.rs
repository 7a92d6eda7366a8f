//! What claims say, in words: those of `sim` and of the model; those of the clients of sqlite-wal are in `clients`. Of others is told what their scenario says of them (`Scenario::claims`), or kind and length.

use super::OF_SCENARIO_MAX;
use super::body::after_colon;
use super::clients::of_client;
use super::cut::cut;
use seedstorm_model::bus::{ClockCopyRefused, QueueFull, SignalHeldBack};
use seedstorm_model::claims as model;
use seedstorm_model::claims::{BoardVersion, Effect, OperationKey};
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::sys::claim::ClaimKind;
use seedstorm_sim::sys::claim::signal::{
    IncarnationBeginning, IncarnationBegun, Recipients, SignalSending, SignalSent, SignalsDelivered, SignalsDelivering,
};
use seedstorm_sim::sys::claim::{FencedWrite, Happened, LockAcquired, LockReleased, LockTimedOut, LockWaiting};
use seedstorm_sim::trace::{Body, Event};
use std::sync::OnceLock;

/// So many members of a list are told.
const LISTED_MAX: usize = 4;

/// A claim in words.
pub(crate) fn in_words(event: &Event<'_>, kind: &str, content: &[u8]) -> String {
    // Its own first: a scenario may call a claim as the model does.
    let words = of_scenario(event, kind)
        .or_else(|| of_lock(event, kind))
        .or_else(|| of_operation(event, kind))
        .or_else(|| of_day(event, kind));
    let words = words.or_else(|| of_signal(event, kind)).or_else(|| of_client(event, kind));
    words.unwrap_or_else(|| {
        let (len_bytes, begins) = (content.len(), after_colon(content));
        format!("claims {kind} ({len_bytes} bytes, of a kind that is not in `Scenario::claims`){begins}")
    })
}

/// The kinds of claim that this program's scenarios tell of. What is told depends on the program, not on the run.
static OF_SCENARIOS: OnceLock<Vec<ClaimKind>> = OnceLock::new();

/// Learns them, once.
pub(super) fn learn(kinds: Vec<ClaimKind>) {
    let _ = OF_SCENARIOS.set(kinds);
}

fn of_scenario(event: &Event<'_>, kind: &str) -> Option<String> {
    let Body::Claim { bytes, .. } = &event.body else { return None };
    let known = OF_SCENARIOS.get()?.iter().find(|known| known.kind == kind)?;
    Some(format!("claims {kind}: {}", cut(known.text(bytes)?, OF_SCENARIO_MAX)))
}

fn of_lock(event: &Event<'_>, kind: &str) -> Option<String> {
    Some(match kind {
        "lock-waiting" => {
            let LockWaiting { lock, within_ns } = event.claim()?;
            format!("waits for lock {lock}, at most {}", Nanoseconds(within_ns))
        }
        "lock-acquired" => match event.claim()? {
            LockAcquired { lock, token: 0, .. } => format!("has acquired lock {lock}"),
            LockAcquired { lock, token, .. } => format!("has acquired lease {lock} with token {token}"),
        },
        "lock-released" => {
            let LockReleased { lock } = event.claim()?;
            format!("gives lock {lock} back")
        }
        "lock-timed-out" => match event.claim()? {
            LockTimedOut { lock, holder } if holder.is_empty() => format!("gives up waiting for lock {lock}"),
            LockTimedOut { lock, holder } => format!("gives up waiting for lock {lock}, held by {holder}"),
        },
        "fenced-write" => {
            let FencedWrite { resource, token, sequence } = event.claim()?;
            format!("write {sequence} of {resource} was let in with token {token}")
        }
        "happened" => {
            let Happened { what } = event.claim()?;
            format!("notes that {what} happened")
        }
        _ => return None,
    })
}

fn key(key: &OperationKey) -> String {
    format!("{}#{}", key.agent, key.number)
}

fn listed<T>(items: &[T], word: impl Fn(&T) -> String) -> String {
    let mut words: Vec<String> = items.iter().take(LISTED_MAX).map(word).collect();
    if items.len() > LISTED_MAX {
        words.push(format!("and {} more", items.len() - LISTED_MAX));
    }
    words.join(", ")
}

fn versions(versions: &[BoardVersion]) -> String {
    listed(versions, |BoardVersion { key, version }| format!("{key} version {version}"))
}

fn of_operation(event: &Event<'_>, kind: &str) -> Option<String> {
    Some(match kind {
        "operation-begun" => {
            let begun: model::OperationBegun = event.claim()?;
            format!("begins {} {}", begun.kind, key(&begun.key))
        }
        "committed" => {
            let committed: model::Committed = event.claim()?;
            let found = if committed.was_found { "found that it had " } else { "" };
            format!("acknowledges {}: {found}{}", key(&committed.key), of_effect(&committed.effect))
        }
        "snapshot-read" => {
            let read: model::SnapshotRead = event.claim()?;
            format!("has read for {}: {}", key(&read.key), versions(&read.reads))
        }
        "outcome-unknown" => {
            let unknown: model::OutcomeUnknown = event.claim()?;
            format!("doesn't know what became of {}: {}", key(&unknown.key), unknown.why)
        }
        "refused" => {
            let refused: model::Refused = event.claim()?;
            format!("{} ends without effect: {}", key(&refused.key), refused.why)
        }
        "busy-retried" => {
            let retried: model::BusyRetried = event.claim()?;
            format!("{} found the database busy, attempt {}", key(&retried.key), retried.attempt)
        }
        "checkpointed" => {
            let done: model::Checkpointed = event.claim()?;
            let busy = if done.was_busy { ", somebody was in the way" } else { "" };
            format!("{} checkpointed {} of {} frames{busy}", key(&done.key), done.moved_frames, done.wal_frames)
        }
        _ => return None,
    })
}

fn of_effect(effect: &Effect) -> String {
    match effect {
        Effect::Board { reads, writes } if reads.is_empty() => format!("wrote {}", versions(writes)),
        Effect::Board { reads, writes } => format!("read {}, wrote {}", versions(reads), versions(writes)),
        Effect::TaskClaimed { task, generation, took_over, .. } => {
            let over = if *took_over { ", taken over" } else { "" };
            format!("claimed {task}, generation {generation}{over}")
        }
        Effect::ItemChecked { task, item, generation } => {
            format!("ticked item {item} of {task}, generation {generation}")
        }
        Effect::TaskLeft { task, generation, is_done } => {
            format!("{} {task}, generation {generation}", if *is_done { "completed" } else { "gave back" })
        }
        Effect::NoteAppended { .. } => "appended a note".to_owned(),
        Effect::AgentNoted { status } => format!("is {status}"),
        Effect::NeedsSet { task, needed } => format!("{task} needs {}", listed(needed, String::clone)),
        Effect::Introspected { notes } => format!("put {notes} notes into the store"),
        Effect::Remembered { memory, transition } => {
            format!("sealed memory {}, transition {}", brief(&memory.to_string()), transition.number)
        }
        Effect::Ingested { refused, relabelled, transition, .. } => format!(
            "took a batch in: {} refused, {} labels changed, transition {}",
            refused.len(),
            relabelled.changed,
            transition.number
        ),
        Effect::Slept => "closed its day".to_owned(),
    }
}

/// The beginning of a digest, enough to tell it from others.
fn brief(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

fn of_day(event: &Event<'_>, kind: &str) -> Option<String> {
    Some(match kind {
        "document-saved" => {
            let saved: model::DocumentSaved = event.claim()?;
            format!("acknowledges {}, revision {}", saved.path, saved.revision)
        }
        "document-loaded" => {
            let loaded: model::DocumentLoaded = event.claim()?;
            match (loaded.revision, loaded.quarantined) {
                (_, Some(aside)) => format!("has loaded {}: damaged, put aside as {aside}", loaded.path),
                (Some(revision), None) => format!("has loaded {}, revision {revision}", loaded.path),
                (None, None) => format!("has loaded {}: absent", loaded.path),
            }
        }
        "note-staged" => {
            let staged: model::NoteStaged = event.claim()?;
            format!("acknowledges that note {} of {} is staged", staged.note, key(&staged.key))
        }
        "awake" => format!("{} is awake", event.claim::<model::Awake>()?.agent),
        "memories-verified" => {
            let verified: model::MemoriesVerified = event.claim()?;
            let damaged = listed(&verified.damaged, |damaged| damaged.path.clone());
            let found = if damaged.is_empty() { "nothing damaged".to_owned() } else { format!("damaged: {damaged}") };
            format!("{} verified the memories, {found}", key(&verified.key))
        }
        "status-seen" => {
            let seen: model::StatusSeen = event.claim()?;
            let agents = listed(&seen.agents, |agent| format!("{} {:?}", agent.agent, agent.state));
            format!("{} saw {agents}", key(&seen.key))
        }
        _ => return None,
    })
}

fn of_signal(event: &Event<'_>, kind: &str) -> Option<String> {
    Some(match kind {
        "incarnation-beginning" => {
            let beginning: IncarnationBeginning = event.claim()?;
            format!("is about to begin life {}", beginning.life)
        }
        "incarnation-begun" => format!("life {} has begun", event.claim::<IncarnationBegun>()?.life),
        "signal-sending" => {
            let sending: SignalSending = event.claim()?;
            let to = match sending.to {
                Recipients::All => "all".to_owned(),
                Recipients::One(agent) => format!("agent {agent}"),
            };
            format!("is about to commit signal {} to {to}", sending.signal)
        }
        "signal-sent" => format!("acknowledges that signal {} is sent", event.claim::<SignalSent>()?.signal),
        "signals-delivering" => {
            let delivering: SignalsDelivering = event.claim()?;
            let signals = listed(&delivering.deliveries, |delivery| delivery.signal.to_string());
            format!("life {} is about to commit the delivery of {signals}", delivering.life)
        }
        "signals-delivered" => format!("life {} acknowledges its deliveries", event.claim::<SignalsDelivered>()?.life),
        "signal-held-back" => {
            let held: SignalHeldBack = event.claim()?;
            format!("life {} holds signal {} back: one before it is missing", held.by, held.signal)
        }
        "queue-full" => {
            let full: QueueFull = event.claim()?;
            format!("life {} finds the queue of agent {} full ({})", full.by, full.recipient, full.queued)
        }
        "clock-copy-refused" => {
            let refused: ClockCopyRefused = event.claim()?;
            format!("life {} refuses a copy from {}: {}", refused.by, refused.from, refused.why)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seedstorm_sim::trace::{Body, codec};

    fn told(kind: &str, bytes: &[u8]) -> String {
        let body = Body::Claim { kind, bytes };
        in_words(&Event { step: 1, time_ns: 1, process: None, task: None, boot: 1, body }, kind, bytes)
    }

    #[test]
    fn claims_that_are_known_are_told_and_others_named() {
        let waiting = codec::encode(&LockWaiting { lock: "compaction".into(), within_ns: 2_000_000 });
        assert_eq!(told("lock-waiting", &waiting), "waits for lock compaction, at most 2.00 ms");
        let key = OperationKey { agent: "agent-3".into(), number: 7 };
        let write = |version| vec![BoardVersion { key: "key-1".into(), version }];
        let effect = Effect::Board { reads: write(2), writes: write(3) };
        let committed = codec::encode(&model::Committed { key, effect, was_found: false });
        let words = "acknowledges agent-3#7: read key-1 version 2, wrote key-1 version 3";
        assert_eq!(told("committed", &committed), words);
        // Of an unknown kind, or of a known one that says something else.
        assert_eq!(
            told("counted", &[1, 2]),
            "claims counted (2 bytes, of a kind that is not in `Scenario::claims`): 0x0102"
        );
        assert_eq!(
            told("committed", &[255]),
            "claims committed (1 bytes, of a kind that is not in `Scenario::claims`): 0xff"
        );
    }
}
