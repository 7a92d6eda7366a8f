//! Tasks that are woken by something other than a system call get a step for it: channels of other crates, futures written by hand.

use crate::support::{MILLI_NS, SECOND_NS, fault, follow_world, note, plan, record_world, run_world};
use seedstorm_sim::plan::{FaultKind, FaultPlan, StrategyPlan, Trigger};
use seedstorm_sim::trace::{CallKind, RecordBody};
use seedstorm_sim::{Exit, Plan, Seed, World};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A value that one task gives to another, as in any crate of futures.
#[derive(Clone)]
pub(crate) struct Oneshot<T>(Rc<RefCell<(Option<T>, Option<Waker>)>>);

impl<T> Oneshot<T> {
    pub(crate) fn new() -> Oneshot<T> {
        Oneshot(Rc::new(RefCell::new((None, None))))
    }

    pub(crate) fn give(&self, value: T) {
        let mut state = self.0.borrow_mut();
        state.0 = Some(value);
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }
}

impl<T> Future for Oneshot<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.borrow_mut();
        match state.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Whichever of two futures is ready first.
pub(crate) async fn either<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> Result<A, B> {
    let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
    std::future::poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => second.as_mut().poll(context).map(Err),
    })
    .await
}

fn gives_after(world: &mut World, for_ns: u64) {
    world.process("a", 0, move |sys| async move {
        let oneshot = Oneshot::new();
        let given = oneshot.clone();
        let giver = sys.spawn(move |sys| async move {
            sys.sleep(for_ns).await.expect("sleep");
            given.give(42);
            sys.yield_now().await;
        });
        let giver = giver.await;
        let value = oneshot.await;
        note(&sys, format!("{value} at {}", sys.monotonic_ns() / MILLI_NS)).await;
        sys.join(giver).await;
        Exit::success()
    });
}

/// The strategies under which a call takes as long as was drawn.
fn without_delays() -> impl Iterator<Item = StrategyPlan> {
    let all = StrategyPlan::ALL.iter().map(|(strategy, _)| *strategy);
    all.filter(|strategy| !matches!(strategy, StrategyPlan::SwarmDelay { .. }))
}

#[test]
fn a_task_woken_by_another_gets_a_step_of_its_own() {
    for strategy in without_delays() {
        let plan = Plan { strategy, ..plan() };
        let ran = record_world(&plan, |world| gives_after(world, MILLI_NS)).passed();
        assert_eq!(ran.notes(0), ["42 at 1"]);
        assert_eq!(ran.calls(0, CallKind::Wake).len(), 1);
        follow_world(&plan, &ran, |world| gives_after(world, MILLI_NS)).passed().is_exactly(&ran);
    }
}

#[test]
fn when_the_woken_task_goes_on_is_the_schedule_s_choice() {
    let mut first = [0; 2];
    for seed in 0..40 {
        let ran = run_world(&Plan { seed: Seed(seed), strategy: StrategyPlan::Random, ..plan() }, |world| {
            gives_after(world, MILLI_NS)
        })
        .passed();
        let place = |kind| ran.index(|record| matches!(record.body, RecordBody::Call { kind: of, .. } if of == kind));
        first[usize::from(place(CallKind::Wake) < place(CallKind::Yield))] += 1;
    }
    assert!(first[0] > 5 && first[1] > 5, "{first:?}");
}

/// Waits for a value, and for a system call at the same time.
fn waits_for_either(world: &mut World, gives_after_ns: u64) {
    world.process("a", 0, move |sys| async move {
        let oneshot = Oneshot::new();
        let given = oneshot.clone();
        let giver = sys.spawn(move |sys| async move {
            sys.sleep(gives_after_ns).await.expect("sleep");
            given.give("given");
        });
        let giver = giver.await;
        let which = either(oneshot, sys.sleep(10 * MILLI_NS)).await;
        note(&sys, format!("{which:?} at {}", sys.monotonic_ns() / MILLI_NS)).await;
        sys.join(giver).await;
        Exit::success()
    });
}

#[test]
fn a_wake_up_reaches_a_task_that_has_a_call_outstanding() {
    for strategy in without_delays() {
        let plan = Plan { strategy, ..plan() };
        let ran = run_world(&plan, |world| waits_for_either(world, 3 * MILLI_NS)).passed();
        assert_eq!(ran.notes(0), ["Ok(\"given\") at 3"], "{strategy}: not only when the sleep is over");
        assert_eq!(ran.calls(0, CallKind::Sleep).len(), 1, "the giver's; the other one was taken back");
        let ran = run_world(&plan, |world| waits_for_either(world, 30 * MILLI_NS)).passed();
        assert_eq!(ran.notes(0), ["Err(Ok(())) at 10"]);
    }
}

#[test]
fn a_paused_task_that_is_woken_goes_on_after_the_pause() {
    // A thread of its own process can't wake it then, but what it shares with another may.
    let shared: Arc<Mutex<Option<Waker>>> = Arc::default();
    let pause = FaultPlan { for_ns: 50 * MILLI_NS, ..fault(FaultKind::Pause, Trigger::AtNs(5 * MILLI_NS)) };
    let ran = run_world(&Plan { faults: vec![pause], ..plan() }, |world| {
        let kept = shared.clone();
        world.process("a", 0, move |sys| {
            let kept = kept.clone();
            async move {
                let mut polls = 0;
                std::future::poll_fn(|context| {
                    polls += 1;
                    *kept.lock().expect("whole") = Some(context.waker().clone());
                    if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                note(&sys, format!("woken at {}", sys.monotonic_ns() / MILLI_NS)).await;
                Exit::success()
            }
        });
        let kept = shared.clone();
        world.process("b", 0, move |sys| {
            let kept = kept.clone();
            async move {
                sys.sleep(20 * MILLI_NS).await.expect("sleep");
                let waker = kept.lock().expect("whole").take();
                waker.expect("it is there").wake();
                Exit::success()
            }
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["woken at 55"]);
}

/// Polls only those of its futures that were woken, each through a waker of its own, as unordered sets of futures do.
struct Unordered<T> {
    futures: Vec<Option<Pin<Box<dyn Future<Output = T>>>>>,
    woken: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    woken: Mutex<VecDeque<usize>>,
    parent: Mutex<Option<Waker>>,
}

struct Child(usize, Arc<Queue>);

impl Wake for Child {
    fn wake(self: Arc<Self>) {
        self.1.woken.lock().expect("whole").push_back(self.0);
        if let Some(parent) = &*self.1.parent.lock().expect("whole") {
            parent.wake_by_ref();
        }
    }
}

impl<T> Unordered<T> {
    fn new(futures: Vec<Pin<Box<dyn Future<Output = T>>>>) -> Unordered<T> {
        let woken = Queue { woken: Mutex::new((0..futures.len()).collect()), parent: Mutex::default() };
        Unordered { futures: futures.into_iter().map(Some).collect(), woken: Arc::new(woken) }
    }

    /// The next of their values.
    async fn next(&mut self) -> T {
        std::future::poll_fn(|context| {
            *self.woken.parent.lock().expect("whole") = Some(context.waker().clone());
            loop {
                let Some(index) = self.woken.woken.lock().expect("whole").pop_front() else { return Poll::Pending };
                let waker = Waker::from(Arc::new(Child(index, self.woken.clone())));
                let Some(future) = self.futures[index].as_mut() else { continue };
                if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    self.futures[index] = None;
                    return Poll::Ready(value);
                }
            }
        })
        .await
    }
}

#[test]
fn a_combinator_with_wakers_of_its_own_hears_of_its_call() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let oneshot = Oneshot::new();
            let given = oneshot.clone();
            let giver = sys.spawn(move |sys| async move {
                sys.sleep(5 * MILLI_NS).await.expect("sleep");
                given.give("given");
            });
            let giver = giver.await;
            let sleeper = sys.clone();
            let mut all = Unordered::new(vec![
                Box::pin(oneshot) as Pin<Box<dyn Future<Output = &'static str>>>,
                Box::pin(async move {
                    for _ in 0..3 {
                        sleeper.sleep(MILLI_NS).await.expect("sleep");
                        sleeper.yield_now().await;
                    }
                    "slept"
                }),
            ]);
            let (first, second) = (all.next().await, all.next().await);
            note(&sys, format!("{first} {second} at {}", sys.monotonic_ns() / MILLI_NS)).await;
            sys.join(giver).await;
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["slept given at 5"]);
    assert!(ran.outcome.simulated_ns < SECOND_NS);
    assert_eq!(ran.calls(0, CallKind::Wake).len(), 1, "its own calls need no further step");
}
