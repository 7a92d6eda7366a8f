//! What the standard output can show. Progress bars are `sweep::progress`'s.

use std::io::IsTerminal;

/// Whether the standard output is a terminal whose owner has not asked for plain text (<https://no-color.org>).
pub(crate) fn colours_are_wanted() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
