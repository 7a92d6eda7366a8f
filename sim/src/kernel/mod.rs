//! The kernel: process table, announced calls, timers, the step loop, the fault injector, kill and restart, the virtual clock.
//! What calls there are is in `sys`; who steps next is in `schedule`.

mod beat;
mod begin;
mod check;
mod control;
mod core;
mod crash_points;
mod executor;
mod facts;
mod handle;
mod inject;
pub mod latency;
mod messages;
mod process;
mod recovery;
mod ruler;
mod run;
mod series;
mod standstill;
mod task;
mod timers;
mod view;
mod view_waits;
mod world;

pub(crate) use self::core::Core;
pub use beat::{Beat, Place, Stage};
pub use check::check;
pub(crate) use control::Control;
pub(crate) use handle::Kernel;
pub(crate) use inject::Injected;
pub use latency::CONSTANT;
pub use process::{Exit, Program, RestartPolicy};
pub use run::{Listener, Outcome, RunError, Settings, Teller, count_steps, run};
pub use series::run_series;
pub(crate) use task::WaitKey;
pub use view::{ProcessView, View};
pub use view_waits::{Mailbox, Waiting};
pub use world::World;
