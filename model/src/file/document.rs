//! A document: what agents replace under its lock. It remembers its own revision, the newest fencing token, and whose operations it holds.

use super::envelope::unseal;
use super::{FileError, Loaded, load, quarantine};
use crate::mutant::{Mutant, is};
use seedstorm_sim::Sys;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A document's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// One more at each change; the first is 1.
    pub revision: u64,
    /// The number of the write in the file's own order, given by the file's fence. Without a fence it runs along with the revision.
    pub sequence: u64,
    /// The fencing token of the last writer; 0 where locks have none.
    pub token: u64,
    /// By agent: its last operation that changed the document. A retry finds its own effect here.
    pub applied: BTreeMap<String, Applied>,
    /// Who changed it lately: (agent, revision). Compaction shortens it.
    pub history: Vec<(String, u64)>,
    /// The text.
    pub body: String,
}

/// An operation that the document holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The operation's number.
    pub number: u64,
    /// The revision that it made.
    pub revision: u64,
}

impl Document {
    /// The revision that this operation made, if the document holds it.
    pub fn revision_made_by(&self, agent: &str, number: u64) -> Option<u64> {
        self.applied.get(agent).filter(|applied| applied.number == number).map(|applied| applied.revision)
    }

    /// Changes the text, as an agent's operation.
    pub fn apply(&mut self, agent: &str, number: u64, body: String) {
        self.revision += 1;
        self.applied.insert(agent.to_owned(), Applied { number, revision: self.revision });
        self.history.push((agent.to_owned(), self.revision));
        self.body = body;
    }

    /// Forgets all but the newest entry of the history. A change like any other.
    pub fn compact(&mut self) {
        self.revision += 1;
        let newest = self.history.pop();
        self.history.clear();
        self.history.extend(newest);
    }
}

/// A document, ready to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The document; a new one if there was none that is whole.
    pub document: Document,
    /// Its revision; `None` if there was none that is whole.
    pub revision: Option<u64>,
    /// Where a damaged one is kept now. It is not begun anew in silence.
    pub quarantined: Option<String>,
}

/// Loads a document, or begins a new one. A damaged one is put aside first. Call it under the document's lock.
///
/// # Errors
/// What the system says.
pub async fn open_document(sys: &Sys, path: &str) -> Result<Opened, FileError> {
    open_document_as(sys, path, None).await
}

/// As [`open_document`], for code that may carry a planted bug.
pub(crate) async fn open_document_as(sys: &Sys, path: &str, mutant: Option<Mutant>) -> Result<Opened, FileError> {
    let absent = Opened { document: Document::default(), revision: None, quarantined: None };
    Ok(match load::<Document>(sys, path).await? {
        Loaded::Whole(document) => Opened { revision: Some(document.revision), document, quarantined: None },
        Loaded::Absent => absent,
        Loaded::Damaged(_) if is(mutant, Mutant::CorruptReadAsEmpty) => absent,
        Loaded::Damaged(damage) => {
            tracing::warn!(path, %damage, "a document is damaged");
            Opened { quarantined: Some(quarantine(sys, path).await?), ..absent }
        }
    })
}

/// The revision of a document's bytes; `None` unless they are a whole document.
pub fn revision_of(bytes: &[u8]) -> Option<u64> {
    unseal::<Revised>(bytes).ok().map(|document| document.revision)
}

/// What whoever only asks for the revision reads of a [`Document`].
#[derive(Deserialize)]
struct Revised {
    revision: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::seal;

    #[test]
    fn a_retry_finds_its_own_effect() {
        let mut document = Document::default();
        document.apply("agent-0", 7, "first".into());
        document.apply("agent-1", 7, "second".into());
        assert_eq!(document.revision_made_by("agent-0", 7), Some(1));
        assert_eq!(document.revision_made_by("agent-0", 8), None);
        document.compact();
        assert_eq!(document.revision_made_by("agent-0", 7), Some(1), "compaction forgets no operation");
        assert_eq!((document.revision, document.history.len()), (3, 1));
    }

    #[test]
    fn a_revision_is_read_off_whole_documents_only() {
        let mut document = Document::default();
        document.apply("agent-0", 1, "text".into());
        let sealed = seal(&document).expect("a document is plain data");
        assert_eq!(revision_of(&sealed), Some(1));
        assert_eq!(revision_of(&sealed[..sealed.len() - 1]), None);
        assert_eq!(revision_of(b""), None);
    }
}
