//! Programs that trust an order of two writes, or of two critical sections, and read between them: reorder, two-stage locking, double-checked initialisation.

use super::{join_all, lock};
use shuttle::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// So many threads set two cells one after the other; one more expects to see both set or none.
pub(super) fn reorder(is_mended: bool, setters: u32) -> bool {
    let (first, second) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let both = Arc::new(Mutex::new(()));
    let mut threads = Vec::new();
    for _ in 0..setters {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        threads.push(thread::spawn(move || {
            let _held = if is_mended { Some(lock(&both)) } else { None };
            first.store(1, SeqCst);
            second.store(-1, SeqCst);
            true
        }));
    }
    threads.push(thread::spawn(move || {
        let _held = if is_mended { Some(lock(&both)) } else { None };
        let seen = (first.load(SeqCst), second.load(SeqCst));
        // The checker reads in the order of the writes: (0, -1) is no surprise.
        seen != (1, 0)
    }));
    join_all(threads).into_iter().all(|holds| holds)
}

/// All but one thread write one number under a lock and then its successor under another; the last reads both the same way and expects the second to follow.
pub(super) fn twostage(is_mended: bool, threads: u32) -> bool {
    let (first, second) = (Arc::new(Mutex::new(0i64)), Arc::new(Mutex::new(0i64)));
    let mut running = Vec::new();
    for _ in 1..threads {
        let (first, second) = (first.clone(), second.clone());
        running.push(thread::spawn(move || {
            let mut stage = lock(&first);
            *stage = 1;
            if is_mended {
                // Both stages in one.
                let mut following = lock(&second);
                *following = 2;
                drop(following);
                drop(stage);
            } else {
                drop(stage);
                let mut following = lock(&second);
                *following = 2;
                drop(following);
            }
            true
        }));
    }
    running.push(thread::spawn(move || {
        let stage = lock(&first);
        let seen = *stage;
        drop(stage);
        if seen == 0 {
            return true;
        }
        let following = lock(&second);
        *following == seen + 1
    }));
    join_all(running).into_iter().all(|holds| holds)
}

/// Three threads want a value that the first of them makes. The flag that says that it is there is set before it is.
pub(super) fn double_checked(is_mended: bool) -> bool {
    let (is_there, value) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let once = Arc::new(Mutex::new(()));
    let mut threads = Vec::new();
    for _ in 0..3 {
        let (is_there, value, once) = (is_there.clone(), value.clone(), once.clone());
        threads.push(thread::spawn(move || {
            if !is_there.load(SeqCst) {
                let held = lock(&once);
                if !is_there.load(SeqCst) {
                    if is_mended {
                        value.store(42, SeqCst);
                        is_there.store(true, SeqCst);
                    } else {
                        is_there.store(true, SeqCst);
                        value.store(42, SeqCst);
                    }
                }
                drop(held);
            }
            value.load(SeqCst) == 42
        }));
    }
    join_all(threads).into_iter().all(|holds| holds)
}
