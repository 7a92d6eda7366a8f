//! What can be done with failures that were kept: commands beside the last line, which runs one again.

use crate::artifacts::TRACE_FILE;
use crate::file_kind::FileKind;
use crate::picture::PICTURE_FILE;
use crate::shell;
use std::path::Path;

/// Lines that name the page of the first of these reproducers, what shows all failures, and what makes the first one smaller. Nothing of those that aren't here, or of which no trace could be kept.
pub(super) fn next_steps<'a>(reproducers: impl Iterator<Item = &'a str>) -> Vec<String> {
    let folder =
        |path: &'a str| Path::new(path).parent().filter(|folder| FileKind::of(folder) == Some(FileKind::Failure));
    let has_trace = |folder: &&Path| folder.join(TRACE_FILE).exists();
    let folders: Vec<&Path> = reproducers.filter_map(folder).filter(has_trace).collect();
    let Some(first) = folders.first() else { return Vec::new() };
    let page = first.join(PICTURE_FILE);
    let page = page.exists().then(|| format!("a page of what happened: {}", page.display()));
    let all = first.parent().unwrap_or(first);
    // What was kept in the present folder is in the folder without a name.
    let all = if all.as_os_str().is_empty() { Path::new(".") } else { all };
    let command = |name: &str, folder: &Path| shell::line([&shell::program(), name, &shell::path(folder)]);
    let commands = [
        format!("a page of all failures: {}", command("report", all)),
        format!("a smaller run that fails alike: {}", command("shrink", first)),
    ];
    page.into_iter().chain(commands).collect()
}
