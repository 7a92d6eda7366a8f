//! What must happen sometimes where agents die: read off the calls and claims of those who died and of those who came after. It judges nothing.

use super::lives::Lives;
use super::memories::memory_at;
use super::paths::{DATABASE, DOCUMENTS, MEMORIES, STAGED};
use seedstorm_model::claims::Awake;
use seedstorm_model::file::temporary_owner;
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::sqlite::SharedLockCall;
use seedstorm_sim::sys::claim::{Claim, Happened, LockAcquired, LockReleased};
use seedstorm_sim::trace::{Body, CallKind, Ended, Event, Interest, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes of a WAL's header: one that is longer has frames.
const WAL_HEADER_BYTES: u64 = 32;

/// The slot of the one that recovers (`WAL_RECOVER_LOCK`).
const RECOVER: usize = 2;

/// Where a process is.
#[derive(Default)]
struct Place {
    /// The step of its last write that was cut short.
    short_write: Option<u64>,
    holds_write_lock: bool,
    /// It has renamed a file or ended a transaction, and claimed nothing since.
    has_unclaimed_effect: bool,
    /// Named locks that it has claimed.
    locks: u32,
    /// It is in a boot after its first, and not awake yet.
    is_recovering: bool,
    /// PIDs of live peers whose temporary files it has just met.
    peers: BTreeSet<u64>,
}

/// Notes what a guillotine must reach sometimes.
#[derive(Default)]
pub struct Deaths {
    lives: Lives,
    places: BTreeMap<ProcessId, Place>,
}

impl Invariant for Deaths {
    fn id(&self) -> &'static str {
        "deaths"
    }

    fn only_counts(&self) -> bool {
        true
    }

    fn interest(&self) -> Interest {
        let calls = [
            CallKind::Write,
            CallKind::WriteAt,
            CallKind::SharedLock,
            CallKind::Rename,
            CallKind::Sync,
            CallKind::Unlink,
            CallKind::ReadDirectory,
            CallKind::ProcessQuery,
        ];
        calls.into_iter().fold(Interest::CLAIMS.and(Interest::LIVES), |all, kind| all.and(Interest::call(kind)))
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        self.lives.observe(event, view);
        let Some(process) = event.process else { return Ok(()) };
        match &event.body {
            Body::Started { .. } => {
                let is_recovering = event.boot > 1;
                self.places.insert(process, Place { is_recovering, ..Place::default() });
            }
            Body::Ended(ended) => {
                let place = self.places.remove(&process).unwrap_or_default();
                if **ended == Ended::Killed {
                    self.killed(process, &place, view);
                }
            }
            Body::Call { .. } => self.called(event, process, view),
            Body::Claim { kind, .. } => self.claimed(event, kind, process, view),
            _ => {}
        }
        Ok(())
    }
}

impl Deaths {
    fn killed(&self, process: ProcessId, place: &Place, view: &View<'_>) {
        let left_temporary = || {
            let directories = [DOCUMENTS, MEMORIES, STAGED].map(|directory| directory.trim_end_matches('/'));
            let names =
                directories.into_iter().flat_map(|directory| view.disk().read_dir(directory).unwrap_or_default());
            let mut owners = names.filter_map(|name| temporary_owner(&name));
            owners.any(|owner| self.lives.of(process) == Some(&owner))
        };
        for (name, is_so) in [
            ("kill_inside_write", place.short_write == Some(view.step())),
            ("kill_between_temp_and_rename", left_temporary()),
            ("kill_inside_transaction", place.holds_write_lock),
            ("kill_between_effect_and_claim", place.has_unclaimed_effect),
            ("kill_while_holding_lock", place.locks > 0),
            ("kill_during_recovery", place.is_recovering),
        ] {
            if is_so {
                view.cover(name);
            }
        }
    }

    fn called(&mut self, event: &Event<'_>, process: ProcessId, view: &View<'_>) {
        let Body::Call { kind, arguments, result, data, .. } = event.body else { return };
        let place = self.places.entry(process).or_default();
        let path = || std::str::from_utf8(data).unwrap_or_default();
        match (kind, result) {
            (CallKind::Sync, Err(_)) => view.cover("fsync_failed"),
            (CallKind::Write | CallKind::WriteAt, Ok(written)) if written < arguments[1] => {
                place.short_write = Some(event.step);
            }
            (CallKind::Rename, Ok(_)) => place.has_unclaimed_effect = true,
            (CallKind::SharedLock, Ok(_)) => {
                let call = SharedLockCall::of(arguments);
                if call.first == SharedLockCall::WRITE {
                    place.holds_write_lock = call.excludes;
                    place.has_unclaimed_effect |= call.releases;
                }
                let recovers = call.excludes && (call.first..call.first + call.count).contains(&RECOVER);
                let wal = format_args!("{DATABASE}-wal").to_string();
                if recovers && view.disk().stat(&wal).is_ok_and(|wal| wal.len_bytes > WAL_HEADER_BYTES) {
                    view.cover("wal_recovered");
                }
            }
            (CallKind::Unlink, Ok(_)) => {
                if memory_at(path()).is_some() {
                    view.cover("orphan_swept");
                }
                let owner = temporary_owner(path());
                if owner.is_some_and(|owner| self.lives.of(process) != Some(&owner)) {
                    view.cover("temp_reaped");
                }
            }
            (CallKind::ReadDirectory, Ok(_)) => {
                let names = view.disk().read_dir(path()).unwrap_or_default();
                let owners = names.iter().filter_map(|name| temporary_owner(name));
                let peers =
                    owners.filter(|owner| self.lives.living(owner, view).is_some_and(|living| living != process));
                place.peers = peers.map(|owner| u64::from(owner.pid)).collect();
            }
            (CallKind::ProcessQuery, Ok(found)) if found > 0 => {
                let [pid, _] = arguments;
                if place.peers.contains(&pid) {
                    view.cover("temp_of_live_peer_kept");
                }
                if !view.processes().any(|process| process.is_live && u64::from(process.pid) == pid) {
                    view.cover("pid_reused");
                }
            }
            _ => {}
        }
    }

    fn claimed(&mut self, event: &Event<'_>, kind: &str, process: ProcessId, view: &View<'_>) {
        let place = self.places.entry(process).or_default();
        place.has_unclaimed_effect = false;
        match kind {
            LockAcquired::KIND => place.locks += 1,
            LockReleased::KIND => place.locks = place.locks.saturating_sub(1),
            Awake::KIND => place.is_recovering = false,
            Happened::KIND => match event.claim().map(|Happened { what }| what).as_deref() {
                Some("lock_reclaimed") => view.cover("stale_lock_reclaimed"),
                Some("quarantined") => view.cover("corrupt_quarantined"),
                _ => {}
            },
            _ => {}
        }
    }
}
