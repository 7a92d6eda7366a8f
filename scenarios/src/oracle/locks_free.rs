//! `locks-free`: no lock is left in the name of a process that ended well. Looks at the owners' records on disk, not at what was claimed of them.

use super::paths::LOCKS;
use seedstorm_model::file;
use seedstorm_model::lock::OwnerRecord;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, Ended, Event, Interest};
use std::collections::BTreeSet;

/// No owner's record names a process that ended well. (One that was killed may leave its record: whoever next wants the lock takes it away.)
#[derive(Default)]
pub struct LocksFree {
    /// Lives that ended well in this boot of the machine: name and PID.
    ended: BTreeSet<(String, u32)>,
    /// Records that the last crash left. They are of earlier boots, whose PIDs come again; and a release that wasn't durable is undone there.
    left_over: BTreeSet<Vec<u8>>,
}

impl Invariant for LocksFree {
    fn id(&self) -> &'static str {
        "locks-free"
    }

    fn interest(&self) -> Interest {
        Interest::LIVES
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match (&event.body, event.process) {
            (Body::MachineCrashed, _) => {
                self.ended.clear();
                self.left_over = records(view.disk()).map(|(_, bytes)| bytes).collect();
            }
            (Body::Ended(Ended::Exited { code: 0, .. }), Some(process)) => {
                let process = view.process(process);
                self.ended.insert((process.name.to_owned(), process.pid));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        for (path, bytes) in records(view.disk()).filter(|(_, bytes)| !self.left_over.contains(bytes)) {
            // What is no whole record names nobody.
            let Ok(OwnerRecord { name, process, .. }) = file::unseal(&bytes) else { continue };
            if self.ended.contains(&(name.clone(), process.pid)) {
                let message = format!("{path} names {name} (pid {}), which ended well", process.pid);
                return Err(Violation::new(self.id(), message).object("lock").role("agent").loss("left-held"));
            }
        }
        Ok(())
    }
}

/// The owners' records: path and bytes.
fn records(disk: &Disk) -> impl Iterator<Item = (String, Vec<u8>)> {
    let is_record = |path: &String| path.strip_prefix(LOCKS).is_some_and(|name| name.ends_with(".owner"));
    let paths = disk.files().map(|(path, _, _)| path).filter(is_record);
    paths.filter_map(|path| disk.visible_read(&path).map(|bytes| (path, bytes)))
}
