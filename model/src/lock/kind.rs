//! The ways to exclude, by name.

use super::{Flock, Lease, OwnerFile, Way};
use crate::config::Config;

/// How named locks exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockKind {
    /// flock(2) on a side-car.
    Flock,
    /// A file that names its owner.
    OwnerFile,
    /// A lease with a fencing token.
    Lease,
}

impl LockKind {
    /// Every kind.
    pub const ALL: [LockKind; 3] = [LockKind::Flock, LockKind::OwnerFile, LockKind::Lease];

    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::Flock => "flock",
            LockKind::OwnerFile => "owner-file",
            LockKind::Lease => "lease",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<LockKind> {
        LockKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The implementation, for locks in the configured directory.
    pub(super) fn way(self, config: &Config) -> Box<dyn Way> {
        match self {
            LockKind::Flock => Box::new(Flock::new(config.locks(), config.mutant)),
            LockKind::OwnerFile => Box::new(OwnerFile::new(config.locks(), config.lock_timeout_ns / 2, config.mutant)),
            LockKind::Lease => Box::new(Lease::new(config.locks(), config.lease_ns, config.mutant)),
        }
    }
}
