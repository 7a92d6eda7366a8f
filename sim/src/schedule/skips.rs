//! `skips`: each task goes on as long as it can, then the next one in turn; at the choices that the plan names, whoever's turn it is is skipped. Nothing is
//! drawn, so that all schedules with a few skips can be enumerated: delay-bounded scheduling (Emmi, Qadeer and Rakamarić, POPL 2011). What is a delay there is
//! a skip here: delays are something else.

use super::{Ready, Strategy};
use crate::plan::SkipPoints;
use crate::trace::{CallKind, ProcessId};

/// Tasks in turn, each as long as it can.
pub struct Skips {
    points: SkipPoints,
    /// How many choices there have been: steps at which more than one call was ready.
    choices: u64,
    /// Who went last.
    last: Option<Key>,
    /// How many steps that one has had in a row while others could have gone.
    in_a_row: u32,
}

/// A task's place in the round, and of its two calls, if it has two, which.
type Key = (ProcessId, u32, u8);

/// After so many steps in a row the turn goes on to the next one: who asks again and again for what another has to do must not keep that one from doing it.
const TURN_STEPS_MAX: u32 = 1_000;

#[inline]
fn key(call: &Ready) -> Key {
    (call.process, call.ordinal, call.kind as u8)
}

impl Skips {
    /// The schedule that skips at these choices.
    pub fn new(points: SkipPoints) -> Skips {
        Skips { points, choices: 0, last: None, in_a_row: 0 }
    }

    /// The one whose turn it is, unless it is skipped.
    fn first(&self, ready: &[Ready]) -> usize {
        let all = || ready.iter().enumerate();
        let lowest = || all().min_by_key(|(_, call)| key(call)).map_or(0, |(index, _)| index);
        let Some((process, ordinal, kind)) = self.last else { return lowest() };
        let of_last = all().find(|(_, call)| (call.process, call.ordinal) == (process, ordinal));
        // Who lets others go first, lets others go first.
        let is_over = kind == CallKind::Yield as u8 || self.in_a_row >= TURN_STEPS_MAX;
        match of_last {
            Some((index, _)) if !is_over => index,
            _ => self.next_after((process, ordinal, u8::MAX), ready).unwrap_or_else(lowest),
        }
    }

    /// The next one in the round.
    fn next_after(&self, after: Key, ready: &[Ready]) -> Option<usize> {
        let later = ready.iter().enumerate().filter(|(_, call)| key(call) > after);
        later.min_by_key(|(_, call)| key(call)).map(|(index, _)| index)
    }
}

impl Strategy for Skips {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let mut choice = 0;
        if ready.len() > 1 {
            self.choices += 1;
            choice = self.first(ready);
            for _ in self.points.all().iter().filter(|point| u64::from(**point) == self.choices) {
                let lowest = (0..ready.len()).min_by_key(|index| key(&ready[*index]));
                choice = self.next_after(key(&ready[choice]), ready).or(lowest).unwrap_or(choice);
            }
        }
        let goes = &ready[choice];
        let is_again =
            self.last.is_some_and(|(process, ordinal, _)| (process, ordinal) == (goes.process, goes.ordinal));
        self.in_a_row = if is_again && ready.len() > 1 { self.in_a_row + 1 } else { 0 };
        self.last = Some(key(goes));
        choice
    }

    fn choices(&self) -> Option<u64> {
        Some(self.choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TaskId;

    fn call(process: u32, kind: CallKind) -> Ready {
        let process = ProcessId(process);
        Ready { due_ns: 0, object: 0, task: TaskId(process.0), process, ordinal: 0, kind, is_again: false }
    }

    /// Who goes, where all that are named are ready at each step.
    fn order(points: &str, steps: usize, kind: CallKind) -> Vec<u32> {
        let points = if points.is_empty() { SkipPoints::NONE } else { points.parse().expect(points) };
        let mut skips = Skips::new(points);
        // The order of the list means nothing.
        let ready = [call(2, kind), call(0, kind), call(1, kind)];
        (0..steps).map(|_| ready[skips.next(&ready, 0)].process.0).collect()
    }

    #[test]
    fn a_task_goes_on_until_it_is_skipped() {
        assert_eq!(order("", 4, CallKind::WriteAt), [0, 0, 0, 0]);
        assert_eq!(order("1", 3, CallKind::WriteAt), [1, 1, 1]);
        assert_eq!(order("2+4", 5, CallKind::WriteAt), [0, 1, 1, 2, 2]);
        assert_eq!(order("2+2", 3, CallKind::WriteAt), [0, 2, 2]);
        assert_eq!(order("1+1+1", 3, CallKind::WriteAt), [0, 0, 0], "the round is over");
    }

    #[test]
    fn who_yields_lets_the_next_one_go() {
        assert_eq!(order("", 7, CallKind::Yield), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(order("2", 4, CallKind::Yield), [0, 2, 0, 1]);
    }

    #[test]
    fn nobody_goes_on_for_ever() {
        let order = order("", 4 * TURN_STEPS_MAX as usize, CallKind::WriteAt);
        assert!((0..3).all(|process| order.contains(&process)));
    }

    #[test]
    fn where_one_can_go_there_is_no_choice() {
        let mut skips = Skips::new("1".parse().expect("one choice"));
        assert_eq!(skips.next(&[call(1, CallKind::Boot)], 0), 0);
        assert_eq!(skips.choices(), Some(0));
        assert_eq!(skips.next(&[call(1, CallKind::WriteAt), call(2, CallKind::Boot)], 0), 1);
        assert_eq!(skips.choices(), Some(1));
    }
}
