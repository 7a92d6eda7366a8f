//! The room that a run's lists took, for the next run on the same thread: a short run costs little more than asking for it. Only the room is handed on, never what
//! was in it.

use super::control::Control;
use super::core::Core;
use super::task::{Task, WaitKey};
use crate::schedule::Ready;
use crate::seed::Stream;
use crate::trace::{TaskId, TraceHasher};
use std::cell::Cell;
use std::collections::VecDeque;

/// Lists of a [`Core`], empty.
pub(super) struct Room {
    pub(super) tasks: Vec<Task>,
    pub(super) free_tasks: Vec<TaskId>,
    pub(super) ready: Vec<Ready>,
    pub(super) waiting: Vec<(WaitKey, TaskId)>,
    pub(super) controls: VecDeque<Control>,
    pub(super) late: Vec<(u64, TaskId)>,
    pub(super) latency_streams: Vec<Stream>,
    pub(super) hasher: TraceHasher,
}

/// Room for so many tasks is made at once: most runs have about as many.
const TASKS: usize = 16;

/// Of a run that had more tasks nothing is kept.
const TASKS_MAX: usize = 256;

thread_local! {
    static SPARE: Cell<Option<Room>> = const { Cell::new(None) };
}

impl Room {
    /// That of the run before, or new.
    pub(super) fn take() -> Room {
        SPARE.take().unwrap_or_else(|| Room {
            tasks: Vec::with_capacity(TASKS),
            free_tasks: Vec::with_capacity(TASKS),
            ready: Vec::with_capacity(TASKS),
            waiting: Vec::new(),
            controls: VecDeque::with_capacity(TASKS),
            late: Vec::new(),
            latency_streams: Vec::new(),
            hasher: TraceHasher::default(),
        })
    }

    /// Empties the lists of a run that is over, and keeps their room.
    pub(super) fn keep(core: &mut Core) {
        let mut room = Room {
            tasks: std::mem::take(&mut core.tasks),
            free_tasks: std::mem::take(&mut core.free_tasks),
            ready: std::mem::take(&mut core.ready),
            waiting: std::mem::take(&mut core.waiting),
            controls: std::mem::take(&mut core.controls),
            late: std::mem::take(&mut core.late),
            latency_streams: std::mem::take(&mut core.latency_streams),
            hasher: core.hasher.renewed(),
        };
        if room.tasks.len() > TASKS_MAX {
            return;
        }
        let Room { tasks, free_tasks, ready, waiting, controls, late, latency_streams, hasher: _ } = &mut room;
        tasks.clear();
        free_tasks.clear();
        ready.clear();
        waiting.clear();
        controls.clear();
        late.clear();
        latency_streams.clear();
        SPARE.set(Some(room));
    }
}
