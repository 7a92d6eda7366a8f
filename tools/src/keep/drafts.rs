//! Drafts: files and folders under names of their own until they are whole. They go with whoever made them, at the latest with the process, unless it is killed. What they
//! become is said in `keep`.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many names are tried. One may have been left behind by a process that had the same number.
const NAMES_MAX: u32 = 10_000;

/// How often a folder is removed that somebody still writes into.
const REMOVALS_MAX: u32 = 10;

/// What is there by now, of this process.
static HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn here() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the names of a process's drafts begin with.
fn prefix(process: u32) -> String {
    format!(".seedstorm-{process}-")
}

/// A draft. Dropped, it goes, unless it has another name by then.
#[derive(Debug)]
pub(crate) struct Draft(PathBuf);

impl Draft {
    /// Has `make` make one in a folder, under a name that nothing has: it must fail where something is.
    ///
    /// # Errors
    /// What `make` says.
    pub(super) fn make<T>(folder: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Draft, T)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut tries = 0;
        loop {
            tries += 1;
            let name = format!("{}{}", prefix(std::process::id()), COUNT.fetch_add(1, Ordering::Relaxed));
            let draft = Draft(folder.join(name));
            match make(&draft.0) {
                Ok(made) => {
                    here().insert(draft.0.clone());
                    return Ok((draft, made));
                }
                Err(error) => {
                    // What has the name, if something has, is not ours.
                    std::mem::forget(draft);
                    if error.kind() != ErrorKind::AlreadyExists || tries == NAMES_MAX {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Makes an empty file for a while, in a folder where others may write, too: nobody's file is opened, and no link followed.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn file(folder: &Path) -> io::Result<(Draft, File)> {
        Draft::make(folder, |path| OpenOptions::new().write(true).create_new(true).open(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name.
    pub(super) fn rename(&self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        remove(&self.0);
        here().remove(&self.0);
    }
}

/// Removes a file or a folder. One that has another name by now, or can't be removed, is no reason to fail.
fn remove(path: &Path) {
    for _ in 0..REMOVALS_MAX {
        match fs::symlink_metadata(path) {
            Err(_) => return,
            Ok(there) if there.is_dir() => drop(fs::remove_dir_all(path)),
            Ok(_) => drop(fs::remove_file(path)),
        }
    }
}

/// Removes what this process has begun and not finished: it ends.
pub(crate) fn remove_all() {
    let left = std::mem::take(&mut *here());
    left.iter().for_each(|path| remove(path));
}

/// Removes what a process that is gone has left in a folder.
pub(crate) fn remove_of(process: u32, folder: &Path) {
    let prefix = prefix(process);
    // A folder that can't be read has nothing that could be removed.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            remove(&entry.path());
        }
    }
}

/// A file that is written beside its place, and takes it when it is whole. What is in that place stays until then, and for good if it is never whole.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    /// What takes which place. `None`: what is written to is no file, and stays what it is.
    draft: Option<(Draft, PathBuf)>,
}

impl Output {
    /// Begins one.
    ///
    /// # Errors
    /// It can't be written there.
    pub(crate) fn create(path: &Path) -> io::Result<Output> {
        let there = fs::metadata(path).ok();
        if there.is_some() {
            // What may not be written is not replaced either.
            let file = OpenOptions::new().write(true).open(path)?;
            if !file.metadata()?.is_file() {
                return Ok(Output { file, draft: None });
            }
        }
        if there.is_none() && fs::symlink_metadata(path).is_ok() {
            // A link to nothing stays one, and leads to a file from now on.
            File::create(path)?;
        }
        // As does any other: what it leads to is replaced.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (draft, file) = Draft::file(folder)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        Ok(Output { file, draft: Some((draft, place)) })
    }

    /// It is whole: gives it its name.
    ///
    /// # Errors
    /// What the file system says. Then it goes, and what has the name stays.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.draft {
            None => Ok(()),
            Some((draft, place)) => {
                self.file.sync_all()?;
                draft.rename(&place)
            }
        }
    }
}

/// A file that needs no other name.
impl From<File> for Output {
    fn from(file: File) -> Output {
        Output { file, draft: None }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("seedstorm-drafts-{name}-{}", std::process::id()));
        // Left over from a process of the same number, perhaps.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).expect("the folder").count()
    }

    #[test]
    fn what_never_becomes_whole_leaves_what_was_there() {
        let folder = folder("whole");
        let path = folder.join("trace.bin");
        fs::write(&path, "old").expect("a file");
        let mut cut = Output::create(&path).expect("an output");
        cut.write_all(b"ne").expect("a part");
        assert_eq!(fs::read(&path).expect("the file"), b"old", "while it is written");
        drop(cut);
        assert_eq!(fs::read(&path).expect("the file"), b"old");
        let mut whole = Output::create(&path).expect("an output");
        whole.write_all(b"new").expect("all");
        whole.finish().expect("it is whole");
        assert_eq!(fs::read(&path).expect("the file"), b"new");
        assert_eq!(count(&folder), 1, "no draft is left");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("link");
        let (path, link) = (folder.join("page.html"), folder.join("latest.html"));
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("its permissions");
        symlink("page.html", &link).expect("a link");
        let mut output = Output::create(&link).expect("an output");
        output.write_all(b"new").expect("all");
        output.finish().expect("it is whole");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read(&path).expect("the file"), b"new");
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o640);
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn a_name_that_something_has_is_passed_over() {
        let folder = folder("names");
        let (first, _) = Draft::file(&folder).expect("a draft");
        let name = first.path().file_name().expect("a name").to_string_lossy().into_owned();
        let number: u64 = name.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a number");
        let taken: Vec<PathBuf> = (number + 1..number + 20)
            .map(|number| folder.join(format!("{}{number}", prefix(std::process::id()))))
            .collect();
        for path in &taken {
            fs::write(path, "left behind").expect("a file");
        }
        let (second, _) = Draft::file(&folder).expect("another draft");
        assert!(!taken.contains(&second.path().to_owned()), "{second:?}");
        drop((first, second));
        for path in &taken {
            assert_eq!(fs::read(path).expect("the file"), b"left behind");
        }
        remove_of(std::process::id(), &folder);
        assert_eq!(count(&folder), 0, "whoever is gone leaves nothing");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }
}
