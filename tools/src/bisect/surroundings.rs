//! What lies around a repository, as links. In a worktree in the midst of them relative paths lead where they lead in the checkout (`../seedstorm/tools`), and
//! what cargo looks for in the folders above is found, too.

use anyhow::Context;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

/// Makes in a folder all folders above a place, each with links to what lies beside the way. Gives where the place is there; it itself is not made.
///
/// # Errors
/// A folder or a link can't be made.
pub(super) fn link(place: &Path, within: &Path) -> anyhow::Result<PathBuf> {
    let (mut real, mut copy) = (PathBuf::from("/"), within.to_owned());
    for component in place.components() {
        let Component::Normal(next) = component else { continue };
        fs::create_dir_all(&copy).with_context(|| format!("making {}", copy.display()))?;
        link_all_but(next, &real, &copy)?;
        real.push(next);
        copy.push(next);
    }
    Ok(copy)
}

fn link_all_but(next: &OsStr, real: &Path, copy: &Path) -> anyhow::Result<()> {
    // Of a folder that can't be read no path leads to what lies in it either, or whoever needs one will say so.
    for entry in fs::read_dir(real).into_iter().flatten().flatten().filter(|entry| entry.file_name() != next) {
        let name = copy.join(entry.file_name());
        symlink(entry.path(), &name).with_context(|| format!("making a link {}", name.display()))?;
    }
    Ok(())
}
