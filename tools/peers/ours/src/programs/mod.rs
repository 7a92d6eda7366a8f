//! The programs on seedstorm: tasks of one process that share memory through `sim::sys::sync`. The same programs on shuttle are in the contender of that name,
//! file by file and step by step. How a program is searched is in `search`.
//!
//! Shuttle lets others run before a lock is given back; on seedstorm that is no step of its own. The programs yield there, so that neither side has fewer
//! places to go wrong.

mod counters;
mod orders;
mod structures;
mod waits;

use seedstorm_sim::Sys;
use seedstorm_sim::sys::TaskHandle;
use seedstorm_sim::sys::sync::{Mutex, MutexGuard};
use std::future::Future;
use std::pin::Pin;

/// A program under way. It gives whether what must hold of it held.
pub(crate) type Running = Pin<Box<dyn Future<Output = bool>>>;

/// A program: with its bug, or mended.
pub(crate) type Program = fn(sys: Sys, is_mended: bool) -> Running;

/// The program of a name that every contender knows.
pub(crate) fn named(name: &str) -> Option<Program> {
    Some(match name {
        "account" => |sys, is_mended| Box::pin(counters::account(sys, is_mended)),
        "lazy" => |sys, is_mended| Box::pin(counters::lazy(sys, is_mended)),
        "wronglock" => |sys, is_mended| Box::pin(counters::wronglock(sys, is_mended)),
        "token-ring" => |sys, is_mended| Box::pin(counters::token_ring(sys, is_mended)),
        "reorder-3" => |sys, is_mended| Box::pin(orders::reorder(sys, is_mended, 3)),
        "reorder-10" => |sys, is_mended| Box::pin(orders::reorder(sys, is_mended, 10)),
        "twostage-20" => |sys, is_mended| Box::pin(orders::twostage(sys, is_mended, 20)),
        "double-checked" => |sys, is_mended| Box::pin(orders::double_checked(sys, is_mended)),
        "stack-aba" => |sys, is_mended| Box::pin(structures::stack(sys, is_mended)),
        "queue-aba" => |sys, is_mended| Box::pin(structures::queue(sys, is_mended)),
        "circular-buffer" => |sys, is_mended| Box::pin(structures::circular_buffer(sys, is_mended)),
        "deadlock" => |sys, is_mended| Box::pin(waits::deadlock(sys, is_mended)),
        "carter" => |sys, is_mended| Box::pin(waits::carter(sys, is_mended)),
        "bounded-buffer" => |sys, is_mended| Box::pin(waits::bounded_buffer(sys, is_mended)),
        _ => return None,
    })
}

/// Locks. No program locks what it has.
async fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().await.expect("a lock that this task doesn't hold")
}

/// Unlocks; others may run before.
async fn unlock<T>(sys: &Sys, guard: MutexGuard<'_, T>) {
    sys.yield_now().await;
    drop(guard);
}

/// Waits for the end of all.
async fn join_all<T>(sys: &Sys, tasks: Vec<TaskHandle<T>>) -> Vec<T> {
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(sys.join(task).await);
    }
    results
}
