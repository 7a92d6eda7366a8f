//! Runs blocking code on a coroutine, so that each of its system calls is a step. What calls there are is in `sys::os`; SQLite's
//! are in `sqlite`.
//!
//! | file | what |
//! |---|---|
//! | `future` | [`Blocking`]: the future that resumes the coroutine, and the way out of a dead one |
//! | `os` | [`Os`]: what the blocking code calls |
//! | `request` | a call on its way from the coroutine to the poller |
//! | `current` | which `Os` the running code belongs to |
//! | `stacks` | stacks, used again |
//! | `apart` | work on a thread of its own |

#![allow(
    unsafe_code,
    reason = "a coroutine's stack is raw memory, and a call on it is handed to the poller by its address"
)]

mod apart;
mod current;
mod future;
mod os;
mod request;
mod spans;
mod stacks;

pub(crate) use apart::{Apart, apart};
pub(crate) use current::Current;
pub(crate) use future::Resume;
pub use future::{Blocking, must_retire};
pub use os::Os;
