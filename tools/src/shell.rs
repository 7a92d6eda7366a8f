//! Command lines that can be pasted. Which command it is, is for the commands to say.

use std::path::Path;

/// What this program was called by: what a command line that runs it again begins with.
pub(crate) fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "seedstorm".to_owned())
}

/// The command line of this process, as a line to paste.
pub(crate) fn called() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    line(words.iter().map(String::as_str))
}

/// The name of a program that was called so: one with other scenarios than ours has its own.
pub(crate) fn name_of(program: &str) -> &str {
    Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or(program)
}

/// A path as a word of a command line: one that begins with a dash would be taken for an option.
pub(crate) fn path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('-') { format!("./{text}") } else { text }
}

/// An option with its value, as the words of a command line: a value that begins with a dash would be taken for another option.
pub(crate) fn option(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') { vec![format!("--{name}={value}")] } else { vec![format!("--{name}"), value.to_owned()] }
}

/// One line for a POSIX shell.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=,:+@%".contains(character);
    // zsh takes `=x` for the place of a program.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(line(["seedstorm", "run", "--set", "a=b"]), "seedstorm run --set a=b");
        assert_eq!(line(["=x", "a=x"]), "'=x' a=x");
        assert_eq!(line(["--set", "say=it's here", ""]), r"--set 'say=it'\''s here' ''");
    }

    #[test]
    fn what_begins_with_a_dash_is_no_option() {
        for (given, told) in [("-x/a.toml", "./-x/a.toml"), ("x/-a.toml", "x/-a.toml"), ("/-x", "/-x"), ("-", "./-")] {
            assert_eq!(path(Path::new(given)), told);
        }
        assert_eq!(option("faults", "-x.toml"), ["--faults=-x.toml"]);
        assert_eq!(option("faults", "kill"), ["--faults", "kill"]);
    }
}
