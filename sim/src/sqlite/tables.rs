//! What stands in the tables of a database, read on a copy of the disk: for people who look at a moment of a run. Reading is `inspect`'s.

use super::inspect;
use crate::sys::disk::Disk;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// A table and its first rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub count: u64,
    /// The first of them in the order of the table, value by value: text as it is, blobs as their length, NULL as `NULL`.
    pub rows: Vec<Vec<String>>,
}

/// The tables of the database at a path, as a process would see them that opened it now: committed transactions, those in the WAL included. At most
/// `rows_max` rows of each.
///
/// # Errors
/// SQLite's own words, when it can't be read.
pub fn tables(disk: &Disk, path: &str, rows_max: usize) -> Result<Vec<Table>, String> {
    inspect(disk, || read(path, rows_max).map_err(|error| error.to_string()))
}

/// The first bytes of a database (sqlite.org/fileformat2.html, "Magic Header String"). A new one may still be empty, with all it has in its WAL.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

fn read(path: &str, rows_max: usize) -> rusqlite::Result<Vec<Table>> {
    // A read-only connection could not recover what a crash has left, and this is a copy.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let list = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let names: Vec<String> =
        connection.prepare(list)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    names.into_iter().map(|name| read_table(&connection, name, rows_max)).collect()
}

fn read_table(connection: &Connection, name: String, rows_max: usize) -> rusqlite::Result<Table> {
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {quoted}"), [], |row| row.get(0))?;
    let mut statement = connection.prepare(&format!("SELECT * FROM {quoted} LIMIT {rows_max}"))?;
    let values = statement.column_count();
    // By number: the list of names has had other types in other versions of rusqlite.
    let names = (0..values).map(|column| statement.column_name(column).map(str::to_owned));
    let columns = names.collect::<rusqlite::Result<Vec<String>>>()?;
    let row_words = |row: &rusqlite::Row<'_>| (0..values).map(|column| row.get_ref(column).map(words)).collect();
    let rows = statement.query_map([], row_words)?.collect::<rusqlite::Result<_>>()?;
    Ok(Table { name, columns, count: count as u64, rows })
}

fn words(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
