//! The digest that names a memory: BLAKE3 of its bytes (O'Connor et al. 2020), and the form in which it stands in file names, claims and rows.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The bytes of a digest.
const BYTES: usize = 32;

/// A BLAKE3 digest: of a memory's bytes, or a hash in the tree over them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(pub [u8; BYTES]);

impl Digest {
    /// The digest of a memory: of its bytes and nothing else, as `b3sum` computes it.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(blake3::hash(bytes).into())
    }
}

/// 64 lower-case hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Digest, NotADigest> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| NotADigest)?;
        let digest = Digest(hash.into());
        // One digest, one name: upper case would be a second one.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) { Err(NotADigest) } else { Ok(digest) }
    }
}

/// For people its digits, for machines its bytes.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
        } else {
            <[u8; BYTES]>::deserialize(deserializer).map(Digest)
        }
    }
}

impl ToSql for Digest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Digest> {
        <[u8; BYTES]>::column_result(value).map(Digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_survives_its_name() {
        let digest = Digest::of(b"a memory");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "00", &digest.to_string().to_uppercase(), &format!("{digest}0"), &format!("{digest}.tmp.1")] {
            assert_eq!(wrong.parse::<Digest>(), Err(NotADigest), "{wrong}");
        }
    }

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        // The first test vector of BLAKE3's authors.
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(Digest::of(b"").to_string(), empty);
    }
}
