//! What to look for when one plan gives two runs. Finding it is for whoever knows the program; where the runs part is told by `parting`.

/// What usually reaches a run from outside, and what a program takes instead; in lines.
pub(crate) const USUAL_CAUSES: [&str; 7] = [
    "What usually makes runs of one plan differ, in programs and scenarios alike:",
    "  statics and thread-locals: they outlive a run, so the next one begins otherwise",
    "  the order of a std HashMap or HashSet: a BTreeMap or BTreeSet has one order",
    "  addresses that are printed, compared or hashed",
    "  threads: `World::process`, `Sys::spawn` and `Sys::blocking` make what the seed orders",
    "  the wall clock and chance from elsewhere than `Sys::wall_ns`, `Sys::monotonic_ns` and `Sys::entropy`",
    "  the environment, real files and sockets: a plan's settings and `Sys` have their like",
];
