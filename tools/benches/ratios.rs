//! The ratios bench: seedstorm against its peers on the same work, and against itself. `cargo bench -p seedstorm --bench ratios` prints a line
//! `ratio NAME VALUE` for each. Each side runs in a process of its own, in turn (A B A B ...), and the median of the pairs counts, so that a machine that
//! changes its speed changes no ratio.

mod ours;
#[path = "peers/workload.rs"]
mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Pairs of runs for a ratio.
const PAIRS: usize = 7;
/// Processes in the scheduler's benches.
const TASKS: &str = "16";

/// As in the product's binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let Some((first, rest)) = arguments.split_first()
        && first == "child"
    {
        println!("{}", ours::run(rest));
        return;
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|argument| name.contains(argument.as_str()));
    let peers = Peers::build();
    let ratio = |name: &str, value: &dyn Fn() -> (f64, String)| {
        if wanted(name) {
            let (value, detail) = value();
            println!("ratio {name} {value:.2}");
            eprintln!("      {detail}");
        }
    };
    ratio("kernel_steps_vs_madsim", &|| {
        paired(
            &|| child(&["yield", TASKS, "200000"]),
            &|| peers.run("peer-madsim", &["yield", TASKS, "200000"]),
            "steps/s",
        )
    });
    ratio("timers_vs_madsim", &|| {
        paired(
            &|| child(&["sleep", TASKS, "50000"]),
            &|| peers.run("peer-madsim", &["sleep", TASKS, "50000"]),
            "timers/s",
        )
    });
    ratio("sqlite_calls_vs_bare", &|| {
        paired(
            &|| child(&["sqlite", "8", "50", "100"]),
            &|| peers.run("peer-bare-sqlite", &["8", "50", "100"]),
            "VFS calls/s",
        )
    });
    ratio("checks_overhead", &|| {
        // Seconds for the same seeds: with the checks over without them, so the faster side is the peer here.
        paired(
            &|| child(&["storm", "unchecked", "8", "50", "60"]),
            &|| child(&["storm", "checked", "8", "50", "60"]),
            "seeds/s",
        )
    });
    ratio("storm_seeds_per_s", &|| {
        let rates = median((0..PAIRS).map(|_| child(&["storm", "checked", "8", "50", "100"])).collect());
        (rates, "seeds/s on one core: 8 agents, 50 operations each, all invariants".into())
    });
    ratio("rss_2000_vs_200_seeds", &|| {
        (child(&["rss"]), "resident memory of one worker after 2000 seeds, over after 200".into())
    });
    ratio("tms_touched_vs_dependents", &|| {
        (
            child(&["beliefs", "100000"]),
            "beliefs that 40 retractions touched among 100000, against those that depend on them".into(),
        )
    });
    ratio("step_time_1e6_vs_1e4", &|| {
        paired(
            &|| child(&["steps", "10000", "100"]),
            &|| child(&["steps", "1000000", "1"]),
            "steps/s in short runs against a long one",
        )
    });
    ratio("causality_overhead", &|| {
        // Seconds for the same floods: with the checks over without them.
        paired(
            &|| child(&["flood", "unchecked", "100", "60"]),
            &|| child(&["flood", "checked", "100", "60"]),
            "seeds/s",
        )
    });
    ratio("flood_step_time_1e6_vs_1e4", &|| {
        paired(
            &|| child(&["flood-steps", SHORT_FLOOD_MS, "100"]),
            &|| child(&["flood-steps", LONG_FLOOD_MS, "1"]),
            "steps/s in short floods against a long one",
        )
    });
}

/// Floods of about 10⁴ and 10⁶ steps, in milliseconds of flooding.
const SHORT_FLOOD_MS: &str = "100";
const LONG_FLOOD_MS: &str = "40000";

/// The median ratio of rates, the first over the second, in turn.
fn paired(first: &dyn Fn() -> f64, second: &dyn Fn() -> f64, unit: &str) -> (f64, String) {
    let pairs: Vec<(f64, f64)> = (0..PAIRS).map(|_| (first(), second())).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(first, second)| first / second).collect();
    let sides = [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()].map(median);
    let (least, greatest) =
        ratios.iter().fold((f64::MAX, 0f64), |(least, greatest), ratio| (least.min(*ratio), greatest.max(*ratio)));
    let detail = format!(
        "{:.0} {unit} against {:.0}; ratio from {least:.2} to {greatest:.2} over {PAIRS} pairs",
        sides[0], sides[1]
    );
    (median(ratios), detail)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs one of our sides in a process of its own, with the environment of a sweep's workers: units for each second.
fn child(arguments: &[&str]) -> f64 {
    let myself = std::env::current_exe().expect("the bench knows its own path");
    let (name, value) = seedstorm::ALLOCATOR_KEEPS_MEMORY;
    rate(Command::new(myself).env(name, value).arg("child").args(arguments))
}

/// Runs a command that prints `units seconds`, or one number.
fn rate(command: &mut Command) -> f64 {
    let output = command.output().expect("the side starts");
    assert!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [units, seconds] => units / seconds,
        [value] => *value,
        _ => panic!("{command:?} printed `{text}`"),
    }
}

/// The peers' programs.
struct Peers {
    folder: PathBuf,
}

impl Peers {
    /// Builds them with the profile of this bench, beside it.
    fn build() -> Peers {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", "bench", "--package", "seedstorm", "--features", "peers"])
            .args(["--bin", "peer-madsim", "--bin", "peer-bare-sqlite"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.is_ok_and(|status| status.success()), "the peers build");
        let myself = std::env::current_exe().expect("the bench knows its own path");
        // .../release/deps/ratios-HASH
        let folder = myself.parent().and_then(Path::parent).expect("cargo puts benches into deps").to_owned();
        Peers { folder }
    }

    fn run(&self, program: &str, arguments: &[&str]) -> f64 {
        rate(Command::new(self.folder.join(program)).args(arguments))
    }
}
