//! Rows of the fault catalogue, family file: what readers see beside a writer, and what a kill or a power loss leaves.

use crate::script::{
    Diary, MS, SECOND, directories, fault, follow, make_directories, once, plan, play, steps, to_the_end, until, with,
};
use seedstorm_model::agent::{Done, Work, WorkKind, prepare, wake};
use seedstorm_model::config::Config;
use seedstorm_model::file::{Damage, Document, Loaded, load, open_document, replace, seal};
use seedstorm_model::mutant::Mutant;
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Position, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Exit, Plan, Sys, World};
use std::future::Future;
use std::rc::Rc;

const DATA: &str = "/swarm/documents/plan";
const PROFILES: [Persistence; 3] = [Persistence::Strict, Persistence::Ext4, Persistence::Posix];

/// A value of several pages, so that its parts can be lost one by one.
fn value(of: &str) -> Vec<u8> {
    seal(&of.repeat(12_000 / of.len())).expect("plain data")
}

/// The first word of what stands at a path.
async fn look(sys: &Sys, path: &str) -> String {
    match load::<String>(sys, path).await.expect("a working disk") {
        Loaded::Absent => "nothing".into(),
        Loaded::Damaged(_) => "damage".into(),
        Loaded::Whole(text) => text.split(' ').next().unwrap_or_default().to_owned(),
    }
}

async fn write_in_place(sys: &Sys, path: &str, bytes: &[u8]) {
    let file = sys.open(path, OpenFlags::WRITE.create().truncate()).await.expect("the directory is there");
    file.write_all(bytes).await.expect("room");
    file.close().await.expect("it is open");
}

/// Adds the directories, and a whole old value.
fn with_old_value(world: &mut World) {
    directories_and(world, |sys| async move { replace(&sys, DATA, &value("old ")).await.expect("a working disk") });
}

/// Adds all that an agent needs to wake.
fn prepared(world: &mut World) {
    directories_and(world, |sys| async move {
        prepare(&sys, &Config::default(), &[], &[], 0).await.expect("nothing goes wrong yet");
    });
}

fn directories_and<F>(world: &mut World, more: impl Fn(Sys) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let more = Rc::new(more);
    world.prepare(move |sys| {
        let more = more.clone();
        async move {
            make_directories(&sys).await;
            more(sys).await;
            Exit::success()
        }
    });
}

/// A truncates; B reads empty, writes defaults; A finishes. Also: B reads at each other step of A's.
#[test]
fn f1_a_rewrite_is_whole_for_every_reader() {
    let race = |stop, is_naive: bool| {
        follow(&plan(1), &[stop, to_the_end("b-0"), to_the_end("a-0")], move |world, diary| {
            with_old_value(world);
            once(world, diary, "a", move |sys, diary| async move {
                match is_naive {
                    true => write_in_place(&sys, DATA, &value("new ")).await,
                    false => replace(&sys, DATA, &value("new ")).await.expect("a working disk"),
                }
                diary.note(format!("a finds {}", look(&sys, DATA).await));
            });
            once(world, diary, "b", |sys, diary| async move {
                let found = look(&sys, DATA).await;
                if found != "old" && found != "new" {
                    replace(&sys, DATA, &value("defaults ")).await.expect("a working disk");
                }
                diary.note(format!("b finds {found}"));
            });
        })
        .passed()
        .notes
    };
    assert_eq!(
        race(until("a-0", CallKind::Open, 1), true),
        ["b finds damage", "a finds defaults"],
        "A's value is lost"
    );
    let whole: Vec<Vec<String>> = (1..=9).map(|count| race(steps("a-0", count), false)).collect();
    for notes in &whole {
        assert!(notes[0] == "b finds old" || notes[0] == "b finds new", "{notes:?}");
        assert_eq!(notes[1], "a finds new");
    }
    assert!(whole.iter().any(|notes| notes[0] == "b finds old") && whole.iter().any(|notes| notes[0] == "b finds new"));
}

/// The same row: absent is not corrupt.
#[test]
fn f1_an_empty_file_is_no_absent_one() {
    let ran = play(&plan(1), |world, diary| {
        directories(world);
        once(world, diary, "a", |sys, diary| async move {
            assert_eq!(load::<String>(&sys, DATA).await, Ok(Loaded::Absent));
            write_in_place(&sys, DATA, b"").await;
            assert_eq!(load::<String>(&sys, DATA).await, Ok(Loaded::Damaged(Damage::TooShort(0))));
            diary.note("told apart");
        });
    });
    assert_eq!(ran.passed().notes, ["told apart"]);
}

/// A process that writes and acknowledges; then the power fails; its next life looks. Gives what it found.
fn power_loss<F>(
    seed: u64,
    persistence: Persistence,
    has_old: bool,
    write: impl Fn(Sys) -> F + Clone + Sync + Send + 'static,
    find: impl AsyncFn(&Sys) -> String + Clone + Sync + Send + 'static,
) -> String
where
    F: Future<Output = ()> + 'static,
{
    let crash = fault(FaultKind::MachineCrash, None, Trigger::AtNs(500 * MS), 10 * MS);
    let mut ran = play(&Plan { persistence, ..with([crash], seed) }, move |world, diary| {
        match has_old {
            true => with_old_value(world),
            false => directories(world),
        }
        let (noted, write, find) = (diary.clone(), write.clone(), find.clone());
        world.process("a", 0, move |sys| {
            let (diary, write, find) = (noted.clone(), write.clone(), find.clone());
            async move {
                if diary.has("acknowledged") {
                    diary.note(find(&sys).await);
                } else {
                    write(sys.clone()).await;
                    diary.note("acknowledged");
                    let _ = sys.sleep(SECOND).await;
                }
                Exit::success()
            }
        });
    })
    .passed();
    assert_eq!((ran.fired(FaultKind::MachineCrash), ran.notes.len()), (1, 2), "{:?}", ran.notes);
    ran.notes.remove(1)
}

/// Writes aside, renames and syncs the directory; leaves out what it is told to.
async fn replace_by_hand(sys: &Sys, bytes: &[u8], syncs_file: bool, syncs_directory: bool) {
    let file = sys.open("/swarm/documents/new", OpenFlags::WRITE.create()).await.expect("a free name");
    file.write_all(bytes).await.expect("room");
    if syncs_file {
        file.sync().await.expect("a working disk");
    }
    file.close().await.expect("it is open");
    sys.rename("/swarm/documents/new", DATA).await.expect("it is there");
    if syncs_directory {
        sys.sync_dir("/swarm/documents").await.expect("a working disk");
    }
}

fn document(body: &str) -> Vec<u8> {
    let mut document = Document::default();
    document.apply("a-0", 1, body.repeat(12_000));
    seal(&document).expect("plain data")
}

/// What a document looks like after the crash; a damaged one must have been put aside and be there to the last byte.
async fn find_document(sys: &Sys) -> String {
    let file = sys.open(DATA, OpenFlags::READ).await.expect("its name is durable");
    let bytes = file.read_to_end().await.expect("a working disk");
    file.close().await.expect("it is open");
    let opened = open_document(sys, DATA).await.expect("a working disk");
    let Some(kept) = opened.quarantined else { return format!("whole {:?}", opened.revision) };
    assert_eq!((opened.revision, opened.document), (None, Document::default()), "reported as damaged, not as a value");
    let aside = sys.open(&kept, OpenFlags::READ).await.expect("it is kept");
    assert_eq!(aside.read_to_end().await, Ok(bytes.clone()), "every byte of it");
    match bytes.len() == document("x").len() {
        true if bytes.contains(&0) => "right length, NUL bytes".into(),
        true => "right length, other bytes".into(),
        false => "short".into(),
    }
}

/// Write, rename, power loss that drops data.
#[test]
fn f2_data_is_durable_before_its_name() {
    let mut damages = Vec::new();
    for seed in 0..40 {
        for persistence in PROFILES {
            let naive = |sys: Sys| async move { replace_by_hand(&sys, &document("x"), false, true).await };
            damages.push(power_loss(seed, persistence, false, naive, find_document));
            let model = |sys: Sys| async move { replace(&sys, DATA, &document("x")).await.expect("a working disk") };
            for has_old in [false, true] {
                assert_eq!(
                    power_loss(seed, persistence, has_old, model, find_document),
                    "whole Some(1)",
                    "seed {seed}"
                );
            }
        }
    }
    let count = |what: &str| damages.iter().filter(|damage| *damage == what).count();
    assert!(count("right length, NUL bytes") > 3 && count("short") > 3, "{damages:?}");
}

/// Fsync, rename, acknowledgement, power loss: old content.
#[test]
fn f3_a_rename_is_durable_before_it_is_acknowledged() {
    let mut found = Vec::new();
    for seed in 0..40 {
        for persistence in PROFILES {
            let look = async |sys: &Sys| look(sys, DATA).await;
            let naive = |sys: Sys| async move { replace_by_hand(&sys, &value("new "), true, false).await };
            found.push(power_loss(seed, persistence, true, naive, look));
            let model = |sys: Sys| async move { replace(&sys, DATA, &value("new ")).await.expect("a working disk") };
            assert_eq!(power_loss(seed, persistence, true, model, look), "new", "seed {seed}");
        }
    }
    let old = found.iter().filter(|found| *found == "old").count();
    assert!(old > 10, "the acknowledged value was lost in {old} of {} runs only", found.len());
}

/// A and B write f.tmp; A renames; B renames.
#[test]
fn f4_each_writer_has_a_temporary_file_of_its_own() {
    let race = |is_naive: bool| {
        let legs =
            [until("a-0", CallKind::Close, 1), until("b-0", CallKind::Close, 1), to_the_end("a-0"), to_the_end("b-0")];
        follow(&plan(1), &legs, move |world, diary| {
            with_old_value(world);
            for (role, of) in [("a", "a "), ("b", "b ")] {
                once(world, diary, role, move |sys, diary| async move {
                    let replaced = if is_naive {
                        write_in_place(&sys, "/swarm/documents/f.tmp", &value(of)).await;
                        sys.rename("/swarm/documents/f.tmp", DATA).await
                    } else {
                        replace(&sys, DATA, &value(of)).await.map_err(|error| panic!("{error}"))
                    };
                    let result = if replaced == Err(Errno::NoEntry) { "ENOENT" } else { "ok" };
                    diary.note(format!("{role}: {result}, finds {}", look(&sys, DATA).await));
                });
            }
        })
        .passed()
        .notes
    };
    assert_eq!(race(true), ["a: ok, finds b", "b: ENOENT, finds b"], "A publishes B's data");
    assert_eq!(race(false), ["a: ok, finds a", "b: ok, finds b"]);
}

/// The same row, without a rename: a write in place that a power loss leaves half done is no value, even where both values have one length.
#[test]
fn f2_a_mixture_of_two_values_is_damage() {
    let find = async |sys: &Sys| match load::<String>(sys, DATA).await.expect("a working disk") {
        Loaded::Damaged(damage) => format!("{damage:?}"),
        Loaded::Whole(text) => format!("{} {}", text.matches("old ").count(), text.matches("new ").count()),
        Loaded::Absent => "absent".into(),
    };
    let in_place = |sys: Sys| async move {
        let file = sys.open(DATA, OpenFlags::WRITE).await.expect("it is there");
        file.write_all(&value("new ")).await.expect("room");
        file.close().await.expect("it is open");
    };
    let found: Vec<String> = (0..60).map(|seed| power_loss(seed, Persistence::Posix, true, in_place, find)).collect();
    assert!(found.iter().all(|found| ["3000 0", "0 3000", "Checksum"].contains(&found.as_str())), "{found:?}");
    assert!(found.iter().filter(|found| *found == "Checksum").count() > 4, "{found:?}");
}

const HALF: &[u8] = b"seedstorm/1 0000000900 0123456789abcdef\n{\"revision\":41,\"seq";

/// Adds a writer that is killed in the middle of a rewrite in place: half a document stays.
fn killed_writer(world: &mut World, diary: &Diary) {
    once(world, diary, "a", |sys, _| async move {
        let file = sys.open(DATA, OpenFlags::WRITE.create().truncate()).await.expect("the directory is there");
        file.write_all(HALF).await.expect("room");
        let _ = sys.sleep(SECOND).await;
        file.write_all(b"uence\":3}").await.expect("room");
    });
}

/// How many files in the documents' directory hold the half document.
async fn halves(sys: &Sys) -> usize {
    let mut halves = 0;
    for name in sys.read_dir("/swarm/documents").await.expect("it is there") {
        let file = sys.open(&format!("/swarm/documents/{name}"), OpenFlags::READ).await.expect("it is there");
        halves += usize::from(file.read_to_end().await.expect("a working disk") == HALF);
    }
    halves
}

/// Kill A mid-write; B loads, saves; the old bytes still exist.
#[test]
fn f6_a_damaged_document_is_kept_before_a_new_one_is_saved() {
    let killed = || with([fault(FaultKind::Kill, Some("a-0"), Trigger::AtNs(50 * MS), 0)], 1);
    let naive = play(&killed(), |world, diary| {
        directories(world);
        killed_writer(world, diary);
        once(world, diary, "b", |sys, diary| async move {
            let _ = sys.sleep(100 * MS).await;
            let mut document = match load::<Document>(&sys, DATA).await {
                Ok(Loaded::Whole(document)) => document,
                _ => Document::default(),
            };
            document.apply("b-0", 1, "text".into());
            replace(&sys, DATA, &seal(&document).expect("plain data")).await.expect("a working disk");
            diary.note(format!("saved revision {}, {} halves left", document.revision, halves(&sys).await));
        });
    });
    assert_eq!(
        naive.passed().notes,
        ["saved revision 1, 0 halves left"],
        "begun anew over what could have been rescued"
    );
    let ran = play(&killed(), |world, diary| {
        let config = Config::default();
        prepared(world);
        killed_writer(world, diary);
        let noted = diary.clone();
        world.process_with("b", 0, RestartPolicy::Never, move |sys| {
            let (config, diary) = (config.clone(), noted.clone());
            async move {
                let _ = sys.sleep(100 * MS).await;
                let mut agent = wake(&sys, &config).await.expect("nothing is in the way");
                for number in 1..=2 {
                    let save = Work { number, kind: WorkKind::Document { name: "plan".into(), bytes: 20 } };
                    assert_eq!(agent.work(&sys, &save).await.ok(), Some(Done::Acknowledged));
                    let whole = open_document(&sys, DATA).await.expect("a working disk");
                    diary.note(format!("saved revision {:?}, {} halves left", whole.revision, halves(&sys).await));
                    // The same damage once more: it gets a name of its own.
                    write_in_place(&sys, DATA, HALF).await;
                }
                Exit::success()
            }
        });
    })
    .passed();
    assert_eq!(ran.notes, ["saved revision Some(1), 1 halves left", "saved revision Some(1), 2 halves left"]);
    let renames = ran.renames("b-0");
    let is_aside = |paths: &str| paths.starts_with(&format!("{DATA}\0{DATA}.corrupt."));
    assert_eq!(
        renames.iter().map(|paths| is_aside(paths)).collect::<Vec<_>>(),
        [true, false, true, false],
        "{renames:?}"
    );
}

/// Kill A before its rename; B's temporary file is in use; C sweeps: A's goes, B's stays.
#[test]
fn f7_a_sweeper_takes_only_what_the_dead_left() {
    let run = |kind, mutant| {
        let config = Config { mutant, ..Config::default() };
        let nth = Trigger::While { position: Position::BetweenTempAndRename, nth: 3 };
        let killed = with([fault(kind, Some("a-0"), nth, 60 * SECOND)], 1);
        let legs = [to_the_end("a-0"), until("b-0", CallKind::Sync, 1), to_the_end("c-0"), to_the_end("b-0")];
        follow(&killed, &legs, move |world, diary| {
            prepared(world);
            for role in ["a", "b"] {
                once(world, diary, role, move |sys, diary| async move {
                    let replaced = replace(&sys, DATA, &value(role)).await;
                    diary.note(format!("{role} replaced: {}", replaced.is_ok()));
                });
            }
            let config = config.clone();
            once(world, diary, "c", move |sys, diary| {
                let config = config.clone();
                async move {
                    let temporaries = async || {
                        let names = sys.read_dir("/swarm/documents").await.expect("it is there");
                        names.iter().filter(|name| name.starts_with("plan.tmp.")).count()
                    };
                    diary.note(format!("{} temporary files", temporaries().await));
                    wake(&sys, &config).await.expect("nothing is in the way");
                    diary.note(format!("{} after the sweep", temporaries().await));
                }
            });
        })
    };
    for kind in [FaultKind::Kill, FaultKind::PidReuse] {
        let ran = run(kind, None).passed();
        assert_eq!(ran.fired(kind), 1);
        assert_eq!(ran.notes, ["2 temporary files", "1 after the sweep", "b replaced: true"]);
        let mutant = run(kind, Some(Mutant::SweeperReapsLive)).passed();
        assert_eq!(mutant.notes, ["2 temporary files", "0 after the sweep", "b replaced: false"], "B's is gone");
    }
}
