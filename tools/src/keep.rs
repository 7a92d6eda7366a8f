//! Files that are kept: written whole or not at all, and never over another. What is in them is not decided here.

use crate::exit::{Problem, Result};
use anyhow::Context;
use seedstorm_sim::trace::file::MAGIC;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most files of one name and different contents that a folder takes.
const NUMBERED_MAX: u32 = 10_000;

/// Makes sure, before the work begins, that its output will find a place.
///
/// # Errors
/// The folder can't be made or written to. If it doesn't exist it is not made yet: no failure, no folder.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    let nearest = folder.ancestors().find(|ancestor| ancestor.exists() || ancestor.as_os_str().is_empty());
    let nearest = nearest.filter(|ancestor| !ancestor.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let probe = temporary(nearest);
    let probed = OpenOptions::new().write(true).create_new(true).open(&probe).and_then(|_| fs::remove_file(&probe));
    probed.map_err(|error| Problem::usage(format!("{}: reproducers can't be written there: {error}", folder.display())))
}

/// Makes sure that an output doesn't take the place of what somebody may want to read again: a trace is replaced by a trace alone, and a file of
/// plans, faults or reproducers by nothing.
///
/// # Errors
/// It would.
pub(crate) fn check_output(path: &Path, is_trace: bool) -> Result<()> {
    if !fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0) {
        return Ok(());
    }
    let mut head = [0; MAGIC.len()];
    let begins_as_trace = File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC;
    let is_kept_by_name = path.extension().is_some_and(|extension| extension == "toml" || extension == "zst");
    let there = match (begins_as_trace && !is_trace, is_kept_by_name) {
        (true, _) => "a trace",
        (false, true) => "a plan, faults or a reproducer",
        (false, false) => return Ok(()),
    };
    let path = path.display();
    Err(Problem::usage(format!(
        "{path}: what is there is {there}, and is not overwritten; take another name, or remove it first"
    )))
}

/// Creates a file that a run will fill with a trace, before it starts.
///
/// # Errors
/// It can't be created, or another file is in the way.
pub(crate) fn create(path: &Path) -> Result<File> {
    check_output(path, true)?;
    File::create(path).map_err(|error| Problem::usage(format!("{}: can't be written: {error}", path.display())))
}

/// Puts a file into a folder under `STEM.EXTENSION`, or `STEM-2.EXTENSION` if another has the name. A file that has the name and the same
/// contents is left as it is.
///
/// # Errors
/// What the file system says.
pub(crate) fn put(folder: &Path, stem: &str, extension: &str, contents: &[u8]) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    let temporary = temporary(folder);
    let written = write_synced(&temporary, contents).and_then(|()| link(&temporary, folder, stem, extension, contents));
    // The temporary name goes on every path; the file stays under its own.
    let removed = fs::remove_file(&temporary);
    let path = written.with_context(|| format!("writing {stem}.{extension} into {}", folder.display()))?;
    removed.with_context(|| format!("removing {}", temporary.display()))?;
    Ok(path)
}

/// Writes a file that may be made again at any time, whole or not at all; what has the name is replaced.
///
/// # Errors
/// It can't be written.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |error: io::Error| Problem::usage(format!("{}: can't be written: {error}", path.display()));
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        // A device or a pipe stays what it is.
        return OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(contents)).map_err(wrong);
    }
    let temporary = temporary(folder);
    let written = write_synced(&temporary, contents).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // It may not have come into being.
        let _ = fs::remove_file(&temporary);
        wrong(error)
    })
}

/// A file that is written piece by piece, and takes the place of what has its name when it is whole.
pub(crate) struct Replacement {
    file: File,
    /// Where it is for now; a device or a pipe is written to as it is.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

/// Begins a file that may be made again at any time.
///
/// # Errors
/// It can't be created.
pub(crate) fn begin_replacement(path: &Path) -> io::Result<Replacement> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let file = OpenOptions::new().write(true).open(path)?;
        return Ok(Replacement { file, temporary: None, path: path.to_owned() });
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = temporary(folder);
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    Ok(Replacement { file, temporary: Some(temporary), path: path.to_owned() })
}

impl Replacement {
    /// What it is written to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name. One that never comes to that leaves what was there as it was.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        self.file.sync_all()?;
        fs::rename(temporary, &self.path)?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // One that stays is no reason to fail.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A folder that is filled under a temporary name.
pub(crate) struct Draft {
    path: PathBuf,
    folder: PathBuf,
}

/// Begins a folder within a folder, which is made if it isn't there.
///
/// # Errors
/// What the file system says.
pub(crate) fn draft(folder: &Path) -> anyhow::Result<Draft> {
    fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    let path = temporary(folder);
    fs::create_dir(&path).with_context(|| format!("making a folder in {}", folder.display()))?;
    Ok(Draft { path, folder: folder.to_owned() })
}

impl Draft {
    /// Where it is for now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> anyhow::Result<()> {
        write_synced(&self.path.join(name), contents).with_context(|| format!("writing {name}"))
    }

    /// Gives it its name: `STEM`, or `STEM-2` if another has that. One whose file `key` is the same is left as it is, and this one goes. `finish` writes what
    /// depends on the name.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn publish(
        self,
        stem: &str,
        key: &str,
        finish: impl Fn(&Path) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>>,
    ) -> anyhow::Result<PathBuf> {
        let contents = fs::read(self.path.join(key)).with_context(|| format!("reading {key}"))?;
        for number in 1..=NUMBERED_MAX {
            let name = if number == 1 { stem.to_owned() } else { format!("{stem}-{number}") };
            let path = self.folder.join(name);
            if !path.exists() {
                for (name, contents) in finish(&path)? {
                    let _ = fs::remove_file(self.path.join(name));
                    self.write(name, &contents)?;
                }
                match fs::rename(&self.path, &path) {
                    Ok(()) => return Ok(path),
                    // Another process may have taken the name meanwhile: a folder with something in it is never replaced.
                    Err(_) if path.exists() => {}
                    Err(error) => return Err(error).with_context(|| format!("making {}", path.display())),
                }
            }
            if fs::read(path.join(key)).is_ok_and(|there| there == contents) {
                return Ok(path);
            }
        }
        anyhow::bail!("{NUMBERED_MAX} folders have that name")
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Published, it has another name and there is nothing to remove.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn temporary(folder: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    folder.join(format!(".seedstorm-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

fn write_synced(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

fn link(temporary: &Path, folder: &Path, stem: &str, extension: &str, contents: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=NUMBERED_MAX {
        let name = if number == 1 { format!("{stem}.{extension}") } else { format!("{stem}-{number}.{extension}") };
        let path = folder.join(name);
        // A second name can't replace a file, a rename would.
        match fs::hard_link(temporary, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&path).is_ok_and(|there| there == contents) {
                    return Ok(path);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{NUMBERED_MAX} files have that name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("seedstorm-keep-{name}-{}", std::process::id()));
        // Left over from a process of the same number, perhaps.
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn no_file_is_overwritten_and_none_is_doubled() {
        let folder = folder("put");
        let first = put(&folder, "storm-7", "toml", b"one").expect("the first");
        assert_eq!(put(&folder, "storm-7", "toml", b"two").expect("the second"), folder.join("storm-7-2.toml"));
        assert_eq!(put(&folder, "storm-7", "toml", b"one").expect("the first again"), first);
        assert_eq!(put(&folder, "storm-7", "toml", b"two").expect("the second again"), folder.join("storm-7-2.toml"));
        assert_eq!(fs::read(&first).expect("the first file"), b"one");
        let names: Vec<_> =
            fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn an_output_never_takes_the_place_of_an_input() {
        let folder = folder("inputs");
        fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, contents: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, contents).expect("a file");
            path
        };
        let trace = write("trace.bin", &[&MAGIC[..], b"rest"].concat());
        for (path, is_trace, may) in [
            (&trace, true, true),
            (&trace, false, false),
            (&write("reproducer.toml", b"format = 2"), true, false),
            (&write("turns.txt.zst", b"x"), false, false),
            (&write("empty.toml", b""), true, true),
            (&write("page.html", b"<html>"), false, true),
            (&folder.join("nothing.toml"), true, true),
        ] {
            assert_eq!(check_output(path, is_trace).is_ok(), may, "{} {is_trace}", path.display());
        }
        assert!(create(&folder.join("reproducer.toml")).is_err());
        assert_eq!(fs::read(folder.join("reproducer.toml")).expect("it is there"), b"format = 2");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn what_can_be_made_again_is_replaced_whole() {
        let folder = folder("replace");
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("page.html");
        for contents in [b"one".as_slice(), b"two"] {
            replace(&path, contents).expect("it can be written");
            assert_eq!(fs::read(&path).expect("the file"), contents);
        }
        for nowhere in [path.join("below"), folder.clone()] {
            assert!(matches!(replace(&nowhere, b"x"), Err(Problem::Usage(_))), "{}", nowhere.display());
        }
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1, "no temporary file is left");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_is_doubled() {
        let folder = folder("draft");
        let put = |contents: &[u8]| {
            let draft = draft(&folder).expect("a draft");
            draft.write("key", contents).expect("a file");
            draft.publish("storm-7", "key", |path| Ok(vec![("name", path.display().to_string().into_bytes())]))
        };
        let first = put(b"one").expect("the first");
        assert_eq!(first, folder.join("storm-7"));
        assert_eq!(put(b"two").expect("the second"), folder.join("storm-7-2"));
        assert_eq!(put(b"one").expect("the first again"), first);
        assert_eq!(put(b"two").expect("the second again"), folder.join("storm-7-2"));
        assert_eq!(fs::read(first.join("key")).expect("the first key"), b"one");
        let name = fs::read_to_string(folder.join("storm-7-2/name")).expect("the second name");
        assert_eq!(name, folder.join("storm-7-2").display().to_string());
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 2, "no draft is left");
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn a_name_that_cannot_be_had_is_tried_once() {
        let folder = folder("nowhere");
        let draft = draft(&folder).expect("a draft");
        draft.write("key", b"one").expect("a file");
        let asked = std::cell::Cell::new(0);
        let error = draft.publish("nowhere/storm-7", "key", |_| {
            asked.set(asked.get() + 1);
            Ok(Vec::new())
        });
        let error = format!("{:#}", error.expect_err("there is no such folder"));
        assert!(error.contains("nowhere/storm-7: ") && asked.get() == 1, "{error}, asked {} times", asked.get());
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn a_draft_that_nobody_publishes_goes() {
        let folder = folder("dropped");
        drop(draft(&folder).expect("a draft"));
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0);
        fs::remove_dir_all(&folder).expect("cleaning up");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_found_beforehand() {
        let folder = folder("check");
        check_folder(&folder).expect("it can be made");
        assert!(!folder.exists(), "checking makes no folder");
        fs::write(&folder, b"a file").expect("a file in the way");
        let error = check_folder(&folder.join("deeper"));
        assert!(matches!(error, Err(Problem::Usage(_))), "{error:?}");
        fs::remove_file(&folder).expect("cleaning up");
    }
}
