//! Programs that trust an order of two writes, or of two critical sections, and read between them: reorder, two-stage locking, double-checked initialisation.

use super::{join_all, lock, unlock};
use seedstorm_sim::Sys;
use seedstorm_sim::sys::sync::{AtomicCell, Mutex};

/// So many tasks set two cells one after the other; one more expects to see both set or none.
pub(super) async fn reorder(sys: Sys, is_mended: bool, setters: u32) -> bool {
    let (first, second) = (AtomicCell::new(&sys, 0i64), AtomicCell::new(&sys, 0i64));
    let both = Mutex::new(&sys, ());
    let mut tasks = Vec::new();
    for _ in 0..setters {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        let set = move |sys: Sys| async move {
            let held = if is_mended { Some(lock(&both).await) } else { None };
            first.store(1).await;
            second.store(-1).await;
            if let Some(held) = held {
                unlock(&sys, held).await;
            }
            true
        };
        tasks.push(sys.spawn(set).await);
    }
    let check = move |sys: Sys| async move {
        let held = if is_mended { Some(lock(&both).await) } else { None };
        let seen = (first.load().await, second.load().await);
        if let Some(held) = held {
            unlock(&sys, held).await;
        }
        // The checker reads in the order of the writes: (0, -1) is no surprise.
        seen != (1, 0)
    };
    tasks.push(sys.spawn(check).await);
    join_all(&sys, tasks).await.into_iter().all(|holds| holds)
}

/// All but one task write one number under a lock and then its successor under another; the last reads both the same way and expects the second to follow.
pub(super) async fn twostage(sys: Sys, is_mended: bool, tasks: u32) -> bool {
    let (first, second) = (Mutex::new(&sys, 0i64), Mutex::new(&sys, 0i64));
    let mut running = Vec::new();
    for _ in 1..tasks {
        let (first, second) = (first.clone(), second.clone());
        let write = move |sys: Sys| async move {
            let mut stage = lock(&first).await;
            *stage = 1;
            if is_mended {
                // Both stages in one.
                let mut following = lock(&second).await;
                *following = 2;
                unlock(&sys, following).await;
                unlock(&sys, stage).await;
            } else {
                unlock(&sys, stage).await;
                let mut following = lock(&second).await;
                *following = 2;
                unlock(&sys, following).await;
            }
            true
        };
        running.push(sys.spawn(write).await);
    }
    let read = move |sys: Sys| async move {
        let stage = lock(&first).await;
        let seen = *stage;
        unlock(&sys, stage).await;
        if seen == 0 {
            return true;
        }
        let following = lock(&second).await;
        let holds = *following == seen + 1;
        unlock(&sys, following).await;
        holds
    };
    running.push(sys.spawn(read).await);
    join_all(&sys, running).await.into_iter().all(|holds| holds)
}

/// Three tasks want a value that the first of them makes. The flag that says that it is there is set before it is.
pub(super) async fn double_checked(sys: Sys, is_mended: bool) -> bool {
    let (is_there, value) = (AtomicCell::new(&sys, false), AtomicCell::new(&sys, 0i64));
    let once = Mutex::new(&sys, ());
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (is_there, value, once) = (is_there.clone(), value.clone(), once.clone());
        let get = move |sys: Sys| async move {
            if !is_there.load().await {
                let held = lock(&once).await;
                if !is_there.load().await {
                    if is_mended {
                        value.store(42).await;
                        is_there.store(true).await;
                    } else {
                        is_there.store(true).await;
                        value.store(42).await;
                    }
                }
                unlock(&sys, held).await;
            }
            value.load().await == 42
        };
        tasks.push(sys.spawn(get).await);
    }
    join_all(&sys, tasks).await.into_iter().all(|holds| holds)
}
