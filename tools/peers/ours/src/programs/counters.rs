//! Programs in which one number is read, and written later or by another lock: account, lazy, wronglock, token ring.

use super::{join_all, lock, unlock};
use seedstorm_sim::Sys;
use seedstorm_sim::sys::sync::Mutex;

/// A deposit, a withdrawal and an audit. Each movement reads the balance in one critical section and writes it in another, so one may be lost.
pub(super) async fn account(sys: Sys, is_mended: bool) -> bool {
    let balance = Mutex::new(&sys, 1_000i64);
    let mut movements = Vec::new();
    for amount in [300, -100] {
        let balance = balance.clone();
        let movement = move |sys: Sys| async move {
            let mut account = lock(&balance).await;
            let before = *account;
            if !is_mended {
                unlock(&sys, account).await;
                account = lock(&balance).await;
            }
            *account = before + amount;
            unlock(&sys, account).await;
        };
        movements.push(sys.spawn(movement).await);
    }
    let audited = balance.clone();
    let audit = sys
        .spawn(move |sys: Sys| async move {
            let account = lock(&audited).await;
            let is_possible = [1_000, 1_300, 900, 1_200].contains(&*account);
            unlock(&sys, account).await;
            is_possible
        })
        .await;
    join_all(&sys, movements).await;
    let is_possible = sys.join(audit).await;
    let account = lock(&balance).await;
    let is_kept = *account == 1_200;
    unlock(&sys, account).await;
    is_possible && is_kept
}

/// Two tasks add, and a third looks whether both have. Nothing makes it wait, and the program takes for granted that it comes too early.
pub(super) async fn lazy(sys: Sys, is_mended: bool) -> bool {
    let data = Mutex::new(&sys, 0i64);
    let mut tasks = Vec::new();
    for amount in [1, 2] {
        let data = data.clone();
        let add = move |sys: Sys| async move {
            let mut sum = lock(&data).await;
            *sum += amount;
            unlock(&sys, sum).await;
            true
        };
        tasks.push(sys.spawn(add).await);
    }
    let look = move |sys: Sys| async move {
        let sum = lock(&data).await;
        let holds = is_mended || *sum < 3;
        unlock(&sys, sum).await;
        holds
    };
    tasks.push(sys.spawn(look).await);
    join_all(&sys, tasks).await.into_iter().all(|holds| holds)
}

/// One task adds under the lock that belongs to the number, three under another.
pub(super) async fn wronglock(sys: Sys, is_mended: bool) -> bool {
    let (right, wrong) = (Mutex::new(&sys, ()), Mutex::new(&sys, ()));
    let data = seedstorm_sim::sys::sync::AtomicCell::new(&sys, 0i64);
    let mut tasks = Vec::new();
    for number in 0..4 {
        let own = if number == 0 || is_mended { right.clone() } else { wrong.clone() };
        let data = data.clone();
        let add = move |sys: Sys| async move {
            let held = lock(&own).await;
            let before = data.load().await;
            data.store(before + 1).await;
            // Only the first looks at what it wrote.
            let holds = number != 0 || data.load().await == before + 1;
            unlock(&sys, held).await;
            holds
        };
        tasks.push(sys.spawn(add).await);
    }
    join_all(&sys, tasks).await.into_iter().all(|holds| holds)
}

/// Four stations that each copy what the one before has, and one more. The token is passed on only in order: in reverse order, none sees another's.
pub(super) async fn token_ring(sys: Sys, is_mended: bool) -> bool {
    let ring = Mutex::new(&sys, [0i64; 4]);
    let mut stations = Vec::new();
    for place in 0..4 {
        let ring = ring.clone();
        let pass_on = move |sys: Sys| async move {
            let mut tokens = lock(&ring).await;
            tokens[place] = tokens[(place + 3) % 4] + 1;
            unlock(&sys, tokens).await;
        };
        stations.push(sys.spawn(pass_on).await);
        if is_mended && let Some(station) = stations.pop() {
            sys.join(station).await;
        }
    }
    join_all(&sys, stations).await;
    let tokens = lock(&ring).await;
    // The first has nobody before it: of the others one at least must have seen its neighbour's.
    let is_passed_on = tokens[1..] != [1, 1, 1];
    unlock(&sys, tokens).await;
    is_passed_on
}
