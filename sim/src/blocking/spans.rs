//! The tracing spans that blocking code has entered stay with its coroutine: else they would seem to be entered by whoever runs next. Those of the futures
//! around it are entered again where it is resumed without them.

use crate::trace::layer;
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
fn is_off() -> bool {
    !layer::is_listened()
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
pub(super) fn enter_again(left: &[Id]) {
    for id in left.iter().rev() {
        dispatcher::get_default(|dispatch| dispatch.enter(id));
    }
}

/// Spans that something was polled in, the innermost first. They stay open as long as this lives. Empty when nobody traces.
#[derive(Default)]
pub(super) struct Kept(Vec<Id>);

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        for id in std::mem::take(&mut self.0) {
            dispatcher::get_default(|dispatch| dispatch.try_close(id.clone()));
        }
    }
}

/// The spans that are entered now.
#[inline]
pub(super) fn entered() -> Kept {
    if is_off() { Kept::default() } else { entered_now() }
}

#[cold]
fn entered_now() -> Kept {
    // A subscriber tells of the innermost one alone.
    let entered = leave_all(None);
    enter_again(&entered);
    Kept(entered.iter().map(|id| dispatcher::get_default(|dispatch| dispatch.clone_span(id))).collect())
}

/// Spans in which a future was polled, entered again as long as this lives: those that are not entered anyway.
pub(super) struct Around<'a>(&'a [Id]);

impl<'a> Around<'a> {
    /// Enters them. They are those that [`entered`] has told.
    #[inline]
    pub(super) fn enter(Kept(spans): &'a Kept) -> Around<'a> {
        if spans.is_empty() { Around(&[]) } else { Around::enter_missing(spans) }
    }

    #[cold]
    fn enter_missing(spans: &'a [Id]) -> Around<'a> {
        let innermost = innermost();
        let inside = spans.iter().position(|id| Some(id.into_u64()) == innermost).unwrap_or(spans.len());
        enter_again(&spans[..inside]);
        Around(&spans[..inside])
    }
}

impl Drop for Around<'_> {
    #[inline]
    fn drop(&mut self) {
        for id in self.0 {
            dispatcher::get_default(|dispatch| dispatch.exit(id));
        }
    }
}

/// Deeper than any program's spans.
const DEPTH_MAX: usize = 64;
