//! How long system calls take: named profiles as integer tables. No floating point: `ln` and `exp` differ between platforms.

use crate::seed::Draw;
use crate::trace::CallKind;
use std::sync::LazyLock;

/// Quantiles of a latency in nanoseconds, from the 0th to the 100th in sixteenths; draws interpolate between two.
pub type Quantiles = [u64; 17];

/// A latency profile.
pub struct Profile {
    /// Its name in plans.
    pub name: &'static str,
    /// What it stands for.
    pub about: &'static str,
    /// A call that stays in memory: locks, clocks, stat.
    memory: Quantiles,
    /// Reading through the page cache.
    read: Quantiles,
    /// Writing into the page cache.
    write: Quantiles,
    /// Changing a directory.
    directory: Quantiles,
    /// fsync.
    sync: Quantiles,
    /// A message's way from one process to another.
    message: Quantiles,
}

const MEMORY: Quantiles =
    [300, 350, 400, 450, 500, 560, 620, 700, 800, 900, 1_000, 1_200, 1_400, 1_800, 2_600, 6_000, 60_000];

/// The profile under which every call of a kind takes equally long: what shrinking aims for. No seed draws it.
pub const CONSTANT: &str = "constant";

/// The profiles, by name.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: CONSTANT,
        about: "every call takes what is usual on nvme",
        memory: [800; 17],
        read: [2_500; 17],
        write: [5_000; 17],
        directory: [10_000; 17],
        sync: [220_000; 17],
        message: [82_000; 17],
    },
    Profile {
        name: "nvme",
        about: "a local NVMe drive with a volatile cache",
        memory: MEMORY,
        read: [
            1_000, 1_100, 1_200, 1_400, 1_500, 1_700, 2_000, 2_200, 2_500, 3_000, 3_600, 4_500, 6_000, 9_000, 15_000,
            80_000, 400_000,
        ],
        write: [
            2_000, 2_200, 2_400, 2_600, 3_000, 3_300, 3_700, 4_200, 5_000, 6_000, 7_000, 9_000, 12_000, 18_000, 30_000,
            90_000, 900_000,
        ],
        directory: [
            4_000, 4_500, 5_000, 5_500, 6_000, 7_000, 8_000, 9_000, 10_000, 12_000, 14_000, 17_000, 22_000, 30_000,
            50_000, 120_000, 900_000,
        ],
        sync: [
            60_000, 80_000, 90_000, 100_000, 115_000, 130_000, 150_000, 180_000, 220_000, 280_000, 350_000, 450_000,
            600_000, 900_000, 1_500_000, 4_000_000, 20_000_000,
        ],
        message: [
            25_000, 30_000, 35_000, 40_000, 46_000, 52_000, 60_000, 70_000, 82_000, 98_000, 120_000, 150_000, 200_000,
            300_000, 600_000, 2_000_000, 10_000_000,
        ],
    },
    Profile {
        name: "ssd",
        about: "a SATA SSD",
        memory: MEMORY,
        read: [
            1_000, 1_200, 1_500, 1_800, 2_000, 2_300, 2_700, 3_200, 4_000, 5_000, 7_000, 10_000, 20_000, 60_000,
            110_000, 250_000, 2_000_000,
        ],
        write: [
            2_000, 2_400, 2_800, 3_200, 3_600, 4_200, 5_000, 6_000, 7_000, 9_000, 12_000, 16_000, 25_000, 40_000,
            80_000, 300_000, 4_000_000,
        ],
        directory: [
            5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 12_000, 14_000, 17_000, 20_000, 26_000, 35_000, 50_000, 90_000,
            200_000, 600_000, 5_000_000,
        ],
        sync: [
            400_000,
            500_000,
            600_000,
            700_000,
            800_000,
            900_000,
            1_100_000,
            1_300_000,
            1_600_000,
            2_000_000,
            2_600_000,
            3_500_000,
            5_000_000,
            8_000_000,
            14_000_000,
            30_000_000,
            120_000_000,
        ],
        message: [
            60_000, 75_000, 90_000, 105_000, 120_000, 140_000, 165_000, 195_000, 230_000, 280_000, 340_000, 430_000,
            600_000, 1_000_000, 2_500_000, 10_000_000, 50_000_000,
        ],
    },
    Profile {
        name: "hdd",
        about: "a rotating disk",
        memory: MEMORY,
        read: [
            1_500, 1_800, 2_200, 2_600, 3_000, 3_500, 4_200, 5_000, 7_000, 12_000, 60_000, 400_000, 2_000_000,
            5_000_000, 9_000_000, 14_000_000, 60_000_000,
        ],
        write: [
            2_500, 3_000, 3_500, 4_000, 4_600, 5_400, 6_500, 8_000, 10_000, 14_000, 20_000, 32_000, 60_000, 150_000,
            600_000, 5_000_000, 50_000_000,
        ],
        directory: [
            6_000, 7_000, 8_000, 9_500, 11_000, 13_000, 16_000, 20_000, 26_000, 35_000, 50_000, 90_000, 300_000,
            1_500_000, 5_000_000, 12_000_000, 60_000_000,
        ],
        sync: [
            4_000_000,
            5_000_000,
            6_000_000,
            7_000_000,
            8_000_000,
            8_500_000,
            9_000_000,
            10_000_000,
            11_000_000,
            12_500_000,
            14_000_000,
            16_000_000,
            20_000_000,
            27_000_000,
            40_000_000,
            80_000_000,
            400_000_000,
        ],
        message: [
            150_000,
            190_000,
            230_000,
            270_000,
            320_000,
            380_000,
            450_000,
            540_000,
            660_000,
            820_000,
            1_100_000,
            1_600_000,
            2_800_000,
            6_000_000,
            20_000_000,
            60_000_000,
            200_000_000,
        ],
    },
    Profile {
        name: "flat",
        about: "every call and every message takes one microsecond: the plainest",
        memory: [1_000; 17],
        read: [1_000; 17],
        write: [1_000; 17],
        directory: [1_000; 17],
        sync: [1_000; 17],
        message: [1_000; 17],
    },
];

impl Profile {
    /// The profile of that name.
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The quantiles of one kind of call.
    pub fn of(&self, kind: CallKind) -> &Quantiles {
        match kind {
            CallKind::Read | CallKind::ReadAt | CallKind::ReadDirectory => &self.read,
            CallKind::Write | CallKind::WriteAt | CallKind::SetLength => &self.write,
            CallKind::Open
            | CallKind::Rename
            | CallKind::Link
            | CallKind::Unlink
            | CallKind::MakeDirectory
            | CallKind::RemoveDirectory
            | CallKind::Boot
            | CallKind::Spawn => &self.directory,
            CallKind::Sync => &self.sync,
            _ => &self.memory,
        }
    }
}

/// The tables of a profile, one for each kind of call, so that a draw looks up and multiplies and does nothing else.
pub(super) struct Latencies {
    calls: [&'static Quantiles; CallKind::ALL.len()],
    message: &'static Quantiles,
    same_ns: Option<u64>,
}

/// Those of [`PROFILES`], in their order.
static LATENCIES: LazyLock<Vec<Latencies>> = LazyLock::new(|| PROFILES.iter().map(Latencies::of).collect());

impl Latencies {
    /// Those of the profile of that name.
    pub(super) fn named(name: &str) -> Option<&'static Latencies> {
        LATENCIES.get(PROFILES.iter().position(|profile| profile.name == name)?)
    }

    /// Those of some profile.
    pub(super) fn any() -> &'static Latencies {
        &LATENCIES[0]
    }

    fn of(profile: &'static Profile) -> Latencies {
        let mut tables = [&profile.memory; CallKind::ALL.len()];
        for kind in CallKind::ALL {
            tables[*kind as usize] = profile.of(*kind);
        }
        let first_ns = profile.memory[0];
        let is_same = tables.iter().all(|table| table.iter().all(|ns| *ns == first_ns));
        Latencies { calls: tables, message: &profile.message, same_ns: is_same.then_some(first_ns) }
    }

    /// How long a message is under way, from random bits.
    pub(super) fn message_ns(&self, bits: u32) -> u64 {
        interpolated(self.message, bits)
    }

    /// How long every call takes, where all take as long: nothing needs to be drawn then.
    #[inline]
    pub(super) fn same_ns(&self) -> Option<u64> {
        self.same_ns
    }

    #[inline]
    pub(super) fn draw(&self, kind: CallKind, draw: &mut impl Draw) -> u64 {
        let bits = draw.half_bits();
        interpolated(self.calls[kind as usize], bits)
    }
}

#[inline]
fn interpolated(table: &Quantiles, bits: u32) -> u64 {
    let slot = (bits >> 28) as usize;
    let (low, high) = (table[slot], table[slot + 1]);
    // Wrapping is right for a falling pair too, and no table has one.
    low + ((high.wrapping_sub(low)).wrapping_mul(u64::from(bits & 0xFFFF)) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn tables_rise_and_draws_stay_inside() {
        let mut stream = Seed(3).stream("latency-test");
        for profile in PROFILES {
            let latencies = Latencies::of(profile);
            for kind in CallKind::ALL {
                let table = profile.of(*kind);
                assert!(table.is_sorted(), "{} {kind}", profile.name);
                for _ in 0..200 {
                    let drawn = latencies.draw(*kind, &mut stream);
                    assert!((table[0]..=table[16]).contains(&drawn), "{} {kind} {drawn}", profile.name);
                }
            }
            assert!(profile.message.is_sorted(), "{}", profile.name);
            let (least, most) = (latencies.message_ns(0), latencies.message_ns(u32::MAX));
            assert!(least == profile.message[0] && most <= profile.message[16], "{}", profile.name);
        }
    }
}
