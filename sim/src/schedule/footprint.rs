//! What an announced call touches, as far as it is known before it takes effect: whether two calls may race. Paths are compared as they are written, and files
//! whole: what parts of one file are touched isn't looked at.

use super::Ready;
use crate::trace::CallKind;

/// How a call uses what it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Nothing that another process could see.
    Nothing,
    /// It looks.
    Reads,
    /// It changes something, or takes something that others then can't have.
    Writes,
}

/// Where the thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// An inode, a lock's file, a key between tasks, a mailbox: the call's object.
    Object,
    /// Names in directories: that of a path, or any.
    Names,
}

/// How a kind of call uses what. SQLite's shared memory is read and written without calls, between those on the same object: each
/// of them counts as a write.
const fn footprint(kind: CallKind) -> (Use, Place) {
    match kind {
        CallKind::Read | CallKind::ReadAt | CallKind::RangeQuery | CallKind::FileControl => (Use::Reads, Place::Object),
        CallKind::Boot
        | CallKind::Start
        | CallKind::Yield
        | CallKind::Sleep
        | CallKind::Wake
        | CallKind::Close
        | CallKind::Spawn
        | CallKind::Join
        // Deaths are no calls.
        | CallKind::ProcessQuery
        | CallKind::Claim => (Use::Nothing, Place::Object),
        CallKind::ReadDirectory | CallKind::Stat | CallKind::Access => (Use::Reads, Place::Names),
        CallKind::Open
        | CallKind::Rename
        | CallKind::Link
        | CallKind::Unlink
        | CallKind::MakeDirectory
        | CallKind::RemoveDirectory => (Use::Writes, Place::Names),
        _ => (Use::Writes, Place::Object),
    }
}

/// Whether the order of two calls may matter: they touch the same thing, and one of them changes it.
pub(super) fn race(left: &Ready, right: &Ready) -> bool {
    let ((left_use, left_place), (right_use, right_place)) = (footprint(left.kind), footprint(right.kind));
    if left_use == Use::Nothing || right_use == Use::Nothing || left_place != right_place {
        return false;
    }
    let is_any = |call: &Ready| left_place == Place::Names && call.object == 0;
    let same = is_any(left) || is_any(right) || (left.object == right.object && left.object != 0);
    same && (left_use == Use::Writes || right_use == Use::Writes)
}

/// What a call touches that another process may touch too; `None`: nothing.
pub(crate) fn touched(kind: CallKind, object: u64) -> Option<u64> {
    match footprint(kind) {
        (Use::Nothing, _) => None,
        (_, Place::Names) => Some(0),
        (_, Place::Object) => (object != 0).then_some(object),
    }
}

/// The kinds of call that touch their object, if they have one, by their bits.
pub(super) const KINDS_ON_OBJECTS: u64 = kinds_in(Place::Object);

/// What [`touched`] says, in one number.
#[inline]
pub(super) fn key(call: &Ready) -> u64 {
    const NAMES: u64 = kinds_in(Place::Names);
    let is_of = |kinds: u64| kinds >> call.kind as u64 & 1 == 1;
    let of_object = if is_of(KINDS_ON_OBJECTS) & (call.object != 0) { call.object } else { NOTHING };
    if is_of(NAMES) { 0 } else { of_object }
}

/// The key of a call that touches nothing. No object has it.
pub(super) const NOTHING: u64 = u64::MAX;

const fn kinds_in(place: Place) -> u64 {
    assert!(CallKind::ALL.len() <= u64::BITS as usize);
    let (mut kinds, mut index) = (0, 0);
    while index < CallKind::ALL.len() {
        let kind = CallKind::ALL[index];
        let (used, at) = footprint(kind);
        if !matches!(used, Use::Nothing) && at as u8 == place as u8 {
            kinds |= 1 << kind as u64;
        }
        index += 1;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ProcessId, TaskId};

    #[test]
    fn a_key_says_what_is_touched() {
        for (object, kind) in
            [0, 7].into_iter().flat_map(|object| CallKind::ALL.iter().map(move |kind| (object, *kind)))
        {
            assert_eq!(key(&call(kind, object)), touched(kind, object).unwrap_or(NOTHING), "{kind} {object}");
        }
    }

    fn call(kind: CallKind, object: u64) -> Ready {
        let (task, process) = (TaskId(0), ProcessId(0));
        Ready { due_ns: 0, object, task, process, ordinal: 0, kind, is_again: false }
    }

    #[test]
    fn calls_race_when_one_changes_what_both_touch() {
        let races = |left: (CallKind, u64), right: (CallKind, u64)| {
            let (left, right) = (call(left.0, left.1), call(right.0, right.1));
            assert_eq!(race(&left, &right), race(&right, &left), "{left:?} {right:?}");
            race(&left, &right)
        };
        assert!(races((CallKind::ReadAt, 7), (CallKind::WriteAt, 7)));
        assert!(races((CallKind::SharedLock, 7), (CallKind::SharedBarrier, 7)));
        assert!(races((CallKind::Rename, 0), (CallKind::Stat, 5)), "a rename has two names: it may be any");
        assert!(races((CallKind::Open, 5), (CallKind::Stat, 5)));
        assert!(!races((CallKind::Open, 5), (CallKind::Stat, 7)), "two names");
        assert!(!races((CallKind::Open, 7), (CallKind::WriteAt, 7)), "a name and a file");
        assert!(!races((CallKind::ReadAt, 7), (CallKind::ReadAt, 7)), "two that look");
        assert!(!races((CallKind::ReadAt, 7), (CallKind::WriteAt, 8)), "two things");
        assert!(!races((CallKind::Stat, 0), (CallKind::Access, 0)), "two that look");
        assert!(!races((CallKind::Yield, 0), (CallKind::Yield, 0)), "nothing is touched");
        assert!(!races((CallKind::Claim, 0), (CallKind::WriteAt, 7)), "a claim is told to the outside");
    }
}
