//! `no-lost-write` and `database-sound`: what the database holds at the end and after each crash, against what was acknowledged.

use super::audit::Audit;
use super::paths::DATABASE;
use super::reading::PerEvent;
use seedstorm_model::claims::{Awake, Committed, Effect, OperationBegun, OperationKey};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Reads the database once for all who ask at the same event, and once for as long as its files stay as they are.
#[derive(Clone, Default)]
pub struct Auditor {
    last: PerEvent<Rc<Look>>,
}

pub(super) type Reading = Rc<Result<Option<Audit>, String>>;

/// A reading, and the files that it is of.
struct Look {
    files: [Option<Vec<u8>>; DATABASE_FILES.len()],
    reading: Reading,
}

/// What follows the database's name in the names of its files: all that SQLite reads of a database that nobody has open.
const DATABASE_FILES: [&str; 3] = ["", "-wal", "-journal"];

impl Auditor {
    pub(super) fn read(&self, view: &View<'_>) -> Reading {
        let look = self.last.at(view, |before| {
            let files = DATABASE_FILES.map(|end| view.disk().visible_read(&format!("{DATABASE}{end}")));
            match before {
                Some(look) if look.files == files => look,
                _ => Rc::new(Look { files, reading: Rc::new(Audit::of(view.disk())) }),
            }
        });
        look.reading.clone()
    }
}

/// Each acknowledged write is in the database, once. What was begun and never acknowledged may be there or not; once a crash has settled that it is
/// there, it stays.
pub struct NoLostWrite {
    auditor: Auditor,
    begun: BTreeSet<OperationKey>,
    acknowledged: BTreeMap<OperationKey, Rc<Committed>>,
    /// By transition: the operation that was said to have made it.
    sealers: BTreeMap<u64, OperationKey>,
    /// What was there after the last crash, acknowledged or not.
    settled: Option<Reading>,
    /// Whether the machine has been down and nobody has woken since.
    is_down: bool,
}

impl NoLostWrite {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> NoLostWrite {
        let (begun, acknowledged, sealers) = Default::default();
        NoLostWrite { auditor, begun, acknowledged, sealers, settled: None, is_down: false }
    }

    fn violation(&self, message: String, object: &'static str, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object(object).role("agent").loss(loss)
    }

    /// Compares, and settles what was found: it stays from now on.
    fn settle(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let reading = self.auditor.read(view);
        self.compare(&reading)?;
        if let Ok(Some(_)) = &*reading {
            self.settled = Some(reading);
        }
        Ok(())
    }

    fn compare(&self, reading: &Result<Option<Audit>, String>) -> Result<(), Violation> {
        let audit = match reading {
            Ok(Some(audit)) => audit,
            Ok(None) if self.acknowledged.is_empty() => return Ok(()),
            Ok(None) => {
                let message = format!("the database is gone, with {} acknowledged operations", self.acknowledged.len());
                return Err(self.violation(message, "database", "lost"));
            }
            // Whether it can be read at all is `database-sound`'s to say.
            Err(_) => return Ok(()),
        };
        for (key, committed) in &self.acknowledged {
            if let Some(what) = missing(key, &committed.effect, audit) {
                let message = format!("{}#{}: acknowledged, and lost: {what}", key.agent, key.number);
                return Err(self.violation(message, ROW, "lost"));
            }
        }
        if let Some(Ok(Some(settled))) = self.settled.as_deref()
            && let Some(what) = gone(settled, audit)
        {
            return Err(self.violation(format!("{what} had survived a crash, and is lost"), ROW, "lost"));
        }
        for ((agent, number), texts) in &audit.notes {
            if texts.len() > 1 {
                let message = format!("{agent}#{number} took effect {} times", texts.len());
                return Err(self.violation(message, ROW, "doubled"));
            }
            if !self.begun.contains(&OperationKey { agent: agent.clone(), number: *number }) {
                return Err(self.violation(
                    format!("a note of {agent}#{number} is there, and nobody asked for it"),
                    ROW,
                    "invented",
                ));
            }
        }
        Ok(())
    }
}

/// The victim of a lost write: whatever it was that a transaction wrote. Which kind of row shows first, is chance.
const ROW: &str = "row";

/// What was there and isn't any more, of what never goes by itself: notes, versions and generations, what is ticked, done, closed or
/// sealed.
fn gone(before: &Audit, now: &Audit) -> Option<String> {
    let note = before.notes.keys().find(|note| !now.notes.contains_key(*note));
    let note = note.map(|(agent, number)| format!("the note of {agent}#{number}"));
    let version_of = |key: &String| now.board.get(key).copied().unwrap_or(0);
    let board = || {
        let (key, version) = before.board.iter().find(|(key, version)| version_of(key) < **version)?;
        Some(format!("version {version} of `{key}`"))
    };
    let task_of = |task: &String| now.tasks.get(task).copied().unwrap_or((0, false));
    let generation = || {
        let (task, (generation, _)) = before.tasks.iter().find(|(task, (found, _))| task_of(task).0 < *found)?;
        Some(format!("generation {generation} of task `{task}`"))
    };
    let end = || {
        let (task, _) = before.tasks.iter().find(|(task, (_, is_done))| *is_done && !task_of(task).1)?;
        Some(format!("the end of task `{task}`"))
    };
    let tick = || {
        let is_lost = |key: &(String, u64), tick: Option<u64>| tick.is_some() && now.items.get(key) != Some(&tick);
        let ((task, item), _) = before.items.iter().find(|(key, tick)| is_lost(key, **tick))?;
        Some(format!("the tick of item {item} of task `{task}`"))
    };
    let day = || {
        let (agent, number) = before.days.difference(&now.days).next()?;
        Some(format!("the close of {agent}#{number}"))
    };
    let memory = || {
        let memory = before.sealed.keys().find(|memory| !now.sealed.contains_key(memory))?;
        Some(format!("the seal of memory {memory}"))
    };
    note.or_else(board).or_else(generation).or_else(end).or_else(tick).or_else(day).or_else(memory)
}

/// What of an acknowledged effect the database doesn't show.
fn missing(key: &OperationKey, effect: &Effect, audit: &Audit) -> Option<String> {
    match effect {
        Effect::Board { writes, .. } => writes.iter().find_map(|written| {
            let found = audit.board.get(&written.key).copied().unwrap_or(0);
            (found < written.version)
                .then(|| format!("`{}` is at version {found}, not {}", written.key, written.version))
        }),
        Effect::TaskClaimed { task, generation, .. } => {
            let found = audit.tasks.get(task).map_or(0, |(found, _)| *found);
            (found < *generation).then(|| format!("task `{task}` is at generation {found}, not {generation}"))
        }
        Effect::TaskLeft { task, is_done: true, .. } => {
            let is_done = audit.tasks.get(task).is_some_and(|(_, is_done)| *is_done);
            (!is_done).then(|| format!("task `{task}` isn't done"))
        }
        Effect::TaskLeft { .. } | Effect::NeedsSet { .. } | Effect::AgentNoted { .. } => None,
        Effect::ItemChecked { task, item, generation } => {
            let found = audit.items.get(&(task.clone(), *item)).copied().flatten();
            (found != Some(*generation))
                .then(|| format!("item {item} of task `{task}` isn't ticked under generation {generation}"))
        }
        Effect::Introspected { .. } | Effect::Slept if !audit.days.contains(&(key.agent.clone(), key.number)) => {
            Some("the store doesn't know of it".into())
        }
        Effect::Introspected { notes } => {
            let has = |note: &u32| audit.memories.contains_key(&(key.agent.clone(), key.number, note.to_string()));
            (0..*notes).find(|note| !has(note)).map(|note| format!("its note {note} isn't in the store"))
        }
        Effect::Remembered { memory, .. } => {
            (!audit.sealed.contains_key(memory)).then(|| format!("memory {memory} isn't sealed"))
        }
        // What it did is for others to judge.
        Effect::Slept | Effect::Ingested { .. } => None,
        Effect::NoteAppended { .. } => match audit.notes.get(&(key.agent.clone(), key.number)).map(Vec::as_slice) {
            None | Some([]) => Some("its note isn't there".into()),
            Some([found, ..]) if Effect::of_note(found) != *effect => Some("its note has another text".into()),
            Some(_) => None,
        },
    }
}

impl Invariant for NoLostWrite {
    fn id(&self) -> &'static str {
        "no-lost-write"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES).and(Interest::call(CallKind::Unlink))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body {
            self.is_down = true;
            return self.settle(view);
        }
        // Who removes the WAL has moved all that is in it.
        if let Body::Call { kind: CallKind::Unlink, result: Ok(_), data, .. } = event.body
            && data.strip_suffix(b"-wal") == Some(DATABASE.as_bytes())
        {
            if self.begun.is_empty() {
                // Nothing can be lost yet.
                return Ok(());
            }
            let is_whole = matches!(&*self.auditor.read(view), Ok(Some(audit)) if audit.problems.is_empty());
            if !is_whole && !self.acknowledged.is_empty() {
                let message = "the WAL was removed, and without it the database is damaged".to_owned();
                return Err(self.violation(message, "database", "lost"));
            }
            return self.settle(view);
        }
        // Who wakes first has recovered the database: that must not have cost anything.
        if self.is_down && event.claim::<Awake>().is_some() {
            self.is_down = false;
            // Not settled by this: others may be in the middle of a commit by now.
            return self.compare(&self.auditor.read(view));
        }
        if let Some(begun) = view.claim::<OperationBegun>(event) {
            self.begun.insert(begun.key.clone());
        } else if let Some(committed) = view.claim::<Committed>(event) {
            let Committed { key, effect, .. } = &*committed;
            // A transition has one maker. If another is said to have made it since, it was made anew, on a store that had lost it.
            if let Some((_, transition)) = effect.sealed()
                && let Some(other) = self.sealers.insert(transition.number, key.clone()).filter(|other| other != key)
            {
                let ([by, then], number) = ([&other, key].map(|key| &key.agent), transition.number);
                let message =
                    format!("transition {number} was acknowledged to {by}, and made anew for {then}: it was lost");
                return Err(self.violation(message, ROW, "lost"));
            }
            match self.acknowledged.entry(key.clone()) {
                Entry::Vacant(entry) => drop(entry.insert(committed)),
                Entry::Occupied(mut entry) if entry.get().effect != *effect => {
                    let before = entry.insert(committed.clone());
                    let (OperationKey { agent, number }, before) = (key, &before.effect);
                    let message = format!("{agent}#{number} took effect twice: {before:?}, then {effect:?}");
                    return Err(self.violation(message, ROW, "doubled"));
                }
                Entry::Occupied(_) => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.settle(view)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.compare(&survivor.reading(Audit::of))
    }
}

/// SQLite finds nothing wrong with the database.
pub struct DatabaseSound {
    auditor: Auditor,
}

impl DatabaseSound {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> DatabaseSound {
        DatabaseSound { auditor }
    }

    fn judge(&self, reading: &Result<Option<Audit>, String>) -> Result<(), Violation> {
        let (message, loss) = match reading {
            Ok(None) => return Ok(()),
            Ok(Some(audit)) if audit.problems.is_empty() => return Ok(()),
            Ok(Some(audit)) => (audit.problems.join("; "), "corrupt"),
            Err(error) => (format!("the database can't be read: {error}"), "unreadable"),
        };
        Err(Violation::new(self.id(), message).object("database").loss(loss))
    }
}

impl Invariant for DatabaseSound {
    fn id(&self) -> &'static str {
        "database-sound"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body { self.judge(&self.auditor.read(view)) } else { Ok(()) }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(&self.auditor.read(view))
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(&survivor.reading(Audit::of))
    }
}
