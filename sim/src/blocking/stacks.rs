//! Stacks of coroutines, used again: one costs two system calls and a fault for each page that it touches.

use corosensei::stack::DefaultStack;
use std::sync::{Mutex, PoisonError};

/// What a stack holds. SQLite's ordinary statements peak at about 12 KB; full-text search and big sorts take more. Pages that are
/// never touched cost nothing, and below the last one is a guard page.
const STACK_BYTES: usize = 512 << 10;

/// How many idle stacks are kept.
const IDLE_MAX: usize = 256;

/// Every run has a thread of its own, so the pool belongs to the OS process. Runs take turns: nobody waits here.
static IDLE: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

/// A stack.
///
/// # Panics
/// When the OS has no memory for it.
pub(super) fn take() -> DefaultStack {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    idle.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("the OS gives memory for a stack"))
}

/// Gives a stack back.
pub(super) fn put_back(stack: DefaultStack) {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < IDLE_MAX {
        idle.push(stack);
    }
}
