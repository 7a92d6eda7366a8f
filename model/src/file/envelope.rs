//! What stands around a value in a file: one line with the format, the length and a checksum. It tells whole from damaged; absent is another matter.

use serde::Serialize;
use serde::de::DeserializeOwned;
use twox_hash::XxHash3_64;

/// Format name, length in bytes (ten digits), xxh3 of the rest (sixteen hexadecimal digits), each followed by one byte.
const HEADER_BYTES: usize = FORMAT.len() + 1 + 10 + 1 + 16 + 1;
const FORMAT: &str = "seedstorm/1";

/// Room for this many bytes is made at once: most files that are sealed are shorter.
const SEALED_BYTES: usize = 1024;

/// Why bytes are no whole value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Shorter than any value can be.
    #[error("{0} bytes are too short for a header")]
    TooShort(usize),
    /// Something else, or an overwritten header.
    #[error("the header is none of ours")]
    Header,
    /// Cut off, or something stands behind the end.
    #[error("{found} bytes where the header says {expected}")]
    Length {
        /// What the header says.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// The right length, and other bytes than were written: what a lost write leaves (NUL bytes), or a torn one.
    #[error("the checksum doesn't match")]
    Checksum,
    /// Whole, and not what was expected: another version's.
    #[error("the value can't be read: {0}")]
    Value(String),
}

/// A value with its header, as it stands in a file.
///
/// # Errors
/// A value that JSON can't hold: a map with keys that are no text.
pub fn seal<T: Serialize>(value: &T) -> Result<Vec<u8>, Damage> {
    // The header's place first: the value is written where it stays.
    let mut sealed = Vec::with_capacity(SEALED_BYTES);
    sealed.resize(HEADER_BYTES, 0);
    serde_json::to_writer(&mut sealed, value).map_err(|error| Damage::Value(error.to_string()))?;
    let (header, body) = sealed.split_at_mut(HEADER_BYTES);
    let text = format!("{FORMAT} {:010} {:016x}\n", body.len(), XxHash3_64::oneshot(body));
    header.copy_from_slice(text.as_bytes());
    Ok(sealed)
}

/// The value of a whole file.
///
/// # Errors
/// How it is damaged.
pub fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Damage> {
    if bytes.len() < HEADER_BYTES {
        return Err(Damage::TooShort(bytes.len()));
    }
    let (header, body) = bytes.split_at(HEADER_BYTES);
    let (expected, checksum) = parse_header(header).ok_or(Damage::Header)?;
    if body.len() != expected {
        return Err(Damage::Length { expected, found: body.len() });
    }
    if XxHash3_64::oneshot(body) != checksum {
        return Err(Damage::Checksum);
    }
    // Looked at as text once, and not again for each of its strings.
    let text = std::str::from_utf8(body).map_err(|error| Damage::Value(error.to_string()))?;
    serde_json::from_str(text).map_err(|error| Damage::Value(error.to_string()))
}

/// Whether these are as many bytes as their header says.
pub(crate) fn has_its_length(bytes: &[u8]) -> bool {
    let expected = bytes.get(..HEADER_BYTES).and_then(parse_header);
    expected.is_some_and(|(expected, _)| bytes.len() - HEADER_BYTES == expected)
}

/// As [`unseal`], for a value that may have the remains of a longer one behind it.
///
/// # Errors
/// As [`unseal`].
pub(crate) fn unseal_front<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Damage> {
    let (expected, _) = bytes.get(..HEADER_BYTES).and_then(parse_header).ok_or(Damage::Header)?;
    let end = HEADER_BYTES.saturating_add(expected).min(bytes.len());
    unseal(&bytes[..end])
}

fn parse_header(header: &[u8]) -> Option<(usize, u64)> {
    let text = std::str::from_utf8(header).ok()?.strip_prefix(FORMAT)?.strip_prefix(' ')?.strip_suffix('\n')?;
    let (len, checksum) = text.split_once(' ')?;
    Some((len.parse().ok()?, u64::from_str_radix(checksum, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> Vec<u8> {
        seal(&("a document", 7u64)).expect("plain data")
    }

    #[test]
    fn what_was_sealed_is_found_again() {
        assert_eq!(unseal::<(String, u64)>(&sealed()), Ok(("a document".to_owned(), 7)));
        let mut longer = sealed();
        longer.extend_from_slice(b"of an older record");
        assert_eq!(unseal_front::<(String, u64)>(&longer), Ok(("a document".to_owned(), 7)));
        assert!(matches!(unseal::<(String, u64)>(&longer), Err(Damage::Length { .. })));
    }

    #[test]
    fn every_cut_and_every_lost_byte_is_seen() {
        let whole = sealed();
        assert!(has_its_length(&whole) && !has_its_length(&[&whole[..], b"x"].concat()));
        for len in 0..whole.len() {
            assert!(!has_its_length(&whole[..len]), "cut to {len}");
            assert!(unseal::<(String, u64)>(&whole[..len]).is_err(), "cut to {len}");
            assert!(unseal_front::<(String, u64)>(&whole[..len]).is_err(), "front cut to {len}");
        }
        for at in 0..whole.len() {
            let mut holed = whole.clone();
            // What a lost write leaves: the right length, and nothing in it.
            holed[at] = 0;
            assert!(unseal::<(String, u64)>(&holed).is_err(), "NUL at {at}");
        }
        assert_eq!(unseal::<(String, u64)>(&vec![0; whole.len()]), Err(Damage::Header));
    }
}
