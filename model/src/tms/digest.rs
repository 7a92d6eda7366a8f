//! How records are named: by the digest of their content, each kind in a domain of its own. Beliefs are memories, and named as such.

use crate::memory::Digest;

/// The digest of parts in a domain. Lengths are hashed too: no two lists of parts have one digest.
pub(super) fn digest_of<'a>(domain: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key(domain);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Digest(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_domains_are_kept_apart() {
        let of = |domain, parts: &[&[u8]]| digest_of(domain, parts.iter().copied());
        let one = of("one", &[b"ab", b"c"]);
        for other in [of("two", &[b"ab", b"c"]), of("one", &[b"a", b"bc"]), of("one", &[b"abc"])] {
            assert_ne!(one, other);
        }
    }
}
