//! A violation, and the fingerprint by which failures of one cause are grouped.

use serde::{Deserialize, Serialize};

/// Something that should have held and didn't.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which invariant.
    pub invariant: String,
    /// The step after which it no longer held.
    pub step: u64,
    /// Simulated time since the start of the run, in nanoseconds.
    pub time_ns: u64,
    /// What is wrong, for people.
    pub message: String,
    /// Invariant, kind of object, role of its owner, kind of loss. No PIDs, numbers or times: one cause, one fingerprint.
    pub fingerprint: String,
    #[serde(skip)]
    parts: [&'static str; 3],
}

/// Room for parts as they mostly are.
const PARTS_BYTES: usize = 40;

impl Violation {
    /// How the second line of the message begins when the violation is not of the run itself, but of what a crash at its step would have left.
    pub(crate) const OF_A_CRASH: &'static str = "had the power failed at step ";

    /// Whether it is of what a crash would have left: then no event of the run shows it, and the crash is no event either.
    pub fn is_of_a_crash(&self) -> bool {
        self.message.lines().nth(1).is_some_and(|line| line.starts_with(Violation::OF_A_CRASH))
    }

    /// A violation of `invariant`; the driver adds step and time.
    pub fn new(invariant: &str, message: impl Into<String>) -> Violation {
        let (message, parts) = (message.into(), ["-"; 3]);
        let violation =
            Violation { invariant: invariant.into(), step: 0, time_ns: 0, message, fingerprint: String::new(), parts };
        violation.with_parts(parts)
    }

    /// The kind of the victim: a lock, a row, a file.
    pub fn object(self, object: &'static str) -> Violation {
        let [_, role, loss] = self.parts;
        self.with_parts([object, role, loss])
    }

    /// The role of the victim's owner.
    pub fn role(self, role: &'static str) -> Violation {
        let [object, _, loss] = self.parts;
        self.with_parts([object, role, loss])
    }

    /// What happened to it: lost, doubled, torn.
    pub fn loss(self, loss: &'static str) -> Violation {
        let [object, role, _] = self.parts;
        self.with_parts([object, role, loss])
    }

    /// When it was found.
    pub fn at(mut self, step: u64, time_ns: u64) -> Violation {
        (self.step, self.time_ns) = (step, time_ns);
        self
    }

    fn with_parts(mut self, parts: [&'static str; 3]) -> Violation {
        self.parts = parts;
        // By hand, and in one place: it is made anew for each part that is told, and a search for a bug has little but violations.
        self.fingerprint.clear();
        self.fingerprint.reserve(self.invariant.len() + PARTS_BYTES);
        self.fingerprint.push_str(&self.invariant);
        for part in parts {
            self.fingerprint.push('/');
            self.fingerprint.push_str(part);
        }
        self
    }
}
