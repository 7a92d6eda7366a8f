//! What agents of an avalanche record: drawn in structures that truth maintenance gets wrong (loops of every kind, several supports, contradictions,
//! chains and cycles of supersessions, attacks on core memories), and retractions of what others have recorded.

use seedstorm_sim::{Draw, Stream};

/// Structures and how much they weigh against each other before the seed's own factors.
pub const STRUCTURES: &[(&str, u64)] = &[
    ("premise", 12),
    ("implication", 14),
    ("negation", 8),
    ("positive-loop", 4),
    ("odd-loop", 3),
    ("even-loop", 2),
    ("contradiction", 6),
    ("supersession", 5),
    ("chain", 2),
    ("attack", 2),
    ("retraction", 12),
    ("forgetting", 1),
];

/// How many beliefs of each standing there are.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Core memories.
    pub core: u64,
    /// Axioms.
    pub axioms: u64,
    /// What is learned.
    pub learned: u64,
}

impl Size {
    /// A name of any belief.
    fn any(self, stream: &mut Stream) -> String {
        match stream.below(self.core + self.axioms + self.learned) {
            number if number < self.core => format!("c{number}"),
            number if number < self.core + self.axioms => format!("a{}", number - self.core),
            number => format!("b{}", number - self.core - self.axioms),
        }
    }

    /// A name of one that isn't a core memory.
    fn ordinary(self, stream: &mut Stream) -> String {
        Size { core: 0, ..self }.any(stream)
    }

    fn some(self, stream: &mut Stream, count: u64) -> Vec<String> {
        (0..count).map(|_| self.any(stream)).collect()
    }
}

/// Draws records in words, about so many, and adds each to `recorded`: what there is to retract. `source` is whose word they are.
pub fn draw(
    stream: &mut Stream,
    size: Size,
    weights: &[u64],
    count: u64,
    source: &str,
    recorded: &mut Vec<String>,
) -> Vec<String> {
    let mut records = Vec::new();
    while (records.len() as u64) < count {
        let (structure, _) = STRUCTURES[stream.weighted(weights)];
        let first = records.len();
        structure_of(structure, stream, size, source, recorded, &mut records);
        recorded.extend(records[first..].iter().filter(|words| !is_final(words)).cloned());
    }
    records
}

/// Whether it takes something back for ever, so that it can't be taken back.
fn is_final(words: &str) -> bool {
    words.starts_with("retract ") || words.starts_with("forget ")
}

fn structure_of(
    structure: &str,
    stream: &mut Stream,
    size: Size,
    source: &str,
    recorded: &[String],
    records: &mut Vec<String>,
) {
    match structure {
        "premise" => records.push(format!("{} <- @{source}", size.ordinary(stream))),
        "implication" => {
            let count = stream.between(1, 2);
            let ins = size.some(stream, count).join(" ");
            records.push(format!("{} <- {ins} @{source}", size.ordinary(stream)));
        }
        "negation" => {
            let (count, negated) = (stream.below(2), stream.between(1, 2));
            let (ins, outs) = (size.some(stream, count).join(" "), size.some(stream, negated).join(" "));
            records.push(format!("{} <- {ins} ! {outs} @{source}", size.ordinary(stream)));
        }
        "positive-loop" => loop_of(stream, size, source, records, |_| false),
        "odd-loop" => {
            let nth = stream.below(3);
            loop_of(stream, size, source, records, |place| place == nth % 2);
        }
        "even-loop" => {
            let (one, other) = (size.ordinary(stream), size.ordinary(stream));
            records.push(format!("{one} <- ! {other} @{source}"));
            records.push(format!("{other} <- ! {one} @{source}"));
        }
        "contradiction" => {
            let count = stream.between(2, 3);
            records.push(format!("contradiction {}", size.some(stream, count).join(" ")));
        }
        "supersession" => {
            let (newer, older) = (size.any(stream), size.ordinary(stream));
            records.push(format!("{newer} supersedes {older}"));
        }
        "chain" => {
            let beliefs: Vec<String> = (0..stream.between(3, 5)).map(|_| size.ordinary(stream)).collect();
            records.extend(beliefs.windows(2).map(|pair| format!("{} supersedes {}", pair[1], pair[0])));
        }
        "attack" => {
            let core = format!("c{}", stream.below(size.core.max(1)));
            let other = size.ordinary(stream);
            records.push(match stream.below(4) {
                0 => format!("{other} supersedes {core}"),
                1 => format!("forget {core}"),
                2 => format!("contradiction {core} {other}"),
                // A core memory that nobody has laid down.
                _ => format!("c{} <- @{source}", size.core + stream.below(4)),
            });
        }
        "retraction" => {
            // What much rests on is a premise, mostly.
            let premises: Vec<&String> = recorded.iter().filter(|words| words.contains("<- @")).collect();
            let any = stream.pick(recorded);
            let words = if stream.chance(2, 3) { stream.pick(&premises).copied().or(any) } else { any };
            records.extend(words.map(|words| format!("retract {words}")));
        }
        _ => records.push(format!("forget {}", size.ordinary(stream))),
    }
}

/// A loop of two to four beliefs, each resting on the next, or on its absence where asked; and a premise for one of them, sometimes.
fn loop_of(stream: &mut Stream, size: Size, source: &str, records: &mut Vec<String>, is_negated: impl Fn(u64) -> bool) {
    let length = stream.between(2, 4);
    let beliefs: Vec<String> = (0..length).map(|_| size.ordinary(stream)).collect();
    for place in 0..beliefs.len() {
        let (one, next) = (&beliefs[place], &beliefs[(place + 1) % beliefs.len()]);
        let negation = if is_negated(place as u64) { "! " } else { "" };
        records.push(format!("{one} <- {negation}{next} @{source}"));
    }
    if stream.chance(1, 2) {
        records.push(format!("{} <- @{source}", beliefs[0]));
    }
}
