//! The beat of a run goes on in its recoveries, and says that it is there.

use crate::support::{Bug, Case, FILE, Kept, plan, save_all};
use seedstorm_sim::invariant::CrashPoints;
use seedstorm_sim::kernel::{RestartPolicy, Stage};
use seedstorm_sim::{Beat, Exit, Settings, Sys, World, run};
use std::sync::{Arc, Mutex};

#[test]
fn a_recovery_has_steps_of_its_own_in_the_beat() {
    let (beat, seen) = (Arc::new(Beat::default()), Arc::new(Mutex::new(Vec::new())));
    let (kept, looked_at) = (seen.clone(), beat.clone());
    let recover = move |world: &mut World| {
        let (kept, looked_at) = (kept.clone(), looked_at.clone());
        world.process("healer", 0, move |sys: Sys| {
            let (kept, looked_at) = (kept.clone(), looked_at.clone());
            async move {
                let _ = sys.stat(FILE).await;
                kept.lock().expect("nobody panics with it").push(looked_at.look());
                Exit::success()
            }
        });
    };
    let populate = |world: &mut World| {
        world.process_with("agent", 0, RestartPolicy::Never, |sys| save_all(sys, Bug::None));
        world.invariant(Kept::trusting());
    };
    let case = Case { populate, recover };
    let settings = |beat| Settings { crash_points: CrashPoints::All, beat, ..Settings::default() };
    let with = run(&case, &plan(), settings(Some(beat.clone()))).expect("the plan can be run");
    let places = std::mem::take(&mut *seen.lock().expect("nobody panics with it"));
    assert!(with.passed() && places.len() > 5, "{:?} {places:#?}", with.violations);
    for place in &places {
        assert!(
            place.recovered_at.is_some_and(|(step, _)| step > 1) && !place.is_judging && place.stage == Stage::Program,
            "{place:?}"
        );
        assert_eq!((place.name.as_str(), place.step), ("healer-0", 2), "{place:?}");
    }
    assert_eq!((beat.look().stage, beat.look().recovered_at), (Stage::None, None));
    let without = run(&case, &plan(), settings(None)).expect("the plan can be run");
    assert_eq!(with.trace_hash, without.trace_hash);
}
