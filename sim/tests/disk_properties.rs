//! Properties of the simulated disk, against naive references: every crash image is allowed, all allowed ones are reached,
//! and locks are granted and released as the manual pages say. Single behaviours are tested beside the code.

mod disk_reference;

use std::collections::BTreeSet;

use disk_reference::locks::{LockReference, any_lock_operation};
use disk_reference::operations::{Operation, PATHS, SETUP, any_move, any_operation, perform};
use disk_reference::{Reference, Snapshot, snapshot};
use proptest::prelude::*;
use seedstorm_sim::seed::Seed;
use seedstorm_sim::sys::disk::{Disk, DiskOptions, Persistence};

const PROFILES: [Persistence; 3] = [Persistence::Strict, Persistence::Ext4, Persistence::Posix];

fn any_profile() -> impl Strategy<Value = Persistence> {
    prop_oneof![Just(Persistence::Strict), Just(Persistence::Ext4), Just(Persistence::Posix)]
}

/// Crash images of `disk` are allowed, leave the disk alone, and agree with its answers about durability.
fn check_crashes(disk: &Disk, reference: &Reference, seed: u64, count: u64) {
    let allowed = reference.allowed();
    let visible = disk.visible_digest();
    for draw in 0..count {
        let mut stream = Seed(seed).stream_of("crash", seedstorm_sim::seed::Path::RUN, draw);
        let (image, report) = disk.crash_image(&mut stream);
        let found = snapshot(&image);
        assert!(
            allowed.iter().any(|allowed| allowed.contains(&found)),
            "{:?} may not leave {:?} after {:#?} ({report:#?})",
            disk.persistence(),
            summary(&found),
            reference.log,
        );
        assert_eq!(image.durable_digest(), image.visible_digest(), "after a crash there is one image");
        assert_eq!(image.pending_count(), 0);
        assert!(image.used_bytes() <= blocks_of(&image), "no space is lost by a crash");
    }
    assert_eq!(disk.visible_digest(), visible, "a crash image changes nothing");
    for path in PATHS {
        let Some(id) = reference.resolve(path) else { continue };
        let is_entry_durable = allowed.iter().all(|allowed| allowed.tree.get(path) == Some(&id));
        if disk.is_entry_durable(path) {
            assert!(is_entry_durable, "{path} may be lost after {:#?}", reference.log);
        }
        let Some(bytes) = reference.files.get(&id) else { continue };
        let inode = disk.inode_of(path).expect("the reference has it");
        for (start, end) in [(0, 100), (100, 512), (0, 700), (512, 1024), (700, 4500), (0, 0), (0, bytes.len())] {
            let survives = |content: &Vec<u8>| {
                content.len() >= end && bytes.len() >= end && content[start..end] == bytes[start..end]
            };
            let expected = allowed.iter().all(|allowed| allowed.contents[&id].iter().all(survives));
            let answer = disk.is_range_durable(inode, start as u64, (end - start) as u64);
            assert_eq!(answer, expected, "is {start}..{end} of {path} durable after {:#?}", reference.log);
        }
    }
}

fn blocks_of(disk: &Disk) -> u64 {
    let distinct: BTreeSet<_> = disk.files().map(|(_, inode, len)| (inode, len)).collect();
    distinct.iter().map(|(_, len)| len.div_ceil(4096) * 4096).sum()
}

/// An image without its bytes, for messages.
fn summary(image: &Snapshot) -> Vec<(String, String)> {
    let describe = |bytes: &Option<Vec<u8>>| match bytes {
        None => "directory".to_owned(),
        Some(bytes) => {
            let runs = bytes.chunk_by(|one, two| one == two).map(|run| format!("{}*{}", run.len(), run[0]));
            runs.collect::<Vec<_>>().join(" ")
        }
    };
    image.iter().map(|(path, bytes)| (path.clone(), describe(bytes))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Processes see what POSIX says; a crash leaves only what the profile allows; a second boot on it does so again.
    #[test]
    fn every_crash_image_is_allowed(
        profile in any_profile(),
        operations in prop::collection::vec(any_operation(), 1..36),
        seed in any::<u64>(),
    ) {
        let mut disk = Disk::new(profile, DiskOptions::default());
        let mut reference = Reference::new(profile);
        let (first_boot, second_boot) = operations.split_at(operations.len() * 2 / 3);
        for operation in SETUP.iter().chain(first_boot) {
            perform(&mut disk, &mut reference, operation);
            prop_assert_eq!(snapshot(&disk), reference.snapshot(), "what processes see after {:?}", operation);
        }
        check_crashes(&disk, &reference, seed, 24);
        disk.crash(&mut Seed(seed).stream("boot"));
        reference = Reference::restart(&disk);
        for operation in second_boot {
            perform(&mut disk, &mut reference, operation);
            prop_assert_eq!(snapshot(&disk), reference.snapshot(), "what processes see after {:?}", operation);
        }
        check_crashes(&disk, &reference, seed ^ 1, 24);
        disk.write_back();
        prop_assert_eq!(disk.pending_count(), 0);
    }

    /// The same calls and draws give the same images, whatever the inode numbers.
    #[test]
    fn crashes_repeat(
        profile in any_profile(),
        operations in prop::collection::vec(any_operation(), 1..30),
        seed in any::<u64>(),
    ) {
        let build = |is_shifted: bool| {
            let mut disk = Disk::new(profile, DiskOptions::default());
            if is_shifted {
                disk.mkdir("/gone").expect("it is new");
                disk.write_back();
                disk.rmdir("/gone").expect("it is empty");
                disk.write_back();
            }
            let mut reference = Reference::new(profile);
            for operation in SETUP.iter().chain(&operations) {
                perform(&mut disk, &mut reference, operation);
            }
            disk
        };
        let (one, two) = (build(false), build(true));
        prop_assert_eq!(one.visible_digest(), two.visible_digest());
        prop_assert_eq!(one.durable_digest(), two.durable_digest());
        for draw in 0..8 {
            let mut image = build(false);
            let path = seedstorm_sim::seed::Path::RUN;
            let report = image.crash(&mut Seed(seed).stream_of("crash", path, draw));
            let (copy, copy_report) = one.crash_image(&mut Seed(seed).stream_of("crash", path, draw));
            let (shifted, _) = two.crash_image(&mut Seed(seed).stream_of("crash", path, draw));
            prop_assert_eq!(image.durable_digest(), copy.durable_digest());
            prop_assert_eq!(image.durable_digest(), shifted.durable_digest());
            prop_assert_eq!(report, copy_report);
        }
    }

    /// A file whose name and data are durable, and which is only renamed after that, is in some place after every crash.
    #[test]
    fn a_renamed_file_is_never_lost(
        profile in any_profile(),
        moves in prop::collection::vec(any_move(), 1..40),
        seed in any::<u64>(),
    ) {
        let mut disk = Disk::new(profile, DiskOptions::default());
        let mut reference = Reference::new(profile);
        let marked = Operation::Write { path: 0, offset: 0, len: 3, byte: 77 };
        for operation in [Operation::Create(0), marked, Operation::Sync(0), Operation::SyncRoot] {
            perform(&mut disk, &mut reference, &operation);
        }
        let id = reference.resolve(PATHS[0]).expect("it was created");
        for operation in &moves {
            if let Operation::Rename(_, to) | Operation::Unlink(to) = operation
                && reference.resolve(PATHS[*to]) == Some(id)
            {
                continue;
            }
            perform(&mut disk, &mut reference, operation);
            let mut stream = Seed(seed).stream_of("crash", seedstorm_sim::seed::Path::RUN, disk.pending_count());
            let (image, _) = disk.crash_image(&mut stream);
            let places = image.files().filter(|(path, _, _)| image.visible_read(path) == Some(vec![77; 3])).count();
            prop_assert_eq!(places, 1, "after {:#?}", &reference.log);
        }
    }

    /// Locks are granted, refused, split, merged and released as flock(2) and fcntl(2) say.
    #[test]
    fn locks_follow_the_manual(operations in prop::collection::vec(any_lock_operation(), 1..60)) {
        let mut reference = LockReference::new();
        for operation in &operations {
            reference.perform(operation);
        }
    }
}

/// Runs the operations and draws crashes until every allowed image was seen; fails on any other.
fn check_all_reached(profile: Persistence, operations: &[Operation]) {
    let mut disk = Disk::new(profile, DiskOptions::default());
    let mut reference = Reference::new(profile);
    for operation in operations {
        perform(&mut disk, &mut reference, operation);
    }
    let expected: BTreeSet<Snapshot> = reference.allowed().iter().flat_map(|allowed| allowed.images()).collect();
    let mut missing = expected.clone();
    for draw in 0..40_000 {
        let (image, _) = disk.crash_image(&mut Seed(draw).stream("reach"));
        let found = snapshot(&image);
        assert!(expected.contains(&found), "{profile:?} may not leave {:?}", summary(&found));
        missing.remove(&found);
        if missing.is_empty() {
            return;
        }
    }
    let shown: Vec<_> = missing.iter().take(3).map(summary).collect();
    panic!("{profile:?}: {} of {} images never occurred, among them {shown:#?}", missing.len(), expected.len());
}

#[test]
fn every_allowed_image_is_reached() {
    use Operation::{Create, Mkdir, Rename, Rmdir, SetLen, Sync, SyncRoot, Truncate, Unlink, Write};
    let write = |path, offset, len, byte| Write { path, offset, len, byte };
    let cases: [&[Operation]; 9] = [
        // A new file in two writes.
        &[Create(0), write(0, 0, 700, 1), write(0, 700, 700, 2)],
        // The safe replacement, and the one without an fsync.
        &[Create(0), write(0, 0, 9, 1), Sync(0), SyncRoot, Create(1), write(1, 0, 9, 2), Sync(1), Rename(1, 0)],
        &[Create(0), write(0, 0, 9, 1), Sync(0), SyncRoot, Create(1), write(1, 0, 9, 2), Rename(1, 0)],
        // In-place rewriting.
        &[Create(0), write(0, 0, 700, 1), Sync(0), SyncRoot, Truncate(0), write(0, 0, 512, 2)],
        // Overwriting over the border of a page.
        &[
            Create(0),
            write(0, 0, 1024, 1),
            SetLen(0, 4600),
            Sync(0),
            SyncRoot,
            write(0, 4000, 512, 2),
            write(0, 4096, 1, 3),
        ],
        // Names alone.
        &[Create(0), Create(1), Mkdir(3), Rename(0, 4), Unlink(1)],
        // A name used again.
        &[Create(0), SyncRoot, Rename(0, 1), Create(0), Rename(0, 2)],
        // A directory emptied by a rename, and removed.
        &[Mkdir(3), Create(4), Sync(3), SyncRoot, Rename(4, 1), Rmdir(3)],
        // A size change that cuts.
        &[Create(0), SyncRoot, write(0, 0, 512, 1), SetLen(0, 100), write(0, 100, 512, 2)],
    ];
    for operations in cases {
        for profile in PROFILES {
            check_all_reached(profile, operations);
        }
    }
}
