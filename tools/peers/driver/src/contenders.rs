//! The contenders as processes: one is started for each request, does it and ends. What is asked, is elsewhere.

use peers_bench::{Request, Told};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    Ours,
    Shuttle,
    Madsim,
    Turmoil,
}

impl Contender {
    /// As tables have it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Contender::Ours => "seedstorm",
            Contender::Shuttle => "shuttle",
            Contender::Madsim => "madsim",
            Contender::Turmoil => "turmoil",
        }
    }
}

/// Where their programs are.
pub(crate) struct Contenders {
    plain: PathBuf,
    simulated: PathBuf,
}

impl Contenders {
    pub(crate) fn new(plain: &Path, simulated: &Path) -> Contenders {
        Contenders { plain: plain.to_owned(), simulated: simulated.to_owned() }
    }

    /// What a contender prints. One that fails ends the bench: no number is better than a wrong one.
    fn ask(&self, contender: Contender, request: &Request) -> String {
        let program = match contender {
            Contender::Ours => self.simulated.join("peers-ours"),
            Contender::Madsim => self.simulated.join("peers-madsim"),
            Contender::Shuttle => self.plain.join("peers-shuttle"),
            Contender::Turmoil => self.plain.join("peers-turmoil"),
        };
        let mut command = Command::new(&program);
        // Shuttle prints each failure there, which is not what it is measured by.
        command.args(request.to_arguments()).stderr(Stdio::null());
        let output = command.output().unwrap_or_else(|error| panic!("{} starts: {error}", program.display()));
        assert!(output.status.success(), "{command:?} ends with {}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A search, or a rate.
    pub(crate) fn search(&self, contender: Contender, request: &Request) -> Told {
        let text = self.ask(contender, request);
        Told::read(&text).unwrap_or_else(|| panic!("{contender:?} was asked {request:?} and told `{text}`"))
    }

    /// Units of work and runs, for each second of processor time.
    pub(crate) fn speed(&self, contender: Contender, request: &Request) -> [f64; 2] {
        let text = self.ask(contender, request);
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [units, runs, seconds] = numbers[..] else {
            panic!("{contender:?} was asked {request:?} and told `{text}`")
        };
        [units / seconds, runs / seconds]
    }
}
