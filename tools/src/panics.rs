//! Panics: those of programs under test are violations and are told as such; one of the harness is an internal error.

use crate::exit::Exit;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, PoisonError};

/// The name of the thread that a run lives on.
const RUN_THREAD: &str = "run";

/// The last panic on a run's thread.
static LAST: Mutex<Option<Last>> = Mutex::new(None);

struct Last {
    what: String,
    place: String,
}

/// Where in the source a panic of the last run was, if `message` tells of it.
pub(crate) fn place_of(message: &str) -> Option<String> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().filter(|last| message.ends_with(&last.what)).map(|last| last.place.clone())
}

/// What to do instead, where a panic's place tells what was tried.
pub(crate) fn advice_on(place: &str) -> &'static str {
    if place.contains("/std/src/sys/thread/") {
        "; threads can't be started in a simulation: use `sys.spawn`, or `sys.blocking` for code that blocks"
    } else {
        ""
    }
}

/// Does the work of the process. A panic that comes out of it is told as an internal error.
pub(crate) fn catch(work: impl FnOnce() -> Exit) -> Exit {
    let before = take_hook();
    set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        // A sweep of programs that panic would print thousands of them; the kernel makes each a violation.
        if std::thread::current().name() == Some(RUN_THREAD) {
            let what = panic.payload_as_str().unwrap_or("a panic without a text").to_owned();
            let place = panic.location().map_or_else(String::new, ToString::to_string);
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Last { what, place });
        } else {
            before(panic);
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let last = last.map_or_else(|| "a panic".to_owned(), |Last { what, place }| format!("{what} ({place})"));
        crate::complain(
            "internal error",
            &format!("the harness or a scenario's set-up panicked: {last}"),
            Exit::Internal,
        )
    })
}
