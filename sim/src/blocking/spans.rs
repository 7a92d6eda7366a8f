//! The tracing spans that blocking code has entered stay with its coroutine: else they would seem to be entered by whoever runs next.

use tracing::level_filters::LevelFilter;
use tracing::{Id, Span, dispatcher};

/// Spans that were left, the innermost first. Empty, and no memory at all, when nobody traces.
pub(super) type Left = Vec<Id>;

/// The span that is entered now.
#[inline]
pub(super) fn innermost() -> Option<u64> {
    if is_off() { None } else { Span::current().id().map(|id| id.into_u64()) }
}

/// Leaves every span that was entered inside `outer`.
#[inline]
pub(super) fn leave(outer: Option<u64>) -> Left {
    if is_off() { Vec::new() } else { leave_all(outer) }
}

/// Whether nobody listens.
#[inline]
pub(super) fn is_off() -> bool {
    LevelFilter::current() == LevelFilter::OFF
}

#[cold]
fn leave_all(outer: Option<u64>) -> Left {
    let mut left = Vec::new();
    while let Some(id) = Span::current().id()
        && Some(id.into_u64()) != outer
        // A subscriber that keeps no stack of entered spans would show the same one for ever.
        && left.len() < DEPTH_MAX
    {
        dispatcher::get_default(|dispatch| dispatch.exit(&id));
        left.push(id);
    }
    left
}

/// Enters them again, the outermost first.
#[inline]
pub(super) fn enter_again(left: Left) {
    for id in left.iter().rev() {
        dispatcher::get_default(|dispatch| dispatch.enter(id));
    }
}

/// Deeper than any program's spans.
const DEPTH_MAX: usize = 64;
