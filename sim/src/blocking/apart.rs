//! Work on a thread of its own, for which the thread that asked waits: a run inside a run, which must leave no trace in the outer one. A fresh thread
//! has thread-locals, a simulated clock and a seeding of std's hash maps of its own. What the work is, is the caller's business.

use crate::sys::disk::Disk;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};

/// A disk, with what came of it, between two threads.
struct Crossing<T>(Disk, T);

// SAFETY: A disk isn't `Send` because disks share their blocks through counted pointers, and remember digests in cells. It is plain data that belongs
// to no thread, and the threads take turns: the one that sends it away does nothing until the other has *ended*, destructors of its thread-locals
// included, and both hand-overs go through a channel, which orders memory. So no count and no cell is ever touched by two threads at once.
unsafe impl<T: Send> Send for Crossing<T> {}

type Ended = std::thread::Result<()>;

/// Work to be done on a fresh thread, and who waits for the thread's end.
struct Job<'a> {
    work: Box<dyn FnOnce() + Send + 'a>,
    ended: Sender<Ended>,
}

/// Gives work away, and waits for it.
pub(crate) struct Apart<'a> {
    jobs: Sender<Job<'a>>,
}

/// Has the work done.
pub(crate) struct Doer<'a> {
    jobs: Receiver<Job<'a>>,
}

/// The two ends. The doer belongs on a thread outside of every simulation: madsim lets no simulated code start threads.
pub(crate) fn apart<'a>() -> (Apart<'a>, Doer<'a>) {
    let (sender, receiver) = channel();
    (Apart { jobs: sender }, Doer { jobs: receiver })
}

impl<'a> Apart<'a> {
    /// Does something with a disk on a fresh thread, and gives the disk and the result back when that thread has ended.
    ///
    /// # Panics
    /// With the panic of the work; when the OS gives no thread.
    pub(crate) fn with_disk<T: Send + 'a>(
        &self,
        disk: Disk,
        work: impl FnOnce(&mut Disk) -> T + Send + 'a,
    ) -> (Disk, T) {
        let (give, take) = channel();
        let sent = Crossing(disk, ());
        let work = move || {
            let Crossing(mut disk, ()) = { sent };
            let made = work(&mut disk);
            // Whoever waits takes it: it can't be gone.
            let _ = give.send(Crossing(disk, made));
        };
        let (ended, wait) = channel();
        let sent = self.jobs.send(Job { work: Box::new(work), ended }).is_ok();
        assert!(sent, "the doer outlives the run");
        match wait.recv() {
            Ok(Ok(())) => {}
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => panic!("the OS gives no thread for work apart"),
        }
        let Crossing(disk, made) = take.recv().expect("the work sends the disk back before its thread ends");
        (disk, made)
    }
}

impl<'a> Doer<'a> {
    /// Does what is asked for, one thing at a time, until the other end is gone.
    pub(crate) fn serve<'scope>(self, scope: &'scope Scope<'scope, '_>, stack_bytes: usize)
    where
        'a: 'scope,
    {
        while let Ok(Job { work, ended }) = self.jobs.recv() {
            let thread = Builder::new().name("apart".into()).stack_size(stack_bytes);
            // Without a thread the job is dropped, and who waits for it is told by that.
            if let Ok(thread) = thread.spawn_scoped(scope, work) {
                // `join` waits for the end of the OS's thread, not only of the work.
                let _ = ended.send(thread.join());
            }
        }
    }
}
