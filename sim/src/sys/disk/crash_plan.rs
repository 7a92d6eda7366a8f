//! Which pending operations a crash keeps: drawn here, within what the profile allows. Carried out in `crash`.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{BLOCK_BYTES, Content, SECTOR_BYTES};
use super::image::Disk;
use super::inode::{FileNode, Node};
use super::pending::{DataChange, DataItem, NameLog, Ordered};
use super::report::CrashMode;
use super::types::Persistence;
use crate::seed::Draw;

/// What is kept of one operation on a file's data.
#[derive(Clone, Debug)]
pub(super) struct ItemFate {
    /// For a size change: that it is kept; for a write: that the length is kept that it gave.
    pub(super) is_size_kept: bool,
    /// For a write: which of its sectors are kept, from the one that holds its first byte.
    pub(super) sectors: Vec<bool>,
}

/// The choices of one crash that concern more than one file.
pub(super) struct CrashPlan {
    persistence: Persistence,
    pub(super) mode: CrashMode,
    /// The operations on names that are kept.
    pub(super) names_kept: BTreeSet<u64>,
    /// In mode `Prefix`: the last operation kept.
    through: u64,
    /// Under `ext4`: the last journal item kept.
    journal_through: u64,
    /// In mode `AllButOne`: the one.
    excluded: u64,
}

impl CrashPlan {
    /// Draws the mode and what it needs.
    pub(super) fn draw(disk: &Disk, draw: &mut dyn Draw) -> CrashPlan {
        let mode = draw_mode(disk.persistence, draw);
        CrashPlan::draw_in(disk, mode, draw)
    }

    /// Draws what the mode needs. Every profile allows `Nothing` and `Everything`.
    pub(super) fn draw_in(disk: &Disk, mode: CrashMode, draw: &mut dyn Draw) -> CrashPlan {
        let mut plan = CrashPlan {
            persistence: disk.persistence,
            mode,
            names_kept: BTreeSet::new(),
            through: if mode == CrashMode::Nothing { 0 } else { u64::MAX },
            journal_through: 0,
            excluded: 0,
        };
        let sequences = match mode {
            CrashMode::Prefix | CrashMode::AllButOne => all_sequences(disk),
            _ => Vec::new(),
        };
        match mode {
            // The draw 0 keeps nothing, the greatest one everything.
            CrashMode::Prefix => match draw.between(0, sequences.len() as u64) {
                0 => plan.through = 0,
                count => plan.through = sequences[count as usize - 1],
            },
            CrashMode::AllButOne if !sequences.is_empty() => {
                plan.excluded = sequences[draw.below(sequences.len() as u64) as usize];
            }
            _ => {}
        }
        plan.journal_through = plan.draw_journal_through(&disk.names, draw);
        plan.names_kept = plan.draw_names(&disk.names, draw);
        plan
    }

    fn draw_journal_through(&self, names: &NameLog, draw: &mut dyn Draw) -> u64 {
        match self.mode {
            CrashMode::Nothing | CrashMode::DataOnly => 0,
            CrashMode::Everything | CrashMode::NamesAndSizes | CrashMode::Torn => u64::MAX,
            CrashMode::Prefix => self.through,
            CrashMode::AllButOne if names.ordered.contains_key(&self.excluded) => self.excluded - 1,
            CrashMode::AllButOne => u64::MAX,
            CrashMode::Subset => match draw.between(0, names.ordered.len() as u64) {
                0 => 0,
                count => names.ordered.keys().nth(count as usize - 1).copied().unwrap_or(u64::MAX),
            },
        }
    }

    fn draw_names(&self, names: &NameLog, draw: &mut dyn Draw) -> BTreeSet<u64> {
        let in_four = draw.between(1, 3);
        let mut kept = BTreeSet::new();
        for (&sequence, ordered) in &names.ordered {
            let Ordered::Name(operation) = ordered else { continue };
            let is_chosen = match (self.persistence, self.mode) {
                (Persistence::Strict, _) => sequence <= self.through,
                (Persistence::Ext4, _) => sequence <= self.journal_through,
                (Persistence::Posix, CrashMode::Nothing | CrashMode::DataOnly) => false,
                (Persistence::Posix, CrashMode::Prefix) => sequence <= self.through,
                (Persistence::Posix, CrashMode::AllButOne) => sequence != self.excluded,
                (Persistence::Posix, CrashMode::Subset) => draw.chance(in_four, 4),
                (Persistence::Posix, _) => true,
            };
            let is_possible = operation
                .requires
                .iter()
                .all(|required| kept.contains(required) || !names.ordered.contains_key(required));
            if is_chosen && is_possible {
                kept.insert(sequence);
            }
        }
        kept
    }

    /// Draws what is kept of each operation on one file's data.
    pub(super) fn draw_file(&self, file: &FileNode, draw: &mut dyn Draw) -> Vec<ItemFate> {
        let items = file.log.items();
        let mut fates: Vec<ItemFate> = match self.persistence {
            Persistence::Strict => items.iter().map(|item| whole(item, item.sequence <= self.through)).collect(),
            Persistence::Posix => items.iter().map(|item| self.draw_posix(item, draw)).collect(),
            Persistence::Ext4 => self.draw_ext4(items, draw),
        };
        for &(start, end) in &file.torn {
            tear(items, &mut fates, start, end, draw);
        }
        fates
    }

    /// Under `posix` each operation stands by itself.
    fn draw_posix(&self, item: &DataItem, draw: &mut dyn Draw) -> ItemFate {
        match self.mode {
            CrashMode::Nothing => whole(item, false),
            CrashMode::Everything | CrashMode::DataOnly => whole(item, true),
            CrashMode::Prefix => whole(item, item.sequence <= self.through),
            CrashMode::AllButOne => whole(item, item.sequence != self.excluded),
            CrashMode::NamesAndSizes => ItemFate { is_size_kept: true, sectors: vec![false; sector_count(item)] },
            CrashMode::Subset => {
                let is_kept = draw.chance(1, 2);
                ItemFate { is_size_kept: draw.chance(1, 2), sectors: vec![is_kept; sector_count(item)] }
            }
            CrashMode::Torn => {
                let is_size_kept = draw.chance(7, 8);
                let sectors = (0..sector_count(item)).map(|_| draw.chance(1, 2)).collect();
                ItemFate { is_size_kept, sectors }
            }
        }
    }

    /// Under `ext4` size changes follow the journal, and each page keeps a prefix of the writes to it.
    fn draw_ext4(&self, items: &[DataItem], draw: &mut dyn Draw) -> Vec<ItemFate> {
        let is_lost_set_len =
            |item: &DataItem| matches!(item.change, DataChange::SetLen { .. }) && item.sequence > self.journal_through;
        // What was written after a size change that is lost went to pages that nothing leads to.
        let possible = items.iter().position(is_lost_set_len).unwrap_or(items.len());
        let sizes = match self.mode {
            CrashMode::Nothing => 0,
            CrashMode::Prefix => items.partition_point(|item| item.sequence <= self.through),
            CrashMode::Subset | CrashMode::Torn => draw.between(0, items.len() as u64) as usize,
            _ => items.len(),
        };
        let page_limits = self.draw_page_limits(&items[..possible], draw);
        let mut fates = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let is_possible = index < possible;
            let DataChange::Write { offset, .. } = item.change else {
                fates.push(whole(item, is_possible));
                continue;
            };
            let page_of = |sector: usize| (offset / SECTOR_BYTES + sector as u64) * SECTOR_BYTES / BLOCK_BYTES as u64;
            let is_kept = |sector| is_possible && page_limits.get(&page_of(sector)).is_some_and(|limit| index < *limit);
            let sectors = (0..sector_count(item)).map(is_kept).collect();
            fates.push(ItemFate { is_size_kept: is_possible && index < sizes, sectors });
        }
        fates
    }

    /// For each page the index of the first item whose write to it is lost.
    fn draw_page_limits(&self, items: &[DataItem], draw: &mut dyn Draw) -> BTreeMap<u64, usize> {
        let mut writes_to: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            if let DataChange::Write { offset, len, .. } = item.change {
                for page in offset / BLOCK_BYTES as u64..=(offset + len as u64 - 1) / BLOCK_BYTES as u64 {
                    writes_to.entry(page).or_default().push(index);
                }
            }
        }
        let mut limit_of = |writes: Vec<usize>| match self.mode {
            CrashMode::Nothing | CrashMode::NamesAndSizes => 0,
            CrashMode::Everything | CrashMode::DataOnly => usize::MAX,
            CrashMode::Prefix => items.partition_point(|item| item.sequence <= self.through),
            CrashMode::AllButOne => {
                let excluded = writes.iter().find(|index| items[**index].sequence == self.excluded);
                excluded.copied().unwrap_or(usize::MAX)
            }
            CrashMode::Subset | CrashMode::Torn => match draw.between(0, writes.len() as u64 + 1) as usize {
                // The two extremes come at least as often as each step between them.
                drawn if drawn < writes.len() => writes[drawn],
                _ => usize::MAX,
            },
        };
        writes_to.into_iter().map(|(page, writes)| (page, limit_of(writes))).collect()
    }
}

fn draw_mode(persistence: Persistence, draw: &mut dyn Draw) -> CrashMode {
    match (persistence, draw.below(9)) {
        (_, 0) => CrashMode::Nothing,
        (_, 1) => CrashMode::Everything,
        (Persistence::Strict, _) | (_, 2) => CrashMode::Prefix,
        (_, 3) => CrashMode::NamesAndSizes,
        (_, 4) => CrashMode::DataOnly,
        (_, 5) => CrashMode::AllButOne,
        (_, 6) => CrashMode::Torn,
        _ => CrashMode::Subset,
    }
}

/// The sequence numbers of all that is pending, sorted.
fn all_sequences(disk: &Disk) -> Vec<u64> {
    let mut sequences: Vec<u64> = disk.names.ordered.keys().copied().collect();
    for inode in disk.dirty.iter().filter_map(|id| disk.inodes.get(id)) {
        if let Node::File(file) = &inode.node {
            sequences.extend(file.log.items().iter().map(|item| item.sequence));
        }
    }
    sequences.sort_unstable();
    sequences.dedup();
    sequences
}

/// Kept or lost as a whole.
fn whole(item: &DataItem, is_kept: bool) -> ItemFate {
    ItemFate { is_size_kept: is_kept, sectors: vec![is_kept; sector_count(item)] }
}

/// How many sectors a write touches.
fn sector_count(item: &DataItem) -> usize {
    match item.change {
        DataChange::Write { offset, len, .. } => {
            ((offset + len as u64).div_ceil(SECTOR_BYTES) - offset / SECTOR_BYTES) as usize
        }
        DataChange::SetLen { .. } => 0,
    }
}

/// Of the sectors in `start..end` that hold pending writes, keeps some and loses some, if there are two at least.
fn tear(items: &[DataItem], fates: &mut [ItemFate], start: u64, end: u64, draw: &mut dyn Draw) {
    let is_marked = |sector: u64| sector * SECTOR_BYTES < end && (sector + 1) * SECTOR_BYTES > start;
    let first_of = |item: &DataItem| match item.change {
        DataChange::Write { offset, .. } => offset / SECTOR_BYTES,
        DataChange::SetLen { .. } => 0,
    };
    let mut kept: BTreeMap<u64, bool> = BTreeMap::new();
    for item in items {
        let first = first_of(item);
        kept.extend(
            (first..first + sector_count(item) as u64)
                .filter(|&sector| is_marked(sector))
                .map(|sector| (sector, false)),
        );
    }
    if kept.len() < 2 {
        return;
    }
    for is_kept in kept.values_mut() {
        *is_kept = draw.chance(1, 2);
    }
    let count = kept.values().filter(|is_kept| **is_kept).count();
    if count == 0 || count == kept.len() {
        let turned = draw.below(kept.len() as u64) as usize;
        if let Some(is_kept) = kept.values_mut().nth(turned) {
            *is_kept = !*is_kept;
        }
    }
    for (item, fate) in items.iter().zip(fates) {
        let first = first_of(item);
        for (index, is_sector_kept) in fate.sectors.iter_mut().enumerate() {
            if let Some(&is_kept) = kept.get(&(first + index as u64)) {
                *is_sector_kept = is_kept;
                fate.is_size_kept |= is_kept;
            }
        }
    }
}

/// The durable content with what is kept on top.
pub(super) fn content_after(file: &FileNode, fates: &[ItemFate]) -> Content {
    let mut content = file.durable.clone();
    for (item, fate) in file.log.items().iter().zip(fates) {
        match item.change {
            DataChange::SetLen { len } => {
                if fate.is_size_kept {
                    content.set_len(len);
                }
            }
            DataChange::Write { offset, extends, len, .. } => {
                if extends && fate.is_size_kept {
                    content.extend_to(offset + len as u64);
                }
                // Bytes past the length that was kept are lost with it.
                let within = content.len().saturating_sub(offset).min(len as u64) as usize;
                write_kept(&mut content, offset, &file.log.bytes_of(item)[..within], &fate.sectors);
            }
        }
    }
    content
}

/// Writes the bytes of kept sectors, in runs.
fn write_kept(content: &mut Content, offset: u64, bytes: &[u8], sectors: &[bool]) {
    let mut at = 0;
    for run in sectors.chunk_by(|one, two| one == two) {
        let first_sector = offset / SECTOR_BYTES;
        let end = ((first_sector + (at + run.len()) as u64) * SECTOR_BYTES - offset).min(bytes.len() as u64) as usize;
        let start = ((first_sector + at as u64) * SECTOR_BYTES).saturating_sub(offset).min(end as u64) as usize;
        if run[0] {
            content.write(offset + start as u64, &bytes[start..end]);
        }
        at += run.len();
    }
}
