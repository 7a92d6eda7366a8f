//! What a file is, for messages about files that the command can't take. Files that it can take are read by those who know their form.

use crate::artifacts::TRACE_FILE;
use crate::reproducer;
use seedstorm_sim::trace::file::MAGIC;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// A kind of file or folder that a command line may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A trace of a run.
    Trace,
    /// The turns of a failure, which lie beside its reproducer.
    Turns,
    /// A recorded failure.
    Reproducer,
    /// A plan.
    Plan,
    /// A file of faults.
    Faults,
    /// A page that `report` made.
    Page,
    /// The folder of one failure.
    Failure,
    /// A folder in which failures are kept.
    Failures,
    /// Another folder.
    Folder,
}

/// What zstd's files begin with.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl FileKind {
    /// The kind of what is there; `None` if nothing is, or nothing that is known.
    pub(crate) fn of(path: &Path) -> Option<FileKind> {
        if path.is_dir() {
            return Some(FileKind::of_folder(path));
        }
        // A pipe can be read once only, by whoever needs what is in it.
        if !fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut head = Vec::new();
        File::open(path).ok()?.take(MAGIC.len() as u64).read_to_end(&mut head).ok()?;
        if head == MAGIC {
            return Some(FileKind::Trace);
        }
        if head.starts_with(&ZSTD) {
            return Some(FileKind::Turns);
        }
        let text = fs::read_to_string(path).ok()?;
        if text.trim_start().starts_with("<!DOCTYPE html>") {
            return Some(FileKind::Page);
        }
        FileKind::of_table(&text.parse().ok()?)
    }

    fn of_folder(path: &Path) -> FileKind {
        let is_failure = |path: &Path| [reproducer::FILE, TRACE_FILE].iter().any(|name| path.join(name).exists());
        let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
        match () {
            () if is_failure(path) => FileKind::Failure,
            () if entries.any(|entry| is_failure(&entry.path())) => FileKind::Failures,
            () => FileKind::Folder,
        }
    }

    /// By the keys that each kind must have.
    pub(crate) fn of_table(table: &toml::Table) -> Option<FileKind> {
        let has = |key: &str| table.contains_key(key);
        match () {
            () if has("plan") || has("sqlite_source_id") => Some(FileKind::Reproducer),
            () if has("scenario") && has("chaos_ns") => Some(FileKind::Plan),
            () if has("faults") && table.len() == 1 => Some(FileKind::Faults),
            () => None,
        }
    }

    /// What it is, and which commands take it.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            FileKind::Trace => "this is a trace: `report`, `export` and `compare` take it",
            FileKind::Turns => {
                "this is compressed, as the turns of a failure are: `replay` takes the reproducer.toml beside them"
            }
            FileKind::Reproducer => "this is a reproducer: `replay`, `shrink`, `bisect` and `compare` take it",
            FileKind::Plan => "this is a plan: `run --plan`, `replay` and `compare` take it",
            FileKind::Faults => "this is a file of faults: `--faults` takes it",
            FileKind::Page => "this is a page: a browser shows it",
            FileKind::Failure => {
                "this is the folder of a failure: `replay`, `shrink`, `bisect`, `compare` and `report` take it, `export` the trace.bin in it"
            }
            FileKind::Failures => {
                "this is a folder of failures: `report` takes it, `replay`, `shrink`, `bisect` and `compare` one of the folders in it"
            }
            FileKind::Folder => "this is a folder, and no failure is in it",
        }
    }

    /// What is wrong with a file: that it is of another kind than these, or else what was found in it.
    pub(crate) fn complaint(path: &Path, wanted: &[FileKind], found: impl std::fmt::Display) -> String {
        match FileKind::of(path) {
            Some(kind) if !wanted.contains(&kind) => format!("{}: {}", path.display(), kind.about()),
            _ => format!("{}: {}", path.display(), found.to_string().trim_end()),
        }
    }
}
