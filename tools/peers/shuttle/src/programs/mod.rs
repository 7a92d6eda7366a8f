//! The programs on shuttle: threads that share memory through `shuttle::sync`. The same programs on seedstorm are in the contender `ours`, file by file and step
//! by step. How a program is searched is in `search`.

mod counters;
mod orders;
mod structures;
mod waits;

use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread::JoinHandle;

/// A program: with its bug, or mended. It gives whether what must hold of it held.
pub(crate) type Program = fn(is_mended: bool) -> bool;

/// The program of a name that every contender knows.
pub(crate) fn named(name: &str) -> Option<Program> {
    Some(match name {
        "account" => counters::account,
        "lazy" => counters::lazy,
        "wronglock" => counters::wronglock,
        "token-ring" => counters::token_ring,
        "reorder-3" => |is_mended| orders::reorder(is_mended, 3),
        "reorder-10" => |is_mended| orders::reorder(is_mended, 10),
        "twostage-20" => |is_mended| orders::twostage(is_mended, 20),
        "double-checked" => orders::double_checked,
        "stack-aba" => structures::stack,
        "queue-aba" => structures::queue,
        "circular-buffer" => structures::circular_buffer,
        "deadlock" => waits::deadlock,
        "carter" => waits::carter,
        "bounded-buffer" => waits::bounded_buffer,
        _ => return None,
    })
}

/// Locks. No thread panics with a lock in its hands.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a lock that nobody poisoned")
}

/// Waits for the end of all.
fn join_all<T>(threads: Vec<JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().expect("a thread ended")).collect()
}
