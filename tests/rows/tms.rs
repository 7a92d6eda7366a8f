//! Rows of the fault catalogue, family TMS: loops that hold themselves up, supports that are taken for one, cycles and forks of supersessions, protected
//! memories, and propagation that depends on the order of visits.

use crate::script::{Diary, MS, once, plan, play};
use rusqlite::Connection;
use seedstorm_model::agent::{Agent, Done, Work, WorkKind, lay_down, prepare, wake};
use seedstorm_model::claims::{Committed, Effect};
use seedstorm_model::config::Config;
use seedstorm_model::memory::Digest;
use seedstorm_model::mutant::Mutant;
use seedstorm_model::tms::{Label, Reason};
use seedstorm_scenarios::avalanche::universe::Universe;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Exit, Sys, View, World};
use std::rc::Rc;

const UNIVERSE: Universe = Universe { text_bytes: 12 };
const NAMES: [&str; 5] = ["b0", "b1", "b2", "b3", "a0"];
/// Core memories: `c0` and `c1`.
const CORE: u64 = 2;

fn config(mutant: Option<Mutant>) -> Config {
    Config { keeps_memories: true, keeps_beliefs: true, page_bytes: 1024, mutant, ..Config::default() }
}

fn id(name: &str) -> Digest {
    UNIVERSE.belief(name).expect("a name").id()
}

/// One step of a schedule: an agent, by its role, records something, in one batch; or it looks, and notes what is in, out and undecided.
#[derive(Clone)]
enum Turn {
    Record(&'static str, Vec<String>),
    Look(&'static str, Vec<String>),
    /// Asks what stands in the place of a belief, and notes it.
    Current(&'static str, &'static str),
    /// SQL by hand, on a connection of its own; notes how it went.
    ByHand(&'static str, &'static str),
}

fn record(role: &'static str, records: &[&str]) -> Turn {
    Turn::Record(role, records.iter().map(|words| (*words).to_owned()).collect())
}

fn look(role: &'static str, beliefs: &[&str]) -> Turn {
    Turn::Look(role, beliefs.iter().map(|name| (*name).to_owned()).collect())
}

/// Adds the preparation: tables and core memories.
fn prepared(world: &mut World, config: &Config) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            prepare(&sys, &config, &[], &[], 0).await.expect("nothing goes wrong yet");
            lay_down(&sys, &config, &UNIVERSE.core(CORE)).await.expect("nothing goes wrong yet");
            Exit::success()
        }
    });
}

/// Notes what is refused of batches.
struct Refusals(Diary);

impl Invariant for Refusals {
    fn id(&self) -> &'static str {
        "refusals"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Committed { effect: Effect::Ingested { refused, .. }, .. }) = event.claim() {
            for refusal in refused {
                self.0.note(match refusal.reason {
                    Reason::Core => "refused: core".to_owned(),
                    Reason::Cycle(path) => format!("refused: cycle of {}", path.len() - 1),
                    other => format!("refused: {other:?}"),
                });
            }
        }
        Ok(())
    }
}

/// Takes turns, one after the other, each at its own time. Gives what was noted: what was refused of batches, and what looks found.
fn turns(mutant: Option<Mutant>, turns: Vec<Turn>) -> Vec<String> {
    let config = config(mutant);
    let ran = play(&plan(1), |world, diary| {
        prepared(world, &config);
        world.invariant(Refusals(diary.clone()));
        for role in ["a", "b"] {
            let (config, turns): (_, Rc<[Turn]>) = (config.clone(), turns.clone().into());
            once(world, diary, role, move |sys, diary| take(sys, diary, role, config.clone(), turns.clone()));
        }
    });
    ran.passed().notes
}

async fn take(sys: Sys, diary: Diary, role: &'static str, config: Config, turns: Rc<[Turn]>) {
    let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
    for (number, turn) in (1..).zip(turns.iter()) {
        match turn {
            Turn::Record(whose, records) if *whose == role => {
                until(&sys, number).await;
                let batch = UNIVERSE.batch(records.iter().map(String::as_str)).expect("words");
                let done = agent.work(&sys, &Work { number, kind: WorkKind::Ingest { batch } }).await;
                assert_eq!(done.expect("nothing is in the way"), Done::Acknowledged);
            }
            Turn::Look(whose, beliefs) if *whose == role => {
                until(&sys, number).await;
                diary.note(seen(&sys, &mut agent, beliefs).await);
            }
            Turn::Current(whose, belief) if *whose == role => {
                until(&sys, number).await;
                let current = agent.current(&sys, id(belief)).await.expect("nothing is in the way");
                let current = current.expect("it can be reached").expect("it is known");
                let name = NAMES.iter().find(|name| id(name) == current).expect("it has a name");
                diary.note(format!("{belief} is {name}"));
            }
            Turn::ByHand(whose, sql) if *whose == role => {
                until(&sys, number).await;
                let (path, sql): (String, &'static str) = (config.database(), sql);
                let done = sys.blocking(move |_| Connection::open(path)?.execute(sql, [])).await;
                diary.note(done.map_or_else(|error| error.to_string(), |rows| format!("{rows} rows")));
            }
            _ => {}
        }
    }
    agent.stop(&sys).await.expect("nothing is in the way");
}

/// Turns are a second apart.
async fn until(sys: &Sys, number: u64) {
    let wait_ns = (number * 1000 * MS).saturating_sub(sys.simulated_ns());
    sys.sleep(wait_ns).await.expect("nobody sends signals here");
}

async fn seen(sys: &Sys, agent: &mut Agent, beliefs: &[String]) -> String {
    let ids: Vec<Digest> = beliefs.iter().map(|name| id(name)).collect();
    let findings = agent.findings(sys, &ids).await.expect("nothing is in the way").expect("it can be reached");
    let words = beliefs.iter().zip(findings).map(|(name, finding)| {
        let label = finding.map_or("unknown", |finding| match finding.label {
            Label::In => "in",
            Label::Out => "out",
            Label::Undecided => "undecided",
        });
        format!("{name} {label}")
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Premise supports A; A → B → C → A; retract the premise.
#[test]
fn t2_a_loop_does_not_hold_itself_up() {
    let schedule = || {
        vec![
            record("a", &["b0 <- @a", "b1 <- b0 @a", "b2 <- b1 @a", "b3 <- b2 @a", "b1 <- b3 @a"]),
            look("b", &["b1", "b2", "b3"]),
            record("b", &["retract b0 <- @a"]),
            look("b", &["b0", "b1", "b2", "b3"]),
        ]
    };
    assert_eq!(turns(None, schedule()), ["b1 in, b2 in, b3 in", "b0 out, b1 out, b2 out, b3 out"]);
    let naive = turns(Some(Mutant::PositiveLoopSupportsItself), schedule());
    assert_eq!(naive[1], "b0 out, b1 in, b2 in, b3 in");
}

/// C by A, C by B; retract A: in; retract B: out, and what rests on it.
#[test]
fn t3_each_support_counts_for_itself() {
    let schedule = || {
        vec![
            record("a", &["b0 <- @a", "b2 <- b0 @a", "b3 <- b2 @a"]),
            record("b", &["b1 <- @b", "b2 <- b1 @b"]),
            record("a", &["retract b0 <- @a"]),
            look("b", &["b0", "b2", "b3"]),
            record("b", &["retract b1 <- @b"]),
            look("a", &["b1", "b2", "b3"]),
        ]
    };
    assert_eq!(turns(None, schedule()), ["b0 out, b2 in, b3 in", "b1 out, b2 out, b3 out"]);
    // The same reason in two mouths is two supports.
    let premise = vec![
        record("a", &["b2 <- @a"]),
        record("b", &["b2 <- @b", "retract b2 <- @a"]),
        look("a", &["b2"]),
        record("b", &["retract b2 <- @b"]),
        look("a", &["b2"]),
    ];
    assert_eq!(turns(None, premise.clone()), ["b2 in", "b2 out"]);
    assert_eq!(turns(Some(Mutant::OverDeletion), premise)[0], "b2 out", "it is deleted with one of its two supports");
    let naive = turns(Some(Mutant::UnderDeletion), schedule());
    assert_eq!(naive, ["b0 out, b2 in, b3 in", "b1 out, b2 in, b3 in"], "what has none is left");
}

/// A supersedes B and B supersedes A.
#[test]
fn t4_a_cycle_of_supersessions_is_refused_with_its_path() {
    let schedule = || {
        vec![
            record("a", &["b0 <- @a", "b1 <- @a", "b2 <- @a", "b1 supersedes b0", "b2 supersedes b1"]),
            record("b", &["b0 supersedes b2"]),
            look("b", &["b0", "b1", "b2"]),
        ]
    };
    assert_eq!(turns(None, schedule()), ["refused: cycle of 3", "b0 out, b1 out, b2 in"]);
    let of_two = vec![
        record("a", &["b0 <- @a", "b1 <- @a", "b1 supersedes b0"]),
        record("b", &["b0 supersedes b1"]),
        look("b", &["b0", "b1"]),
    ];
    assert_eq!(turns(None, of_two), ["refused: cycle of 2", "b0 out, b1 in"]);
    let naive = turns(Some(Mutant::SupersedesCycleAccepted), schedule());
    assert_eq!(naive, ["b0 out, b1 out, b2 out"], "nothing is left to stand on");
}

/// What is outdated twice stays outdated: what supersedes its successor doesn't bring it back.
#[test]
fn t4_a_chain_of_supersessions_leaves_the_newest_that_stands() {
    let schedule = vec![
        record("a", &["b0 <- @a", "b1 <- @a", "b2 <- @a", "b1 supersedes b0", "b2 supersedes b1"]),
        look("b", &["b0", "b1", "b2"]),
        Turn::Current("b", "b0"),
        record("a", &["retract b2 <- @a"]),
        look("b", &["b0", "b1", "b2"]),
        Turn::Current("b", "b0"),
        record("a", &["retract b1 <- @a"]),
        look("b", &["b0", "b1", "b2"]),
        Turn::Current("b", "b0"),
    ];
    let seen = turns(None, schedule);
    let expected =
        ["b0 out, b1 out, b2 in", "b0 is b2", "b0 out, b1 in, b2 out", "b0 is b1", "b0 in, b1 out, b2 out", "b0 is b0"];
    assert_eq!(seen, expected);
}

/// Two successors, and a contradiction, in every order of arrival.
#[test]
fn t4_a_fork_and_a_contradiction_come_out_alike_in_every_order() {
    let batches: [&[&str]; 3] = [
        &["b0 <- @a", "a0 <- @a", "a0 supersedes b0", "b2 <- @a"],
        &["b1 <- @a", "b0 <- @a", "b1 supersedes b0"],
        &["b1 <- b0 @a", "contradiction b1 b2"],
    ];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let results = |mutant| {
        let run = |order: &[usize; 3]| {
            let mut schedule: Vec<Turn> = order.iter().map(|batch| record("a", batches[*batch])).collect();
            schedule.push(look("b", &["a0", "b0", "b1", "b2"]));
            schedule.push(Turn::Current("b", "b0"));
            turns(mutant, schedule)
        };
        let mut results: Vec<Vec<String>> = orders.iter().map(run).collect();
        results.dedup();
        results
    };
    // An axiom's word counts for more than what was learned; b1 was asserted at 2 and b2 at 4, so b2 yields.
    assert_eq!(results(None), [["a0 in, b0 out, b1 in, b2 out", "b0 is a0"]]);
    let naive = results(Some(Mutant::ContradictionByArrival));
    assert!(naive.len() > 1, "it depends on the order: {naive:?}");
}

/// Delete a core memory, by every way there is.
#[test]
fn t5_core_memories_are_guarded_in_the_store() {
    let schedule = || {
        vec![
            record("a", &["b0 <- @a", "b1 <- @a", "forget c0", "b0 supersedes c0", "c7 <- @a", "forget b1"]),
            look("b", &["c0", "b0", "b1"]),
            Turn::ByHand("b", "DELETE FROM beliefs WHERE standing = 2"),
            Turn::ByHand("b", "UPDATE beliefs SET label = 0 WHERE standing = 2"),
            Turn::ByHand("b", "UPDATE beliefs SET standing = 2 WHERE standing = 0"),
            Turn::ByHand(
                "b",
                "INSERT OR REPLACE INTO beliefs SELECT arrived, id, 0, 0, 0, 0, 0, 0, NULL FROM beliefs WHERE standing = 2",
            ),
            Turn::ByHand(
                "b",
                "UPDATE OR REPLACE beliefs SET id = (SELECT id FROM beliefs WHERE standing = 2) WHERE standing = 0",
            ),
            Turn::ByHand("b", "UPDATE beliefs SET is_forgotten = 1 WHERE standing <> 2"),
            look("a", &["c0", "c1"]),
        ]
    };
    let kept = turns(None, schedule());
    assert_eq!(
        kept[..5],
        ["refused: core", "refused: core", "refused: core", "refused: UnknownBelief", "c0 in, b0 in, b1 out"]
    );
    assert!(kept[5].contains("a core memory stays"), "{kept:?}");
    assert!(kept[6].contains("a core memory does not change"), "{kept:?}");
    assert!(kept[7].contains("laid down once") && kept[8].contains("laid down once"), "{kept:?}");
    assert!(kept[9].contains("a core memory stays"), "{kept:?}");
    // What isn't core has a tombstone, not a hole: its row is there.
    assert_eq!(kept[10..], ["2 rows", "c0 in, c1 in"]);
    let naive = turns(Some(Mutant::CoreGuardOnlyInCaller), schedule());
    assert!(naive.contains(&"c0 out, b0 in, b1 out".to_owned()), "forgetting is refused, superseding isn't: {naive:?}");
}

/// X dead, Y rests on X, Z on Y; visit Y, Z, X: Z must be out.
#[test]
fn t6_propagation_does_not_depend_on_the_order_of_visits() {
    // Visits go by digest, where several beliefs have changed at once.
    let mut names: Vec<String> = (0..3).map(|number| format!("b{number}")).collect();
    names.sort_by_key(|name| id(name));
    let [y, z, x] = [&names[0], &names[1], &names[2]];
    let words = |records: Vec<String>| Turn::Record("a", records);
    let schedule = || {
        vec![
            words(vec![format!("{x} <- @a"), format!("{y} <- {x} @a"), format!("{z} <- {y} @a")]),
            // Reasons that hold for nobody: Y and Z have changed, too.
            words(vec![format!("{y} <- {z} @b"), format!("{z} <- {x} {y} @b"), format!("retract {x} <- @a")]),
            Turn::Look("b", vec![x.clone(), y.clone(), z.clone()]),
        ]
    };
    assert_eq!(turns(None, schedule()), [format!("{x} out, {y} out, {z} out")]);
    let naive = turns(Some(Mutant::VisitedSetPropagation), schedule());
    assert_eq!(naive, [format!("{x} out, {y} in, {z} in")], "visited before what they rest on");
}
