//! Digests: what beliefs and records are named by. BLAKE3 of their content, each kind in a domain of its own; what the content is, is said where it is
//! hashed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The BLAKE3 digest of a belief or a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of parts in a domain. Lengths are hashed too: no two lists of parts have one digest.
    pub(super) fn of<'a>(domain: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// The digest that these hexadecimal digits are.
    pub fn parse(hex: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        if hex.len() != 2 * bytes.len() || !hex.is_ascii() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

/// All of it, in hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Its beginning, for people.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Digest::parse(&hex).ok_or_else(|| D::Error::custom("not a digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_domains_are_kept_apart() {
        let of = |domain, parts: &[&[u8]]| Digest::of(domain, parts.iter().copied());
        let one = of("one", &[b"ab", b"c"]);
        for other in [of("two", &[b"ab", b"c"]), of("one", &[b"a", b"bc"]), of("one", &[b"abc"])] {
            assert_ne!(one, other);
        }
        assert_eq!(Digest::parse(&one.to_string()), Some(one));
        assert_eq!(Digest::parse("ab"), None);
        assert_eq!(Digest::parse(&"é".repeat(32)), None, "as many bytes, but no digits");
    }
}
