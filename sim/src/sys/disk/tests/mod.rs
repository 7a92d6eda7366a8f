//! Single behaviours of the disk, each by example. Properties over many operations are in the integration tests.

mod calls;
mod crashes;
mod faults;
mod flaws;

use super::{Disk, DiskOptions, Fd, OpenFlags, Owner, Persistence};
use crate::errno::Errno;
use crate::seed::{Seed, Stream};

const ALICE: Owner = Owner(1);
const BOB: Owner = Owner(2);
const PROFILES: [Persistence; 3] = [Persistence::Strict, Persistence::Ext4, Persistence::Posix];

fn disk(persistence: Persistence) -> Disk {
    Disk::new(persistence, DiskOptions::default())
}

/// Opens for reading and writing, and creates if need be.
fn open(disk: &mut Disk, path: &str) -> Result<Fd, Errno> {
    disk.open(ALICE, path, OpenFlags::READ_WRITE.create())
}

/// A file of these bytes, with data and name durable; it stays open.
fn durable_file(disk: &mut Disk, path: &str, bytes: &[u8]) -> Result<Fd, Errno> {
    let fd = open(disk, path)?;
    disk.pwrite(ALICE, fd, 0, bytes)?;
    disk.fsync_with_new_entry(ALICE, fd)?;
    Ok(fd)
}

fn draw(number: u64) -> Stream {
    Seed(number).stream("crash")
}

/// What `look` sees over many crashes, each value once.
fn over_crashes<T: Ord>(disk: &Disk, look: impl Fn(&Disk) -> T) -> Vec<T> {
    let seen: std::collections::BTreeSet<T> =
        (0..400).map(|number| look(&disk.crash_image(&mut draw(number)).0)).collect();
    seen.into_iter().collect()
}
