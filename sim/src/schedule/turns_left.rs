//! The turns that are left of a recording while it is followed. Looking for the next costs the same however long the run was and however many can't be had:
//! what is over is never looked at again. Who follows them is in `guided`.

use super::turns::Turn;

/// No turn.
const NONE: u32 = u32::MAX;

/// Which turns are left.
pub(super) struct TurnsLeft {
    /// For each turn the next one of its task.
    next: Vec<u32>,
    /// For each task the first of its turns that is left.
    first: Vec<u32>,
    /// Before this turn none is left.
    frontier: usize,
}

impl TurnsLeft {
    /// All of them.
    pub(super) fn all(turns: &[Turn], tasks: usize) -> TurnsLeft {
        let (mut next, mut first) = (vec![NONE; turns.len()], vec![NONE; tasks]);
        for (index, turn) in turns.iter().enumerate().rev() {
            next[index] = std::mem::replace(&mut first[turn.task as usize], index as u32);
        }
        TurnsLeft { next, first, frontier: 0 }
    }

    /// A task has made so many calls: its turns up to there are over.
    pub(super) fn end_until(&mut self, turns: &[Turn], task: usize, made: u32) {
        let first = &mut self.first[task];
        while *first != NONE && turns[*first as usize].until <= made {
            *first = self.next[*first as usize];
        }
    }

    /// A task is gone: all its turns are over.
    pub(super) fn end_all(&mut self, task: usize) {
        self.first[task] = NONE;
    }

    /// The first turn of a task that is left: a number by which turns are ordered.
    pub(super) fn first_of(&self, task: usize) -> Option<u32> {
        Some(self.first[task]).filter(|first| *first != NONE)
    }

    /// Whose turn is the first that is left.
    pub(super) fn first_task(&mut self, turns: &[Turn]) -> Option<usize> {
        while let Some(turn) = turns.get(self.frontier) {
            let task = turn.task as usize;
            if self.first[task] as usize <= self.frontier {
                return Some(task);
            }
            self.frontier += 1;
        }
        None
    }
}
