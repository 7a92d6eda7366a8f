//! Files that are replaced as a whole: the file family of the fault catalogue.

mod support;

use seedstorm_model::file::{
    Damage, Document, FileError, Loaded, Temporary, load, open_document, quarantine, replace, revision_of, seal, sweep,
};
use seedstorm_sim::kernel::RestartPolicy;
use seedstorm_sim::plan::{FaultKind, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::CallKind;
use seedstorm_sim::{Errno, Exit, Plan, Sys, World};
use std::future::Future;
use support::{Diary, MS, SECOND, fault, pass, plan, run_plan, timed};

const PATH: &str = "/data";

/// A process that runs once.
fn once<F>(world: &mut World, role: &'static str, program: impl Fn(Sys) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    world.process_with(role, 0, RestartPolicy::Never, move |sys| {
        let running = program(sys);
        async move {
            running.await;
            Exit::success()
        }
    });
}

/// A value of several pages, so that its parts can be lost one by one.
fn value(of: &str) -> Vec<u8> {
    seal(&of.repeat(6000)).expect("plain data")
}

async fn load_value(sys: &Sys) -> Loaded<String> {
    load(sys, PATH).await.expect("a working disk")
}

/// F1: readers beside a writer see the whole old or the whole new value, in every order that the seeds bring; absent is not damaged.
#[test]
fn readers_see_whole_values() {
    let seen = Diary::default();
    for seed in 0..60 {
        pass(&plan(seed), |world| {
            once(world, "writer", |sys| async move {
                for of in ["a", "b"] {
                    replace(&sys, PATH, &value(of)).await.expect("a working disk");
                }
            });
            let seen = seen.clone();
            once(world, "reader", move |sys| {
                let seen = seen.clone();
                async move {
                    for _ in 0..6 {
                        match load_value(&sys).await {
                            Loaded::Absent => seen.note("absent"),
                            Loaded::Whole(text) => seen.note(&text[..1]),
                            Loaded::Damaged(damage) => panic!("{damage}"),
                        }
                    }
                }
            });
        });
    }
    for expected in ["absent", "a", "b"] {
        seen.expect(expected);
    }
}

/// A file is read to the end that its header says, and what stands behind that is damage, wherever reads happen to stop.
#[test]
fn files_end_where_their_headers_say() {
    let seen = Diary::default();
    pass(&timed(1), |world| {
        let seen = seen.clone();
        once(world, "writer", move |sys| {
            let seen = seen.clone();
            async move {
                for len in (0..40).chain(8140..8200).chain([16_000, 40_000]) {
                    let whole = seal(&"a".repeat(len)).expect("plain data");
                    replace(&sys, PATH, &whole).await.expect("a working disk");
                    assert_eq!(load_value(&sys).await, Loaded::Whole("a".repeat(len)), "{len}");
                    for behind in [1, 8192 - whole.len() % 8192, 9000] {
                        let longer = [&whole[..], &vec![b'x'; behind]].concat();
                        replace(&sys, PATH, &longer).await.expect("a working disk");
                        assert!(matches!(load_value(&sys).await, Loaded::Damaged(_)), "{len}, {behind} behind it");
                    }
                    replace(&sys, PATH, &whole[..whole.len() - 1]).await.expect("a working disk");
                    assert!(matches!(load_value(&sys).await, Loaded::Damaged(_)), "{len}, cut");
                }
                seen.note("done");
            }
        });
    });
    seen.expect("done");
}

/// What a crash of the machine at each single call of a replace leaves, under each persistence: (acknowledged, what was found), and whether a
/// crash fell at all.
fn crash_everywhere<F>(writer: impl Fn(Sys) -> F + Clone + Send + Sync + 'static) -> Vec<(bool, String)>
where
    F: Future<Output = ()> + 'static,
{
    let mut found = Vec::new();
    for persistence in [Persistence::Strict, Persistence::Ext4, Persistence::Posix] {
        for (call, nths) in [
            (CallKind::Write, 2),
            (CallKind::Sync, 3),
            (CallKind::Close, 4),
            (CallKind::Rename, 2),
            (CallKind::Open, 5),
            (CallKind::Claim, 1),
        ] {
            for nth in 1..=nths {
                for seed in 0..12 {
                    let crash =
                        fault(FaultKind::MachineCrash, Some("writer-0"), Trigger::Call { kind: call, nth }, 10 * MS);
                    let plan = Plan { persistence, faults: vec![crash], ..timed(seed) };
                    let diary = Diary::default();
                    let outcome = run_plan(&plan, |world| {
                        let (noted, writer) = (diary.clone(), writer.clone());
                        world.process("writer", 0, move |sys| {
                            let (diary, writer) = (noted.clone(), writer.clone());
                            async move {
                                if diary.count("begun") == 0 {
                                    diary.note("begun");
                                    writer(sys.clone()).await;
                                    diary.note("acknowledged");
                                    sys.claim(&seedstorm_sim::sys::claim::Happened { what: "acknowledged".into() })
                                        .await;
                                } else {
                                    diary.note(match load_value(&sys).await {
                                        Loaded::Absent => "found nothing".to_owned(),
                                        Loaded::Whole(text) => format!("found {}", &text[..1]),
                                        Loaded::Damaged(_) => "found damage".to_owned(),
                                    });
                                }
                                Exit::success()
                            }
                        });
                    });
                    assert!(outcome.passed(), "{:?}", outcome.violations);
                    let notes = diary.notes();
                    if let Some(note) = notes.iter().find(|note| note.starts_with("found")) {
                        found.push((diary.count("acknowledged") > 0, note.clone()));
                    }
                }
            }
        }
    }
    found
}

/// F2, F3: after a crash the value is whole, and what was acknowledged is the new one.
#[test]
fn a_crash_leaves_the_old_or_the_new_value_whole() {
    let found = crash_everywhere(|sys| async move {
        replace(&sys, PATH, &value("a")).await.expect("a working disk");
        replace(&sys, PATH, &value("b")).await.expect("a working disk");
    });
    assert!(found.len() > 300, "only {} crashes fell", found.len());
    for (is_acknowledged, note) in &found {
        assert_ne!(note, "found damage");
        assert!(!is_acknowledged || note == "found b", "acknowledged, then {note}");
    }
    for expected in ["found nothing", "found a", "found b"] {
        assert!(found.iter().any(|(_, note)| note == expected), "never {expected}");
    }
}

/// The control of the test above: it finds what is wrong with less careful ways.
#[test]
fn leaving_an_fsync_out_loses_values() {
    let without_file_sync = crash_everywhere(|sys| async move {
        let file = sys.open("/data.new", OpenFlags::WRITE.create()).await.expect("a free name");
        file.write_all(&value("b")).await.expect("room");
        file.close().await.expect("it is open");
        sys.rename("/data.new", PATH).await.expect("it is there");
        sys.sync_dir("/").await.expect("a working disk");
    });
    assert!(without_file_sync.iter().any(|(_, note)| note == "found damage"), "the rename is durable, the data isn't");
    let without_directory_sync = crash_everywhere(|sys| async move {
        let file = sys.open("/data.new", OpenFlags::WRITE.create()).await.expect("a free name");
        file.write_all(&value("b")).await.expect("room");
        file.sync().await.expect("a working disk");
        file.close().await.expect("it is open");
        sys.rename("/data.new", PATH).await.expect("it is there");
    });
    assert!(without_directory_sync.contains(&(true, "found nothing".into())), "acknowledged, and the rename is lost");
}

/// F4: two writers of one file don't use each other's temporary files.
#[test]
fn two_writers_don_t_meet_in_a_temporary_file() {
    let finals = Diary::default();
    for seed in 0..60 {
        pass(&plan(seed), |world| {
            for role in ["a", "b"] {
                once(world, role, move |sys| async move {
                    for _ in 0..2 {
                        replace(&sys, PATH, &value(role)).await.expect("nobody takes the temporary file away");
                    }
                });
            }
            let finals = finals.clone();
            once(world, "reader", move |sys| {
                let finals = finals.clone();
                async move {
                    let _ = sys.sleep(SECOND).await;
                    match load_value(&sys).await {
                        Loaded::Whole(text) => finals.note(&text[..1]),
                        other => panic!("{other:?}"),
                    }
                    let names = sys.read_dir("/").await.expect("the root is there");
                    assert_eq!(names, ["data"], "no temporary file stays");
                }
            });
        });
    }
    finals.expect("a");
    finals.expect("b");
}

/// A failing disk: the old value stays, nothing stays behind, and what may have taken effect is told from what hasn't.
#[test]
fn a_failed_replace_says_what_is_there() {
    let replace_with = |failure, call, nth| {
        let diary = Diary::default();
        let failing = fault(failure, Some("writer-0"), Trigger::Call { kind: call, nth }, 0);
        pass(&Plan { faults: vec![failing], ..timed(1) }, |world| {
            let noted = diary.clone();
            once(world, "writer", move |sys| {
                let diary = noted.clone();
                async move {
                    replace(&sys, PATH, &value("a")).await.expect("the fault comes later");
                    match replace(&sys, PATH, &value("b")).await {
                        Ok(()) => diary.note("ok"),
                        Err(FileError::NoEffect { step, source, .. }) => diary.note(format!("{step}: {source}")),
                        Err(FileError::NotDurable { .. }) => diary.note("not durable"),
                        Err(error) => panic!("{error}"),
                    }
                    match load_value(&sys).await {
                        Loaded::Whole(text) => diary.note(&text[..1]),
                        other => panic!("{other:?}"),
                    }
                    assert_eq!(
                        sys.read_dir("/").await.expect("the root is there"),
                        ["data"],
                        "no temporary file stays"
                    );
                }
            });
        });
        diary.notes()
    };
    assert_eq!(replace_with(FaultKind::NoSpace, CallKind::Write, 2), ["write: no space left on device (ENOSPC)", "a"]);
    assert_eq!(replace_with(FaultKind::IoError, CallKind::Write, 2), ["write: input/output error (EIO)", "a"]);
    assert_eq!(replace_with(FaultKind::ShortWrite, CallKind::Write, 2), ["ok", "b"]);
    assert_eq!(replace_with(FaultKind::FailedSync, CallKind::Sync, 3), ["fsync: input/output error (EIO)", "a"]);
    assert_eq!(replace_with(FaultKind::FailedSync, CallKind::Sync, 4), ["not durable", "b"]);
}

/// F6: a damaged document is kept, and not begun anew in silence. An unreadable disk is no damage.
#[test]
fn a_damaged_document_is_put_aside() {
    let diary = Diary::default();
    let unreadable = fault(FaultKind::IoError, Some("reader-0"), Trigger::Call { kind: CallKind::Read, nth: 1 }, 0);
    pass(&Plan { faults: vec![unreadable], ..timed(1) }, |world| {
        let noted = diary.clone();
        once(world, "reader", move |sys| {
            let diary = noted.clone();
            async move {
                let mut document = Document::default();
                document.apply("agent-0", 1, "text".into());
                let mut bytes = seal(&document).expect("plain data");
                let last = bytes.len() - 1;
                bytes[last] = 0;
                let file = sys.open(PATH, OpenFlags::WRITE.create()).await.expect("a free name");
                file.write_all(&bytes).await.expect("room");
                drop(file);
                let error = open_document(&sys, PATH).await.err();
                assert_eq!(error, Some(FileError::NoEffect { step: "read", path: PATH.into(), source: Errno::Io }));
                assert_eq!(load::<Document>(&sys, PATH).await, Ok(Loaded::Damaged(Damage::Checksum)));
                let opened = open_document(&sys, PATH).await.expect("the disk works again");
                assert_eq!((opened.document, opened.revision), (Document::default(), None));
                let kept = opened.quarantined.expect("it was damaged");
                assert!(kept.contains(".corrupt."), "{kept}");
                let file = sys.open(&kept, OpenFlags::READ).await.expect("it is kept");
                assert_eq!(file.read_to_end().await, Ok(bytes), "every byte of it");
                assert_eq!(load::<Document>(&sys, PATH).await, Ok(Loaded::Absent));
                assert!(quarantine(&sys, PATH).await.is_err(), "nothing is left to put aside");
                diary.note("done");
            }
        });
    });
    diary.expect("done");
}

/// F7: a sweeper takes what the dead left, and leaves the living theirs.
#[test]
fn only_the_dead_s_temporary_files_are_swept() {
    let diary = Diary::default();
    let killed = fault(FaultKind::Kill, Some("dead-0"), Trigger::AtNs(50 * MS), 0);
    let reused = fault(FaultKind::PidReuse, Some("reused-0"), Trigger::AtNs(50 * MS), 60 * SECOND);
    pass(&Plan { faults: vec![killed, reused], ..timed(1) }, |world| {
        for role in ["dead", "reused", "living"] {
            once(world, role, |sys| async move {
                let temporary = Temporary::beside(&sys, &format!("{PATH}-{}", sys.name())).await.expect("a free name");
                temporary.write(b"half").await.expect("room");
                let _ = sys.sleep(SECOND).await;
                temporary.write(b"and half").await.expect("nobody took it away");
                temporary.remove(&sys).await;
            });
        }
        let noted = diary.clone();
        once(world, "sweeper", move |sys| {
            let diary = noted.clone();
            async move {
                let _ = sys.sleep(200 * MS).await;
                assert_eq!(sweep(&sys, "/").await, Ok(2));
                let names = sys.read_dir("/").await.expect("the root is there");
                assert!(names.len() == 1 && names[0].starts_with("data-living-0.tmp."), "{names:?}");
                diary.note("swept");
            }
        });
    });
    diary.expect("swept");
}

/// What the harness reads off a document's bytes.
#[test]
fn a_document_on_disk_tells_its_revision() {
    let diary = Diary::default();
    pass(&plan(1), |world| {
        let noted = diary.clone();
        once(world, "writer", move |sys| {
            let diary = noted.clone();
            async move {
                let mut document = open_document(&sys, PATH).await.expect("a working disk").document;
                document.apply("writer-0", 1, "text".into());
                let sealed = seal(&document).expect("plain data");
                replace(&sys, PATH, &sealed).await.expect("a working disk");
                assert_eq!(revision_of(&sealed), Some(1));
                let again = open_document(&sys, PATH).await.expect("a working disk");
                assert_eq!((again.revision, again.document), (Some(1), document));
                diary.note("done");
            }
        });
    });
    diary.expect("done");
}
