//! Tests of following turns that can't all be had.

use super::*;
use crate::trace::TaskId;

/// Follows turns of the processes `a`, `b` and `gone`, each in its first life.
fn following(text: &str) -> Following {
    let guide = Guide { turns: Turns::from_text(text).expect("turns"), ..Guide::default() };
    let mut following = Following::new(guide, ["a", "b", "gone"].map(str::to_owned).into(), Report::default());
    for process in 0..3 {
        following.started(ProcessId(process));
    }
    following
}

fn ready(process: u32, kind: CallKind) -> Ready {
    let (task, process) = (TaskId(process), ProcessId(process));
    Ready { due_ns: 0, object: 0, task, process, ordinal: 0, kind, is_again: false }
}

/// Who goes in so many steps, if both `a` and `b` always can.
fn who_goes(following: &mut Following, steps: usize) -> String {
    let calls = [ready(0, CallKind::ReadAt), ready(1, CallKind::ReadAt)];
    (0..steps).map(|_| ["a", "b"][following.next(&calls, 0)]).collect()
}

#[test]
fn turns_are_followed_however_many_before_them_cannot_be_had() {
    for stuck in [0, 1, 63, 64, 1000] {
        // They are of a life that never comes, of a process that never goes, and of tasks of theirs.
        let lines = (0..stuck).map(|index| ["a.2/0 pread\n", "gone.1/0 pread\n", "b.9/1 pread\n"][index % 3]);
        let text = format!("{}b.1/0 pread*3\na.1/0 pread\nb.1/0 pread\na.1/0 pread*2\n", lines.collect::<String>());
        let mut following = following(&text);
        assert_eq!(who_goes(&mut following, 7), "bbbabaa", "{stuck} turns that can't be had");
        assert_eq!(following.found.drift.is_some(), stuck > 0);
    }
}

#[test]
fn a_turn_that_was_passed_over_is_had_as_soon_as_it_can() {
    let mut following = following("a.2/0 pread\nb.1/0 pread*2\na.1/0 pread*2\nb.1/0 pread\na.2/0 pread\n");
    assert_eq!(who_goes(&mut following, 3), "bba");
    // The second life of `a` comes before the first has had all its turns: they are over.
    following.started(ProcessId(0));
    assert_eq!(who_goes(&mut following, 3), "aba");
    assert_eq!(following.left.first_task(&following.guide.turns.turns), None);
}

#[test]
fn a_task_that_goes_a_way_of_its_own_has_its_turns_again_when_it_is_back() {
    let turns = "a.1/0 pread*2\nb.1/0 pread*90\na.1/0 #7 fsync*2\nb.1/0 pread\na.1/0 fsync\n";
    let mut following = following(turns);
    let other = [ready(0, CallKind::Lock), ready(1, CallKind::ReadAt)];
    let went: String = (0..NEW_CALLS_MAX + 3).map(|_| ["a", "b"][following.next(&other, 0)]).collect();
    assert_eq!(went, format!("{}bbb", "a".repeat(NEW_CALLS_MAX)));
    following.began(ProcessId(0), 0, 7);
    let back = [ready(0, CallKind::Sync), ready(1, CallKind::ReadAt)];
    let went: String = (0..91).map(|_| ["a", "b"][following.next(&back, 0)]).collect();
    assert_eq!(went, format!("{}aaba", "b".repeat(87)));
}

/// Quadratic, this would take minutes.
#[test]
fn a_turn_that_cannot_be_had_does_not_make_the_others_cost_more() {
    const TURNS: usize = 300_000;
    let text = format!("a.2/0 pread\n{}", "b.1/0 pread\na.1/0 pread\n".repeat(TURNS / 2));
    let mut following = following(&text);
    assert_eq!(who_goes(&mut following, TURNS), "ba".repeat(TURNS / 2));
}

/// Quadratic, this would take minutes, too.
#[test]
fn where_an_operation_began_is_found_at_once_however_many_there_are() {
    const OPERATIONS: u64 = 300_000;
    // Downwards, so that neither the first nor the last of the list is the one that is asked for; one has two beginnings.
    let lines: String = (0..OPERATIONS).rev().map(|id| format!("a.1/0 #{id} pread #{id} fsync\n")).collect();
    let mut following = following(&lines);
    for id in 0..OPERATIONS {
        for kind in [CallKind::ReadAt, CallKind::Sync] {
            following.began(ProcessId(0), 0, id);
            assert_eq!(following.expected(0), Some(kind), "operation {id}");
        }
    }
    let before = following.places[0].made;
    following.began(ProcessId(0), 0, 7);
    assert_eq!(following.places[0].made, before, "it was not begun a third time");
}
