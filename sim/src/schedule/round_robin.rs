//! `round-robin`: tasks in turn, by process and task number.

use super::{Ready, Strategy};
use crate::trace::ProcessId;

/// Tasks in turn.
#[derive(Default)]
pub struct RoundRobin {
    last: Option<(ProcessId, u32)>,
}

impl Strategy for RoundRobin {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        let key = |call: &Ready| (call.process, call.ordinal);
        let after = |call: &&(usize, &Ready)| Some(key(call.1)) > self.last;
        let all = || ready.iter().enumerate();
        let (index, chosen) = all()
            .filter(|call| after(&call))
            .min_by_key(|call| key(call.1))
            .or_else(|| all().min_by_key(|call| key(call.1)))
            .unwrap_or((0, &ready[0]));
        self.last = Some(key(chosen));
        index
    }
}
