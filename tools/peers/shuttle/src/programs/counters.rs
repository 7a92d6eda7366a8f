//! Programs in which one number is read, and written later or by another lock: account, lazy, wronglock, token ring.

use super::{join_all, lock};
use shuttle::sync::atomic::{AtomicI64, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// A deposit, a withdrawal and an audit. Each movement reads the balance in one critical section and writes it in another, so one may be lost.
pub(super) fn account(is_mended: bool) -> bool {
    let balance = Arc::new(Mutex::new(1_000i64));
    let mut movements = Vec::new();
    for amount in [300, -100] {
        let balance = balance.clone();
        movements.push(thread::spawn(move || {
            let mut account = lock(&balance);
            let before = *account;
            if !is_mended {
                drop(account);
                account = lock(&balance);
            }
            *account = before + amount;
            drop(account);
        }));
    }
    let audited = balance.clone();
    let audit = thread::spawn(move || {
        let account = lock(&audited);
        [1_000, 1_300, 900, 1_200].contains(&*account)
    });
    join_all(movements);
    let is_possible = audit.join().expect("a thread ended");
    let account = lock(&balance);
    is_possible && *account == 1_200
}

/// Two threads add, and a third looks whether both have. Nothing makes it wait, and the program takes for granted that it comes too early.
pub(super) fn lazy(is_mended: bool) -> bool {
    let data = Arc::new(Mutex::new(0i64));
    let mut threads = Vec::new();
    for amount in [1, 2] {
        let data = data.clone();
        threads.push(thread::spawn(move || {
            *lock(&data) += amount;
            true
        }));
    }
    threads.push(thread::spawn(move || {
        let sum = lock(&data);
        is_mended || *sum < 3
    }));
    join_all(threads).into_iter().all(|holds| holds)
}

/// One thread adds under the lock that belongs to the number, three under another.
pub(super) fn wronglock(is_mended: bool) -> bool {
    let (right, wrong) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let data = Arc::new(AtomicI64::new(0));
    let mut threads = Vec::new();
    for number in 0..4 {
        let own = if number == 0 || is_mended { right.clone() } else { wrong.clone() };
        let data = data.clone();
        threads.push(thread::spawn(move || {
            let _held = lock(&own);
            let before = data.load(SeqCst);
            data.store(before + 1, SeqCst);
            // Only the first looks at what it wrote.
            number != 0 || data.load(SeqCst) == before + 1
        }));
    }
    join_all(threads).into_iter().all(|holds| holds)
}

/// Four stations that each copy what the one before has, and one more. The token is passed on only in order: in reverse order, none sees another's.
pub(super) fn token_ring(is_mended: bool) -> bool {
    let ring = Arc::new(Mutex::new([0i64; 4]));
    let mut stations = Vec::new();
    for place in 0..4 {
        let ring = ring.clone();
        stations.push(thread::spawn(move || {
            let mut tokens = lock(&ring);
            tokens[place] = tokens[(place + 3) % 4] + 1;
        }));
        if is_mended && let Some(station) = stations.pop() {
            station.join().expect("a thread ended");
        }
    }
    join_all(stations);
    let tokens = lock(&ring);
    // The first has nobody before it: of the others one at least must have seen its neighbour's.
    tokens[1..] != [1, 1, 1]
}
