//! Whether somebody listens to `tracing` changes nothing in a run, not even how often a future beside blocking code is polled. Alone in its file: the
//! subscriber is the OS process's.

mod sqlite_support;

use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::{Exit, Outcome};
use sqlite_support::{pass, plan};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use tracing_subscriber::Registry;

/// A program that does what it does by how often it is polled, as one does that draws which branch of a select it looks at first.
fn counts_its_polls() -> Outcome {
    pass(&plan(5), |_, world| {
        world.process("caller", 0, |sys| async move {
            let polls = Cell::new(0_u64);
            let mut work = pin!(sys.blocking(|os| (0..100).for_each(|_| os.yield_now())));
            std::future::poll_fn(|context| {
                polls.set(polls.get() + 1);
                work.as_mut().poll(context)
            })
            .await;
            let file = sys.open("/polls", OpenFlags::READ_WRITE.create()).await.expect("a file");
            file.write(polls.get().to_string().as_bytes()).await.expect("room for it");
            Exit::success()
        });
    })
}

#[test]
fn who_listens_changes_nothing() {
    let unheard = counts_its_polls();
    tracing::subscriber::set_global_default(Registry::default()).expect("there is no other subscriber");
    assert_eq!(counts_its_polls().trace_hash, unheard.trace_hash);
}
