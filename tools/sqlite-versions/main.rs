//! The product's command line with another SQLite, and `measure`, which sweeps the scenario sqlite-wal and sums it up in one line. Which SQLite it is, each
//! workspace beside this file says.

use serde_json::Value;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some("measure") {
        return seedstorm::main_with(seedstorm_scenarios::all());
    }
    match arguments.next().as_deref().and_then(range) {
        Some((first, end)) => match measure(first, end, &arguments.collect::<Vec<_>>()) {
            Ok(line) => {
                println!("{line}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(70)
            }
        },
        None => {
            eprintln!("error: which seeds? Usage: measure A..B [options of sweep]");
            ExitCode::from(2)
        }
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, end) = text.split_once("..")?;
    Some((first.parse().ok()?, end.parse().ok()?))
}

/// Sweeps, as any user would, and sums up what the machine output says.
fn measure(first: u64, end: u64, options: &[String]) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut sweep = Command::new(program);
    sweep.args(["sweep", "--scenarios", "sqlite-wal", "--json", "--determinism", "0%", "--seeds", &format!("{first}..{end}")]);
    let output = sweep.args(options).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let (Some(summary), runs) = (lines.last(), lines.iter().filter(|line| line["type"] == "seed")) else {
        return Err(format!("the sweep ended with {}, and without a summary", output.status));
    };
    let failing: Vec<u64> =
        runs.clone().filter(|run| run["verdict"] == "fail").filter_map(|run| run["seed"].as_u64()).collect();
    let (seeds, failed) = (runs.count(), failing.len());
    let seconds = summary["wall_ns"].as_u64().ok_or("the sweep has no summary")? as f64 / 1e9;
    let first_failure = failing.iter().min().map_or_else(|| "none".to_owned(), u64::to_string);
    let share = failed as f64 / seeds.max(1) as f64;
    Ok(format!(
        "sqlite {} seeds {seeds} first_failure {first_failure} failing_share {share:.4} seconds {seconds:.1}",
        rusqlite::version()
    ))
}
