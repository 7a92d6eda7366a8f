//! What truly happened before what, kept by the harness.
//!
//! | file | what |
//! |---|---|
//! | `signals` | the order of signals: program order and recovery within an agent, send → acknowledged delivery |

pub mod signals;
