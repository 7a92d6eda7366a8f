//! What integration tests share: the command under test, folders that go away, scenarios that misbehave. The tests are in `it`.

#[path = "support/folder.rs"]
pub mod folder;
#[path = "support/program.rs"]
pub mod program;
#[path = "support/scenarios.rs"]
pub mod scenarios;
#[path = "support/versions.rs"]
pub mod versions;
