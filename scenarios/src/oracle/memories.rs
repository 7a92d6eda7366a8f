//! `memories-kept` and `orphans-swept`: what is sealed has its file, byte for byte, and no other file is left after a crash.

use super::audit::Audit;
use super::database::Auditor;
use super::paths::MEMORIES;
use seedstorm_model::claims::Committed;
use seedstorm_model::memory::Digest;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use std::collections::BTreeSet;

/// The memory whose file that is.
pub(super) fn memory_at(path: &str) -> Option<Digest> {
    path.strip_prefix(MEMORIES)?.parse().ok()
}

/// The memories that have files on a disk, whole or not.
fn filed(disk: &Disk) -> impl Iterator<Item = Digest> {
    let names = disk.read_dir(MEMORIES.trim_end_matches('/')).unwrap_or_default();
    names.into_iter().filter_map(|name| name.parse().ok())
}

/// Whether a memory's file holds what its name says.
pub(super) fn is_whole(memory: &Digest, disk: &Disk) -> bool {
    disk.visible_read(&format!("{MEMORIES}{memory}")).is_some_and(|bytes| Digest::of(&bytes) == *memory)
}

/// The memories that are whole on a survivor.
struct Whole(BTreeSet<Digest>);

impl Whole {
    fn of(disk: &Disk) -> Whole {
        Whole(filed(disk).filter(|memory| is_whole(memory, disk)).collect())
    }
}

/// Each memory that was acknowledged is sealed and in its file, byte for byte; one that is sealed and was never acknowledged is, too: its file came first.
pub struct MemoriesKept {
    auditor: Auditor,
    acknowledged: BTreeSet<Digest>,
    /// What the last crash has left sealed, acknowledged or not.
    settled: BTreeSet<Digest>,
}

impl MemoriesKept {
    /// Shares the auditor's readings.
    pub fn new(auditor: Auditor) -> MemoriesKept {
        MemoriesKept { auditor, acknowledged: BTreeSet::new(), settled: BTreeSet::new() }
    }

    fn violation(&self, memory: &Digest, what: &str, loss: &'static str) -> Violation {
        Violation::new(self.id(), format!("memory {memory} {what}")).object("memory").role("agent").loss(loss)
    }

    fn judge(
        &self,
        reading: &Result<Option<Audit>, String>,
        is_whole: impl Fn(&Digest) -> bool,
    ) -> Result<(), Violation> {
        if let Some(memory) = self.acknowledged.iter().chain(&self.settled).find(|memory| !is_whole(memory)) {
            return Err(self.violation(memory, "was kept, and its file is gone or holds something else", "lost"));
        }
        // Whether the database is there and can be read is for others to say.
        let Ok(Some(audit)) = reading else { return Ok(()) };
        if let Some(memory) =
            self.acknowledged.iter().chain(&self.settled).find(|memory| !audit.sealed.contains_key(memory))
        {
            return Err(self.violation(memory, "was kept, and isn't sealed any more", "unsealed"));
        }
        match audit.sealed.keys().find(|memory| !is_whole(memory)) {
            None => Ok(()),
            Some(memory) => {
                Err(self.violation(memory, "is sealed, and has no whole file: the file comes first", "lost"))
            }
        }
    }

    fn settle(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let reading = self.auditor.read(view);
        self.judge(&reading, |memory| is_whole(memory, view.disk()))?;
        if let Ok(Some(audit)) = &*reading {
            self.settled = audit.sealed.keys().copied().collect();
        }
        Ok(())
    }
}

impl Invariant for MemoriesKept {
    fn id(&self) -> &'static str {
        "memories-kept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
            .and(Interest::LIVES)
            .and(Interest::call(CallKind::Rename))
            .and(Interest::call(CallKind::Unlink))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::MachineCrashed => self.settle(view),
            Body::Claim { kind: Committed::KIND, .. } => {
                let Some(committed) = view.claim::<Committed>(event) else { return Ok(()) };
                let Some((memories, _)) = committed.effect.sealed() else { return Ok(()) };
                self.acknowledged.extend(memories);
                match memories.iter().find(|memory| !is_whole(memory, view.disk())) {
                    None => Ok(()),
                    Some(memory) => {
                        let what = "is acknowledged, and its file is gone or holds something else";
                        Err(self.violation(memory, what, "lost"))
                    }
                }
            }
            Body::Call { kind: CallKind::Rename, result: Ok(_), data, .. } => {
                let to = data.split(|byte| *byte == 0).nth(1).and_then(|path| std::str::from_utf8(path).ok());
                match to.and_then(memory_at) {
                    Some(memory) if !is_whole(&memory, view.disk()) => {
                        Err(self.violation(&memory, "got a file that holds something else", "torn"))
                    }
                    _ => Ok(()),
                }
            }
            Body::Call { kind: CallKind::Unlink, result: Ok(_), data, .. } => {
                match std::str::from_utf8(data).ok().and_then(memory_at) {
                    Some(memory) if self.acknowledged.contains(&memory) || self.settled.contains(&memory) => {
                        Err(self.violation(&memory, "is sealed, and its file was removed", "swept"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.settle(view)
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Committed::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let whole = survivor.reading(Whole::of);
        self.judge(&survivor.reading(Audit::of), |memory| whole.0.contains(memory))
    }
}

/// After a crash, whoever comes up removes the files of memories that nobody has sealed: their writers are dead.
#[derive(Default)]
pub struct OrphansSwept;

impl Invariant for OrphansSwept {
    fn id(&self) -> &'static str {
        "orphans-swept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        let reading = survivor.reading(Audit::of);
        let Ok(Some(audit)) = &*reading else { return Ok(()) };
        match filed(survivor.disk()).find(|memory| !audit.sealed.contains_key(memory)) {
            None => Ok(()),
            Some(memory) => {
                let message =
                    format!("memory {memory} has a file, is not sealed, and nobody is alive who could seal it");
                Err(Violation::new(self.id(), message).object("memory").role("agent").loss("never-swept"))
            }
        }
    }
}
