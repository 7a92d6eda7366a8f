//! Files that are replaced as a whole: written aside, made durable, renamed. What is in a document is in `document`.

mod document;
mod envelope;
mod error;
mod fence;
mod load;
mod replace;
mod staged;
mod temporary;

pub use document::{Applied, Document, Opened, open_document, revision_of};
pub use envelope::{Damage, seal, unseal};
pub use error::FileError;
pub use fence::{Fence, Passed};
pub use load::{Loaded, load, quarantine};
pub use replace::{create_directories, create_directory, replace};
pub use staged::{Seal, StagedName, StagedNote};
pub use temporary::{Temporary, sweep, temporary_owner};

pub(crate) use document::open_document_as;
pub(crate) use envelope::unseal_front;
pub(crate) use load::{read_sealed, read_whole};
pub(crate) use replace::{replace_as, replace_volatile, write_durably};
pub(crate) use temporary::{remove, sweep_as};
