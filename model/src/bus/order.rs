//! Which of the signals in a queue may be delivered now, in causal order. Pure: it knows no store and no network.

use super::signal::Signal;
use seedstorm_sim::sys::claim::signal::{Life, SignalId};
use std::rc::Rc;

/// A signal that waits in the durable queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    /// Its number in the store.
    pub(super) number: i64,
    pub(super) id: SignalId,
    /// Its sending's event.
    pub(super) counter: u64,
}

/// What to do with a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// To be delivered, in this order.
    pub(super) deliver: Vec<(Queued, Rc<Signal>)>,
    /// In hand, and not to be delivered before others that aren't.
    pub(super) held_back: Vec<SignalId>,
}

/// What is delivered before what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Nothing before what came before it causally.
    Causal,
    /// Whatever is in hand. For a planted bug.
    AsTheyCome,
}

/// Chooses among the signals of a queue, which is in the order of the transactions that sent them: whatever comes before a signal causally is in the queue before it,
/// or has been delivered. `find` gives what is in hand of each.
///
/// A signal waits while one stands before it that isn't delivered and that its clock knows of.
pub(super) fn choose<E>(
    queue: &[Queued],
    count_max: usize,
    order: Order,
    mut find: impl FnMut(&Queued) -> Result<Option<Rc<Signal>>, E>,
) -> Result<Choice, E> {
    let mut choice = Choice::default();
    let mut passed_by: Vec<(Life, u64)> = Vec::new();
    for queued in queue {
        if choice.deliver.len() >= count_max {
            break;
        }
        match find(queued)? {
            Some(signal)
                if order == Order::AsTheyCome
                    || !passed_by.iter().any(|(life, counter)| signal.clock.knows(*life, *counter)) =>
            {
                choice.deliver.push((*queued, signal));
                continue;
            }
            Some(_) => choice.held_back.push(queued.id),
            None => {}
        }
        passed_by.push((queued.id.sender, queued.counter));
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::clock::Clock;

    fn life(agent: u32) -> Life {
        Life { agent, incarnation: 1 }
    }

    /// A signal of an agent, its first, that knows of the first of these others.
    fn signal(agent: u32, knows: &[u32]) -> (Queued, Rc<Signal>) {
        let mut clock = Clock::default();
        knows.iter().chain([&agent]).for_each(|of| clock.raise(life(*of), 2));
        let id = SignalId { sender: life(agent), sequence: 1 };
        let signal = Signal { id, answer_by: 0, clock, content: Rc::from([]) };
        (Queued { number: agent.into(), id, counter: 2 }, Rc::new(signal))
    }

    /// Who is chosen and who waits of these, if the ones in hand are these.
    fn chosen(signals: &[(u32, &[u32])], in_hand: &[u32], count_max: usize) -> (Vec<u32>, Vec<u32>) {
        let signals: Vec<_> = signals.iter().map(|(agent, knows)| signal(*agent, knows)).collect();
        let queue: Vec<Queued> = signals.iter().map(|(queued, _)| *queued).collect();
        let find = |queued: &Queued| {
            let found = signals.iter().find(|(other, _)| other == queued && in_hand.contains(&queued.id.sender.agent));
            Ok::<_, ()>(found.map(|(_, signal)| signal.clone()))
        };
        let choice = choose(&queue, count_max, Order::Causal, find).expect("nothing fails");
        let agents = |ids: Vec<SignalId>| ids.into_iter().map(|id| id.sender.agent).collect();
        (agents(choice.deliver.iter().map(|(queued, _)| queued.id).collect()), agents(choice.held_back))
    }

    #[test]
    fn what_is_missing_holds_back_what_knows_of_it_and_nothing_else() {
        let signals: [(u32, &[u32]); 4] = [(1, &[]), (2, &[1]), (3, &[]), (4, &[2])];
        assert_eq!(chosen(&signals, &[1, 2, 3, 4], 9), (vec![1, 2, 3, 4], vec![]));
        assert_eq!(chosen(&signals, &[2, 3, 4], 9), (vec![3], vec![2, 4]), "4 knows of 2, which is held back");
        assert_eq!(chosen(&signals, &[1, 3, 4], 9), (vec![1, 3], vec![4]));
        assert_eq!(chosen(&signals, &[], 9), (vec![], vec![]));
        assert_eq!(chosen(&signals, &[1, 2, 3, 4], 2), (vec![1, 2], vec![]));
    }
}
