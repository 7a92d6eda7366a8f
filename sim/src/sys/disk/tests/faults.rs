//! Each fault really happens: what it promises to break is broken.

use super::super::{Disk, OpenFlags, Persistence};
use super::{ALICE, BOB, PROFILES, disk, draw, durable_file, open, over_crashes};
use crate::errno::Errno;

#[test]
fn a_short_write_keeps_a_prefix() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    assert_eq!(disk.pwrite_short(ALICE, fd, 0, b"whole", 2)?, 2);
    assert_eq!(disk.write_short(ALICE, fd, b"WHOLE", 1)?, 1);
    assert_eq!(disk.write(ALICE, fd, b"!")?, 1);
    assert_eq!(disk.visible_read("/a"), Some(b"W!".to_vec()));
    Ok(())
}

#[test]
fn a_full_disk_can_be_injected() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    assert_eq!(disk.pwrite_no_space(ALICE, fd, 0, b"data", 3)?, 3);
    assert_eq!(disk.pwrite_no_space(ALICE, fd, 3, b"data", 0), Err(Errno::NoSpace));
    assert_eq!(disk.write_no_space(ALICE, fd, b"data", 0), Err(Errno::NoSpace));
    assert_eq!(disk.visible_read("/a"), Some(b"dat".to_vec()));
    Ok(())
}

#[test]
fn an_input_output_error_has_no_effect() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = durable_file(&mut disk, "/a", b"data")?;
    assert_eq!(disk.write_failed(ALICE, fd), Errno::Io);
    assert_eq!(disk.read_failed(ALICE, fd), Errno::Io);
    disk.close(ALICE, fd)?;
    assert_eq!(disk.write_failed(ALICE, fd), Errno::BadDescriptor);
    assert_eq!(disk.visible_read("/a"), Some(b"data".to_vec()));
    assert_eq!(disk.pending_count(), 0);
    Ok(())
}

#[test]
fn a_lying_fsync_makes_nothing_durable() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", b"old")?;
        disk.pwrite(ALICE, fd, 0, b"new")?;
        disk.fsync_lying(ALICE, fd)?;
        let seen = over_crashes(&disk, |image| image.visible_read("/a"));
        assert!(seen.contains(&Some(b"old".to_vec())), "{persistence:?}");
        disk.fsync(ALICE, fd)?;
        assert_eq!(over_crashes(&disk, |image| image.visible_read("/a")), [Some(b"new".to_vec())]);
    }
    Ok(())
}

#[test]
fn a_failed_fsync_shows_new_data_until_eviction() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", b"old")?;
        let inode = disk.inode_of_fd(ALICE, fd)?;
        disk.pwrite(ALICE, fd, 0, b"newer")?;
        assert_eq!(disk.fsync_failed(ALICE, fd), Errno::Io);
        assert_eq!(disk.pending_count(), 0, "the pages are marked clean");
        disk.fsync(ALICE, fd)?;
        assert_eq!(disk.visible_read("/a"), Some(b"newer".to_vec()), "reads go on showing it");
        assert!(!disk.is_range_durable(inode, 0, 3) && !disk.is_range_durable(inode, 0, 5));
        assert_eq!(over_crashes(&disk, |image| image.visible_read("/a")), [Some(b"old".to_vec())]);
        assert!(disk.evict(inode));
        assert_eq!(disk.visible_read("/a"), Some(b"old".to_vec()), "{persistence:?}");
        assert!(!disk.evict(inode));
        assert!(disk.is_range_durable(inode, 0, 3));
    }
    Ok(())
}

#[test]
fn a_failed_fsync_is_reported_once_through_each_open_description() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Ext4);
    let mine = durable_file(&mut disk, "/a", b"old")?;
    let theirs = disk.open(BOB, "/a", OpenFlags::READ_WRITE)?;
    disk.pwrite(BOB, theirs, 0, b"new")?;
    assert_eq!(disk.fsync_failed(ALICE, mine), Errno::Io);
    let later = disk.open(BOB, "/a", OpenFlags::READ_WRITE)?;
    assert_eq!(disk.fsync(BOB, theirs), Err(Errno::Io), "their bytes are lost, so they must hear of it");
    assert_eq!(disk.fsync(BOB, theirs), Ok(()), "once");
    assert_eq!(disk.fsync(ALICE, mine), Ok(()), "it has been told");
    assert_eq!(disk.fsync(BOB, later), Ok(()), "opened after the failure had been reported");
    assert_eq!(disk.durable_read("/a"), Some(b"old".to_vec()));
    Ok(())
}

#[test]
fn eviction_keeps_what_was_written_after_the_failure() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", b"..")?;
        let inode = disk.inode_of_fd(ALICE, fd)?;
        disk.pwrite(ALICE, fd, 2, b"lost")?;
        disk.fsync_failed(ALICE, fd);
        disk.pwrite(ALICE, fd, 4, b"kept")?;
        assert_eq!(disk.visible_read("/a"), Some(b"..lokept".to_vec()));
        disk.pwrite(ALICE, fd, 0, b"::")?;
        let crashed = over_crashes(&disk, |image| image.visible_read("/a"));
        assert!(crashed.contains(&Some(b"::\0\0kept".to_vec())), "{persistence:?}: {crashed:?}");
        disk.fsync(ALICE, fd)?;
        disk.evict(inode);
        assert_eq!(disk.visible_read("/a"), Some(b"::\0\0kept".to_vec()), "{persistence:?}");
        assert_eq!(disk.durable_read("/a"), disk.visible_read("/a"));
    }
    Ok(())
}

#[test]
fn eviction_shows_what_is_pending_on_top_of_what_is_durable() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = durable_file(&mut disk, "/a", b"....")?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.pwrite(ALICE, fd, 0, b"xx")?;
    disk.fsync_failed(ALICE, fd);
    disk.pwrite(ALICE, fd, 3, b"yy")?;
    disk.evict(inode);
    assert_eq!(disk.visible_read("/a"), Some(b"...yy".to_vec()));
    assert_eq!(disk.pending_count(), 1);
    Ok(())
}

#[test]
fn a_failed_fsync_of_a_directory_keeps_its_entries_pending() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    disk.mkdir("/d")?;
    let root = disk.open(ALICE, "/", OpenFlags::DIRECTORY)?;
    assert_eq!(disk.fsync_failed(ALICE, root), Errno::Io);
    assert!(!disk.is_entry_durable("/d"));
    disk.fsync(ALICE, root)?;
    assert!(disk.is_entry_durable("/d"));
    Ok(())
}

#[test]
fn a_marked_range_tears_at_the_next_crash() -> Result<(), Errno> {
    for persistence in PROFILES {
        let mut disk = disk(persistence);
        let fd = durable_file(&mut disk, "/a", &[1; 2048])?;
        let inode = disk.inode_of_fd(ALICE, fd)?;
        disk.pwrite(ALICE, fd, 0, &[2; 4096])?;
        disk.tear_next_crash(inode, 0, 4096)?;
        for number in 0..200 {
            let (image, report) = disk.crash_image(&mut draw(number));
            let bytes = image.visible_read("/a").ok_or(Errno::NoEntry)?;
            let new = bytes.chunks(512).filter(|sector| sector[0] == 2).count();
            assert!((1..8).contains(&new), "{persistence:?}: {new} of 8 sectors are new");
            assert_eq!((report.torn, report.lost), (1, 0));
        }
        let torn = disk.crash_image(&mut draw(1)).0;
        let once = over_crashes(&torn, |image| image.visible_read("/a"));
        assert_eq!(once.len(), 1, "the mark is gone after the crash");
        disk.fsync(ALICE, fd)?;
        disk.pwrite(ALICE, fd, 0, &[3; 1024])?;
        let seen = over_crashes(&disk, |image| image.visible_read("/a").map(|bytes| (bytes[0], bytes[512])));
        assert!(seen.contains(&Some((3, 3))), "an honest fsync takes the mark away");
    }
    Ok(())
}

#[test]
fn bit_rot_is_in_every_image() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Ext4);
    let fd = durable_file(&mut disk, "/a", b"aaaa")?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.pwrite(ALICE, fd, 2, b"cc")?;
    let before = disk.durable_digest();
    disk.rot(inode, 2, 1)?;
    assert_ne!(disk.durable_digest(), before);
    assert_eq!(disk.visible_read("/a"), Some(b"aaac".to_vec()));
    let seen = over_crashes(&disk, |image| image.visible_read("/a"));
    assert_eq!(seen, [Some(b"aaac".to_vec()), Some(b"aaca".to_vec())]);
    assert_eq!(disk.rot(inode, 4, 0), Err(Errno::Invalid));
    Ok(())
}

#[test]
fn faults_leave_other_files_alone() -> Result<(), Errno> {
    let mut disk: Disk = disk(Persistence::Ext4);
    let one = durable_file(&mut disk, "/one", b"1")?;
    let two = durable_file(&mut disk, "/two", b"2")?;
    disk.pwrite(ALICE, one, 0, b"x")?;
    disk.pwrite(ALICE, two, 0, b"y")?;
    disk.fsync_failed(ALICE, one);
    disk.fsync(ALICE, two)?;
    assert_eq!(disk.durable_read("/two"), Some(b"y".to_vec()));
    assert_eq!(disk.durable_read("/one"), Some(b"1".to_vec()));
    Ok(())
}
