//! Programs in which everybody waits in the end: two locks in two orders, carter's pair of locks, a bounded buffer with a lost wake-up. That nothing can run any more,
//! the harness sees by itself.

use super::{join_all, lock, unlock};
use seedstorm_sim::Sys;
use seedstorm_sim::sys::sync::{Condition, Mutex};

/// Two tasks take two locks, each in its own order.
pub(super) async fn deadlock(sys: Sys, is_mended: bool) -> bool {
    let locks = [Mutex::new(&sys, 0i64), Mutex::new(&sys, 0i64)];
    let mut tasks = Vec::new();
    for task in 0..2 {
        let [first, second] =
            if task == 0 || is_mended { [0, 1] } else { [1, 0] }.map(|place: usize| locks[place].clone());
        let both = move |sys: Sys| async move {
            let mut one = lock(&first).await;
            let mut other = lock(&second).await;
            *one += 1;
            *other += 1;
            unlock(&sys, other).await;
            unlock(&sys, one).await;
        };
        tasks.push(sys.spawn(both).await);
    }
    join_all(&sys, tasks).await;
    true
}

/// Two groups of users share a resource: the first of a group takes it, the last gives it back, both under one lock for all counts. Who waits for the resource
/// holds the lock that its holder needs to give it back.
pub(super) async fn carter(sys: Sys, is_mended: bool) -> bool {
    let counts = Mutex::new(&sys, [0i64; 2]);
    let own_counts = [Mutex::new(&sys, [0i64; 2]), Mutex::new(&sys, [0i64; 2])];
    let resource = Mutex::new(&sys, ());
    let mut users = Vec::new();
    for group in 0..2 {
        // Mended, a group's count has a lock of its own.
        let counts = if is_mended { own_counts[group].clone() } else { counts.clone() };
        let resource = resource.clone();
        let work = move |sys: Sys| async move {
            let mut users = lock(&counts).await;
            users[group] += 1;
            let taken = if users[group] == 1 { Some(lock(&resource).await) } else { None };
            unlock(&sys, users).await;
            let mut users = lock(&counts).await;
            users[group] -= 1;
            if let Some(taken) = taken {
                unlock(&sys, taken).await;
            }
            unlock(&sys, users).await;
        };
        users.push(sys.spawn(work).await);
    }
    for _ in 0..2 {
        let counts = counts.clone();
        let pass_by = move |sys: Sys| async move {
            let users = lock(&counts).await;
            unlock(&sys, users).await;
        };
        users.push(sys.spawn(pass_by).await);
    }
    join_all(&sys, users).await;
    true
}

/// What waits in the bounded buffer, and how much it holds at most.
const CAPACITY: i64 = 1;

/// Two producers and two consumers of a buffer for one value, all waiting on one condition, each waking one: a producer may wake a producer, which goes back
/// to wait, and the wake-up is lost.
pub(super) async fn bounded_buffer(sys: Sys, is_mended: bool) -> bool {
    let buffer = Mutex::new(&sys, 0i64);
    let changed = Condition::new(&sys);
    let mut tasks = Vec::new();
    for task in 0..4 {
        let (buffer, changed) = (buffer.clone(), changed.clone());
        let by = if task % 2 == 0 { 1 } else { -1 };
        let work = move |sys: Sys| async move {
            for _ in 0..2 {
                let mut count = lock(&buffer).await;
                while !(0..=CAPACITY).contains(&(*count + by)) {
                    count = changed.wait(count).await.expect("a wait ends with the lock held");
                }
                *count += by;
                if is_mended {
                    changed.notify_all().await;
                } else {
                    changed.notify_one().await;
                }
                unlock(&sys, count).await;
            }
        };
        tasks.push(sys.spawn(work).await);
    }
    join_all(&sys, tasks).await;
    let count = lock(&buffer).await;
    let is_empty = *count == 0;
    unlock(&sys, count).await;
    is_empty
}
