//! What a way to exclude must offer: one attempt, and the release. Waiting, deadlines, order and claims are the same for all: see `locks`.

use super::{Holder, LockError, LockName};
use crate::file::remove;
use seedstorm_sim::Sys;
use seedstorm_sim::sys::File;
use seedstorm_sim::sys::claim::Exclusion;
use std::future::Future;
use std::pin::Pin;

/// The future of one operation on a lock. A box: implementations are chosen by name at run time, and an attempt makes many system calls.
pub type Attempting<'a, T> = Pin<Box<dyn Future<Output = Result<T, LockError>> + 'a>>;

/// A way to exclude.
pub trait Way {
    /// What the harness and the reader may expect of it.
    fn exclusion(&self) -> Exclusion;

    /// Tries once, without waiting. A dead holder's lock counts as free.
    fn attempt<'a>(&'a self, sys: &'a Sys, lock: &'a LockName) -> Attempting<'a, Attempt>;

    /// Leaves word of who holds the lock, and tidies up: what needn't be done before the holder relies on the lock. Failure is no harm.
    /// Where the lock itself says who holds it, only what an attempt has left over goes.
    fn settle<'a>(
        &'a self,
        sys: &'a Sys,
        _lock: &'a LockName,
        grant: &'a mut Grant,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            for path in std::mem::take(&mut grant.left_over) {
                remove(sys, &path).await;
            }
        })
    }

    /// Takes away what dead lives of this process's name still hold. Gives how many locks that were, `None` if some had to stay for now.
    /// Nothing to do where a lock goes with its holder's life, or is free as soon as its holder is dead.
    fn release_dead<'a>(&'a self, _sys: &'a Sys) -> Attempting<'a, Option<usize>> {
        Box::pin(std::future::ready(Ok(Some(0))))
    }

    /// Gives the lock back.
    fn release<'a>(&'a self, sys: &'a Sys, lock: &'a LockName, grant: Grant) -> Attempting<'a, ()>;
}

/// What an attempt came to.
pub enum Attempt {
    /// The lock is ours.
    Acquired(Grant),
    /// Somebody has it.
    Busy(Holder),
}

/// What proves the possession of a lock, and what its release needs.
pub struct Grant {
    /// The fencing token, where there is one: what the lock protects must check it at each write.
    pub token: Option<u64>,
    /// The open side-car that carries the flock.
    pub(super) side_car: Option<File>,
    /// Files that are not needed any more: temporary ones, and those of leases before ours.
    pub(super) left_over: Vec<String>,
    /// Whether a dead or late holder had to go first.
    pub(super) took_over: bool,
}

impl Grant {
    pub(super) fn plain() -> Grant {
        Grant { token: None, side_car: None, left_over: Vec::new(), took_over: false }
    }
}
