//! `documents-kept` and `files-whole`: replaced files lose no acknowledged revision, and are never empty or torn.

use super::paths::{DOCUMENTS, LOCKS, MEMORIES};
use seedstorm_model::claims::{DocumentLoaded, DocumentSaved, OperationBegun};
use seedstorm_model::file;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::Claim;
use seedstorm_sim::sys::disk::{Disk, InodeId};
use seedstorm_sim::trace::{Body, CallKind, Ended, Event, Interest, ProcessId};
use std::collections::BTreeMap;
use std::rc::Rc;

/// No two saves make the same revision of a document, and no acknowledged revision is lost, nor one that a crash has left.
#[derive(Default)]
pub struct DocumentsKept {
    /// By path: the highest acknowledged revision.
    saved: Rc<BTreeMap<String, u64>>,
    /// By path: the revision that the last crash has left, acknowledged or not.
    settled: BTreeMap<String, u64>,
    /// Who made a revision.
    writers: BTreeMap<(String, u64), String>,
    /// By process: what had been acknowledged when it began its operation. What it loads afterwards is no older. (Not: when it claims what it
    /// loaded. A claim may come long after its effect.)
    begun_with: BTreeMap<ProcessId, Rc<BTreeMap<String, u64>>>,
}

impl Invariant for DocumentsKept {
    fn id(&self) -> &'static str {
        "documents-kept"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS.and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        if let Some(DocumentSaved { path, revision }) = event.claim() {
            let name = event.process.map_or("?", |process| view.process(process).name).to_owned();
            if let Some(other) = self.writers.insert((path.clone(), revision), name.clone()) {
                let message = format!("lost update: {other} and {name} both saved revision {revision} of {path}");
                return Err(self.violation(message, "lost-update"));
            }
            let highest = Rc::make_mut(&mut self.saved).entry(path).or_default();
            *highest = revision.max(*highest);
        }
        if let (Some(process), Body::Claim { kind: OperationBegun::KIND, .. }) = (event.process, &event.body) {
            self.begun_with.insert(process, self.saved.clone());
        }
        if let (Some(process), Some(DocumentLoaded { path, revision, quarantined: None })) =
            (event.process, event.claim())
            && let Some(saved) = self.begun_with.get(&process).and_then(|saved| saved.get(&path))
            && revision.unwrap_or(0) < *saved
        {
            let found = revision.map_or_else(|| "absent".to_owned(), |revision| format!("at revision {revision}"));
            let message = format!("{path} was loaded as {found} after revision {saved} had been acknowledged");
            return Err(self.violation(message, "lost"));
        }
        match event.body {
            Body::MachineCrashed => self.settle(view.disk()),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.compare(view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[DocumentSaved::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.compare(survivor.disk())
    }
}

impl DocumentsKept {
    fn violation(&self, message: String, loss: &'static str) -> Violation {
        Violation::new(self.id(), message).object("document").role("agent").loss(loss)
    }

    fn compare(&self, disk: &Disk) -> Result<(), Violation> {
        let acknowledged = self.saved.iter().map(|of| (of, "was acknowledged"));
        let settled = self.settled.iter().map(|of| (of, "had survived a crash"));
        for ((path, kept), why) in acknowledged.chain(settled) {
            let found = revision_on(disk, path);
            if found.is_none_or(|found| found < *kept) {
                let found = found.map_or_else(|| "no whole document".to_owned(), |found| format!("revision {found}"));
                return Err(self.violation(format!("{path}: revision {kept} {why}, and the disk has {found}"), "lost"));
            }
        }
        Ok(())
    }

    /// Compares, and settles what was found: it stays from now on.
    fn settle(&mut self, disk: &Disk) -> Result<(), Violation> {
        self.compare(disk)?;
        let documents = disk.files().map(|(path, _, _)| path).filter(|path| is_document(path));
        self.settled = documents.filter_map(|path| revision_on(disk, &path).map(|found| (path, found))).collect();
        Ok(())
    }
}

/// The revision of a document, if it is there and whole.
fn revision_on(disk: &Disk, path: &str) -> Option<u64> {
    disk.visible_read(path).and_then(|bytes| file::revision_of(&bytes))
}

/// Files that are replaced atomically are whole at each moment: never empty, never torn.
#[derive(Default)]
pub struct FilesWhole;

impl Invariant for FilesWhole {
    fn id(&self) -> &'static str {
        "files-whole"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Rename).and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Call { kind: CallKind::Rename, result: Ok(_), data, .. } => {
                let mut paths = data.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
                let (from, to) = (paths.next().unwrap_or_default(), paths.next().unwrap_or_default());
                if is_document(from) && to.contains(".corrupt.") {
                    // Whoever put it aside had read it.
                    return Err(self.violation(from, &view.disk().visible_read(to).unwrap_or_default()));
                }
                if is_document(to) { self.judge(to, view.disk()) } else { Ok(()) }
            }
            Body::MachineCrashed | Body::Ended(Ended::Killed) => self.judge_all(view.disk()),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let is_empty = |(path, _, len_bytes): &(String, InodeId, u64)| *len_bytes == 0 && has_content(path);
        let empty = view.disk().files().filter(is_empty).count();
        view.count("zero_byte_files", empty as u64);
        self.judge_all(view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge_all(survivor.disk())
    }
}

/// What a run leaves behind with something in it: memories, documents, those put aside and half-written ones too, and records of locks' owners.
fn has_content(path: &str) -> bool {
    path.starts_with(DOCUMENTS)
        || path.starts_with(MEMORIES)
        || path.strip_prefix(LOCKS).is_some_and(|name| name.ends_with(".owner"))
}

pub(super) fn is_document(path: &str) -> bool {
    path.strip_prefix(DOCUMENTS).is_some_and(|name| !name.contains(".tmp.") && !name.contains(".corrupt."))
}

impl FilesWhole {
    fn judge_all(&self, disk: &Disk) -> Result<(), Violation> {
        let documents: Vec<String> = disk.files().map(|(path, _, _)| path).filter(|path| is_document(path)).collect();
        documents.iter().try_for_each(|path| self.judge(path, disk))
    }

    fn judge(&self, path: &str, disk: &Disk) -> Result<(), Violation> {
        let bytes = disk.visible_read(path).unwrap_or_default();
        if file::revision_of(&bytes).is_some() {
            return Ok(());
        }
        Err(self.violation(path, &bytes))
    }

    fn violation(&self, path: &str, bytes: &[u8]) -> Violation {
        let how = if bytes.is_empty() { "empty" } else { "torn" };
        let message = format!("{path} is {how}: {} bytes that are no whole document", bytes.len());
        // How much of it there is depends on when its writer died.
        Violation::new(self.id(), message).object("document").role("agent").loss("torn")
    }
}
