//! What influence remembers grows with incarnations and with what is alive, not with events.

use crate::worlds::{record, timed};
use seedstorm_sim::causality::Influence;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::net::Address;
use seedstorm_sim::{Exit, World};

/// Two processes that pass files and messages to each other, so many times: each file is new, and goes.
fn pass_on(rounds: u32) -> impl Fn(&mut World) + Sync {
    move |world: &mut World| {
        for (own, other) in [(0, 1), (1, 0)] {
            world.process("a", own, move |sys| async move {
                let mailbox = sys.bind(1).await.expect("bind");
                sys.sleep(1000).await.expect("sleep");
                for round in 0..rounds {
                    let (temp, path) = (format!("/{own}.{round}.tmp"), format!("/{own}"));
                    let file = sys.open(&temp, OpenFlags::READ_WRITE.create_exclusive()).await.expect("open");
                    file.write(&round.to_le_bytes()).await.expect("write");
                    file.close().await.expect("close");
                    sys.rename(&temp, &path).await.expect("rename");
                    mailbox.send(&Address::new(format!("a-{other}"), 1), b"look").await.expect("send");
                    mailbox.receive_within(1_000_000).await.expect("receive");
                    if let Ok(file) = sys.open(&format!("/{other}"), OpenFlags::READ).await {
                        file.read(&mut [0; 4]).await.expect("read");
                    }
                }
                Exit::success()
            });
        }
    }
}

#[test]
fn memory_does_not_grow_with_events() {
    let objects = |rounds: u32| {
        let (outcome, records) = record(&timed(), pass_on(rounds));
        assert!(outcome.passed(), "{:#?}", outcome.violations);
        let mut influence = Influence::default();
        for record in &records {
            influence.observe(&record.event());
        }
        (records.len(), influence.objects(), influence.lines())
    };
    let (few, many, more) = (objects(10), objects(1000), objects(2000));
    assert!(many.0 > 90 * few.0 && more.0 > 19 * many.0 / 10, "{few:?} {many:?} {more:?}");
    // Names that have gone are kept apart up to a number, and the files of two rounds.
    assert_eq!(more.1, many.1, "{many:?} {more:?}");
    assert!(many.1 < 1100 && few.1 < 50, "{few:?} {many:?}");
    assert_eq!((few.2, more.2), (3, 3));
}
