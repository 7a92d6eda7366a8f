//! The page of one run: one HTML file with everything in it. What is on it is gathered in `scene`; how it moves is in the scripts of tools/templates.

use super::arrows::Arrow;
use super::bars::{Bar, BarKind};
use super::classes::Class;
use super::findings::{Bisected, Estimate, Findings, Shrunk};
use super::numbers::{self, Table};
use super::scene::{Scene, Sealed};
use super::story;
use crate::catalogue::Catalogue;
use crate::report::grouped;
use askama::Template;
use seedstorm_sim::metrics::Nanoseconds;
use seedstorm_sim::trace::file::TraceError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;

/// How both pages look.
pub(super) const STYLE: &str = include_str!("../../templates/page.css");

/// The scripts of a run's page, in the order in which they are read.
const SCRIPTS: [&str; 5] = [
    include_str!("../../templates/data.js"),
    include_str!("../../templates/diagram.js"),
    include_str!("../../templates/table.js"),
    include_str!("../../templates/page.js"),
    include_str!("../../templates/input.js"),
];

/// So many levels of bars are drawn below each other.
const LEVELS_MAX: usize = 4;

/// The page of a run: `trace` is a whole trace file, `findings` what is known beside it.
///
/// # Errors
/// A trace that is none, is damaged, cut short, or of another format.
pub(crate) fn page(catalogue: Catalogue, trace: impl Read, findings: &Findings) -> Result<String, TraceError> {
    Ok(of_scene(catalogue, &Scene::read(trace)?, findings))
}

fn of_scene(catalogue: Catalogue, scene: &Scene, findings: &Findings) -> String {
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        scenario: &scene.head.scenario,
        seed: scene.head.seed.0,
        verdict: if scene.has_ending { "PASSED" } else { "NO VERDICT" },
        has_ending: scene.has_ending,
        headline: headline(catalogue, scene),
        steps: grouped(scene.ending.steps),
        simulated: Nanoseconds(scene.ending.simulated_ns).to_string(),
        reproduce: &findings.reproduce,
        shrunk: &findings.shrunk,
        bisected: &findings.bisected,
        tables: numbers::tables(scene),
        plan: &scene.head.plan,
        style: STYLE,
        script: SCRIPTS.concat(),
        data: data(scene, findings),
    };
    page.render().expect("a template writes to memory")
}

#[derive(Template)]
#[template(path = "run.html")]
struct Page<'a> {
    version: &'static str,
    scenario: &'a str,
    seed: u64,
    verdict: &'static str,
    has_ending: bool,
    headline: Option<Headline>,
    steps: String,
    simulated: String,
    reproduce: &'a Option<String>,
    shrunk: &'a Option<Shrunk>,
    bisected: &'a Option<Bisected>,
    tables: Vec<Table>,
    plan: &'a str,
    style: &'static str,
    script: String,
    data: String,
}

/// What stands at the top of a failure's page.
struct Headline {
    invariant: String,
    statement: String,
    message: Vec<Part>,
    more_first: String,
    more: String,
    process: Option<String>,
    is_of_crash: bool,
    step: u64,
    step_grouped: String,
    time: String,
    fingerprint: String,
    others: usize,
}

/// A part of a message: plain, or a name that stood in backticks.
struct Part {
    text: String,
    is_name: bool,
}

fn parts(message: &str) -> Vec<Part> {
    let parts = message.split('`').enumerate().map(|(index, text)| (text.to_owned(), index % 2 == 1));
    parts.map(|(text, is_name)| Part { text, is_name }).collect()
}

fn headline(catalogue: Catalogue, scene: &Scene) -> Option<Headline> {
    let violation = scene.ending.violations.first()?;
    let (message, more) = violation.message.split_once('\n').unwrap_or((&violation.message, ""));
    let lines: Vec<&str> = more.lines().map(str::trim).collect();
    // Where a crash was and what it kept are one sentence, in two lines.
    let first = lines.iter().take_while(|line| !line.starts_with("lost ")).copied().collect::<Vec<_>>().join(" ");
    let process = scene.violation.as_ref().map(|sealed| scene.columns.lanes[sealed.row] as usize);
    Some(Headline {
        invariant: violation.invariant.clone(),
        statement: catalogue.statement(&violation.invariant).unwrap_or_default().to_owned(),
        message: parts(message),
        more_first: if first.is_empty() { "more".to_owned() } else { first },
        more: lines.join("\n").replace(", lost ", ",\nlost "),
        process: process.and_then(|lane| scene.head.processes.get(lane).cloned()),
        is_of_crash: violation.is_of_a_crash(),
        step: violation.step,
        step_grouped: grouped(violation.step),
        time: Nanoseconds(violation.time_ns).to_string(),
        fingerprint: violation.fingerprint.clone(),
        others: scene.ending.violations.len() - 1,
    })
}

/// What the scripts read. Steps and times are differences to the event before, since these are short.
#[derive(Serialize)]
struct Data<'a> {
    /// How many events come before the first row.
    omitted: u64,
    lanes: Vec<&'a str>,
    classes: Vec<&'static str>,
    kinds: &'a [String],
    kind_classes: Vec<u8>,
    patterns: &'a [String],
    labels: Vec<&'a str>,
    steps: Vec<i64>,
    times: Vec<i64>,
    lane: &'a [u32],
    kind: &'a [u32],
    pattern: &'a [u32],
    numbers: &'a [u64],
    /// Lengths of runs of rows outside the causal past and inside of it, in turn.
    past: Vec<usize>,
    story: Vec<usize>,
    violation: Option<usize>,
    bars: BarColumns,
    arrows: ArrowColumns,
    curve: &'a [Estimate],
    critical_steps: &'a [u64],
}

#[derive(Default, Serialize)]
struct BarColumns {
    lane: Vec<u32>,
    kind: Vec<u8>,
    label: Vec<usize>,
    from: Vec<u64>,
    to: Vec<u64>,
    /// Below the events: 1 is the first; 0 is the lane itself.
    level: Vec<usize>,
}

#[derive(Default, Serialize)]
struct ArrowColumns {
    from: Vec<u64>,
    to: Vec<i64>,
}

fn data(scene: &Scene, findings: &Findings) -> String {
    let columns = &scene.columns;
    let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
    for bar in scene.bars.iter().filter(|bar| bar.to.index >= scene.first) {
        let next = labels.len();
        labels.entry(&bar.label).or_insert(next);
    }
    let mut label_list = vec![""; labels.len()];
    labels.iter().for_each(|(label, number)| label_list[*number] = label);
    let sealed = scene.violation.as_ref();
    let bisected = findings.bisected.as_ref();
    let data = Data {
        omitted: scene.first,
        lanes: scene.head.processes.iter().map(String::as_str).chain(["machine"]).collect(),
        classes: Class::ALL.iter().map(|(_, name)| *name).collect(),
        kinds: columns.kind_table.words(),
        kind_classes: columns.classes.iter().map(|class| *class as u8).collect(),
        patterns: columns.pattern_table.words(),
        labels: label_list,
        steps: differences(&columns.steps),
        times: differences(&columns.times_ns),
        lane: &columns.lanes,
        kind: &columns.kinds,
        pattern: &columns.patterns,
        numbers: &columns.numbers,
        past: sealed.map_or_else(|| vec![columns.len()], |sealed| lengths(&sealed.past)),
        story: sealed.map_or_else(Vec::new, |sealed| story::rows(scene, sealed)),
        violation: sealed.map(|sealed: &Sealed| sealed.row),
        bars: bar_columns(scene, &labels),
        arrows: arrow_columns(&scene.arrows, scene.first),
        curve: bisected.map_or(&[], |bisected| &bisected.curve),
        critical_steps: bisected.map_or(&[], |bisected| &bisected.critical_steps),
    };
    // `<` would end the script's element, or begin a comment in it.
    serde_json::to_string(&data).expect("plain data").replace('<', "\\u003c")
}

fn differences(values: &[u64]) -> Vec<i64> {
    let before = [0].iter().chain(values);
    values.iter().zip(before).map(|(value, before)| value.wrapping_sub(*before) as i64).collect()
}

/// Lengths of runs of equal values, the first of them of `false`.
fn lengths(values: &[bool]) -> Vec<usize> {
    let (mut lengths, mut current) = (vec![0], false);
    for value in values {
        if *value != current {
            current = *value;
            lengths.push(0);
        }
        *lengths.last_mut().expect("there is one from the beginning") += 1;
    }
    lengths
}

fn bar_columns(scene: &Scene, labels: &BTreeMap<&str, usize>) -> BarColumns {
    let mut columns = BarColumns::default();
    let levels = levels(&scene.bars);
    for (bar, level) in scene.bars.iter().zip(levels).filter(|(bar, _)| bar.to.index >= scene.first) {
        columns.lane.push(bar.process.0.min(scene.lanes() as u32 - 1));
        columns.kind.push(bar.kind as u8);
        columns.label.push(labels[bar.label.as_str()]);
        columns.from.push(bar.from.index.saturating_sub(scene.first));
        columns.to.push(bar.to.index - scene.first);
        columns.level.push(level);
    }
    columns
}

/// On which level each bar is drawn, so that none of a process covers another while there is room.
fn levels(bars: &[Bar]) -> Vec<usize> {
    let mut busy_until: BTreeMap<u32, [u64; LEVELS_MAX]> = BTreeMap::new();
    let mut level = |bar: &Bar| {
        if matches!(bar.kind, BarKind::Life | BarKind::Pause | BarKind::Operation) {
            return 0;
        }
        let busy = busy_until.entry(bar.process.0).or_default();
        let free = busy.iter().position(|until| *until <= bar.from.index).unwrap_or(LEVELS_MAX - 1);
        busy[free] = bar.to.index;
        free + 1
    };
    bars.iter().map(&mut level).collect()
}

/// Messages of which both ends are shown, and those that were lost.
fn arrow_columns(arrows: &[Arrow], first: u64) -> ArrowColumns {
    let mut columns = ArrowColumns::default();
    for arrow in arrows.iter().filter(|arrow| arrow.from.at.index >= first) {
        columns.from.push(arrow.from.at.index - first);
        columns.to.push(arrow.to.map_or(-1, |end| (end.at.index - first) as i64));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::made_up;
    use serde_json::Value;

    fn data_of(page: &str) -> Value {
        let (_, rest) = page.split_once(r#"id="data">"#).expect("the data are in the page");
        let (json, _) = rest.split_once("</script>").expect("they end");
        serde_json::from_str(json).expect("they are JSON")
    }

    fn numbers(value: &Value) -> Vec<i64> {
        value.as_array().expect("a list").iter().map(|number| number.as_i64().expect("a number")).collect()
    }

    #[test]
    fn a_page_holds_the_run_and_loads_nothing() {
        let page =
            page(made_up::catalogue(), made_up::failing().as_slice(), &Findings::default()).expect("it is whole");
        for part in [
            "FAILED",
            "lock-exclusion",
            "a-1 acquired lock <code>compaction</code> while it is held by a-0",
            "each lock has one live holder",
        ] {
            assert!(page.contains(part), "{part} is not there");
        }
        // What a trace says can't end an element of the page.
        assert!(page.contains("more &#60;here&#62;"), "it is escaped");
        assert_eq!(page.matches("</script>").count(), 2, "the data and the scripts");
        for outside in ["http://", "https://", "src=\"", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} could load something");
        }
    }

    #[test]
    fn the_data_of_a_page_are_those_of_the_trace() {
        let data = data_of(
            &page(made_up::catalogue(), made_up::failing().as_slice(), &Findings::default()).expect("it is whole"),
        );
        let lanes = numbers(&data["lane"]);
        assert_eq!(data["lanes"], serde_json::json!(["a-0", "a-1", "a-2", "machine"]));
        for column in ["steps", "times", "kind", "pattern"] {
            assert_eq!(numbers(&data[column]).len(), lanes.len(), "{column}");
        }
        assert_eq!(numbers(&data["past"]).iter().sum::<i64>() as usize, lanes.len());
        let last = lanes.len() as i64 - 1;
        assert_eq!((&data["violation"], numbers(&data["times"]).iter().sum::<i64>()), (&last.into(), last * 1000));
        // One message arrived and one was lost.
        let kinds = numbers(&data["kind"]);
        let is = |row: i64, kind: &str| data["kinds"][kinds[row as usize] as usize] == *kind;
        let (from, to) = (numbers(&data["arrows"]["from"]), numbers(&data["arrows"]["to"]));
        assert!(from.iter().all(|row| is(*row, "send")) && from.len() == 2, "{from:?}");
        assert!(is(to[0], "receive") && to[1] == -1, "{to:?}");
        // a-1 waits until it has the lock that a-0 holds to the end.
        let label = |bar: usize| &data["labels"][data["bars"]["label"][bar].as_u64().expect("a number") as usize];
        let bars = numbers(&data["bars"]["kind"]);
        let of = |kind: BarKind| bars.iter().position(|known| *known == kind as i64).expect("there is one");
        assert_eq!((label(of(BarKind::Wait)), label(of(BarKind::Hold))), (&"compaction".into(), &"compaction".into()));
        assert_eq!(data["bars"]["lane"][of(BarKind::Wait)], 1);
        assert_eq!(data["bars"]["to"][of(BarKind::Wait)], last);
    }

    #[test]
    fn findings_are_shown_and_absent_ones_are_not() {
        let reproduce = Some("seedstorm replay a <b>.toml".to_owned());
        let sizes = vec![super::super::Shrinkage { what: "faults".into(), before: 14, after: 1 }];
        let point = |step, probability| Estimate { step, probability, low: 0.0, high: 1.0 };
        let bisected = Bisected {
            critical_steps: vec![5],
            curve: vec![point(1, 0.1), point(7, 1.0)],
            in_words: "Fate was sealed there.".into(),
        };
        let shrunk = Some(Shrunk { sizes, reproduce: None });
        let findings = Findings { reproduce, shrunk, bisected: Some(bisected) };
        let with = page(made_up::catalogue(), made_up::failing().as_slice(), &findings).expect("it is whole");
        for part in ["seedstorm replay a &#60;b&#62;.toml", "14 →", "Fate was sealed there.", "#step=5"] {
            assert!(with.contains(part), "{part} is not there");
        }
        let data = data_of(&with);
        assert_eq!((data["curve"][1]["step"].as_u64(), data["critical_steps"][0].as_u64()), (Some(7), Some(5)));
        let without =
            page(made_up::catalogue(), made_up::failing().as_slice(), &Findings::default()).expect("it is whole");
        for part in ["Shrunk to", "Where its fate"] {
            assert!(with.contains(part) && !without.contains(part), "{part}");
        }
    }

    #[test]
    fn a_trace_that_is_cut_short_gives_no_page() {
        let trace = made_up::failing();
        assert!(page(made_up::catalogue(), &trace[..trace.len() - 5], &Findings::default()).is_err());
    }

    #[test]
    fn runs_of_values_come_back_from_their_lengths() {
        for values in [vec![], vec![true], vec![false, false, true, false], vec![true, true, false]] {
            let mut value = true;
            let again = lengths(&values).into_iter().flat_map(|length| {
                value = !value;
                std::iter::repeat_n(value, length)
            });
            assert_eq!(again.collect::<Vec<_>>(), values);
        }
    }
}
