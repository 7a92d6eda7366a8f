//! Command lines that can be pasted. Which command it is, is for the commands to say.

/// What this program was called by: what a command line that runs it again begins with.
pub(crate) fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "seedstorm".to_owned())
}

/// One line for a POSIX shell.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=,:+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(line(["seedstorm", "run", "--set", "a=b"]), "seedstorm run --set a=b");
        assert_eq!(line(["--set", "say=it's here", ""]), r"--set 'say=it'\''s here' ''");
    }
}
