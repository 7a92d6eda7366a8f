//! Messages between processes go as they are described, without faults. What faults do to them is in `message_faults`.
use crate::support::{note, plan, run_world};
use seedstorm_sim::Exit;
use seedstorm_sim::sys::net::Address;

#[test]
fn a_message_goes_there_and_a_reply_comes_back() {
    let ran = run_world(&plan(), |world| {
        world.process("a", 0, |sys| async move {
            let mailbox = sys.bind(7).await.expect("bind");
            sys.sleep(1000).await.expect("sleep");
            for n in 0..3u8 {
                mailbox.send(&Address::new("b-0", 9), &[n]).await.expect("send");
            }
            let reply = mailbox.receive().await.expect("reply");
            note(&sys, format!("{} {:?}", reply.from, reply.bytes)).await;
            assert_eq!(mailbox.receive_within(5).await, Ok(None));
            assert_eq!(mailbox.try_receive().await, Ok(None));
            Exit::success()
        });
        world.process("b", 0, |sys| async move {
            let mailbox = sys.bind(9).await.expect("bind");
            let first = mailbox.receive().await.expect("m");
            mailbox.send(&first.from, b"hello").await.expect("send");
            Exit::success()
        });
    })
    .passed();
    assert_eq!(ran.notes(0), ["b-0:9 [104, 101, 108, 108, 111]"]);
        println!("{record:?}");
    }
}
