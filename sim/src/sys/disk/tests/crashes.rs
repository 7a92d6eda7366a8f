//! What a machine crash keeps and loses, profile by profile, and what the disk answers about it beforehand.

use std::collections::BTreeSet;

use super::super::{CrashMode, LockMode, OpenFlags, Persistence};
use super::{ALICE, PROFILES, disk, draw, durable_file, open, over_crashes};
use crate::errno::Errno;

#[test]
fn an_unsynced_write_is_really_lost_and_a_synced_one_never() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", b"old")?;
        disk.pwrite(ALICE, fd, 0, b"new")?;
        let inode = disk.inode_of_fd(ALICE, fd)?;
        assert!(!disk.is_range_durable(inode, 0, 3) && disk.is_range_durable(inode, 3, 0));
        let seen = over_crashes(&disk, |image| image.visible_read("/a"));
        assert_eq!(seen, [Some(b"new".to_vec()), Some(b"old".to_vec())], "{persistence:?}");
        disk.fsync(ALICE, fd)?;
        assert!(disk.is_range_durable(inode, 0, 3) && disk.is_entry_durable("/a"));
        assert_eq!(over_crashes(&disk, |image| image.visible_read("/a")), [Some(b"new".to_vec())]);
    }
    Ok(())
}

#[test]
fn a_new_file_needs_its_directory_synced_under_posix_only() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = open(&mut disk, "/a")?;
        disk.write(ALICE, fd, b"data")?;
        disk.fsync(ALICE, fd)?;
        let is_kept = persistence != Persistence::Posix;
        assert_eq!(disk.is_entry_durable("/a"), is_kept, "{persistence:?}");
        assert_eq!(over_crashes(&disk, |image| image.visible_read("/a").is_some()).contains(&false), !is_kept);
        disk.fsync_with_new_entry(ALICE, fd)?;
        assert!(disk.is_entry_durable("/a"));
        assert_eq!(disk.durable_read("/a"), Some(b"data".to_vec()));
    }
    Ok(())
}

#[test]
fn a_crash_may_leave_the_length_and_lose_the_data() -> Result<(), Errno> {
    for (persistence, can_be_zeros) in
        [(Persistence::Strict, false), (Persistence::Ext4, true), (Persistence::Posix, true)]
    {
        let mut disk = disk(persistence);
        let fd = open(&mut disk, "/new")?;
        disk.write(ALICE, fd, b"important")?;
        disk.rename("/new", "/state")?;
        let has_zeros = over_crashes(&disk, |image| image.files().any(|(_, inode, _)| image.is_all_zero(inode)));
        assert_eq!(has_zeros.contains(&true), can_be_zeros, "{persistence:?}");
    }
    Ok(())
}

#[test]
fn ext4_flushes_before_a_rename_over_a_file() -> Result<(), Errno> {
    for (persistence, is_whole) in [(Persistence::Ext4, true), (Persistence::Posix, false)] {
        let mut disk = disk(persistence);
        durable_file(&mut disk, "/state", b"old")?;
        let fd = open(&mut disk, "/new")?;
        disk.write(ALICE, fd, b"new")?;
        disk.rename("/new", "/state")?;
        let seen = over_crashes(&disk, |image| image.visible_read("/state"));
        let is_either = |seen: &Option<Vec<u8>>| [Some(b"old".to_vec()), Some(b"new".to_vec())].contains(seen);
        assert_eq!(seen.iter().all(is_either), is_whole, "{persistence:?}: {seen:?}");
    }
    Ok(())
}

#[test]
fn an_acknowledged_rename_is_lost_without_the_directory_sync() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    durable_file(&mut disk, "/state", b"old")?;
    let new = durable_file(&mut disk, "/new", b"new")?;
    disk.rename("/new", "/state")?;
    disk.fsync(ALICE, new)?;
    assert!(!disk.is_entry_durable("/state"));
    let seen = over_crashes(&disk, |image| (image.visible_read("/state"), image.visible_read("/new")));
    assert_eq!(seen, [(Some(b"new".to_vec()), None), (Some(b"old".to_vec()), Some(b"new".to_vec()))]);
    let root = disk.open(ALICE, "/", OpenFlags::DIRECTORY)?;
    disk.fsync(ALICE, root)?;
    assert!(disk.is_entry_durable("/state"));
    assert_eq!(over_crashes(&disk, |image| image.visible_read("/state")), [Some(b"new".to_vec())]);
    Ok(())
}

#[test]
fn posix_tears_writes_at_sectors() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = durable_file(&mut disk, "/a", &[1; 1536])?;
    disk.pwrite(ALICE, fd, 0, &[2; 1536])?;
    let sectors = |bytes: Vec<u8>| -> Vec<u8> {
        assert!(bytes.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        bytes.chunks(512).map(|sector| sector[0]).collect()
    };
    let seen = over_crashes(&disk, |image| image.visible_read("/a").map(sectors));
    assert_eq!(seen.len(), 8, "each subset of three sectors: {seen:?}");
    Ok(())
}

#[test]
fn a_crash_ends_processes_and_locks() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Ext4);
    let fd = durable_file(&mut disk, "/a", b"x")?;
    disk.try_flock(ALICE, fd, LockMode::Exclusive)?;
    disk.try_lock_range(ALICE, fd, 0, 0, LockMode::Exclusive)?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.crash(&mut draw(1));
    assert_eq!(disk.fstat(ALICE, fd), Err(Errno::BadDescriptor));
    assert!(disk.flock_holders(inode).is_empty() && disk.range_locks(inode).is_empty());
    assert!(disk.take_released().is_empty());
    assert_eq!(disk.inode_of("/a"), Some(inode), "what survives keeps its number");
    let fd = open(&mut disk, "/b")?;
    assert!(disk.inode_of_fd(ALICE, fd)? > inode);
    Ok(())
}

#[test]
fn an_unlinked_file_comes_back_with_its_data() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/journal", b"hot")?;
        disk.close(ALICE, fd)?;
        disk.unlink("/journal")?;
        assert_eq!(disk.used_bytes(), 0);
        let seen = over_crashes(&disk, |image| image.visible_read("/journal"));
        assert_eq!(seen, [None, Some(b"hot".to_vec())], "{persistence:?}");
        let space = over_crashes(&disk, |image| image.used_bytes());
        assert_eq!(space, [0, 4096], "and takes up space again");
    }
    Ok(())
}

#[test]
fn reports_say_what_was_lost() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = durable_file(&mut disk, "/a", b"old")?;
    disk.pwrite(ALICE, fd, 0, b"longer")?;
    disk.mkdir("/d")?;
    disk.rename("/a", "/d/b")?;
    let reports: Vec<_> = (0..100).map(|number| disk.crash_image(&mut draw(number)).1).collect();
    let nothing = reports.iter().find(|report| report.mode == CrashMode::Nothing).ok_or(Errno::NoEntry)?;
    assert_eq!((nothing.kept, nothing.lost, nothing.torn), (0, 3, 0));
    let words: Vec<String> = nothing.losses.iter().map(|loss| loss.to_string()).collect();
    assert_eq!(
        words,
        [
            "lost the write of 6 bytes at 0 of /d/b, and the length it gave",
            "lost the name /d",
            "lost the rename of /a to /d/b"
        ]
    );
    let everything = reports.iter().find(|report| report.mode == CrashMode::Everything).ok_or(Errno::NoEntry)?;
    assert_eq!((everything.kept, everything.lost, everything.losses.len()), (3, 0, 0));
    assert_eq!(disk.pending(disk.inode_of("/d/b").ok_or(Errno::NoEntry)?).len(), 1);
    Ok(())
}

#[test]
fn an_image_and_its_disk_go_separate_ways() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = durable_file(&mut disk, "/a", &[1; 10_000])?;
    let (mut image, _) = disk.crash_image(&mut draw(0));
    disk.pwrite(ALICE, fd, 5000, &[2; 10])?;
    assert_eq!(image.visible_read("/a"), Some(vec![1; 10_000]));
    let in_image = open(&mut image, "/a")?;
    image.pwrite(ALICE, in_image, 0, &[3; 10])?;
    image.fsync(ALICE, in_image)?;
    disk.fsync(ALICE, fd)?;
    let mut expected = vec![1; 10_000];
    expected[5000..5010].fill(2);
    assert_eq!(disk.visible_read("/a"), Some(expected.clone()));
    assert_eq!(disk.durable_read("/a"), Some(expected));
    Ok(())
}

#[test]
fn digests_tell_images_apart_and_nothing_else() -> Result<(), Errno> {
    let mut one = disk(Persistence::Posix);
    let mut two = disk(Persistence::Ext4);
    durable_file(&mut one, "/a", &[0; 5000])?;
    let fd = durable_file(&mut two, "/b", b"x")?;
    two.set_len(ALICE, fd, 0)?;
    two.set_len(ALICE, fd, 5000)?;
    two.rename("/b", "/a")?;
    assert_eq!(one.visible_digest(), two.visible_digest(), "zeros and a gap are the same bytes");
    assert_ne!(one.durable_digest(), two.durable_digest());
    two.write_back();
    assert_eq!(one.durable_digest(), two.durable_digest());
    let (before, version) = (two.durable_digest(), two.durable_version());
    two.pwrite(ALICE, fd, 4999, b"y")?;
    assert_eq!((two.durable_digest(), two.durable_version()), (before, version));
    assert_ne!(two.visible_digest(), one.visible_digest(), "one byte shows");
    two.fsync(ALICE, fd)?;
    assert_eq!(two.durable_digest(), two.visible_digest());
    one.link("/a", "/b")?;
    let linked = one.visible_digest();
    one.unlink("/b")?;
    durable_file(&mut one, "/b", &[0; 5000])?;
    assert_ne!(one.visible_digest(), linked, "a hard link is no copy");
    Ok(())
}

#[test]
fn an_fsync_after_a_cut_forgets_what_was_cut_off() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", &[1; 1000])?;
        disk.set_len(ALICE, fd, 100)?;
        disk.pwrite(ALICE, fd, 5000, &[2; 10])?;
        disk.fsync(ALICE, fd)?;
        let bytes = disk.durable_read("/a").ok_or(Errno::NoEntry)?;
        assert!(bytes[100..5000].iter().all(|byte| *byte == 0), "{persistence:?}");
        assert_eq!(Some(bytes), disk.visible_read("/a"));
    }
    Ok(())
}

#[test]
fn a_range_is_durable_only_if_no_crash_can_change_it() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", b"same")?;
        let inode = disk.inode_of_fd(ALICE, fd)?;
        disk.pwrite(ALICE, fd, 0, b"same")?;
        assert!(disk.is_range_durable(inode, 0, 4), "writing the bytes that are there changes nothing");
        disk.pwrite(ALICE, fd, 0, b"other")?;
        disk.pwrite(ALICE, fd, 0, b"same")?;
        assert!(!disk.is_range_durable(inode, 0, 4), "a crash may leave what was there for a moment");
        assert!(over_crashes(&disk, |image| image.visible_read("/a")).len() > 1);
        disk.fsync(ALICE, fd)?;
        assert!(disk.is_range_durable(inode, 0, 5) && !disk.is_range_durable(inode, 0, 6));
    }
    Ok(())
}

#[test]
fn every_mode_is_drawn() {
    let modes = |persistence| {
        let disk = disk(persistence);
        let drawn: BTreeSet<CrashMode> = (0..200).map(|number| disk.crash_image(&mut draw(number)).1.mode).collect();
        drawn.len()
    };
    assert_eq!(PROFILES.map(modes), [3, 8, 8]);
}
