//! Planted bugs of documents, temporary files and what replaces them.

use super::{Mutant, MutantInfo};

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        mutant: Mutant::NoSyncBeforeRename,
        name: "no-sync-before-rename",
        about: "a file is renamed into place before its content is durable: power loss leaves the name with holes behind it",
        row: "F2",
        scenario: "guillotine",
        invariant: "files-whole",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::NoDirectorySync,
        name: "no-directory-sync",
        about: "a replacement is acknowledged before the directory is durable: power loss brings the old content back",
        row: "F3",
        scenario: "guillotine",
        invariant: "documents-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::FixedTemporaryName,
        name: "fixed-temporary-name",
        about: "temporary files of owner records have a fixed name: one process publishes what another is writing",
        row: "F4",
        scenario: "guillotine",
        invariant: "temporaries-exclusive",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::TruncateInPlace,
        name: "truncate-in-place",
        about: "a file is emptied and written in place: whoever dies in between leaves half of it",
        row: "F1",
        scenario: "guillotine",
        invariant: "files-whole",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::CorruptReadAsEmpty,
        name: "corrupt-read-as-empty",
        about: "a damaged document is read as empty, and saved over: what could be rescued is gone",
        row: "F6",
        scenario: "guillotine",
        invariant: "damage-kept",
        is_interaction: true,
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::SweeperReapsLive,
        name: "sweeper-reaps-live",
        about: "the sweeper removes every temporary file, also those that live peers are writing",
        row: "F7",
        scenario: "guillotine",
        invariant: "live-temporaries-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::LockReleasedBeforeDurable,
        name: "lock-released-before-durable",
        about: "a document's lock is given back before the write is durable: the next holder works on the old content",
        row: "B6",
        scenario: "guillotine",
        invariant: "documents-kept",
        ..MutantInfo::PLAIN
    },
    MutantInfo {
        mutant: Mutant::TemporariesOfNotesLeft,
        name: "temporaries-of-notes-left",
        about: "the sweeper passes one directory over: temporary files of notes pile up",
        row: "F7",
        scenario: "guillotine",
        invariant: "temporaries-reaped",
        ..MutantInfo::PLAIN
    },
];
