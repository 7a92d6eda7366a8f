//! What the standard output can show, and tables that fit into it. Progress bars are `sweep::progress`'s.

use comfy_table::{ContentArrangement, Table, presets};
use console::Term;
use std::io::IsTerminal;

/// What an output can show. By default it is no terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Whether colours are wanted.
    pub(crate) has_colours: bool,
    /// How many characters go into a line. `None`: as many as there are.
    pub(crate) columns: Option<u16>,
}

impl Screen {
    /// That of the standard output: colours on a terminal whose owner has not asked for plain text (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Screen {
        if !std::io::stdout().is_terminal() {
            return Screen::default();
        }
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // A terminal that knows no size says that it has none.
        let columns = Term::stdout().size_checked().map(|(_, columns)| columns).filter(|columns| *columns > 0);
        Screen { has_colours, columns }
    }

    /// An empty table. Where lines end, its cells are wrapped so that it fits.
    pub(crate) fn table(self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY);
        if let Some(columns) = self.columns {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
        }
        table
    }
}
