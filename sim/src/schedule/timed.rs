//! `timed`: in the order of due times. Latencies, liveness and fairness are judged under it alone.

use super::{Ready, Strategy, earliest};

/// In the order of due times; ties by process, then task.
pub struct Timed;

impl Strategy for Timed {
    fn next(&mut self, ready: &[Ready], _now_ns: u64) -> usize {
        earliest(ready)
    }
}
