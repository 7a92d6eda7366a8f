//! Texts that must fit into a line.

/// The text, or its first so many characters and `…`.
pub(crate) fn cut(mut text: String, characters_max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters_max) {
        text.truncate(end);
        text.push('…');
    }
    text
}
