//! Blocking code whose future goes from one waker to another, as into a set of futures: whoever polled it last hears of its calls.

mod sqlite_support;

use seedstorm_sim::{Exit, Sys};
use sqlite_support::{pass, plan};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// A set of one future: it polls it only when that was woken, by a waker of its own.
#[derive(Default)]
struct Set {
    is_woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Set {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        if let Some(parent) = &*self.parent.lock().expect("whole") {
            parent.wake_by_ref();
        }
    }
}

/// Polls within a new set until that is so, or until it is ready: then true.
async fn in_a_set(work: &mut Boxed, may_leave: impl Fn() -> bool) -> bool {
    let set = Arc::new(Set { is_woken: AtomicBool::new(true), ..Set::default() });
    let waker = Waker::from(set.clone());
    std::future::poll_fn(|context| {
        *set.parent.lock().expect("whole") = Some(context.waker().clone());
        while set.is_woken.swap(false, Ordering::Relaxed) {
            if work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return Poll::Ready(true);
            }
        }
        if may_leave() { Poll::Ready(false) } else { Poll::Pending }
    })
    .await
}

/// Code of so many calls, and how many it has made.
fn sleeper(sys: &Sys, calls: u32) -> (Boxed, Rc<Cell<u32>>) {
    let made = Rc::new(Cell::new(0));
    let counted = made.clone();
    let work = sys.blocking(move |os| {
        for _ in 0..calls {
            os.sleep(1000).expect("nobody ends it");
            counted.set(counted.get() + 1);
        }
    });
    (Box::pin(work), made)
}

#[test]
fn code_that_a_set_polls_next_wakes_the_set() {
    let outcome = pass(&plan(5), |_, world| {
        world.process("caller", 0, |sys| async move {
            let (mut work, made) = sleeper(&sys, 6);
            // By the task's own waker, then by those of two sets, each while a call is outstanding.
            std::future::poll_fn(|context| {
                assert!(work.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            assert!(!in_a_set(&mut work, || made.get() == 2).await);
            assert!(in_a_set(&mut work, || false).await);
            assert_eq!(made.get(), 6);
            Exit::success()
        });
    });
    assert_eq!(outcome.steps, 7, "the boot and the six sleeps: being woken by its own calls takes no step");
}

#[test]
fn code_that_leaves_a_set_is_polled_by_the_task_again() {
    pass(&plan(5), |_, world| {
        world.process("caller", 0, |sys| async move {
            let (mut work, made) = sleeper(&sys, 6);
            assert!(!in_a_set(&mut work, || made.get() == 3).await);
            work.await;
            assert_eq!(made.get(), 6);
            Exit::success()
        });
    });
}
