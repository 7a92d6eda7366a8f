//! `report`: the page of a trace, or of a folder of artifacts. What is on the pages is decided in `page` and `folder`.

use super::folder::page_of_folder;
use super::page::page;
use crate::artifacts;
use crate::catalogue::Catalogue;
use crate::cli::ReportArguments;
use crate::exit::{Exit, Problem, Result};
use crate::file_kind::FileKind;
use crate::keep;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

/// Writes a page, and says where it is.
///
/// # Errors
/// An input that is neither a trace nor a folder of artifacts, is damaged, or an output that can't be written.
pub(crate) fn report(catalogue: Catalogue, arguments: &ReportArguments) -> Result<Exit> {
    let input = &arguments.input;
    let (text, beside) = if input.is_dir() {
        (page_of_folder(catalogue, input)?, input.join("index.html"))
    } else {
        (page_of_trace(catalogue, input)?, input.with_extension("html"))
    };
    let mut output = std::io::stdout();
    let path = match &arguments.output {
        Some(path) if path.as_os_str() == "-" => {
            output.write_all(text.as_bytes())?;
            output.flush()?;
            return Ok(Exit::Pass);
        }
        Some(path) => {
            keep::check_output(path, false)?;
            path.clone()
        }
        None => beside,
    };
    keep::replace(&path, text.as_bytes())?;
    writeln!(output, "{}", path.display())?;
    output.flush()?;
    Ok(Exit::Pass)
}

fn page_of_trace(catalogue: Catalogue, path: &Path) -> Result<String> {
    let wrong = |why: &dyn std::fmt::Display| Problem::Usage(FileKind::complaint(path, &[FileKind::Trace], why));
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    page(catalogue, BufReader::new(file), &artifacts::findings(catalogue, folder)).map_err(|error| wrong(&error))
}
