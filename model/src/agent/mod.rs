//! An agent: wakes, works, introspects, sleeps, stops. What it works with is in `store`, `file` and `lock`.

mod beliefs;
mod documents;
mod error;
mod introspect;
mod memories;
mod presence;
mod repair;
mod sleep;
mod status;
mod wake;
mod work;
mod work_kind;

pub use beliefs::lay_down;
pub use error::AgentError;
pub(crate) use wake::Tries;
pub use wake::{Agent, prepare, wake};
pub use work_kind::{Done, Work, WorkKind};
