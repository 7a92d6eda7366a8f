//! The beat: it tells another thread who is polled and at what, whatever is being done, and nothing of it reaches the run.

use super::support::{MILLI_NS, at_call, fault, plan, run_settings, run_watched};
use seedstorm_sim::invariant::{Invariant, Violation};
use seedstorm_sim::kernel::{Place, Stage};
use seedstorm_sim::plan::{FaultKind, StrategyPlan};
use seedstorm_sim::schedule::Guide;
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::trace::{Body, CallKind, Event, Interest};
use seedstorm_sim::{Beat, Exit, Plan, Settings, Sys, View, World};
use std::sync::{Arc, Mutex};

/// Places that were seen.
type Seen = Arc<Mutex<Vec<Place>>>;

fn see(seen: &Seen, beat: &Beat) {
    seen.lock().expect("nobody panics with it").push(beat.look());
}

fn taken(seen: &Seen) -> Vec<Place> {
    std::mem::take(&mut *seen.lock().expect("nobody panics with it"))
}

async fn works(sys: Sys) -> Exit {
    let sleeper = sys.spawn(|sys| async move {
        for _ in 0..9 {
            let _ = sys.sleep(MILLI_NS / 3).await;
        }
    });
    let (sleeper, name) = (sleeper.await, sys.name());
    let written = sys.blocking(move |os| {
        let file = os.open(&format!("/{name}"), OpenFlags::READ_WRITE.create())?;
        file.write(b"some")?;
        file.sync()
    });
    let written = written.await;
    sys.join(sleeper).await;
    if written.is_ok() { Exit::success() } else { Exit::failure("it can't write") }
}

fn populate(world: &mut World) {
    for index in 0..3 {
        world.process("a", index, works);
    }
}

#[test]
fn each_call_is_told_with_who_makes_it() {
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random, StrategyPlan::Surw] {
        let plan = Plan { strategy, ..plan() };
        let without = run_settings(&plan, Settings::default(), populate);
        let beat = Arc::new(Beat::default());
        let (seen, looked_at) = (Arc::new(Mutex::new((0, Vec::new()))), beat.clone());
        let kept = seen.clone();
        let watch = move |event: &Event<'_>, view: &View<'_>| {
            let (Body::Call { kind, .. }, Some(process), Some(task)) = (&event.body, event.process, event.task) else {
                return;
            };
            if *kind == CallKind::Close {
                // What is dropped is closed at once, within the step of another call.
                return;
            }
            let place = looked_at.look();
            let is_there = place.stage == Stage::Program
                && (place.step, place.time_ns, place.kind) == (event.step, event.time_ns, Some(*kind))
                && (place.process, place.name.as_str(), place.role.as_str())
                    == (Some(process), view.process(process).name, "a")
                && Some(place.ordinal) == view.ordinal(task);
            let mut kept = kept.lock().expect("nobody panics with it");
            kept.0 += 1;
            if !is_there {
                kept.1.push((event.step, *kind, place));
            }
        };
        let ran = run_watched(&plan, Settings { beat: Some(beat.clone()), ..Settings::default() }, watch, populate);
        let ran = ran.passed();
        assert_eq!(ran.outcome.trace_hash, without.trace_hash, "{strategy}");
        let (calls, wrong) = std::mem::take(&mut *seen.lock().expect("nobody panics with it"));
        assert!(calls > 30 && wrong.is_empty(), "{strategy}: of {calls} calls: {wrong:?}");
        assert_eq!(beat.look().stage, Stage::None, "it is over");
    }
}

#[test]
fn who_has_gone_when_is_known_before_the_run_has_ended() {
    for strategy in [StrategyPlan::Timed, StrategyPlan::Random, StrategyPlan::Surw] {
        let plan = Plan { strategy, ..plan() };
        let beat = Arc::new(Beat::default());
        let (seen, looked_at) = (Arc::new(Mutex::new(Vec::new())), beat.clone());
        let kept = seen.clone();
        let watch = move |_: &Event<'_>, _: &View<'_>| {
            let turns = looked_at.turns().expect("they are written down");
            kept.lock().expect("nobody panics with it").push(turns);
        };
        let settings = Settings { beat: Some(beat.clone()), records_turns: true, ..Settings::default() };
        let ran = run_watched(&plan, settings, watch, populate).passed();
        assert_eq!(beat.processes(), ran.outcome.processes, "{strategy}");
        let turns = ran.outcome.turns.expect("they are written down");
        let seen = std::mem::take(&mut *seen.lock().expect("nobody panics with it"));
        assert!(seen.windows(2).all(|two| two[0].steps <= two[1].steps), "{strategy}");
        assert_eq!(seen.last(), Some(&turns), "{strategy}");
        // What was known by then leads there.
        let half = seen[seen.len() / 2].clone();
        let steps_max = half.steps;
        let settings = Settings {
            guide: Some(Guide { turns: half.clone(), ..Guide::default() }),
            records_turns: true,
            ..Settings::default()
        };
        let led = run_settings(&Plan { steps_max, ..plan }, settings, populate);
        assert_eq!(led.turns, Some(half), "{strategy}");
    }
    assert_eq!(Beat::default().turns(), None);
}

/// Looks when it is dropped.
struct Looks(Seen, Arc<Beat>);

impl Drop for Looks {
    fn drop(&mut self) {
        see(&self.0, &self.1);
    }
}

#[test]
fn set_up_and_destructors_are_told_apart_from_programs() {
    let (beat, seen) = (Arc::new(Beat::default()), Seen::default());
    let (kept, looked_at) = (seen.clone(), beat.clone());
    let populate = move |world: &mut World| {
        see(&kept, &looked_at);
        let (kept, looked_at) = (kept.clone(), looked_at.clone());
        world.process("a", 0, move |sys: Sys| {
            let looks = Looks(kept.clone(), looked_at.clone());
            async move {
                while sys.sleep(MILLI_NS).await.is_ok() {}
                drop(looks);
                Exit::success()
            }
        });
        world.process("b", 0, |_| async { Exit::success() });
    };
    let plan = Plan { faults: vec![fault(FaultKind::Kill, at_call(CallKind::Sleep, 3))], calm_ns: MILLI_NS, ..plan() };
    run_settings(&plan, Settings { beat: Some(beat), ..Settings::default() }, populate);
    let places = taken(&seen);
    let told: Vec<_> = places.iter().map(|place| (place.stage, place.name.as_str())).collect();
    assert_eq!(told[..2], [(Stage::SetUp, ""), (Stage::Destructors, "a-0")], "{places:#?}");
    assert!(places.iter().all(|place| !place.is_judging && place.recovered_at.is_none()));
}

/// Looks at each write, and at the end.
struct Judge(Seen, Arc<Beat>);

impl Invariant for Judge {
    fn id(&self) -> &'static str {
        "judge"
    }

    fn interest(&self) -> Interest {
        Interest::call(CallKind::Write)
    }

    fn observe(&mut self, _event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        see(&self.0, &self.1);
        Ok(())
    }

    fn finish(&mut self, _view: &View<'_>) -> Result<(), Violation> {
        see(&self.0, &self.1);
        Ok(())
    }
}

#[test]
fn invariants_are_told_apart_from_the_program_that_they_look_at() {
    let (beat, seen) = (Arc::new(Beat::default()), Seen::default());
    let (kept, looked_at) = (seen.clone(), beat.clone());
    let populate = move |world: &mut World| {
        populate(world);
        world.invariant(Judge(kept.clone(), looked_at.clone()));
    };
    let settings = Settings { beat: Some(beat.clone()), ..Settings::default() };
    assert!(run_settings(&plan(), settings, populate).passed());
    let places = taken(&seen);
    let judging: Vec<_> = places.iter().map(|place| (place.is_judging, place.stage)).collect();
    let write = (true, Stage::Program);
    assert_eq!(judging, [write, write, write, (true, Stage::Between)], "{places:#?}");
    assert!(!beat.look().is_judging);
}
