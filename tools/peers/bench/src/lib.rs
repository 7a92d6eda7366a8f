//! What every contender has in common: the names of the programs, what a driver asks for, how a search is counted and told. It knows no contender.

use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::time::Duration;

/// The concurrency programs: (name, what is wrong with it).
pub const PROGRAMS: &[(&str, &str)] = &[
    ("account", "a balance is read in one critical section and written in another"),
    ("lazy", "one of three tasks counts on the others being late"),
    ("wronglock", "one task locks what the three others don't"),
    ("token-ring", "a token is passed on only if stations run in order"),
    ("reorder-3", "one of three writers is met between its two writes"),
    ("reorder-10", "the same with ten writers"),
    ("twostage-20", "one of nineteen writers is met between its two critical sections"),
    ("double-checked", "the flag of an initialisation is set before its value"),
    ("stack-aba", "the top of a stack is the same node again, and what is below it is not"),
    ("queue-aba", "the head of a queue is the same node again, and what follows it is not"),
    ("circular-buffer", "two writers take the same slot"),
    ("deadlock", "two locks are taken in two orders"),
    ("carter", "who waits for a resource holds the lock that its holder needs"),
    ("bounded-buffer", "a wake-up goes to one that can't use it"),
];

/// What a driver asks of a contender, as its arguments: `search PROGRAM buggy|mended STRATEGY SEED TRIES SCHEDULES_MAX` or
/// `rate PROGRAM buggy|mended STRATEGY SEED SCHEDULES` or `speed WORK TASKS ROUNDS RUNS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Looks for the bug, several times.
    Search {
        /// Which program and how.
        search: Search,
        /// How often.
        tries: u64,
        /// After so many schedules a try gives up.
        schedules_max: u64,
    },
    /// Runs schedules and counts those with the bug, whatever they find.
    Rate {
        /// Which program and how.
        search: Search,
        /// How many.
        schedules: u64,
    },
    /// Plain work: so many tasks that each do a thing so many times, so many runs of it.
    Speed {
        /// `yield`, `sleep` or `tick`.
        work: Work,
        /// Tasks of a run.
        tasks: u64,
        /// What each does, so often.
        rounds: u64,
        /// How many runs.
        runs: u64,
    },
}

/// A program and how its schedules are picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// One of [`PROGRAMS`].
    pub program: String,
    /// With its bug mended.
    pub is_mended: bool,
    /// The contender's name of a strategy.
    pub strategy: String,
    /// The first seed.
    pub seed: u64,
}

/// What tasks do in a measurement of speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// They yield.
    Yield,
    /// They sleep for drawn times.
    Sleep,
    /// They are processes, or hosts, that each sleep for one tick: the least after which another may go.
    Tick,
}

impl Request {
    /// Reads the process's arguments; says what is wrong, and ends the process with exit code 2.
    pub fn from_arguments() -> Request {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        Request::read(&arguments).unwrap_or_else(|| {
            eprintln!("arguments {arguments:?}: expected {USAGE}");
            std::process::exit(2);
        })
    }

    fn read(arguments: &[String]) -> Option<Request> {
        let number = |text: &String| text.parse::<u64>().ok();
        let search = |program: &String, state: &String, strategy: &String, seed: &String| {
            PROGRAMS.iter().find(|(name, _)| name == program)?;
            let is_mended = match state.as_str() {
                "buggy" => false,
                "mended" => true,
                _ => return None,
            };
            Some(Search { program: program.clone(), is_mended, strategy: strategy.clone(), seed: number(seed)? })
        };
        match arguments {
            [mode, program, state, strategy, seed, tries, schedules_max] if mode == "search" => Some(Request::Search {
                search: search(program, state, strategy, seed)?,
                tries: number(tries)?,
                schedules_max: number(schedules_max)?,
            }),
            [mode, program, state, strategy, seed, schedules] if mode == "rate" => {
                Some(Request::Rate { search: search(program, state, strategy, seed)?, schedules: number(schedules)? })
            }
            [mode, work, tasks, rounds, runs] if mode == "speed" => Some(Request::Speed {
                work: match work.as_str() {
                    "yield" => Work::Yield,
                    "sleep" => Work::Sleep,
                    "tick" => Work::Tick,
                    _ => return None,
                },
                tasks: number(tasks)?,
                rounds: number(rounds)?,
                runs: number(runs)?,
            }),
            _ => None,
        }
    }

    /// The arguments that [`Request::from_arguments`] reads.
    pub fn to_arguments(&self) -> Vec<String> {
        let text = match self {
            Request::Search { search, tries, schedules_max } => format!("search {search} {tries} {schedules_max}"),
            Request::Rate { search, schedules } => format!("rate {search} {schedules}"),
            Request::Speed { work, tasks, rounds, runs } => {
                let work = match work {
                    Work::Yield => "yield",
                    Work::Sleep => "sleep",
                    Work::Tick => "tick",
                };
                format!("speed {work} {tasks} {rounds} {runs}")
            }
        };
        text.split(' ').map(str::to_owned).collect()
    }
}

const USAGE: &str = "`search PROGRAM buggy|mended STRATEGY SEED TRIES SCHEDULES_MAX`, `rate PROGRAM buggy|mended STRATEGY SEED SCHEDULES` or \
    `speed yield|sleep|tick TASKS ROUNDS RUNS`";

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Search { program, is_mended, strategy, seed } = self;
        let state = if *is_mended { "mended" } else { "buggy" };
        write!(f, "{program} {state} {strategy} {seed}")
    }
}

/// How long a tick is: turmoil's default.
pub const TICK: Duration = Duration::from_millis(1);

/// Counts the schedules of a search or a rate, and says when it is over.
#[derive(Debug)]
pub struct Count {
    tries: u64,
    schedules_max: u64,
    stops_at_bugs: bool,
    in_try: u64,
    told: Told,
    begun: Stopwatch,
}

/// What a contender tells, on a line of its standard output: each try's schedules, and sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Of each try, the schedules up to the first with the bug; `None`: none was found.
    pub tries: Vec<Option<u64>>,
    /// All schedules.
    pub schedules: u64,
    /// Of these, those with the bug.
    pub found: u64,
    /// Scheduling points of all schedules: how often somebody was picked.
    pub points: u64,
    /// Processor time of the whole process, in seconds.
    pub seconds: f64,
}

impl Count {
    /// Begins to count what was asked for.
    ///
    /// # Panics
    /// For [`Request::Speed`], which has no schedules.
    pub fn begin(request: &Request) -> Count {
        let (tries, schedules_max, stops_at_bugs) = match request {
            Request::Search { tries, schedules_max, .. } => (*tries, *schedules_max, true),
            Request::Rate { schedules, .. } => (1, *schedules, false),
            Request::Speed { .. } => panic!("speed has no schedules to count"),
        };
        Count { tries, schedules_max, stops_at_bugs, in_try: 0, told: Told::default(), begun: Stopwatch::start() }
    }

    /// A schedule is over. True if there is more to do.
    pub fn schedule(&mut self, has_bug: bool, points: u64) -> bool {
        self.told.schedules += 1;
        self.told.points += points;
        self.told.found += u64::from(has_bug);
        self.in_try += 1;
        if has_bug && self.stops_at_bugs {
            self.told.tries.push(Some(self.in_try));
            self.in_try = 0;
        } else if self.in_try == self.schedules_max {
            self.told.tries.push(None);
            self.in_try = 0;
        }
        !self.is_over()
    }

    /// Whether all has been done.
    pub fn is_over(&self) -> bool {
        self.told.tries.len() as u64 == self.tries
    }

    /// What was counted, up to now.
    pub fn told(mut self) -> Told {
        self.told.seconds = self.begun.elapsed().as_secs_f64();
        self.told
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { tries, schedules, found, points, seconds } = self;
        write!(f, "{schedules} {found} {points} {seconds}")?;
        tries.iter().try_for_each(|schedules| write!(f, " {}", schedules.map_or(-1, |schedules| schedules as i64)))
    }
}

impl Told {
    /// Reads what was told.
    pub fn read(text: &str) -> Option<Told> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [schedules, found, points, seconds, tries @ ..] = words.as_slice() else { return None };
        let tries = tries.iter().map(|word| word.parse::<i64>().ok().map(|number| u64::try_from(number).ok()));
        Some(Told {
            tries: tries.collect::<Option<_>>()?,
            schedules: schedules.parse().ok()?,
            found: found.parse().ok()?,
            points: points.parse().ok()?,
            seconds: seconds.parse().ok()?,
        })
    }
}

/// Measures the processor time of this process, all of its threads together (CLOCK_PROCESS_CPUTIME_ID, clock_gettime(2)): on a machine with other work, wall
/// time would measure that.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Duration);

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Stopwatch {
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        Stopwatch(Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs() as u32))
    }

    /// What has been spent since.
    pub fn elapsed(self) -> Duration {
        Stopwatch::start().0.saturating_sub(self.0)
    }
}

/// Tells a speed: units of work, runs, and the seconds that they took.
pub fn tell_speed(units: u64, runs: u64, took: Duration) {
    println!("{units} {runs} {}", took.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> Search {
        Search { program: "lazy".into(), is_mended: true, strategy: "pct:depth=3".into(), seed: 7 }
    }

    #[test]
    fn what_is_asked_arrives() {
        for request in [
            Request::Search { search: search(), tries: 3, schedules_max: 9 },
            Request::Rate { search: search(), schedules: 4 },
            Request::Speed { work: Work::Sleep, tasks: 1, rounds: 2, runs: 3 },
            Request::Speed { work: Work::Tick, tasks: 1, rounds: 2, runs: 3 },
        ] {
            assert_eq!(Request::read(&request.to_arguments()), Some(request));
        }
        let unknown = Request::Rate { search: Search { program: "lasy".into(), ..search() }, schedules: 4 };
        assert_eq!(Request::read(&unknown.to_arguments()), None);
    }

    #[test]
    fn a_try_ends_with_its_bug_or_its_limit_and_what_is_told_arrives() {
        let mut count = Count::begin(&Request::Search { search: search(), tries: 2, schedules_max: 3 });
        let schedules = [false, true, false, false, false];
        let goes_on: Vec<bool> = schedules.into_iter().map(|has_bug| count.schedule(has_bug, 5)).collect();
        assert_eq!(goes_on, [true, true, true, true, false]);
        let told = Told { tries: vec![Some(2), None], schedules: 5, found: 1, points: 25, seconds: 0.5 };
        assert_eq!(Told { seconds: 0.5, ..count.told }, told);
        assert_eq!(Told::read(&told.to_string()), Some(told));
    }

    #[test]
    fn a_rate_goes_on_after_a_bug() {
        let mut count = Count::begin(&Request::Rate { search: search(), schedules: 3 });
        assert!(count.schedule(true, 1) && count.schedule(true, 1) && !count.schedule(false, 1));
        assert_eq!((count.told.found, count.told.schedules), (2, 3));
    }
}
