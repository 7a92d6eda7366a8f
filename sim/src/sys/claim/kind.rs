//! What there is to know of a kind of claim without its type: how its content reads. Listings and pictures of events need it; invariants know the types.

use super::{Claim, decode};
use toml::Value;

/// A kind of claim, and how its content is told.
#[derive(Clone, Copy, Debug)]
pub struct ClaimKind {
    /// [`Claim::KIND`].
    pub kind: &'static str,
    text: fn(&[u8]) -> Option<String>,
}

impl ClaimKind {
    /// That of a type.
    pub const fn of<C: Claim>() -> ClaimKind {
        ClaimKind { kind: C::KIND, text: text::<C> }
    }

    /// The content of a claim in a line, `field value, field value`; `None`: it can't be read, or has no fields.
    pub fn text(&self, bytes: &[u8]) -> Option<String> {
        (self.text)(bytes).filter(|text| !text.is_empty())
    }
}

fn text<C: Claim>(bytes: &[u8]) -> Option<String> {
    let claim: C = decode(bytes)?;
    Some(match Value::try_from(&claim).ok()? {
        Value::Table(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", in_line(value))).collect::<Vec<_>>().join(", ")
        }
        value => in_line(&value),
    })
}

/// A value without line breaks, which TOML has in texts of several lines.
fn in_line(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string().replace(['\n', '\r'], " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::claim::{Exclusion, LockAcquired};
    use crate::trace::codec;

    #[test]
    fn a_claim_s_fields_are_told() {
        let claim = LockAcquired { lock: "a\nb".into(), exclusion: Exclusion::Holder, token: 3 };
        let kind = ClaimKind::of::<LockAcquired>();
        let told = kind.text(&codec::encode(&claim));
        assert_eq!(told.as_deref(), Some(r#"exclusion "Holder", lock "a\nb", token 3"#));
        assert_eq!((kind.kind, kind.text(b"")), ("lock-acquired", None));
    }
}
