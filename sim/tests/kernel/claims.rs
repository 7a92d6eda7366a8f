//! What observers read of claims: each says the same to all who ask, whoever asks first.

use crate::support::{Note, note, plan, recording, run_watched};
use seedstorm_sim::sys::claim::{Happened, LockReleased};
use seedstorm_sim::trace::{Body, Event};
use seedstorm_sim::{Exit, View};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_claim_is_read_once_and_says_the_same_to_all() {
    let (notes, others) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, seen_others) = (notes.clone(), others.clone());
    let watch = move |event: &Event<'_>, view: &View<'_>| {
        assert!(view.claim::<LockReleased>(event).is_none());
        let (shared, again) = (view.claim::<Note>(event), view.claim::<Note>(event));
        assert_eq!(shared.as_ref().map(|note| &note.text), event.claim::<Note>().as_ref().map(|note| &note.text));
        if let (Some(first), Some(second)) = (&shared, &again) {
            assert!(Rc::ptr_eq(first, second));
            seen.fetch_add(1, Ordering::Relaxed);
        }
        let happened = view.claim::<Happened>(event);
        assert_eq!(happened.as_deref(), event.claim::<Happened>().as_ref());
        seen_others.fetch_add(u64::from(happened.is_some()), Ordering::Relaxed);
        assert_eq!(matches!(event.body, Body::Claim { .. }), shared.is_some() || happened.is_some());
    };
    let ran = run_watched(&plan(), recording(), watch, |world| {
        for index in 0..2 {
            world.process("a", index, move |sys| async move {
                for round in 0..3 {
                    note(&sys, format!("{index}: {round}")).await;
                    sys.claim(&Happened { what: format!("{round}") }).await;
                }
                Exit::success()
            });
        }
    });
    ran.passed();
    assert_eq!([notes, others].map(|count| count.load(Ordering::Relaxed)), [6, 6]);
}
