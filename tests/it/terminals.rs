//! Tables: as wide as they are in a pipe, as wide as the terminal on one.

use crate::program;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use seedstorm_tests::program::Program;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::Stdio;

/// A terminal of so many columns: our end, and that of whoever is on it.
pub(crate) fn terminal(columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it opens");
    tcsetwinsize(&ours, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("text");
    let theirs = OpenOptions::new().read(true).write(true).open(name).expect("its other end");
    (File::from(ours), theirs)
}

/// Runs a command on a terminal of so many columns, and gives what it shows of its results.
fn on_a_terminal(program: &Program, columns: u16, words: &str) -> String {
    shown(program, columns, words, false)
}

/// As [`on_a_terminal`], with what it says beside them if that is wanted.
fn shown(program: &Program, columns: u16, words: &str, with_errors: bool) -> String {
    let (mut ours, theirs) = terminal(columns);
    let errors = if with_errors { theirs.try_clone().expect("once more").into() } else { Stdio::null() };
    let mut command = program.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.env("NO_COLOR", "1").stdout(theirs).stderr(errors).spawn().expect("it starts");
    // The command holds the other end, too, until it is gone.
    drop(command);
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
    }
    child.wait().expect("it ends");
    String::from_utf8(shown).expect("text").replace('\r', "")
}

fn table(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with(['┌', '│', '╞', '└'])).collect()
}

#[test]
fn tables_fit_into_the_terminal() {
    let program = program();
    for words in [
        "run --scenarios steady --seed 5",
        "sweep --scenarios steady --seeds 0..3 --jobs 1",
        "selftest --mutants board-lost-update --strategies random --seeds 2 --jobs 1 --confusion",
    ] {
        let piped = program.line(words).out;
        let widest = table(&piped).iter().map(|line| line.chars().count()).max().expect("a table");
        assert!(widest > 70, "{words}: {piped}");
        let shown = on_a_terminal(&program, 70, words);
        let lines = table(&shown);
        assert!(!lines.is_empty() && lines.iter().all(|line| line.chars().count() <= 70), "{words}: {shown}");
        let shown = on_a_terminal(&program, 300, words);
        let widest_shown = table(&shown).iter().map(|line| line.chars().count()).max();
        assert_eq!(widest_shown, Some(widest), "{words}: no wider than it need be: {shown}");
    }
}

#[test]
fn one_is_told_as_one() {
    let program = program();
    let said = program.line("sweep --scenarios steady --seeds 5..6 --jobs 1");
    assert!(said.out.contains("1 run, 1 worker\n"), "{}", said.out);
    assert!(said.out.contains(" in 1 seed "), "{}", said.out);
    assert!(!said.out.contains("1 seeds") && !said.out.contains("1 runs"), "{}", said.out);
    let said = program.line("sweep --scenarios steady --seeds 5..7 --jobs 1");
    assert!(said.out.contains("2 runs, 1 worker\n") && said.out.contains(" in 2 seeds "), "{}", said.out);
}

#[test]
fn who_waits_on_a_terminal_hears_early_that_a_program_makes_no_call() {
    let shown = shown(&program(), 200, "run --scenarios hangs --seed 3 --step-timeout 4500ms", true);
    let waiting = "hangs seed 3: writer-1 (task 0) has made no system call, since step 17 (`sleep`); 3.00 s by now, it is ended after 4.50 s\n";
    let (before, after) = shown.split_once(waiting).unwrap_or_else(|| panic!("{shown}"));
    assert!(before.starts_with("hangs seed 3\n") && after.contains("violated: worker-timed-out\n"), "{shown}");
}
