//! `staged-notes-kept`: a note whose staging was acknowledged comes into the store, whatever dies on the way.

use super::audit::Audit;
use super::database::Auditor;
use super::paths::STAGED;
use seedstorm_model::claims::{Awake, NoteStaged, OperationBegun, OperationKey, digest_of};
use seedstorm_model::file::{StagedName, StagedNote, unseal};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, Event, Interest};
use std::collections::{BTreeMap, BTreeSet};

/// Agent, operation, name of the note.
type Note = (String, u64, String);

/// Each acknowledged note is in its file or in the store; in the store, once its agent is awake again, and at the end. A note that was never
/// acknowledged may be there or not; once a crash has settled that it is in the store, it stays.
pub struct StagedNotesKept {
    auditor: Auditor,
    begun: BTreeSet<OperationKey>,
    /// Acknowledged: the digest of the text.
    staged: BTreeMap<Note, u64>,
    /// Never acknowledged, and found in the store after a crash.
    settled: BTreeSet<Note>,
}

impl StagedNotesKept {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> StagedNotesKept {
        StagedNotesKept { auditor, begun: BTreeSet::new(), staged: BTreeMap::new(), settled: BTreeSet::new() }
    }

    fn violation(&self, (agent, number, note): &Note, what: &str, loss: &'static str) -> Violation {
        let message = format!("note {note} of {agent}#{number} {what}");
        Violation::new(self.id(), message).object("staged-note").role("agent").loss(loss)
    }

    /// What an agent staged in an earlier life isn't in its file any more: it is in the store, or lost, which shows at the next audit.
    fn judge_awake(&self, agent: &str, disk: &Disk) -> Result<(), Violation> {
        let first = (agent.to_owned(), 0, String::new());
        for note in self.staged.range(first..).map(|(note, _)| note).take_while(|(of, _, _)| of == agent) {
            if disk.inode_of(&path_of(note)).is_some() {
                let what = "was staged in an earlier life, and its agent is awake without having sealed it";
                return Err(self.violation(note, what, "never-sealed"));
            }
        }
        Ok(())
    }

    /// Judges a disk against what was acknowledged. `files_count`: whether a note may still be on its way.
    fn judge(&self, audit: &Audit, disk: &Disk, files_count: bool) -> Result<(), Violation> {
        for (note, digest) in &self.staged {
            match audit.memories.get(note) {
                Some(found) if digest_of(found) == *digest => {}
                Some(_) => return Err(self.violation(note, "has another text in the store", "changed")),
                None if files_count && in_file(note, disk).is_some_and(|found| digest_of(&found) == *digest) => {}
                // Nobody has taken it from there who should have.
                None if in_file(note, disk).is_some() => {
                    return Err(self.violation(
                        note,
                        "is still in its file, and nobody is left to seal it",
                        "never-sealed",
                    ));
                }
                None => return Err(self.violation(note, "was staged, and is lost", "lost")),
            }
        }
        if let Some(note) = self.settled.iter().find(|note| !audit.memories.contains_key(*note)) {
            return Err(self.violation(note, "had survived a crash in the store, and is lost", "lost"));
        }
        let was_begun =
            |(agent, number, _): &Note| self.begun.contains(&OperationKey { agent: agent.clone(), number: *number });
        match audit.memories.keys().find(|note| !was_begun(note)) {
            Some(note) => Err(self.violation(note, "is in the store, and nobody asked for it", "invented")),
            None => Ok(()),
        }
    }

    fn compare(&mut self, view: &View<'_>, files_count: bool) -> Result<(), Violation> {
        let reading = self.auditor.read(view);
        // Whether the database is there and can be read is for others to say.
        let Ok(Some(audit)) = &*reading else { return Ok(()) };
        self.judge(audit, view.disk(), files_count)?;
        self.settled = audit.memories.keys().filter(|note| !self.staged.contains_key(*note)).cloned().collect();
        Ok(())
    }
}

fn path_of((agent, number, note): &Note) -> String {
    let key = OperationKey { agent: agent.clone(), number: *number };
    StagedName::of_note(&key, note).path(STAGED.trim_end_matches('/'))
}

fn in_file(note: &Note, disk: &Disk) -> Option<String> {
    let bytes = disk.visible_read(&path_of(note))?;
    unseal::<StagedNote>(&bytes).ok().map(|staged| staged.text)
}

impl Invariant for StagedNotesKept {
    fn id(&self) -> &'static str {
        "staged-notes-kept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Body::MachineCrashed = event.body {
            return self.compare(view, true);
        }
        if let Some(OperationBegun { key, .. }) = event.claim() {
            self.begun.insert(key);
        } else if let Some(NoteStaged { key, note, digest }) = event.claim() {
            self.staged.insert((key.agent, key.number, note), digest);
        } else if let Some(Awake { agent }) = event.claim() {
            return self.judge_awake(&agent, view.disk());
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.compare(view, false)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[NoteStaged::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let reading = survivor.reading(Audit::of);
        match &*reading {
            Ok(Some(audit)) => self.judge(audit, survivor.disk(), false),
            _ => Ok(()),
        }
    }
}
