//! Data structures without locks that mistake one state for another: a stack and a queue with ABA, a circular buffer with two writers.

use super::join_all;
use seedstorm_sim::Sys;
use seedstorm_sim::sys::sync::AtomicCell;

/// No node.
const NONE: i64 = -1;

/// A stack of three nodes, linked from its top. Its top carries a count when it is mended.
#[derive(Clone)]
struct Stack {
    top: AtomicCell<i64>,
    next: [AtomicCell<i64>; 3],
    counts: bool,
}

/// A top with a count: the node in the lower part.
const COUNT: i64 = 16;

fn node(top: i64) -> i64 {
    top.rem_euclid(COUNT) - 1
}

impl Stack {
    /// 0 on 1 on 2.
    fn new(sys: &Sys, counts: bool) -> Stack {
        let next = [1, 2, NONE].map(|node| AtomicCell::new(sys, node));
        Stack { top: AtomicCell::new(sys, 1), next, counts }
    }

    fn with_node(&self, top: i64, node: i64) -> i64 {
        let count = if self.counts { top.div_euclid(COUNT) + 1 } else { 0 };
        count * COUNT + node + 1
    }

    async fn pop(&self) -> Option<i64> {
        loop {
            let top = self.top.load().await;
            let popped = node(top);
            if popped == NONE {
                return None;
            }
            let below = self.next[popped as usize].load().await;
            if self.top.compare_exchange(top, self.with_node(top, below)).await.is_ok() {
                return Some(popped);
            }
        }
    }

    async fn push(&self, pushed: i64) {
        loop {
            let top = self.top.load().await;
            self.next[pushed as usize].store(node(top)).await;
            if self.top.compare_exchange(top, self.with_node(top, pushed)).await.is_ok() {
                return;
            }
        }
    }
}

/// One task pops; another pops two and pushes the first of them back. If the first took its look before that and acts after it, the top is the same
/// node, and what is below it is not: a node ends in two hands.
pub(super) async fn stack(sys: Sys, is_mended: bool) -> bool {
    let stack = Stack::new(&sys, is_mended);
    let (one, other) = (stack.clone(), stack.clone());
    let mut tasks = Vec::new();
    tasks.push(sys.spawn(move |_| async move { one.pop().await.into_iter().collect::<Vec<i64>>() }).await);
    let recycle = move |_| async move {
        let (first, second) = (other.pop().await, other.pop().await);
        if let Some(first) = first {
            other.push(first).await;
        }
        second.into_iter().collect()
    };
    tasks.push(sys.spawn(recycle).await);
    let mut found: Vec<i64> = join_all(&sys, tasks).await.concat();
    while let Some(popped) = stack.pop().await {
        found.push(popped);
        if found.len() > 3 {
            return false;
        }
    }
    found.sort_unstable();
    found == [0, 1, 2]
}

/// A linked queue of three nodes whose first is a dummy; its head carries a count when it is mended. A node's value goes with the node.
#[derive(Clone)]
struct Queue {
    head: AtomicCell<i64>,
    tail: AtomicCell<i64>,
    next: [AtomicCell<i64>; 3],
    value: [AtomicCell<i64>; 3],
    counts: bool,
}

impl Queue {
    /// The dummy 0, then 1 and 2 with values 10 and 20.
    fn new(sys: &Sys, counts: bool) -> Queue {
        Queue {
            head: AtomicCell::new(sys, 1),
            tail: AtomicCell::new(sys, 2),
            next: [1, 2, NONE].map(|node| AtomicCell::new(sys, node)),
            value: [0, 10, 20].map(|value| AtomicCell::new(sys, value)),
            counts,
        }
    }

    /// The value, and the node that was the dummy, which is free now.
    async fn dequeue(&self) -> Option<(i64, i64)> {
        loop {
            let head = self.head.load().await;
            let dummy = node(head);
            let first = self.next[dummy as usize].load().await;
            if first == NONE {
                return None;
            }
            let value = self.value[first as usize].load().await;
            let count = if self.counts { head.div_euclid(COUNT) + 1 } else { 0 };
            if self.head.compare_exchange(head, count * COUNT + first + 1).await.is_ok() {
                return Some((value, dummy));
            }
        }
    }

    /// Only one task of the program enqueues.
    async fn enqueue(&self, free: i64, value: i64) {
        self.value[free as usize].store(value).await;
        self.next[free as usize].store(NONE).await;
        let last = self.tail.load().await;
        self.next[last as usize].store(free).await;
        self.tail.store(free).await;
    }
}

/// One task dequeues; another dequeues, enqueues the node that it freed with a new value, and dequeues twice more. The head is the same node again then,
/// and what follows it is not: a value is delivered twice, or one that nobody enqueued.
pub(super) async fn queue(sys: Sys, is_mended: bool) -> bool {
    let queue = Queue::new(&sys, is_mended);
    let (one, other) = (queue.clone(), queue);
    let mut tasks = Vec::new();
    let take = move |_| async move { one.dequeue().await.into_iter().map(|(value, _)| value).collect::<Vec<i64>>() };
    tasks.push(sys.spawn(take).await);
    let recycle = move |_| async move {
        let mut values = Vec::new();
        if let Some((value, free)) = other.dequeue().await {
            values.push(value);
            other.enqueue(free, 30).await;
        }
        for _ in 0..2 {
            values.extend(other.dequeue().await.map(|(value, _)| value));
        }
        values
    };
    tasks.push(sys.spawn(recycle).await);
    let mut values = join_all(&sys, tasks).await.concat();
    values.sort_unstable();
    values == [10, 20, 30]
}

/// Slots of the circular buffer.
const SLOTS: usize = 4;

/// Two tasks put two values each into a circular buffer. A writer takes its slot in two steps, so two may take the same.
pub(super) async fn circular_buffer(sys: Sys, is_mended: bool) -> bool {
    let slots: [AtomicCell<i64>; SLOTS] = [0; SLOTS].map(|empty| AtomicCell::new(&sys, empty));
    let tail = AtomicCell::new(&sys, 0i64);
    let mut writers = Vec::new();
    for writer in 0..2 {
        let (slots, tail) = (slots.clone(), tail.clone());
        let write = move |_| async move {
            for number in 0..2 {
                let slot = if is_mended {
                    tail.fetch_add(1).await
                } else {
                    let slot = tail.load().await;
                    tail.store(slot + 1).await;
                    slot
                };
                slots[slot as usize % SLOTS].store(10 * writer + number + 1).await;
            }
        };
        writers.push(sys.spawn(write).await);
    }
    join_all(&sys, writers).await;
    let mut values = Vec::new();
    for slot in &slots {
        values.push(slot.load().await);
    }
    values.sort_unstable();
    values == [1, 2, 11, 12]
}
