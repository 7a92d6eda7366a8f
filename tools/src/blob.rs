//! A failure as one word, for logs of machines that keep no files: the plan and what came of it, without its turns. The whole is in `reproducer`.

use crate::checked::Checked;
use crate::exit::{Problem, Result};
use crate::refused;
use crate::reproducer::Reproducer;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seedstorm_sim::Plan;
use seedstorm_sim::invariant::{CrashPoints, Violation};
use serde::{Deserialize, Serialize};
use std::io::Read;

/// What each begins with: the version of its form.
const PREFIX: &str = "ss1-";

/// The most bytes that one may hold: a damaged word must not exhaust memory.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// zstd's level: they are made once and read by people, so small matters more than fast.
const LEVEL: i32 = 19;

#[derive(Serialize, Deserialize)]
struct Stored {
    seedstorm: String,
    steps: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace_hash: Option<String>,
    crash_points: CrashPoints,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    without_invariants: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    violation: Option<Violation>,
    plan: Plan,
}

/// The word for a failure.
///
/// # Errors
/// It can't be compressed.
pub(crate) fn of(failure: &Reproducer) -> anyhow::Result<String> {
    let stored = Stored {
        seedstorm: env!("CARGO_PKG_VERSION").to_owned(),
        steps: failure.steps,
        trace_hash: failure.trace_hash.clone(),
        crash_points: failure.checked.crash_points,
        without_invariants: failure.checked.without_invariants,
        violation: failure.violation.clone(),
        plan: failure.plan.clone(),
    };
    let compressed = zstd::bulk::compress(toml::to_string(&stored)?.as_bytes(), LEVEL)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(compressed)))
}

/// The failure that a word stands for, and what has changed since.
///
/// # Errors
/// A word that was cut short, or is none.
pub(crate) fn read(word: &str) -> Result<(Reproducer, Vec<String>)> {
    let wrong = |why: String| Problem::usage(format!("--repro: {why}"));
    let Some(encoded) = word.trim().strip_prefix(PREFIX) else {
        return Err(wrong(format!("it does not begin with `{PREFIX}`: was all of it pasted?")));
    };
    let cut = |error: &dyn std::fmt::Display| wrong(format!("it is damaged or cut short: {error}"));
    let compressed = URL_SAFE_NO_PAD.decode(encoded).map_err(|error| cut(&error))?;
    let mut text = String::new();
    let decoder = zstd::Decoder::new(&compressed[..]).map_err(|error| cut(&error))?;
    decoder.take(TEXT_BYTES_MAX).read_to_string(&mut text).map_err(|error| cut(&error))?;
    let stored: Stored = toml::from_str(&text).map_err(|error| wrong(refused::in_file(&error)))?;
    stored.plan.check().map_err(|refusal| wrong(refused::in_plan(&refusal)))?;
    let mut changed = Vec::new();
    if stored.seedstorm != env!("CARGO_PKG_VERSION") {
        changed.push(format!("recorded with seedstorm {}, this is {}", stored.seedstorm, env!("CARGO_PKG_VERSION")));
    }
    let Stored { steps, trace_hash, crash_points, without_invariants, violation, plan, .. } = stored;
    let checked = Checked { crash_points, without_invariants };
    Ok((Reproducer { plan, checked, turns: None, violation, trace_hash, steps }, changed))
}
