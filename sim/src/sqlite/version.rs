//! Which SQLite this is: reproducers say it, since another one takes other steps. Nothing here opens a database.

use rusqlite::ffi;
use std::ffi::CStr;

/// The check-in that SQLite was built from: date, time and hash (<https://www.sqlite.org/c3ref/libversion.html>).
pub fn source_id() -> &'static str {
    // SAFETY: a static string, there before any initialization.
    let text = unsafe { CStr::from_ptr(ffi::sqlite3_sourceid()) };
    text.to_str().unwrap_or("not UTF-8")
}

/// The options that SQLite was compiled with (<https://www.sqlite.org/c3ref/compileoption_get.html>).
pub fn compile_options() -> Vec<&'static str> {
    let option = |number| {
        // SAFETY: any number is allowed; one past the last gives NULL, others a static string.
        let text = unsafe { ffi::sqlite3_compileoption_get(number) };
        // SAFETY: it is not NULL, and static.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("not UTF-8"))
    };
    (0..).map_while(option).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sqlite_says_what_it_is() {
        assert!(super::source_id().starts_with("20"), "a date: {}", super::source_id());
        assert!(super::compile_options().iter().any(|option| option.starts_with("THREADSAFE")));
    }
}
