//! `damage-kept`: a damaged file is put aside, never saved over: somebody may still want its bytes.

use super::documents::is_document;
use super::paths::DOCUMENTS;
use seedstorm_model::file::revision_of;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use std::collections::BTreeSet;

/// What a crash has damaged stays on the disk, under one name or another. Not even a lying fsync is an excuse.
#[derive(Default)]
pub struct DamageKept {
    /// What crashes have left damaged: documents, and what has been put aside of them.
    damaged: BTreeSet<String>,
}

impl Invariant for DamageKept {
    fn id(&self) -> &'static str {
        "damage-kept"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Rename).and(Interest::call(CallKind::Unlink)).and(Interest::LIVES)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let gone = match event.body {
            Body::MachineCrashed => {
                let names = view.disk().read_dir(DOCUMENTS.trim_end_matches('/')).unwrap_or_default();
                let paths = names.into_iter().map(|name| format!("{DOCUMENTS}{name}")).filter(|path| is_document(path));
                let is_damaged =
                    |path: &String| view.disk().visible_read(path).is_none_or(|bytes| revision_of(&bytes).is_none());
                // What was put aside and came back with the crash is a document again.
                let put_aside = std::mem::take(&mut self.damaged).into_iter();
                let put_aside = put_aside.filter(|path| !is_document(path) && view.disk().inode_of(path).is_some());
                self.damaged = paths.filter(is_damaged).chain(put_aside).collect();
                None
            }
            Body::Call { kind: CallKind::Rename, result: Ok(_), data, .. } => {
                let mut paths = data.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
                let (from, to) = (paths.next().unwrap_or_default(), paths.next().unwrap_or_default());
                let gone = self.damaged.take(to);
                if self.damaged.remove(from) {
                    self.damaged.insert(to.to_owned());
                }
                gone
            }
            Body::Call { kind: CallKind::Unlink, result: Ok(_), data, .. } => {
                std::str::from_utf8(data).ok().and_then(|path| self.damaged.take(path))
            }
            _ => None,
        };
        match gone {
            None => Ok(()),
            Some(path) => {
                let message = format!("{path} was damaged, and is gone: it should have been put aside");
                Err(Violation::new(self.id(), message).object("document").role("agent").loss("saved-over"))
            }
        }
    }
}
