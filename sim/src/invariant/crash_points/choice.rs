//! How many crash points of a run are explored, as settings and command lines say it. Which ones is drawn in `kernel::crash_points`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most points that can be asked for by number: they are drawn beforehand. For more there is `all`.
const SAMPLED_MAX: u32 = 100_000;

/// How many crash points of a run are explored. It never changes the trace hash of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CrashPoints {
    /// None.
    #[default]
    None,
    /// About so many, drawn from the seed.
    Sampled(u32),
    /// Every one.
    All,
}

impl fmt::Display for CrashPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrashPoints::None => f.write_str("none"),
            CrashPoints::Sampled(count) => count.fmt(f),
            CrashPoints::All => f.write_str("all"),
        }
    }
}

impl FromStr for CrashPoints {
    type Err = String;

    /// Reads `none`, `all` or a number.
    ///
    /// # Errors
    /// What would be right.
    fn from_str(text: &str) -> Result<CrashPoints, String> {
        match text {
            "none" | "0" => Ok(CrashPoints::None),
            "all" => Ok(CrashPoints::All),
            number => match number.parse() {
                Ok(count @ ..=SAMPLED_MAX) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Ok(CrashPoints::Sampled(count))
                }
                _ => Err(format!("`{text}` is not possible; it is `none`, `all`, or a number up to {SAMPLED_MAX}")),
            },
        }
    }
}

impl From<CrashPoints> for String {
    fn from(points: CrashPoints) -> String {
        points.to_string()
    }
}

impl TryFrom<String> for CrashPoints {
    type Error = String;

    fn try_from(text: String) -> Result<CrashPoints, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::CrashPoints;

    #[test]
    fn what_is_printed_is_read() {
        for points in [CrashPoints::None, CrashPoints::Sampled(4), CrashPoints::Sampled(100_000), CrashPoints::All] {
            assert_eq!(points.to_string().parse(), Ok(points));
        }
        assert_eq!("0".parse(), Ok(CrashPoints::None));
        for wrong in ["", "some", "-1", "+4", "4.0", "All", "100001", "4294967296"] {
            assert!(wrong.parse::<CrashPoints>().is_err(), "{wrong}");
        }
    }
}
