//! How the body of a message, or the content of a claim that nobody knows, begins: in a few characters that fit into a line. Lengths are told by who tells of it.

use super::cut::cut;
use serde::de::IgnoredAny;

/// So many characters of a text are told.
const CHARACTERS_MAX: usize = 60;

/// So many bytes of what is no text are told.
const HEX_BYTES_MAX: usize = 8;

/// JSON with lines is known as such up to here: beyond, looking at each message would take longer than telling it.
const JSON_BYTES_MAX: usize = 64 << 10;

/// The beginning: a text in quotes, JSON in one line, the first bytes of anything else in hex.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return hex(bytes) };
    let is_json = is_json(text);
    // No string of JSON holds a line's end or a tab as it is.
    let joined = || text.lines().map(str::trim).collect::<Vec<_>>().join(" ").replace('\t', " ");
    let line = if is_json { joined() } else { text.to_owned() };
    match line.chars().any(char::is_control) {
        true => hex(bytes),
        false if is_json => cut(line, CHARACTERS_MAX),
        false => format!("\"{}\"", cut(line, CHARACTERS_MAX)),
    }
}

/// The same after a colon; nothing of no bytes.
pub(super) fn after_colon(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { format!(": {}", beginning(bytes)) }
}

/// An object or a list: a number or a word alone is a text like others.
fn is_json(text: &str) -> bool {
    let trimmed = text.trim_ascii();
    let is_closed =
        trimmed.starts_with('{') && trimmed.ends_with('}') || trimmed.starts_with('[') && trimmed.ends_with(']');
    is_closed && text.len() <= JSON_BYTES_MAX && serde_json::from_str::<IgnoredAny>(trimmed).is_ok()
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().take(HEX_BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > HEX_BYTES_MAX { "…" } else { "" };
    format!("0x{digits}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_told_as_what_it_is() {
        let long = "ä".repeat(70);
        let told = [
            (&b"vote for a-1"[..], "\"vote for a-1\"".to_owned()),
            (b"{\"term\": 3,\n  \"vote\": \"a-1\"}", "{\"term\": 3, \"vote\": \"a-1\"}".to_owned()),
            (b"{\t\"name\":\r\n\t\"two  blanks\" }", "{ \"name\": \"two  blanks\" }".to_owned()),
            (b"{no json}", "\"{no json}\"".to_owned()),
            (b"two\nlines", "0x74776f0a6c696e65…".to_owned()),
            (&[0, 255, 10], "0x00ff0a".to_owned()),
            (long.as_bytes(), format!("\"{}…\"", "ä".repeat(60))),
        ];
        for (bytes, words) in told {
            assert_eq!(beginning(bytes), words);
        }
        assert_eq!((after_colon(b""), after_colon(b"a")), (String::new(), ": \"a\"".to_owned()));
    }
}
