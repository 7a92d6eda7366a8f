//! A self-test for machines: the fields of its JSON lines, a contract. One line for each planted bug and strategy, as soon as it is known; the last is the
//! summary.

use super::trial::{Picked, Stray, Trial};
use super::verdict::{Finding, Ratio, Verdict};
use crate::exit::Exit;
use crate::report::{Coverage, SCHEMA_VERSION};
use crate::seeds::Seeds;
use seedstorm_sim::explore::Share;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A seed that failed as it should not.
#[derive(Serialize)]
struct StrayLine<'a> {
    seed: u64,
    invariant: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct FingerprintLine<'a> {
    fingerprint: &'a str,
    failures: u64,
}

#[derive(Serialize)]
struct PickedLine {
    runs: u64,
    detected: u64,
}

#[derive(Serialize)]
struct TrialLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema_version: u32,
    mutant: &'static str,
    row: &'static str,
    scenario: &'static str,
    /// The invariant that must catch it.
    invariant: &'static str,
    /// Others that catch it rightly.
    also: &'static [&'static str],
    /// Whether it shows only where two things come together.
    interaction: bool,
    strategy: &'a str,
    first_seed: u64,
    /// Seeds that were run.
    runs: u64,
    steps: u64,
    /// Seeds whose first violation was of `invariant`.
    detected: u64,
    share: Option<f64>,
    share_low: Option<f64>,
    share_high: Option<f64>,
    first_detection: Option<u64>,
    /// Null when not half of the run lengths ended in a detection.
    median_seeds: Option<u64>,
    median_steps: Option<u64>,
    /// How often each invariant was the first to fire.
    fired_first: &'a BTreeMap<String, u64>,
    wrong_first: Vec<StrayLine<'a>>,
    /// The most frequent first.
    fingerprints: Vec<FingerprintLine<'a>>,
    /// The share of failures with the most frequent one.
    one_fingerprint: Option<f64>,
    /// By the strategy that each seed picked.
    picked: BTreeMap<&'a str, PickedLine>,
    coverage: &'a BTreeMap<String, Coverage>,
    plans_compared: u64,
    plans_differ: &'a [u64],
    /// Failing seeds judged without the bug.
    without: u64,
    failed_without: Vec<StrayLine<'a>>,
    /// False when a signal cut it short.
    whole: bool,
}

#[derive(Serialize)]
struct RatioLine<'a> {
    strategy: &'a str,
    against: &'static str,
    /// Of median seeds to detection: null when nothing could be compared.
    median_seeds_geometric_mean: Option<f64>,
    mutants: usize,
    /// Of seeds for each detection.
    seeds_for_each_detection_geometric_mean: Option<f64>,
    mutants_detected_by_both: usize,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema_version: u32,
    verdict: &'static str,
    mutants: usize,
    detected: usize,
    survivors: Vec<&'static str>,
    wrong_first: usize,
    plans_differ: usize,
    failed_without: usize,
    runs: u64,
    steps: u64,
    wall_ns: u64,
    ratios: Vec<RatioLine<'a>>,
    /// Mutants whose failures share one fingerprint in less than 95 %.
    several_fingerprints: Vec<&'static str>,
    /// By fingerprint: how many failures of each mutant had it.
    confusion: BTreeMap<&'a str, BTreeMap<&'static str, u64>>,
    coverage: BTreeMap<&'static str, BTreeMap<&'a str, Coverage>>,
    findings: Vec<String>,
    reproduce: Option<&'a str>,
    interrupted: bool,
}

fn strays(strays: &[Stray]) -> Vec<StrayLine<'_>> {
    let line = |stray| {
        let Stray { seed, invariant, message }: &Stray = stray;
        StrayLine { seed: *seed, invariant, message }
    };
    strays.iter().map(line).collect()
}

/// Writes the line of one trial.
///
/// # Errors
/// The output can't be written.
pub(crate) fn trial(output: &mut impl Write, trial: &Trial, seeds: Seeds) -> io::Result<()> {
    let (info, share) = (trial.planted.info, trial.share());
    let interval = share.known().map(Share::interval);
    let picked = trial.picked.iter().map(|(name, Picked { runs, detected })| {
        let line = PickedLine { runs: *runs, detected: *detected };
        (name.as_str(), line)
    });
    let fingerprints = trial.by_frequency().into_iter();
    line(
        output,
        &TrialLine {
            kind: "mutant",
            schema_version: SCHEMA_VERSION,
            mutant: info.name,
            row: info.row,
            scenario: trial.planted.scenario.name(),
            invariant: info.invariant,
            also: info.also,
            interaction: info.is_interaction,
            strategy: &trial.strategy,
            first_seed: seeds.first,
            runs: trial.runs,
            steps: trial.steps,
            detected: share.count,
            share: share.known().map(Share::value),
            share_low: interval.map(|(low, _)| low),
            share_high: interval.map(|(_, high)| high),
            first_detection: trial.detected.first().copied(),
            median_seeds: trial.seed_lengths.median(),
            median_steps: trial.step_lengths.median(),
            fired_first: &trial.fired,
            wrong_first: strays(&trial.wrong),
            fingerprints: fingerprints
                .map(|(fingerprint, failures)| FingerprintLine { fingerprint, failures })
                .collect(),
            one_fingerprint: trial.one_fingerprint().known().map(Share::value),
            picked: picked.collect(),
            coverage: &trial.coverage,
            plans_compared: trial.runs,
            plans_differ: &trial.plans_differ,
            without: trial.again,
            failed_without: strays(&trial.unclean),
            whole: trial.is_whole,
        },
    )
}

/// Writes the last line.
///
/// # Errors
/// The output can't be written.
pub(crate) fn summary(
    output: &mut impl Write,
    verdict: &Verdict<'_>,
    reproduce: Option<&str>,
    wall_ns: u64,
) -> io::Result<()> {
    let ratios = verdict.ratios();
    let ratio = |ratio| {
        let Ratio { strategy, medians, rates }: &Ratio = ratio;
        RatioLine {
            strategy,
            against: "random",
            median_seeds_geometric_mean: medians.value,
            mutants: medians.mutants,
            seeds_for_each_detection_geometric_mean: rates.value,
            mutants_detected_by_both: rates.mutants,
        }
    };
    let sum = |count: fn(&Trial) -> usize| verdict.trials.iter().map(count).sum::<usize>();
    line(
        output,
        &SummaryLine {
            kind: "summary",
            schema_version: SCHEMA_VERSION,
            verdict: if verdict.exit == Exit::Pass { "pass" } else { "fail" },
            mutants: verdict.mutants(),
            detected: verdict.detected(),
            survivors: verdict.survivors(),
            wrong_first: sum(|trial| trial.wrong.len()),
            plans_differ: sum(|trial| trial.plans_differ.len()),
            failed_without: sum(|trial| trial.unclean.len()),
            runs: verdict.trials.iter().map(|trial| trial.runs).sum(),
            steps: verdict.trials.iter().map(|trial| trial.steps).sum(),
            wall_ns,
            ratios: ratios.iter().map(ratio).collect(),
            several_fingerprints: verdict.scattered().map(|trial| trial.planted.info.name).collect(),
            confusion: verdict.confusion(),
            coverage: verdict.coverage(),
            findings: verdict.findings.iter().map(Finding::words).collect(),
            reproduce,
            interrupted: verdict.interrupted,
        },
    )
}

/// Writes a value as one line, at once: whoever reads may wait for it.
fn line(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    output.write_all(&text)?;
    output.flush()
}
