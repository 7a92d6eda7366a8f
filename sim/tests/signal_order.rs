//! The true order of signals against a naive one: histories are drawn whose clocks are right by construction; every pair of events is compared with the reachability in
//! a graph of all events. Then one clock is spoilt, and it must be found.

use seedstorm_sim::causality::signals::{Acknowledged, Disagreement, Intent, Lacking, SignalEvent, SignalOrder};
use seedstorm_sim::sys::claim::signal::{
    ClockReading, Delivery, IncarnationBeginning, Life, Recipients, SignalId, SignalSending, SignalsDelivering,
};
use seedstorm_sim::{Draw, Seed, Stream};
use std::collections::BTreeMap;

type Counters = BTreeMap<Life, u64>;

fn reading(counters: &Counters) -> ClockReading {
    ClockReading {
        counters: counters.iter().map(|(life, counter)| (*life, *counter)).collect(),
        pruned_below: Vec::new(),
    }
}

/// What one event of a history is.
#[derive(Clone, Debug)]
enum What {
    Begin,
    Send(SignalId),
    Deliver(SignalId),
}

/// An event, the clock that is right for it, and the events that come directly before it.
#[derive(Clone, Debug)]
struct Event {
    life: Life,
    what: What,
    clock: ClockReading,
    after: Vec<usize>,
}

/// Draws a history of three agents that die, send and deliver.
fn history(stream: &mut Stream, length: usize) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    // By agent: its life, its clock, its last event, its last signal.
    let mut agents: Vec<(Life, Counters, usize, u64)> = Vec::new();
    let mut signals: Vec<(SignalId, Counters, usize)> = Vec::new();
    let mut had: Vec<(u32, SignalId)> = Vec::new();
    for index in 0..length {
        let agent = if agents.len() < 3 { agents.len() } else { stream.below(3) as usize };
        let begins = agents.len() == agent || stream.chance(1, 8);
        if begins {
            let (incarnation, counters, after) = match agents.get(agent) {
                Some((life, counters, last, _)) => {
                    (life.incarnation + stream.between(1, 2) as u32, counters.clone(), vec![*last])
                }
                None => (1, Counters::new(), Vec::new()),
            };
            let life = Life { agent: agent as u32 + 1, incarnation };
            let mut counters = counters;
            counters.insert(life, 1);
            events.push(Event { life, what: What::Begin, clock: reading(&counters), after });
            let state = (life, counters, index, 0);
            if agents.len() == agent {
                agents.push(state)
            } else {
                agents[agent] = state
            }
            continue;
        }
        let (life, counters, last, sequence) = &mut agents[agent];
        let mut after = vec![*last];
        let pick = stream.below(signals.len() as u64 + 1) as usize;
        let new =
            signals.get(pick).filter(|(id, _, _)| id.sender.agent != life.agent && !had.contains(&(life.agent, *id)));
        let what = match new {
            Some((id, theirs, sent)) => {
                had.push((life.agent, *id));
                after.push(*sent);
                theirs.iter().for_each(|(of, counter)| {
                    let own = counters.entry(*of).or_default();
                    *own = (*own).max(*counter);
                });
                What::Deliver(*id)
            }
            None => {
                *sequence += 1;
                What::Send(SignalId { sender: *life, sequence: *sequence })
            }
        };
        *counters.entry(*life).or_default() += stream.between(1, 2);
        if let What::Send(id) = what {
            signals.push((id, counters.clone(), index));
        }
        *last = index;
        events.push(Event { life: *life, what, clock: reading(counters), after });
    }
    events
}

fn intent(event: &Event) -> (Intent, Acknowledged) {
    let (life, clock) = (event.life, event.clock.clone());
    match event.what {
        What::Begin => {
            // What it knows of its agent's last life that began.
            let earlier = clock.counters.iter().filter(|(of, _)| of.agent == life.agent && *of < life);
            let ended = earlier.max_by_key(|(of, _)| *of).copied();
            (Intent::Begin(IncarnationBeginning { life, clock, ended }), Acknowledged::Begun(life))
        }
        What::Send(signal) => {
            let sending = SignalSending { signal, to: Recipients::All, operation: 0, clock, content: 0 };
            (Intent::Send(sending), Acknowledged::Sent(signal))
        }
        What::Deliver(signal) => {
            let signal_clock = ClockReading::default();
            let delivery = Delivery { signal, was_polled: false, clock, signal_clock, content: 0 };
            (Intent::Deliver(SignalsDelivering { life, deliveries: vec![delivery] }), Acknowledged::Delivered(life))
        }
    }
}

/// Runs a history through the order. With `silent`, an event's own acknowledgement may be left out where a later one settles it.
fn judge(events: &[Event], mut silent: impl FnMut(usize) -> bool) -> Result<SignalOrder, Disagreement> {
    let mut order = SignalOrder::default();
    for (index, event) in events.iter().enumerate() {
        let (intent, acknowledged) = intent(event);
        order.intend(intent);
        if !silent(index) {
            order.acknowledge(acknowledged).map_err(|contradiction| contradiction.kind)?;
        }
    }
    Ok(order)
}

fn is_within(one: &ClockReading, other: &ClockReading) -> bool {
    one.counters.iter().all(|(life, counter)| other.knows(*life, *counter))
}

#[test]
fn clocks_that_are_accepted_are_the_order_itself() {
    for seed in 0..200 {
        let events = history(&mut Seed(seed).stream("history"), 60);
        judge(&events, |_| false).unwrap_or_else(|kind| panic!("seed {seed}: {kind:?}"));
        // Reachability in the graph of all events.
        let mut before: Vec<Vec<bool>> = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let mut row = vec![false; events.len()];
            for &direct in &event.after {
                row[direct] = true;
                (0..index).filter(|other| before[direct][*other]).for_each(|other| row[other] = true);
            }
            before.push(row);
        }
        for (later, event) in events.iter().enumerate() {
            for (earlier, other) in events.iter().enumerate().filter(|(at, _)| *at != later) {
                let is_claimed = is_within(&other.clock, &event.clock);
                assert_eq!(is_claimed, before[later][earlier], "seed {seed}: {other:?} and {event:?}");
            }
        }
    }
}

#[test]
fn what_nobody_could_acknowledge_is_settled_by_what_comes_after() {
    for seed in 0..200 {
        let mut stream = Seed(seed).stream("history");
        let events = history(&mut stream, 60);
        // The last event of a life, and any that its own agent builds on.
        let mut order = judge(&events, |index| {
            let event = &events[index];
            let next = events[index + 1..].iter().find(|other| other.life.agent == event.life.agent);
            next.is_some_and(|next| matches!(next.what, What::Begin)) || stream.chance(1, 4)
        })
        .unwrap_or_else(|kind| panic!("seed {seed}: {kind:?}"));
        let settled = order.take_settled();
        assert!(settled.iter().any(|event| matches!(event, SignalEvent::Sent(_))), "seed {seed}");
        assert!(settled.len() <= events.len(), "seed {seed}: none is settled twice");
    }
}

#[test]
fn an_event_that_the_next_life_does_not_know_has_not_happened() {
    let life = |incarnation| Life { agent: 1, incarnation };
    let clock =
        |counters: &[(u32, u64)]| reading(&counters.iter().map(|(of, counter)| (life(*of), *counter)).collect());
    let signal = SignalId { sender: life(1), sequence: 1 };
    let mut order = SignalOrder::default();
    let mut happens = |what, life, clock, is_told: bool| {
        let (intent, acknowledged) = intent(&Event { life, what, clock, after: Vec::new() });
        order.intend(intent);
        if is_told { order.acknowledge(acknowledged).map_err(|contradiction| contradiction.kind) } else { Ok(()) }
    };
    happens(What::Begin, life(1), clock(&[(1, 1)]), true).expect("a first life");
    happens(What::Send(signal), life(1), clock(&[(1, 2)]), false).expect("nothing is claimed");
    happens(What::Begin, life(2), clock(&[(1, 1), (2, 1)]), true).expect("the send was not committed");
    // It is held to that.
    let late = happens(What::Begin, life(3), clock(&[(1, 2), (2, 1), (3, 1)]), true);
    assert_eq!(late, Err(Disagreement::Clock));
    let settled = order.take_settled();
    assert!(!settled.iter().any(|event| matches!(event, SignalEvent::Sent(_))));
}

#[test]
fn what_a_pruned_life_intended_is_settled_by_how_far_it_came() {
    let life = |incarnation| Life { agent: 1, incarnation };
    let signal = SignalId { sender: life(1), sequence: 1 };
    for came in [1, 2] {
        let mut order = SignalOrder::default();
        let mut intend = |what, life, clock: &[(Life, u64)]| {
            let clock = ClockReading { counters: clock.to_vec(), pruned_below: Vec::new() };
            let (intent, acknowledged) = intent(&Event { life, what, clock, after: Vec::new() });
            order.intend(intent);
            acknowledged
        };
        let begun = intend(What::Begin, life(1), &[(life(1), 1)]);
        intend(What::Send(signal), life(1), &[(life(1), 2)]);
        assert!(matches!(begun, Acknowledged::Begun(_)));
        // Its agent is alone, so its last life is known to everybody at once, and the clock says nothing of how far it came.
        let clock = ClockReading { counters: vec![(life(2), 1)], pruned_below: vec![(1, 2)] };
        order.intend(Intent::Begin(IncarnationBeginning { life: life(2), clock, ended: Some((life(1), came)) }));
        order.acknowledge(Acknowledged::Begun(life(2))).expect("the clock is right");
        let sent = order.take_settled().iter().filter(|event| matches!(event, SignalEvent::Sent(_))).count();
        assert_eq!(sent as u64, came - 1);
    }
}

#[test]
fn a_spoilt_clock_is_found() {
    let mut kinds = BTreeMap::new();
    for seed in 0..400 {
        let mut stream = Seed(seed).stream("history");
        let mut events = history(&mut stream, 40);
        let at = 3 + stream.below(events.len() as u64 - 3) as usize;
        let event = &mut events[at];
        let entry = stream.below(event.clock.counters.len() as u64) as usize;
        match stream.below(4) {
            0 => event.clock.counters[entry].1 += 1 + u64::from(event.clock.counters[entry].0 == event.life) * 1000,
            1 => event.clock.counters[entry].1 = event.clock.counters[entry].1.saturating_sub(2).max(1) - 1,
            2 => drop(event.clock.counters.remove(entry)),
            _ => {
                let known = event.clock.counters[entry].0;
                event
                    .clock
                    .counters
                    .retain(|(life, _)| life.agent != known.agent || life.incarnation > known.incarnation);
                event.clock.pruned_below = vec![(known.agent, known.incarnation + 1)];
            }
        }
        let own = event.life;
        // A life may give itself any number that rises, as long as others hear of no other: that is no error.
        let is_only_skipping =
            event.clock.counter(own) != Some(0) && event.clock.counters[..].iter().any(|(life, _)| *life == own);
        match judge(&events, |_| false) {
            Err(kind) => *kinds.entry(format!("{kind:?}")).or_insert(0) += 1,
            Ok(_) => assert!(is_only_skipping, "seed {seed}: event {at} of {events:?}"),
        }
    }
    assert!(kinds.get("Clock").is_some_and(|count| *count > 100), "{kinds:?}");
    assert!(kinds.get("Tie").is_some_and(|count| *count > 10), "{kinds:?}");
}

#[test]
fn a_pruned_entry_is_past_and_only_a_life_that_is_over_can_be_pruned() {
    let life = |agent, incarnation| Life { agent, incarnation };
    let clock = |counters: &[(Life, u64)], pruned: &[(u32, u32)]| ClockReading {
        counters: counters.to_vec(),
        pruned_below: pruned.to_vec(),
    };
    let signal = SignalId { sender: life(1, 1), sequence: 1 };
    let begun = || {
        let mut order = SignalOrder::default();
        let mut events = vec![
            (life(1, 1), What::Begin, clock(&[(life(1, 1), 1)], &[])),
            (life(2, 1), What::Begin, clock(&[(life(2, 1), 1)], &[])),
            (life(1, 1), What::Send(signal), clock(&[(life(1, 1), 2)], &[])),
            (life(2, 1), What::Deliver(signal), clock(&[(life(1, 1), 2), (life(2, 1), 2)], &[])),
        ];
        for (life, what, clock) in events.drain(..) {
            let (intent, acknowledged) = intent(&Event { life, what, clock, after: Vec::new() });
            order.intend(intent);
            order.acknowledge(acknowledged).expect("all is well");
        }
        order
    };
    let next = SignalId { sender: life(2, 1), sequence: 1 };
    let send = |order: &mut SignalOrder, clock: ClockReading| {
        let (intent, acknowledged) =
            intent(&Event { life: life(2, 1), what: What::Send(next), clock, after: Vec::new() });
        order.intend(intent);
        order.acknowledge(acknowledged).map_err(|contradiction| contradiction.kind)
    };
    let pruned = || clock(&[(life(2, 1), 3)], &[(1, 2)]);
    assert_eq!(send(&mut begun(), pruned()), Err(Disagreement::Clock), "that life goes on");
    let mut order = begun();
    let begin = Event {
        life: life(1, 2),
        what: What::Begin,
        clock: clock(&[(life(1, 1), 2), (life(1, 2), 1)], &[]),
        after: Vec::new(),
    };
    let (intent, acknowledged) = intent(&begin);
    order.intend(intent);
    // Nobody has said yet that the next life has begun: the clock that counts the last one as past shows it.
    assert_eq!(send(&mut order, pruned()), Ok(()));
    assert!(order.acknowledge(acknowledged).is_ok());
    let mut order = begun();
    let lacks = Err(Disagreement::Lacks(Lacking::Others));
    assert_eq!(send(&mut order, clock(&[(life(2, 1), 3)], &[])), lacks, "it leaves no trace");
}

#[test]
fn what_is_kept_does_not_grow_with_events() {
    let mut sizes = Vec::new();
    for rounds in [10u64, 1000] {
        let mut order = SignalOrder::default();
        let life = |agent| Life { agent, incarnation: 1 };
        let mut counters: Vec<Counters> = Vec::new();
        for agent in 1..=3 {
            counters.push([(life(agent), 1)].into());
            let event = Event {
                life: life(agent),
                what: What::Begin,
                clock: reading(&counters[agent as usize - 1]),
                after: Vec::new(),
            };
            let (intent, acknowledged) = intent(&event);
            order.intend(intent);
            order.acknowledge(acknowledged).expect("a first life");
        }
        for round in 0..rounds {
            let (from, to) = ((round % 3) as usize, ((round + 1) % 3) as usize);
            let signal = SignalId { sender: life(from as u32 + 1), sequence: round / 3 + 1 };
            *counters[from].entry(signal.sender).or_default() += 1;
            let theirs = counters[from].clone();
            let sent =
                Event { life: signal.sender, what: What::Send(signal), clock: reading(&theirs), after: Vec::new() };
            let by = life(to as u32 + 1);
            theirs.iter().for_each(|(of, counter)| {
                let own = counters[to].entry(*of).or_default();
                *own = (*own).max(*counter);
            });
            *counters[to].entry(by).or_default() += 1;
            let had = Event { life: by, what: What::Deliver(signal), clock: reading(&counters[to]), after: Vec::new() };
            for event in [sent, had] {
                let (intent, acknowledged) = intent(&event);
                order.intend(intent);
                order.acknowledge(acknowledged).expect("the clocks are right");
            }
            order.forget(signal);
            order.take_settled();
        }
        sizes.push(order.size());
    }
    assert_eq!(sizes[0], sizes[1], "after ten rounds, and after a thousand");
}
