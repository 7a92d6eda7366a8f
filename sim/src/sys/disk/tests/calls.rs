//! What processes see: opening, reading, writing, names, space, and the death of a process.

use super::super::{Disk, DiskOptions, Fd, FileKind, LockMode, OpenFlags, Persistence};
use super::{ALICE, BOB, disk, open};
use crate::errno::Errno;

#[test]
fn descriptors_are_the_lowest_free_numbers() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    assert_eq!(open(&mut disk, "/a")?, Fd(0));
    assert_eq!(open(&mut disk, "/a")?, Fd(1));
    assert_eq!(disk.duplicate(ALICE, Fd(0))?, Fd(2));
    disk.close(ALICE, Fd(1))?;
    assert_eq!(open(&mut disk, "/b")?, Fd(1));
    assert_eq!(disk.open(BOB, "/a", OpenFlags::READ)?, Fd(0), "each owner has its own table");
    assert_eq!(disk.close(ALICE, Fd(7)), Err(Errno::BadDescriptor));
    Ok(())
}

#[test]
fn cursors_belong_to_open_descriptions() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    let duplicate = disk.duplicate(ALICE, fd)?;
    let other = open(&mut disk, "/a")?;
    assert_eq!(disk.write(ALICE, fd, b"hello ")?, 6);
    assert_eq!(disk.write(ALICE, duplicate, b"world")?, 5);
    let mut read = [0; 20];
    assert_eq!(disk.read(ALICE, other, &mut read)?, 11);
    assert_eq!(&read[..11], b"hello world");
    assert_eq!(disk.read(ALICE, other, &mut read)?, 0);
    assert_eq!(disk.pread(ALICE, fd, 6, &mut read[..3])?, 3);
    assert_eq!(&read[..3], b"wor");
    Ok(())
}

#[test]
fn what_is_read_onto_a_vector_is_what_a_read_gives() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = disk.open(ALICE, "/a", OpenFlags::READ_WRITE.create())?;
    // A block, a hole of two, and a part of a block; then nothing but length.
    disk.pwrite(ALICE, fd, 0, &[7; 4096])?;
    disk.pwrite(ALICE, fd, 3 * 4096 + 5, b"behind the hole")?;
    disk.set_len(ALICE, fd, 20_000)?;
    let (one, other) = (disk.open(ALICE, "/a", OpenFlags::READ)?, disk.open(ALICE, "/a", OpenFlags::READ)?);
    let mut onto = b"before".to_vec();
    for bytes_max in [1, 0, 4094, 5000, 8192, 8192, 10] {
        let (before, mut into) = (onto.clone(), vec![0; bytes_max]);
        let count = disk.read(ALICE, other, &mut into)?;
        assert_eq!(disk.read_onto(ALICE, one, bytes_max, &mut onto)?, count);
        assert_eq!(onto, [&before, &into[..count]].concat(), "{bytes_max} bytes");
    }
    assert_eq!(onto.len(), "before".len() + 20_000);
    let writer = disk.open(ALICE, "/a", OpenFlags::WRITE)?;
    assert_eq!(disk.read_onto(ALICE, writer, 1, &mut onto), Err(Errno::BadDescriptor));
    Ok(())
}

#[test]
fn appending_goes_to_the_end_whatever_the_offset() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let one = disk.open(ALICE, "/log", OpenFlags::WRITE.create().append())?;
    let two = disk.open(BOB, "/log", OpenFlags::WRITE.append())?;
    disk.write(ALICE, one, b"a")?;
    disk.write(BOB, two, b"b")?;
    disk.write(ALICE, one, b"c")?;
    disk.pwrite(BOB, two, 0, b"d")?;
    assert_eq!(disk.visible_read("/log"), Some(b"abcd".to_vec()));
    Ok(())
}

#[test]
fn a_file_lives_on_while_it_is_open() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.unlink("/a")?;
    assert_eq!(disk.stat("/a"), Err(Errno::NoEntry));
    disk.write(ALICE, fd, b"still here")?;
    let mut read = [0; 5];
    assert_eq!(disk.pread(ALICE, fd, 6, &mut read)?, 4);
    assert_eq!(disk.fstat(ALICE, fd)?.links, 0);
    let new = open(&mut disk, "/a")?;
    assert_ne!(disk.inode_of_fd(ALICE, new)?, inode, "inode numbers are not used again");
    Ok(())
}

#[test]
fn names_follow_posix() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    disk.mkdir("/d")?;
    disk.mkdir("/d/inner")?;
    for name in ["/d/z", "/d/a", "/d/m"] {
        let fd = open(&mut disk, name)?;
        disk.close(ALICE, fd)?;
    }
    assert_eq!(disk.read_dir("/d")?, ["a", "inner", "m", "z"]);
    assert_eq!(disk.stat("/d")?.kind, FileKind::Directory);
    assert_eq!(disk.mkdir("/d"), Err(Errno::Exists));
    assert_eq!(disk.mkdir("/"), Err(Errno::Exists));
    assert_eq!(disk.mkdir("/none/d"), Err(Errno::NoEntry));
    assert_eq!(disk.mkdir("/d/a/b"), Err(Errno::NotDirectory));
    assert_eq!(disk.mkdir("relative"), Err(Errno::Invalid));
    assert_eq!(disk.mkdir("/d/../e"), Err(Errno::Invalid));
    assert_eq!(disk.mkdir(&format!("/{}", "x".repeat(256))), Err(Errno::NameTooLong));
    assert_eq!(disk.mkdir("/d/a\0b"), Err(Errno::Invalid));
    assert_eq!(disk.stat("//d///a/")?.kind, FileKind::File);
    assert_eq!(disk.stat("/none/../a"), Err(Errno::NoEntry), "a path is checked as far as it is walked");
    assert_eq!(disk.mkdir("/none/../a"), Err(Errno::NoEntry));
    assert_eq!(disk.mkdir("/d/../a/b"), Err(Errno::Invalid));
    assert_eq!(disk.unlink("//"), Err(Errno::Invalid));
    assert_eq!(disk.rmdir("/d"), Err(Errno::NotEmpty));
    assert_eq!(disk.rmdir("/d/a"), Err(Errno::NotDirectory));
    assert_eq!(disk.unlink("/d/inner"), Err(Errno::IsDirectory));
    assert_eq!(disk.rename("/d", "/d/inner/d"), Err(Errno::Invalid));
    assert_eq!(disk.rename("/d/a", "/d/inner"), Err(Errno::IsDirectory));
    assert_eq!(disk.rename("/d/inner", "/d/a"), Err(Errno::NotDirectory));
    assert_eq!(disk.rename("/d/none", "/d/a"), Err(Errno::NoEntry));
    assert_eq!(disk.link("/d", "/e"), Err(Errno::NotPermitted));
    disk.link("/d/a", "/d/b")?;
    assert_eq!(disk.stat("/d/b")?.links, 2);
    assert_eq!(disk.rename("/d/a", "/d/b"), Ok(()), "two names of one file: nothing happens");
    assert_eq!(disk.stat("/d/a")?.links, 2);
    disk.rename("/d/m", "/d/b")?;
    assert_eq!(disk.stat("/d/a")?.links, 1);
    disk.rename("/d", "/moved")?;
    assert_eq!(disk.read_dir("/moved/")?, ["a", "b", "inner", "z"]);
    Ok(())
}

#[test]
fn opening_checks_what_is_asked() -> Result<(), Errno> {
    let mut disk = Disk::new(Persistence::Posix, DiskOptions { descriptors_max: 2, ..DiskOptions::default() });
    disk.mkdir("/d")?;
    let fd = disk.open(ALICE, "/f", OpenFlags::READ.create())?;
    assert_eq!(disk.pwrite(ALICE, fd, 0, b"x"), Err(Errno::BadDescriptor));
    assert_eq!(disk.set_len(ALICE, fd, 1), Err(Errno::BadDescriptor));
    assert_eq!(disk.open(ALICE, "/f", OpenFlags::WRITE.create_exclusive()), Err(Errno::Exists));
    assert_eq!(disk.open(ALICE, "/none", OpenFlags::READ), Err(Errno::NoEntry));
    assert_eq!(disk.open(ALICE, "/d", OpenFlags::READ_WRITE), Err(Errno::IsDirectory));
    assert_eq!(disk.open(ALICE, "/f", OpenFlags::DIRECTORY), Err(Errno::NotDirectory));
    let directory = disk.open(ALICE, "/d", OpenFlags::DIRECTORY)?;
    assert_eq!(disk.pread(ALICE, directory, 0, &mut [0]), Err(Errno::IsDirectory));
    assert_eq!(disk.open(ALICE, "/f", OpenFlags::READ), Err(Errno::TooManyOpen));
    Ok(())
}

#[test]
fn sizes_change_and_gaps_read_as_zeros() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Ext4);
    disk.set_now_ns(5);
    let fd = open(&mut disk, "/a")?;
    disk.pwrite(ALICE, fd, 5000, b"xyz")?;
    assert_eq!(disk.fstat(ALICE, fd)?.len_bytes, 5003);
    assert_eq!(disk.used_bytes(), 4096, "a gap takes up no space");
    disk.set_len(ALICE, fd, 5001)?;
    disk.set_len(ALICE, fd, 5010)?;
    let mut read = [9; 20];
    assert_eq!(disk.pread(ALICE, fd, 4998, &mut read)?, 12);
    assert_eq!(&read[..12], b"\0\0x\0\0\0\0\0\0\0\0\0");
    assert_eq!(disk.fstat(ALICE, fd)?.modified_ns, 5);
    let fd = disk.open(ALICE, "/a", OpenFlags::WRITE.truncate())?;
    assert_eq!(disk.fstat(ALICE, fd)?.len_bytes, 0);
    assert_eq!(disk.used_bytes(), 0);
    Ok(())
}

#[test]
fn a_full_disk_takes_a_prefix_and_then_fails() -> Result<(), Errno> {
    let options = DiskOptions { capacity_bytes: Some(3 * 4096), file_len_max_bytes: 1 << 20, ..DiskOptions::default() };
    let mut disk = Disk::new(Persistence::Posix, options);
    let fd = open(&mut disk, "/a")?;
    assert_eq!(disk.pwrite(ALICE, fd, 100, &[1; 4 * 4096])?, 3 * 4096 - 100);
    assert_eq!(disk.write(ALICE, fd, &[2; 200])?, 200, "what is there can be written again");
    assert_eq!(disk.pwrite(ALICE, fd, 3 * 4096, &[1]), Err(Errno::NoSpace));
    disk.unlink("/a")?;
    let other = open(&mut disk, "/b")?;
    assert_eq!(disk.write(ALICE, other, &[1]), Err(Errno::NoSpace), "an open file without a name takes up space");
    disk.close(ALICE, fd)?;
    assert_eq!(disk.write(ALICE, other, &[1])?, 1);
    assert_eq!(disk.used_bytes(), 4096);
    assert_eq!(disk.pwrite(ALICE, other, 1 << 20, &[1]), Err(Errno::TooLarge));
    assert_eq!(disk.set_len(ALICE, other, (1 << 20) + 1), Err(Errno::TooLarge));
    Ok(())
}

#[test]
fn a_dead_process_loses_descriptors_and_locks_and_nothing_else() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.write(ALICE, fd, b"kept")?;
    disk.try_flock(ALICE, fd, LockMode::Exclusive)?;
    disk.try_lock_range(ALICE, fd, 10, 0, LockMode::Exclusive)?;
    let other = disk.open(BOB, "/a", OpenFlags::READ_WRITE)?;
    assert_eq!(disk.try_flock(BOB, other, LockMode::Shared), Err(Errno::WouldBlock));
    assert_eq!(disk.try_lock_range(BOB, other, 1 << 40, 1, LockMode::Shared), Err(Errno::WouldBlock));
    assert_eq!(disk.query_range(BOB, other, 0, 0, LockMode::Shared)?.map(|lock| lock.owner), Some(ALICE));
    assert_eq!(disk.locks_of(ALICE).flocks, [(fd, inode, LockMode::Exclusive)]);
    assert!(disk.take_released().is_empty());
    disk.release_owner(ALICE);
    assert_eq!(disk.take_released(), [inode]);
    assert_eq!(disk.pwrite(ALICE, fd, 0, b"x"), Err(Errno::BadDescriptor));
    disk.try_flock(BOB, other, LockMode::Exclusive)?;
    disk.try_lock_range(BOB, other, 0, 0, LockMode::Exclusive)?;
    assert_eq!(disk.visible_read("/a"), Some(b"kept".to_vec()));
    Ok(())
}

#[test]
fn closing_any_descriptor_drops_the_byte_range_locks_and_no_other_flock() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let fd = open(&mut disk, "/a")?;
    let again = open(&mut disk, "/a")?;
    let inode = disk.inode_of_fd(ALICE, fd)?;
    disk.try_lock_range(ALICE, fd, 0, 10, LockMode::Exclusive)?;
    disk.try_flock(ALICE, fd, LockMode::Exclusive)?;
    assert_eq!(
        disk.try_flock(ALICE, again, LockMode::Shared),
        Err(Errno::WouldBlock),
        "flock conflicts within a process"
    );
    disk.close(ALICE, again)?;
    assert!(disk.range_locks(inode).is_empty());
    assert_eq!(disk.flock_holders(inode).len(), 1);
    let duplicate = disk.duplicate(ALICE, fd)?;
    disk.close(ALICE, fd)?;
    assert_eq!(disk.flock_holders(inode).len(), 1, "a duplicate keeps it");
    disk.close(ALICE, duplicate)?;
    assert!(disk.flock_holders(inode).is_empty());
    Ok(())
}

#[test]
fn byte_range_locks_need_the_right_kind_of_descriptor() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let reader = disk.open(ALICE, "/a", OpenFlags::READ.create())?;
    let writer = disk.open(ALICE, "/a", OpenFlags::WRITE)?;
    assert_eq!(disk.try_lock_range(ALICE, reader, 0, 1, LockMode::Exclusive), Err(Errno::BadDescriptor));
    assert_eq!(disk.try_lock_range(ALICE, writer, 0, 1, LockMode::Shared), Err(Errno::BadDescriptor));
    assert_eq!(disk.try_lock_range(ALICE, writer, u64::MAX, 1, LockMode::Exclusive), Err(Errno::Invalid));
    disk.try_flock(ALICE, reader, LockMode::Exclusive)?;
    Ok(())
}

#[test]
fn what_nobody_can_reach_costs_nothing() -> Result<(), Errno> {
    let mut disk = disk(Persistence::Posix);
    let root = disk.open(BOB, "/", OpenFlags::DIRECTORY)?;
    for _ in 0..1000 {
        let fd = open(&mut disk, "/temporary")?;
        disk.write(ALICE, fd, &[1; 10_000])?;
        disk.unlink("/temporary")?;
        disk.close(ALICE, fd)?;
        disk.fsync(BOB, root)?;
        assert_eq!((disk.inodes.len(), disk.pending_count(), disk.dirty_bytes, disk.used_bytes()), (1, 0, 0, 0));
    }
    let fd = open(&mut disk, "/temporary")?;
    disk.unlink("/temporary")?;
    disk.fsync(BOB, root)?;
    for _ in 0..100 {
        disk.pwrite(ALICE, fd, 0, &[1; 10_000])?;
    }
    assert_eq!(disk.pending_count(), 0, "no crash can bring it back, so nothing is recorded");
    Ok(())
}

#[test]
fn runs_that_never_sync_stay_bounded() -> Result<(), Errno> {
    for persistence in super::PROFILES {
        let options = DiskOptions { dirty_max_bytes: 100_000, pending_max: 50, ..DiskOptions::default() };
        let mut disk = Disk::new(persistence, options);
        for _ in 0..1000 {
            let fd = open(&mut disk, "/new")?;
            disk.write(ALICE, fd, &[1; 5000])?;
            disk.close(ALICE, fd)?;
            disk.rename("/new", "/state")?;
            assert!(disk.pending_count() <= 50 && disk.dirty_bytes <= 100_000);
            assert!(disk.inodes.len() <= 60);
        }
    }
    Ok(())
}
