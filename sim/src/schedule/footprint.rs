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

/// The calls whose order with one call may matter: they touch the same thing, and one of the two changes it.
#[derive(Clone, Copy)]
pub(super) struct Racing {
    /// The kinds of call that may, by their bits.
    kinds: u64,
    /// What they touch then: one or the other, or whatever.
    objects: [u64; 2],
    is_any: bool,
}

impl Racing {
    #[inline]
    pub(super) fn with(call: &Ready) -> Racing {
        let object = call.object;
        let (used, place) = footprint(call.kind);
        let kinds = match (used, place) {
            (Use::Nothing, _) => 0,
            (Use::Reads, Place::Object) => WRITES_ON_OBJECTS,
            (Use::Writes, Place::Object) => KINDS_ON_OBJECTS,
            (Use::Reads, Place::Names) => WRITES_ON_NAMES,
            (Use::Writes, Place::Names) => KINDS_ON_NAMES,
        };
        match place {
            // Without an object it touches nothing.
            Place::Object => Racing { kinds: if object == 0 { 0 } else { kinds }, objects: [object; 2], is_any: false },
            // Without one it may touch any name.
            Place::Names => Racing { kinds, objects: [object, 0], is_any: object == 0 },
        }
    }

    /// Whether there can be any.
    #[inline]
    pub(super) fn is_possible(self) -> bool {
        self.kinds != 0
    }

    #[inline]
    pub(super) fn has(self, call: &Ready) -> bool {
        let [one, other] = self.objects;
        let is_same = self.is_any | (call.object == one) | (call.object == other);
        is_same & (self.kinds >> call.kind as u64 & 1 == 1)
    }
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
pub(super) const KINDS_ON_OBJECTS: u64 = kinds_in(Place::Object, false);
const WRITES_ON_OBJECTS: u64 = kinds_in(Place::Object, true);
const KINDS_ON_NAMES: u64 = kinds_in(Place::Names, false);
const WRITES_ON_NAMES: u64 = kinds_in(Place::Names, true);

/// What [`touched`] says, in one number.
#[inline]
pub(super) fn key(call: &Ready) -> u64 {
    let is_of = |kinds: u64| kinds >> call.kind as u64 & 1 == 1;
    let of_object = if is_of(KINDS_ON_OBJECTS) & (call.object != 0) { call.object } else { NOTHING };
    if is_of(KINDS_ON_NAMES) { 0 } else { of_object }
}

/// The key of a call that touches nothing. No object has it.
pub(super) const NOTHING: u64 = u64::MAX;

const fn kinds_in(place: Place, only_writes: bool) -> u64 {
    assert!(CallKind::ALL.len() <= u64::BITS as usize);
    let (mut kinds, mut index) = (0, 0);
    while index < CallKind::ALL.len() {
        let kind = CallKind::ALL[index];
        let (used, at) = footprint(kind);
        let counts = if only_writes { matches!(used, Use::Writes) } else { !matches!(used, Use::Nothing) };
        if counts && at as u8 == place as u8 {
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

    /// What racing means, in the plainest words.
    fn race(left: &Ready, right: &Ready) -> bool {
        let ((left_use, left_place), (right_use, right_place)) = (footprint(left.kind), footprint(right.kind));
        if left_use == Use::Nothing || right_use == Use::Nothing || left_place != right_place {
            return false;
        }
        let is_any = |call: &Ready| left_place == Place::Names && call.object == 0;
        let same = is_any(left) || is_any(right) || (left.object == right.object && left.object != 0);
        same && (left_use == Use::Writes || right_use == Use::Writes)
    }

    #[test]
    fn racing_has_those_that_race() {
        let objects = [0, 5, 7];
        let all = || objects.into_iter().flat_map(|object| CallKind::ALL.iter().map(move |kind| call(*kind, object)));
        for (left, right) in all().flat_map(|left| all().map(move |right| (left, right))) {
            let racing = Racing::with(&right);
            assert_eq!(racing.has(&left), race(&left, &right), "{left:?} {right:?}");
            assert!(racing.is_possible() || !racing.has(&left));
        }
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
