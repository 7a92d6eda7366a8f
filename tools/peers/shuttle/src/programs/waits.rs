//! Programs in which everybody waits in the end: two locks in two orders, carter's pair of locks, a bounded buffer with a lost wake-up. That nothing can run any more,
//! shuttle sees by itself.

use super::{join_all, lock};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// Two threads take two locks, each in its own order.
pub(super) fn deadlock(is_mended: bool) -> bool {
    let locks = [Arc::new(Mutex::new(0i64)), Arc::new(Mutex::new(0i64))];
    let mut threads = Vec::new();
    for number in 0..2 {
        let [first, second] =
            if number == 0 || is_mended { [0, 1] } else { [1, 0] }.map(|place: usize| locks[place].clone());
        threads.push(thread::spawn(move || {
            let mut one = lock(&first);
            let mut other = lock(&second);
            *one += 1;
            *other += 1;
            drop(other);
            drop(one);
        }));
    }
    join_all(threads);
    true
}

/// Two groups of users share a resource: the first of a group takes it, the last gives it back, both under one lock for all counts. Who waits for the resource
/// holds the lock that its holder needs to give it back.
pub(super) fn carter(is_mended: bool) -> bool {
    let counts = Arc::new(Mutex::new([0i64; 2]));
    let own_counts = [Arc::new(Mutex::new([0i64; 2])), Arc::new(Mutex::new([0i64; 2]))];
    let resource = Arc::new(Mutex::new(()));
    let mut users = Vec::new();
    for group in 0..2 {
        // Mended, a group's count has a lock of its own.
        let counts = if is_mended { own_counts[group].clone() } else { counts.clone() };
        let resource = resource.clone();
        users.push(thread::spawn(move || {
            let mut users = lock(&counts);
            users[group] += 1;
            let taken = if users[group] == 1 { Some(lock(&resource)) } else { None };
            drop(users);
            let mut users = lock(&counts);
            users[group] -= 1;
            drop(taken);
            drop(users);
        }));
    }
    for _ in 0..2 {
        let counts = counts.clone();
        users.push(thread::spawn(move || drop(lock(&counts))));
    }
    join_all(users);
    true
}

/// What waits in the bounded buffer, and how much it holds at most.
const CAPACITY: i64 = 1;

/// Two producers and two consumers of a buffer for one value, all waiting on one condition, each waking one: a producer may wake a producer, which goes back
/// to wait, and the wake-up is lost.
pub(super) fn bounded_buffer(is_mended: bool) -> bool {
    let buffer = Arc::new(Mutex::new(0i64));
    let changed = Arc::new(Condvar::new());
    let mut threads = Vec::new();
    for number in 0..4 {
        let (buffer, changed) = (buffer.clone(), changed.clone());
        let by = if number % 2 == 0 { 1 } else { -1 };
        threads.push(thread::spawn(move || {
            for _ in 0..2 {
                let mut count = lock(&buffer);
                while !(0..=CAPACITY).contains(&(*count + by)) {
                    count = changed.wait(count).expect("a wait ends with the lock held");
                }
                *count += by;
                if is_mended {
                    changed.notify_all();
                } else {
                    changed.notify_one();
                }
                drop(count);
            }
        }));
    }
    join_all(threads);
    let count = lock(&buffer);
    *count == 0
}
