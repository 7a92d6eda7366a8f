//! The machine's crash: what was pending is kept or lost, all processes and locks are gone, and both images become one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::crash_plan::{CrashPlan, ItemFate, content_after};
use super::descriptor::Descriptors;
use super::flock::FlockTable;
use super::image::{Disk, ROOT};
use super::inode::{FileNode, Inode, Node};
use super::pending::{DataChange, DataLog, Name, NameChange, NameLog, Ordered};
use super::range_lock::RangeLockTable;
use super::report::{CrashMode, CrashReport, Loss, LostOperation};
use super::types::InodeId;
use crate::seed::Draw;

impl Disk {
    /// The power fails. What was pending is kept or lost within what the profile allows, as drawn; then processes see
    /// exactly what is durable. All descriptors, owners and locks are gone, and nobody is told of the released locks.
    ///
    /// A file that is left without a name is gone (as after fsck). Operations on it count as lost if it had a name before.
    pub fn crash(&mut self, draw: &mut dyn Draw) -> CrashReport {
        let plan = CrashPlan::draw(self, draw);
        self.crash_as(plan, draw)
    }

    fn crash_as(&mut self, plan: CrashPlan, draw: &mut dyn Draw) -> CrashReport {
        let mut report = CrashReport { mode: plan.mode, kept: 0, lost: 0, torn: 0, losses: Vec::new() };
        let mut paths = None;
        let names = std::mem::take(&mut self.names);
        self.keep_names(&names, &plan.names_kept, &mut report, &mut paths);
        let links = self.count_links();
        for id in self.dirty.iter().chain(&self.diverged).copied().collect::<BTreeSet<InodeId>>() {
            let Some(Node::File(file)) = self.inodes.get(&id).map(|inode| &inode.node) else { continue };
            let fates = plan.draw_file(file, draw);
            let is_found = links.contains_key(&id);
            if is_found || self.inodes.get(&id).is_some_and(|inode| inode.links > 0) {
                report_file(&mut report, id, file, &fates, is_found, || self.path_before(&mut paths, id));
            }
            self.settle_file(id, &fates);
        }
        self.settle_directories(&names);
        self.settle_links(&links);
        self.forget_processes();
        report.losses.sort_by_key(|loss| loss.sequence);
        report
    }

    /// The disk as it would be after a crash now. The disk itself stays as it is, and the two share their blocks until one of
    /// them writes.
    pub fn crash_image(&self, draw: &mut dyn Draw) -> (Disk, CrashReport) {
        let mut image = self.copy();
        let report = image.crash(draw);
        (image, report)
    }

    /// As [`Disk::crash_image`], of a crash that loses all that is not durable.
    pub fn crash_image_of_least(&self, draw: &mut dyn Draw) -> (Disk, CrashReport) {
        self.crash_image_in(CrashMode::Nothing, draw)
    }

    /// As [`Disk::crash_image`], of a crash that loses nothing.
    pub fn crash_image_of_most(&self, draw: &mut dyn Draw) -> (Disk, CrashReport) {
        self.crash_image_in(CrashMode::Everything, draw)
    }

    fn crash_image_in(&self, mode: CrashMode, draw: &mut dyn Draw) -> (Disk, CrashReport) {
        let mut image = self.copy();
        let plan = CrashPlan::draw_in(&image, mode, draw);
        let report = image.crash_as(plan, draw);
        (image, report)
    }

    /// A copy of the disk as processes see it, for whoever wants to look into its files and write to them: the disk itself stays as it
    /// is. The two share their blocks until one of them writes. Nobody has anything open on it, and its space is without limit.
    pub fn scratch_copy(&self) -> Disk {
        let mut copy = self.copy();
        copy.options.capacity_bytes = None;
        copy
    }

    fn copy(&self) -> Disk {
        Disk {
            persistence: self.persistence,
            options: self.options,
            inodes: self.inodes.clone(),
            names: Rc::clone(&self.names),
            dirty: self.dirty.clone(),
            diverged: self.diverged.clone(),
            descriptors: Descriptors::default(),
            flocks: FlockTable::default(),
            range_locks: RangeLockTable::default(),
            released: Vec::new(),
            next_inode: self.next_inode,
            next_sequence: self.next_sequence,
            now_ns: self.now_ns,
            blocks_used: self.blocks_used,
            dirty_bytes: self.dirty_bytes,
            pending_count: self.pending_count,
            durable_version: self.durable_version,
            durable_digest: self.durable_digest.clone(),
        }
    }

    /// Carries the kept operations on names into the durable directories, and reports the others.
    fn keep_names(
        &mut self,
        names: &NameLog,
        kept: &BTreeSet<u64>,
        report: &mut CrashReport,
        paths: &mut Option<BTreeMap<InodeId, String>>,
    ) {
        for (&sequence, ordered) in &names.ordered {
            let Ordered::Name(operation) = ordered else { continue };
            if !kept.contains(&sequence) {
                let what = self.lost_name(&operation.change, paths);
                report.lost += 1;
                report.losses.push(Loss { sequence, inode: operation.change.inode(), what });
                continue;
            }
            report.kept += 1;
            match &operation.change {
                NameChange::Link { name, inode } => self.put_entry(name, Some(*inode)),
                NameChange::Unlink { name, .. } => self.put_entry(name, None),
                NameChange::Rename { from, to, inode, .. } => {
                    self.put_entry(from, None);
                    self.put_entry(to, Some(*inode));
                }
            }
        }
    }

    fn put_entry(&mut self, name: &Name, inode: Option<InodeId>) {
        let Some(directory) = self.inodes.get_mut(&name.0) else { return };
        let Node::Directory(node) = &mut Rc::make_mut(directory).node else { return };
        match inode {
            Some(inode) => node.durable.insert(Rc::clone(&name.1), inode),
            None => node.durable.remove(&name.1),
        };
    }

    /// How many names lead to each inode that a walk from the root finds in the durable directories, and the directory of
    /// the first. A directory that two names lead to keeps the first (fsck would do no better).
    fn count_links(&mut self) -> BTreeMap<InodeId, (u32, InodeId)> {
        let mut links = BTreeMap::from([(ROOT, (1, ROOT))]);
        let mut queue = VecDeque::from([ROOT]);
        let mut doubled: Vec<Name> = Vec::new();
        while let Some(directory) = queue.pop_front() {
            let Some(Node::Directory(node)) = self.inodes.get(&directory).map(|inode| &inode.node) else { continue };
            for (name, id) in &node.durable {
                let Some(inode) = self.inodes.get(id) else {
                    doubled.push((directory, Rc::clone(name)));
                    continue;
                };
                match links.get_mut(id) {
                    Some(_) if inode.is_directory() => doubled.push((directory, Rc::clone(name))),
                    Some((count, _)) => *count += 1,
                    None => {
                        links.insert(*id, (1, directory));
                        if inode.is_directory() {
                            queue.push_back(*id);
                        }
                    }
                }
            }
        }
        for name in &doubled {
            self.put_entry(name, None);
            self.show_durable_entries(name.0);
        }
        links
    }

    /// Makes what is kept of a file the content of both images. It is made anew, so that an image never copies the log.
    fn settle_file(&mut self, id: InodeId, fates: &[ItemFate]) {
        let Some(old) = self.inodes.get(&id) else { return };
        let Node::File(file) = &old.node else { return };
        let content = content_after(file, fates);
        let settled = FileNode {
            logged_len: content.len(),
            visible: content.clone(),
            durable: content,
            log: DataLog::default(),
            is_diverged: false,
            torn: Vec::new(),
        };
        let mut inode = Inode::new(Node::File(settled), old.parent, old.modified_ns);
        inode.links = old.links;
        inode.durable_links = old.durable_links;
        self.inodes.insert(id, Rc::new(inode));
    }

    /// Makes the durable entries the visible ones, in the directories that had operations pending.
    fn settle_directories(&mut self, names: &NameLog) {
        let mut touched = BTreeSet::new();
        for ordered in names.ordered.values() {
            let Ordered::Name(operation) = ordered else { continue };
            let (first, second) = operation.change.names();
            touched.insert(first.0);
            touched.extend(second.map(|name| name.0));
            if let Some(inode) = self.inodes.get_mut(&operation.change.inode())
                && inode.pending_names > 0
            {
                Rc::make_mut(inode).pending_names = 0;
            }
        }
        for id in touched {
            self.show_durable_entries(id);
        }
    }

    fn show_durable_entries(&mut self, id: InodeId) {
        if let Some(inode) = self.inodes.get_mut(&id)
            && let Node::Directory(node) = &mut Rc::make_mut(inode).node
        {
            node.visible = node.durable.clone();
            node.pending.clear();
        }
    }

    /// Drops what no name leads to, and sets the link counts of the rest.
    fn settle_links(&mut self, links: &BTreeMap<InodeId, (u32, InodeId)>) {
        self.inodes.retain(|id, _| links.contains_key(id));
        let mut blocks_used = 0;
        for (id, inode) in &mut self.inodes {
            let Some(&(count, parent)) = links.get(id) else { continue };
            if (inode.links, inode.durable_links, inode.parent) != (count, count, parent) {
                let inode = Rc::make_mut(inode);
                inode.links = count;
                inode.durable_links = count;
                inode.parent = parent;
            }
            if let Node::File(file) = &inode.node {
                blocks_used += file.visible.present();
            }
        }
        self.blocks_used = blocks_used;
    }

    fn forget_processes(&mut self) {
        self.dirty.clear();
        self.diverged.clear();
        self.descriptors = Descriptors::default();
        self.flocks = FlockTable::default();
        self.range_locks = RangeLockTable::default();
        self.released.clear();
        self.dirty_bytes = 0;
        self.pending_count = 0;
        self.durable_version += 1;
    }

    /// The path of an inode as processes saw it; empty if it had none. The paths are walked once for each crash, and only
    /// if one is asked for.
    fn path_before(&self, paths: &mut Option<BTreeMap<InodeId, String>>, id: InodeId) -> String {
        paths.get_or_insert_with(|| self.visible_paths()).get(&id).cloned().unwrap_or_default()
    }

    fn lost_name(&self, change: &NameChange, paths: &mut Option<BTreeMap<InodeId, String>>) -> LostOperation {
        let mut path_of = |name: &Name| {
            let directory = self.path_before(paths, name.0);
            format!("{}/{}", directory.trim_end_matches('/'), name.1)
        };
        match change {
            NameChange::Link { name, .. } => LostOperation::Link { path: path_of(name) },
            NameChange::Unlink { name, .. } => LostOperation::Unlink { path: path_of(name) },
            NameChange::Rename { from, to, .. } => LostOperation::Rename { from: path_of(from), to: path_of(to) },
        }
    }
}

/// Counts what became of each operation on a file. If no name leads to the file any more, all is lost.
fn report_file(
    report: &mut CrashReport,
    inode: InodeId,
    file: &FileNode,
    fates: &[ItemFate],
    is_found: bool,
    mut path: impl FnMut() -> String,
) {
    for (item, fate) in file.log.items().iter().zip(fates) {
        let what = match item.change {
            DataChange::SetLen { .. } if fate.is_size_kept && is_found => None,
            DataChange::SetLen { len } => Some(LostOperation::SetLen { path: path(), len_bytes: len }),
            DataChange::Write { offset, len, extends, .. } => {
                let kept_bytes = if is_found { kept_bytes(offset, len as u64, &fate.sectors) } else { 0 };
                let is_size_lost = extends && !(fate.is_size_kept && is_found);
                (kept_bytes < len as u64 || is_size_lost).then(|| LostOperation::Write {
                    path: path(),
                    offset,
                    len_bytes: len as u64,
                    kept_bytes,
                    is_size_lost,
                })
            }
        };
        match what {
            None => report.kept += 1,
            Some(what) => {
                match &what {
                    LostOperation::Write { kept_bytes: 1.., .. } => report.torn += 1,
                    LostOperation::Write { is_size_lost: false, .. } if !file_grows(&item.change) => report.lost += 1,
                    LostOperation::Write { is_size_lost: false, .. } => report.torn += 1,
                    _ => report.lost += 1,
                }
                report.losses.push(Loss { sequence: item.sequence, inode, what });
            }
        }
    }
}

fn file_grows(change: &DataChange) -> bool {
    matches!(change, DataChange::Write { extends: true, .. })
}

/// How many bytes of a write lie in sectors that are kept.
fn kept_bytes(offset: u64, len: u64, sectors: &[bool]) -> u64 {
    let first = offset / super::block::SECTOR_BYTES;
    let kept = sectors.iter().enumerate().filter(|(_, is_kept)| **is_kept);
    kept.map(|(index, _)| {
        let start = (first + index as u64) * super::block::SECTOR_BYTES;
        (start + super::block::SECTOR_BYTES).min(offset + len) - start.max(offset)
    })
    .sum()
}
