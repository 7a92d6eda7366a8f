//! Planted bugs of the disk: each breaks its promise, and nothing else.

use super::super::{Disk, DiskFlaw, DiskOptions, OpenFlags, Persistence};
use super::{ALICE, PROFILES, durable_file, open, over_crashes};
use crate::errno::Errno;

fn flawed(persistence: Persistence, flaw: Option<DiskFlaw>) -> Disk {
    Disk::new(persistence, DiskOptions { flaw, ..DiskOptions::default() })
}

#[test]
fn a_sync_leaves_the_last_write() -> Result<(), Errno> {
    let after_sync = |persistence, flaw| -> Result<_, Errno> {
        let mut disk = flawed(persistence, flaw);
        let fd = durable_file(&mut disk, "/a", b"----")?;
        disk.pwrite(ALICE, fd, 0, b"12")?;
        disk.pwrite(ALICE, fd, 2, b"34")?;
        disk.fsync(ALICE, fd)?;
        Ok(over_crashes(&disk, |image| image.visible_read("/a")))
    };
    for persistence in PROFILES {
        assert_eq!(after_sync(persistence, None)?, [Some(b"1234".to_vec())]);
        let seen = after_sync(persistence, Some(DiskFlaw::SyncLeavesLastWrite))?;
        assert!(seen.contains(&Some(b"12--".to_vec())), "{persistence:?}: {seen:?}");
        assert!(
            seen.iter().flatten().all(|bytes| bytes.starts_with(b"12")),
            "what came before it is durable: {seen:?}"
        );
    }
    Ok(())
}

#[test]
fn a_directory_s_sync_leaves_what_replaces_a_file() -> Result<(), Errno> {
    let after_sync = |persistence, flaw| -> Result<_, Errno> {
        let mut disk = flawed(persistence, flaw);
        durable_file(&mut disk, "/a", b"old")?;
        let fd = open(&mut disk, "/b")?;
        disk.pwrite(ALICE, fd, 0, b"new")?;
        disk.fsync(ALICE, fd)?;
        disk.rename("/b", "/a")?;
        let root = disk.open(ALICE, "/", OpenFlags::DIRECTORY)?;
        disk.fsync(ALICE, root)?;
        Ok(over_crashes(&disk, |image| image.visible_read("/a")))
    };
    for persistence in PROFILES {
        assert_eq!(after_sync(persistence, None)?, [Some(b"new".to_vec())]);
        let seen = after_sync(persistence, Some(DiskFlaw::SyncLeavesReplacements))?;
        assert!(seen.contains(&Some(b"old".to_vec())), "{persistence:?}: {seen:?}");
    }
    Ok(())
}

#[test]
fn flaws_are_found_by_name() {
    assert!(DiskFlaw::ALL.into_iter().all(|flaw| DiskFlaw::parse(flaw.name()) == Some(flaw)));
    assert_eq!(DiskFlaw::parse("none"), None);
}
