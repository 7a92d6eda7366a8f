//! Sealed memories, by way of agents and by hand: what is acknowledged is sealed and stays, a flipped bit is found and named, orphans are swept and
//! nothing else is.

mod support;

use rusqlite::Connection;
use seedstorm_model::agent::{Agent, Done, WorkKind, prepare, wake};
use seedstorm_model::claims::{Committed, Effect, MemoriesVerified};
use seedstorm_model::config::Config;
use seedstorm_model::memory::{Digest, Folder, Transition, is_sealed, latest, seal};
use seedstorm_sim::View;
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::Event;
use seedstorm_sim::{Draw, Exit, Plan, Sys, World};
use support::{Diary, MS, SECOND, agent, ask, fault, pass, plan, timed};

fn config() -> Config {
    Config { keeps_memories: true, page_bytes: 1024, autocheckpoint_pages: 5, ..Config::default() }
}

/// Adds the preparation.
fn prepared(world: &mut World, config: &Config) {
    prepared_after(world, config, None);
}

/// As [`prepared`], where somebody has died between writing a text's file and sealing it.
fn prepared_after(world: &mut World, config: &Config, orphan: Option<u64>) {
    let config = config.clone();
    world.prepare(move |sys| {
        let config = config.clone();
        async move {
            prepare(&sys, &config, &[], &[], 0).await.expect("nothing goes wrong yet");
            if let Some(orphan) = orphan {
                let writing = Folder::new(&config).open(&sys).await.expect("nobody sweeps");
                writing.write(&sys, text(orphan).as_bytes()).await.expect("there is room");
            }
            Exit::success()
        }
    });
}

fn remember(text: impl Into<String>) -> WorkKind {
    WorkKind::Remember { text: text.into() }
}

fn text(index: u64) -> String {
    format!("what I know about {index}")
}

/// Notes what agents claim of memories: `sealed TRANSITION ROOT`, and `damaged PATH` for each path that a verification names.
struct Claims(Diary);

impl Invariant for Claims {
    fn id(&self) -> &'static str {
        "claims"
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        if let Some(Committed { effect: Effect::Remembered { transition, .. }, .. }) = event.claim() {
            let Transition { number, root, memories } = transition;
            self.0.note(format!("sealed {number} {memories} {root}"));
        } else if let Some(MemoriesVerified { damaged, .. }) = event.claim() {
            self.0.note("verified");
            damaged.iter().for_each(|damaged| self.0.note(format!("damaged {}", damaged.path)));
        }
        Ok(())
    }
}

async fn verify(sys: &Sys, agent: &mut Agent, number: u64) {
    assert_eq!(ask(sys, agent, number, WorkKind::Verify).await, Done::Acknowledged);
}

#[test]
fn agents_that_remember_at_once_have_one_root_whatever_the_order() {
    let last = |seed| {
        let diary = Diary::default();
        pass(&plan(seed), |world| {
            world.invariant(Claims(diary.clone()));
            prepared(world, &config());
            for index in 0..3 {
                agent(world, index, &config(), move |sys, mut agent, _| async move {
                    for number in 0..4 {
                        // Two agents share each memory.
                        let about = u64::from(index) * 2 + number;
                        assert_eq!(ask(&sys, &mut agent, number, remember(text(about))).await, Done::Acknowledged);
                    }
                    verify(&sys, &mut agent, 9).await;
                    agent.stop(&sys).await.expect("nothing goes wrong");
                });
            }
        });
        assert_eq!((diary.count("verified"), diary.count("damaged")), (3, 0), "{:#?}", diary.notes());
        let of_last = |note: &String| note.strip_prefix("sealed 12 ").map(str::to_owned);
        diary.notes().iter().find_map(of_last).expect("twelve transitions, one for each operation")
    };
    let first = last(0);
    assert!(first.starts_with("8 "), "eight memories: {first}");
    for seed in 1..10 {
        assert_eq!(last(seed), first);
    }
}

/// Runs SQL of the test's own on the database.
async fn by_hand<T: 'static>(
    sys: &Sys,
    config: &Config,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + 'static,
) -> rusqlite::Result<T> {
    let path = config.database();
    sys.blocking(move |_| work(&Connection::open(path)?)).await
}

fn one_process<F: Future<Output = ()> + 'static>(
    plan: &Plan,
    program: impl Fn(Sys, Config) -> F + Send + Sync + Clone + 'static,
) {
    pass(plan, |world| {
        prepared(world, &config());
        let program = program.clone();
        world.process("agent", 0, move |sys| {
            let program = program.clone();
            async move {
                program(sys, config()).await;
                Exit::success()
            }
        });
    });
}

#[test]
fn one_memory_more_touches_as_many_rows_as_its_path_has_nodes() {
    one_process(&timed(1), |sys, config| async move {
        let touched = by_hand(&sys, &config, |connection| {
            let digest = |number: u64| Digest::of(&number.to_le_bytes());
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let all: Vec<Digest> = (0..5000).map(digest).collect();
            seal(connection, &all, 1, None)?;
            let before = connection.total_changes();
            for number in 5000..5020 {
                seal(connection, &[digest(number)], 1, None)?;
            }
            let touched = connection.total_changes() - before;
            connection.execute_batch("COMMIT")?;
            Ok(touched)
        });
        // One row of what is sealed, one root, and a path: log₂ of 5000 is 12.3.
        let touched = touched.await.expect("nothing is in the way");
        assert!((20 * 8..20 * 20).contains(&touched), "{touched} rows for twenty memories");
    });
}

#[test]
fn a_batch_is_one_transition_and_goes_with_its_transaction() {
    one_process(&timed(2), |sys, config| async move {
        let done = by_hand(&sys, &config, |connection| {
            let [one, two, three] = [1u64, 2, 3].map(|number| Digest::of(&number.to_le_bytes()));
            let empty = latest(connection)?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let batch = seal(connection, &[one, two, one], 1, None)?;
            connection.execute_batch("ROLLBACK; BEGIN IMMEDIATE")?;
            assert_eq!(latest(connection)?, empty);
            let again = seal(connection, &[two, one], 2, None)?;
            assert_eq!((again.number, again.root, again.memories), (1, batch.root, 2), "{batch:?}");
            let more = seal(connection, &[three, two], 3, None)?;
            assert_eq!((more.number, more.memories), (2, 3));
            let nothing = seal(connection, &[], 4, None)?;
            assert_eq!((nothing.number, nothing.root, nothing.memories), (3, more.root, 3));
            connection.execute_batch("COMMIT")?;
            for change in [
                "DELETE FROM sealed_memories",
                "UPDATE sealed_memories SET transition = 1",
                "DELETE FROM merkle_roots WHERE transition = 3",
                "UPDATE merkle_roots SET memories = 0",
            ] {
                let refused = connection.execute(change, []).expect_err("the store guards what is sealed");
                assert!(refused.to_string().contains("a sealed memory") || refused.to_string().contains("a root"));
            }
            assert_eq!(latest(connection)?, nothing);
            Ok(())
        });
        done.await.expect("nothing is in the way");
    });
}

/// Flips a bit of a file.
async fn flip(sys: &Sys, path: &str, bit: u64) {
    let file = sys.open(path, OpenFlags::READ_WRITE).await.expect("it is there");
    let mut byte = [0];
    file.read_at(&mut byte, bit / 8).await.expect("it is as long as that");
    byte[0] ^= 1 << (bit % 8);
    file.write_at(&byte, bit / 8).await.expect("there is room");
}

/// Remembers so many texts and stops.
async fn remember_all(sys: &Sys, config: &Config, count: u64) {
    let mut agent = wake(sys, config).await.expect("nothing goes wrong");
    for number in 0..count {
        assert_eq!(ask(sys, &mut agent, number, remember(text(number))).await, Done::Acknowledged);
    }
    agent.stop(sys).await.expect("nothing goes wrong");
}

#[test]
fn a_flipped_bit_of_a_memory_is_found_and_its_file_named() {
    for seed in 0..5 {
        let diary = Diary::default();
        pass(&timed(seed), |world| {
            world.invariant(Claims(diary.clone()));
            prepared(world, &config());
            let noted = diary.clone();
            world.process("agent", 0, move |sys| {
                let noted = noted.clone();
                async move {
                    let config = config();
                    remember_all(&sys, &config, 5).await;
                    let victim = sys.entropy().below(5);
                    let memory = Folder::new(&config).path_of(&Digest::of(text(victim).as_bytes()));
                    let bit = sys.entropy().below(text(victim).len() as u64 * 8);
                    let mut agent = wake(&sys, &config).await.expect("nothing goes wrong");
                    verify(&sys, &mut agent, 100).await;
                    flip(&sys, &memory, bit).await;
                    verify(&sys, &mut agent, 101).await;
                    noted.note(format!("victim {memory}"));
                    sys.unlink(&memory).await.expect("it is there");
                    verify(&sys, &mut agent, 102).await;
                    // Whoever remembers it once more heals it.
                    assert_eq!(ask(&sys, &mut agent, 103, remember(text(victim))).await, Done::Acknowledged);
                    verify(&sys, &mut agent, 104).await;
                    Exit::success()
                }
            });
        });
        let mut notes = diary.notes();
        let victim = notes.iter().position(|note| note.starts_with("victim ")).expect("one was hit");
        let victim = notes.remove(victim).replace("victim", "damaged");
        let from = notes.iter().position(|note| note == "verified").expect("it was verified");
        let found: Vec<&str> = notes[from..].iter().map(|note| note.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(found, ["verified", "verified", "damaged", "verified", "damaged", "sealed", "verified"]);
        assert_eq!(notes.iter().filter(|note| **note == victim).count(), 2, "{victim}: {notes:#?}");
    }
}

#[test]
fn a_flipped_bit_of_the_stored_tree_is_found() {
    let diary = Diary::default();
    let (noted, memories) = (diary.clone(), 6);
    pass(&timed(7), |world| {
        world.invariant(Claims(diary.clone()));
        prepared(world, &config());
        let noted = noted.clone();
        world.process("agent", 0, move |sys| {
            let noted = noted.clone();
            async move {
                let config = config();
                remember_all(&sys, &config, memories).await;
                let blobs = by_hand(&sys, &config, |connection| {
                    let mut select = connection.prepare(
                        "SELECT digest FROM sealed_memories UNION SELECT root FROM merkle_roots
                         UNION SELECT place FROM merkle_nodes WHERE length(place) > 3 UNION SELECT zero FROM merkle_nodes WHERE length(zero) > 3
                         UNION SELECT zero_hash FROM merkle_nodes UNION SELECT one FROM merkle_nodes WHERE length(one) > 3
                         UNION SELECT one_hash FROM merkle_nodes",
                    )?;
                    let blobs = select.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
                    blobs.collect::<rusqlite::Result<Vec<Vec<u8>>>>()
                });
                let blobs = blobs.await.expect("nothing is in the way");
                let database = sys.open(&config.database(), OpenFlags::READ).await.expect("it is there");
                let bytes = database.read_to_end().await.expect("it can be read");
                drop(database);
                let places = |blob: &[u8]| -> Vec<usize> {
                    bytes.windows(blob.len()).enumerate().filter(|(_, found)| *found == blob).map(|(at, _)| at).collect()
                };
                for (at, len) in blobs.iter().flat_map(|blob| places(blob).into_iter().map(|at| (at, blob.len()))) {
                    let bit = at as u64 * 8 + sys.entropy().below(len as u64 * 8);
                    flip(&sys, &config.database(), bit).await;
                    let before = noted.count("damaged");
                    let mut agent = wake(&sys, &config).await.expect("what it needs is whole");
                    verify(&sys, &mut agent, 100).await;
                    agent.stop(&sys).await.expect("what it needs is whole");
                    // Freed space in a page may hold what was there before.
                    noted.note(if noted.count("damaged") > before { "found" } else { "unseen" });
                    flip(&sys, &config.database(), bit).await;
                }
                let mut agent = wake(&sys, &config).await.expect("what it needs is whole");
                let before = noted.count("damaged");
                verify(&sys, &mut agent, 101).await;
                assert_eq!(noted.count("damaged"), before, "all is as it was, and no file was swept");
                Exit::success()
            }
        });
    });
    // Each memory is in two tables, each node but the top is known to another, each root is written once.
    assert!(diary.count("found") >= 6 * 2 + 5 * 2 + 6, "{:#?}", diary.notes());
    assert!(diary.count("unseen") <= diary.count("found") / 4, "{:#?}", diary.notes());
}

/// Whether a text's memory is sealed, and whether its file is whole; at the end, by hand.
async fn look(sys: &Sys, config: &Config, text: &str) -> (bool, bool) {
    let memory = Digest::of(text.as_bytes());
    let file = sys.open(&Folder::new(config).path_of(&memory), OpenFlags::READ).await;
    let is_whole = match file {
        Ok(file) => file.read_to_end().await.expect("it can be read") == text.as_bytes(),
        Err(_) => false,
    };
    let sealed = by_hand(sys, config, move |connection| is_sealed(connection, &memory)).await;
    (sealed.expect("nothing is in the way"), is_whole)
}

/// An agent that remembers in its first life and only wakes in the second; then somebody looks, and notes (is sealed, has its file).
fn dies_and_wakes(plan: &Plan) -> Diary {
    let diary = Diary::default();
    pass(plan, |world| {
        world.invariant(Claims(diary.clone()));
        prepared(world, &config());
        let noted = diary.clone();
        agent(world, 0, &config(), move |sys, mut agent, wakes| {
            let noted = noted.clone();
            async move {
                if wakes == 1 {
                    noted.note(format!("begins {}", sys.simulated_ns()));
                    assert_eq!(ask(&sys, &mut agent, 1, remember(text(1))).await, Done::Acknowledged);
                    noted.note(format!("ends {}", sys.simulated_ns()));
                }
                agent.stop(&sys).await.expect("nothing goes wrong");
            }
        });
        let noted = diary.clone();
        world.process("look", 0, move |sys| {
            let noted = noted.clone();
            async move {
                let _ = sys.sleep(100 * SECOND).await;
                noted.note(format!("found {:?}", look(&sys, &config(), &text(1)).await));
                Exit::success()
            }
        });
    });
    diary
}

/// The number behind a word.
fn noted_number(diary: &Diary, word: &str) -> u64 {
    let notes = diary.notes();
    let number = notes.iter().find_map(|note| note.strip_prefix(word)?.trim().parse().ok());
    number.unwrap_or_else(|| panic!("nobody noted `{word}`: {notes:#?}"))
}

#[test]
fn whoever_dies_at_it_leaves_it_sealed_with_its_file_or_not_at_all() {
    let undisturbed = dies_and_wakes(&timed(3));
    undisturbed.expect("found (true, true)");
    let [begins, ends] = ["begins", "ends"].map(|word| noted_number(&undisturbed, word));
    for kind in [FaultKind::Kill, FaultKind::MachineCrash] {
        let (mut sealed, mut unsealed) = (0, 0);
        for part in 0..=100 {
            let at_ns = begins + (ends - begins) * part / 100;
            let fault = fault(kind, Some("agent-0"), Trigger::AtNs(at_ns), 10 * MS);
            let died = dies_and_wakes(&Plan { faults: vec![fault], ..timed(3) });
            let is_acknowledged = died.count("sealed") > 0;
            if died.count("found (true, true)") > 0 {
                sealed += 1;
            } else {
                assert!(!is_acknowledged && died.count("found (false, false)") > 0, "{kind:?}: {:#?}", died.notes());
                unsealed += 1;
            }
        }
        assert!(sealed > 0 && unsealed > 30, "{kind:?}: sealed {sealed} times, not {unsealed} times");
    }
}

#[test]
fn a_sweeper_takes_no_file_that_somebody_is_about_to_seal() {
    let (mut swept_first, mut kept) = (0, 0);
    for seed in 0..60 {
        let diary = Diary::default();
        pass(&plan(seed), |world| {
            world.invariant(Claims(diary.clone()));
            prepared_after(world, &config(), Some(1));
            agent(world, 0, &config(), |sys, mut agent, _| async move {
                assert_eq!(ask(&sys, &mut agent, 1, remember(text(1))).await, Done::Acknowledged);
                agent.stop(&sys).await.expect("nothing goes wrong");
            });
            let noted = diary.clone();
            agent(world, 1, &config(), move |sys, mut agent, _| {
                let noted = noted.clone();
                async move {
                    let path = Folder::new(&config()).path_of(&Digest::of(text(1).as_bytes()));
                    noted.note(if sys.stat(&path).await.is_ok() { "kept" } else { "swept" });
                    agent.stop(&sys).await.expect("nothing goes wrong");
                }
            });
            let noted = diary.clone();
            world.process("look", 0, move |sys| {
                let noted = noted.clone();
                async move {
                    let _ = sys.sleep(100 * SECOND).await;
                    noted.note(format!("found {:?}", look(&sys, &config(), &text(1)).await));
                    Exit::success()
                }
            });
        });
        diary.expect("found (true, true)");
        swept_first += diary.count("swept");
        kept += diary.count("kept");
    }
    assert!(swept_first > 0 && kept > 0, "swept in {swept_first} runs, kept in {kept}");
}
