//! Planted bugs of the simulated disk. They are carried out in `sim`; they stand here so that there is one catalogue.

use super::{Mutant, MutantInfo};
use seedstorm_sim::sys::disk::DiskFlaw;

const fn flaw(flaw: DiskFlaw, about: &'static str, row: &'static str, invariant: &'static str) -> MutantInfo {
    let scenario = "guillotine";
    MutantInfo { mutant: Mutant::OfDisk(flaw), name: flaw.name(), about, row, scenario, invariant, ..MutantInfo::PLAIN }
}

pub(super) const CATALOGUE: &[MutantInfo] = &[
    MutantInfo {
        // The last write may be a page of the database that a checkpoint has moved: no commit misses it until power fails, and then nothing can be read.
        also: &["database-sound", "wake-succeeds"],
        ..flaw(
            DiskFlaw::SyncLeavesLastWrite,
            "the disk says that a file is durable, all but what was written last: as if it had taken that up and not written it yet",
            "S6",
            "acknowledged-durable",
        )
    },
    flaw(
        DiskFlaw::SyncLeavesReplacements,
        "the disk says that a directory is durable, and renames over files that were there are not",
        "F3",
        "documents-kept",
    ),
];
