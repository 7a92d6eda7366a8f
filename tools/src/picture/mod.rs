//! The picture: `report.html`, one page that shows what happened in a run, and the page of a sweep. Other programs' formats are in `export`.

mod arrows;
mod bars;
mod classes;
mod columns;
mod command;
mod findings;
mod folder;
#[cfg(test)]
pub(crate) mod made_up;
mod numbers;
mod page;
mod scene;
mod story;

pub(crate) use arrows::{Arrows, End};
pub(crate) use bars::{Bars, Place};
pub(crate) use command::report;
pub(crate) use findings::{Bisected, Estimate, Findings, Shrinkage, Shrunk};
pub(crate) use folder::PICTURE_FILE;
pub(crate) use page::page;
