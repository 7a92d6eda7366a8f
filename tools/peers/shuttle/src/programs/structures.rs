//! Data structures without locks that mistake one state for another: a stack and a queue with ABA, a circular buffer with two writers.

use super::join_all;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicI64, Ordering::SeqCst};
use shuttle::thread;

/// No node.
const NONE: i64 = -1;

/// A stack of three nodes, linked from its top. Its top carries a count when it is mended.
struct Stack {
    top: AtomicI64,
    next: [AtomicI64; 3],
    counts: bool,
}

/// A top with a count: the node in the lower part.
const COUNT: i64 = 16;

fn node(top: i64) -> i64 {
    top.rem_euclid(COUNT) - 1
}

impl Stack {
    /// 0 on 1 on 2.
    fn new(counts: bool) -> Stack {
        Stack { top: AtomicI64::new(1), next: [1, 2, NONE].map(AtomicI64::new), counts }
    }

    fn with_node(&self, top: i64, node: i64) -> i64 {
        let count = if self.counts { top.div_euclid(COUNT) + 1 } else { 0 };
        count * COUNT + node + 1
    }

    fn pop(&self) -> Option<i64> {
        loop {
            let top = self.top.load(SeqCst);
            let popped = node(top);
            if popped == NONE {
                return None;
            }
            let below = self.next[popped as usize].load(SeqCst);
            if self.top.compare_exchange(top, self.with_node(top, below), SeqCst, SeqCst).is_ok() {
                return Some(popped);
            }
        }
    }

    fn push(&self, pushed: i64) {
        loop {
            let top = self.top.load(SeqCst);
            self.next[pushed as usize].store(node(top), SeqCst);
            if self.top.compare_exchange(top, self.with_node(top, pushed), SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
}

/// One thread pops; another pops two and pushes the first of them back. If the first took its look before that and acts after it, the top is the same
/// node, and what is below it is not: a node ends in two hands.
pub(super) fn stack(is_mended: bool) -> bool {
    let stack = Arc::new(Stack::new(is_mended));
    let (one, other) = (stack.clone(), stack.clone());
    let threads = vec![
        thread::spawn(move || one.pop().into_iter().collect::<Vec<i64>>()),
        thread::spawn(move || {
            let (first, second) = (other.pop(), other.pop());
            if let Some(first) = first {
                other.push(first);
            }
            second.into_iter().collect()
        }),
    ];
    let mut found: Vec<i64> = join_all(threads).concat();
    while let Some(popped) = stack.pop() {
        found.push(popped);
        if found.len() > 3 {
            return false;
        }
    }
    found.sort_unstable();
    found == [0, 1, 2]
}

/// A linked queue of three nodes whose first is a dummy; its head carries a count when it is mended. A node's value goes with the node.
struct Queue {
    head: AtomicI64,
    tail: AtomicI64,
    next: [AtomicI64; 3],
    value: [AtomicI64; 3],
    counts: bool,
}

impl Queue {
    /// The dummy 0, then 1 and 2 with values 10 and 20.
    fn new(counts: bool) -> Queue {
        Queue {
            head: AtomicI64::new(1),
            tail: AtomicI64::new(2),
            next: [1, 2, NONE].map(AtomicI64::new),
            value: [0, 10, 20].map(AtomicI64::new),
            counts,
        }
    }

    /// The value, and the node that was the dummy, which is free now.
    fn dequeue(&self) -> Option<(i64, i64)> {
        loop {
            let head = self.head.load(SeqCst);
            let dummy = node(head);
            let first = self.next[dummy as usize].load(SeqCst);
            if first == NONE {
                return None;
            }
            let value = self.value[first as usize].load(SeqCst);
            let count = if self.counts { head.div_euclid(COUNT) + 1 } else { 0 };
            if self.head.compare_exchange(head, count * COUNT + first + 1, SeqCst, SeqCst).is_ok() {
                return Some((value, dummy));
            }
        }
    }

    /// Only one thread of the program enqueues.
    fn enqueue(&self, free: i64, value: i64) {
        self.value[free as usize].store(value, SeqCst);
        self.next[free as usize].store(NONE, SeqCst);
        let last = self.tail.load(SeqCst);
        self.next[last as usize].store(free, SeqCst);
        self.tail.store(free, SeqCst);
    }
}

/// One thread dequeues; another dequeues, enqueues the node that it freed with a new value, and dequeues twice more. The head is the same node again then,
/// and what follows it is not: a value is delivered twice, or one that nobody enqueued.
pub(super) fn queue(is_mended: bool) -> bool {
    let queue = Arc::new(Queue::new(is_mended));
    let (one, other) = (queue.clone(), queue);
    let threads = vec![
        thread::spawn(move || one.dequeue().into_iter().map(|(value, _)| value).collect::<Vec<i64>>()),
        thread::spawn(move || {
            let mut values = Vec::new();
            if let Some((value, free)) = other.dequeue() {
                values.push(value);
                other.enqueue(free, 30);
            }
            for _ in 0..2 {
                values.extend(other.dequeue().map(|(value, _)| value));
            }
            values
        }),
    ];
    let mut values = join_all(threads).concat();
    values.sort_unstable();
    values == [10, 20, 30]
}

/// Slots of the circular buffer.
const SLOTS: usize = 4;

/// Two threads put two values each into a circular buffer. A writer takes its slot in two steps, so two may take the same.
pub(super) fn circular_buffer(is_mended: bool) -> bool {
    let slots: Arc<[AtomicI64; SLOTS]> = Arc::new([0; SLOTS].map(AtomicI64::new));
    let tail = Arc::new(AtomicI64::new(0));
    let mut writers = Vec::new();
    for writer in 0..2 {
        let (slots, tail) = (slots.clone(), tail.clone());
        writers.push(thread::spawn(move || {
            for number in 0..2 {
                let slot = if is_mended {
                    tail.fetch_add(1, SeqCst)
                } else {
                    let slot = tail.load(SeqCst);
                    tail.store(slot + 1, SeqCst);
                    slot
                };
                slots[slot as usize % SLOTS].store(10 * writer + number + 1, SeqCst);
            }
        }));
    }
    join_all(writers);
    let mut values: Vec<i64> = slots.iter().map(|slot| slot.load(SeqCst)).collect();
    values.sort_unstable();
    values == [1, 2, 11, 12]
}
