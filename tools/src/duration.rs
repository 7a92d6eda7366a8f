//! Durations as people write them on a command line: `30s`, `1m30s`, `250ms`. How they are told in results is `sim::metrics`'s business; nothing here reads a clock.

/// Units from the largest, with their length in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Reads a duration as nanoseconds: whole numbers or decimal fractions, each with a unit, one after the other.
///
/// # Errors
/// What is wrong with the text, and what would be right.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong = |why: &str| {
        format!("{why}; a duration is a number and a unit (ns, us, ms, s, m, h), as in 30s, 1.5ms or 1m30s")
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong("it is empty"));
    }
    let mut total_ns: u64 = 0;
    while !rest.is_empty() {
        let number_len =
            rest.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_len);
        let unit_len = after.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong(&if unit.is_empty() {
                format!("`{number}` has no unit")
            } else {
                format!("`{unit}` is no unit")
            }));
        };
        let part_ns =
            scaled(number, *unit_ns).ok_or_else(|| wrong(&format!("`{number}` is no number, or too large")))?;
        total_ns = total_ns.checked_add(part_ns).ok_or_else(|| wrong("it is too long"))?;
        rest = after;
    }
    Ok(total_ns)
}

/// A duration as a command line takes it, exactly: a whole number of the largest unit that allows one.
pub(crate) fn exact(ns: u64) -> String {
    let (unit, unit_ns) = match ns {
        0 => ("s", 1),
        _ => UNITS.into_iter().find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns)).unwrap_or(("ns", 1)),
    };
    format!("{}{unit}", ns / unit_ns)
}

/// A decimal number times a unit, without floating point.
fn scaled(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let whole_ns = whole.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    if fraction.is_empty() {
        return Some(whole_ns);
    }
    let digits = u128::from(fraction.parse::<u64>().ok()?);
    let fraction_ns = digits * u128::from(unit_ns) / 10_u128.pow(fraction.len() as u32);
    whole_ns.checked_add(u64::try_from(fraction_ns).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, ns) in [
            ("30s", 30_000_000_000),
            ("0s", 0),
            ("1m30s", 90_000_000_000),
            ("250ms", 250_000_000),
            ("1.5ms", 1_500_000),
            ("7us", 7_000),
            ("12ns", 12),
            ("2h", 7_200_000_000_000),
            (" 5s ", 5_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1500ns"),
            (250_000_000, "250ms"),
            (90_000_000_000, "90s"),
            (300_000_000_000, "5m"),
            (7_200_000_000_000, "2h"),
            (u64::MAX, "18446744073709551615ns"),
        ] {
            assert_eq!(exact(ns), text);
            assert_eq!(parse(text), Ok(ns));
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_reason() {
        for (text, part) in [
            ("", "empty"),
            ("30", "has no unit"),
            ("30 parsecs", "no unit"),
            ("30sec", "`sec` is no unit"),
            ("s", "no number"),
            (".5s", "no number"),
            ("5.s", "no number"),
            ("-5s", "no unit"),
            ("99999999999999999999s", "too large"),
            ("18446744073709551615h", "too large"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.contains("30s"), "{text}: {error}");
        }
    }
}
