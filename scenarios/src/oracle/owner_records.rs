//! `owner-records-whole` and `dead-locks-reclaimed`: what locks leave on disk in the names of their owners.

use super::paths::LOCKS;
use seedstorm_model::claims::Awake;
use seedstorm_model::file;
use seedstorm_model::lock::OwnerRecord;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::sys::claim::{Claim, LockAcquired};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Body, Ended, Event, Interest};

/// The owners' records on a disk: path, and the record if it is whole.
fn records(disk: &Disk) -> impl Iterator<Item = (String, Option<OwnerRecord>)> {
    let names = disk.read_dir(LOCKS.trim_end_matches('/')).unwrap_or_default();
    let paths = names.into_iter().filter(|name| name.ends_with(".owner")).map(|name| format!("{LOCKS}{name}"));
    paths.map(|path| {
        let record = disk.visible_read(&path).and_then(|bytes| file::unseal(&bytes).ok());
        (path, record)
    })
}

/// Whatever died, and whenever: a record at a lock's name is whole. From half of one nobody could tell whose the lock is.
#[derive(Default)]
pub struct OwnerRecordsWhole;

impl OwnerRecordsWhole {
    fn judge(&self, disk: &Disk) -> Result<(), Violation> {
        match records(disk).find(|(_, record)| record.is_none()) {
            None => Ok(()),
            Some((path, _)) => {
                let message = format!("{path} says of no owner that it holds the lock");
                Err(Violation::new(self.id(), message).object("lock").role("agent").loss("torn"))
            }
        }
    }
}

impl Invariant for OwnerRecordsWhole {
    fn id(&self) -> &'static str {
        "owner-records-whole"
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        Interest::LIVES.and(Interest::CLAIMS)
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.body {
            Body::Ended(Ended::Killed) | Body::MachineCrashed => self.judge(view.disk()),
            // Whoever has just taken a lock has its record there.
            Body::Claim { kind: LockAcquired::KIND, .. } => self.judge(view.disk()),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk())
    }
}

/// Once an agent is awake, its earlier lives hold no lock. That is the bound within which a dead owner's lock is reclaimed, even if nobody else
/// wants it.
#[derive(Default)]
pub struct DeadLocksReclaimed;

impl DeadLocksReclaimed {
    fn judge(&self, disk: &Disk, is_awake: impl Fn(&str) -> bool) -> Result<(), Violation> {
        for (path, record) in records(disk) {
            let Some(record) = record.filter(|record| is_awake(&record.name)) else { continue };
            let message = format!("{path} names a life of {} (pid {}) that is over", record.name, record.process.pid);
            return Err(Violation::new(self.id(), message).object("lock").role("agent").loss("never-reclaimed"));
        }
        Ok(())
    }
}

impl Invariant for DeadLocksReclaimed {
    fn id(&self) -> &'static str {
        "dead-locks-reclaimed"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        match event.claim() {
            // It has taken none yet.
            Some(Awake { agent }) => self.judge(view.disk(), |name| name == agent),
            None => Ok(()),
        }
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk(), |name| survivor.came_up(name))
    }
}
