//! Agents of the rows that need a whole one: awake, and asked for work. How worlds and schedules are made is in `script`.

use crate::script::{Diary, once};
use seedstorm_model::agent::{Agent, Done, Work, WorkKind, wake};
use seedstorm_model::config::Config;
use seedstorm_sim::sys::claim::Happened;
use seedstorm_sim::{Sys, World};
use std::future::Future;
use std::rc::Rc;

/// Tells that something has happened.
pub(crate) fn happened(what: &str) -> Happened {
    Happened { what: what.to_owned() }
}

/// Adds an agent, which runs once.
pub(crate) fn agent<F>(
    world: &mut World,
    diary: &Diary,
    role: &'static str,
    config: &Config,
    program: impl Fn(Sys, Diary, Agent) -> F + 'static,
) where
    F: Future<Output = ()> + 'static,
{
    let (config, program) = (config.clone(), Rc::new(program));
    once(world, diary, role, move |sys, diary| {
        let (config, program) = (config.clone(), program.clone());
        async move {
            let agent = wake(&sys, &config).await.expect("nothing is in the way");
            program(sys, diary, agent).await;
        }
    });
}

/// Asks until there is an answer.
pub(crate) async fn ask(sys: &Sys, agent: &mut Agent, number: u64, kind: WorkKind) -> Done {
    loop {
        match agent.work(sys, &Work { number, kind: kind.clone() }).await {
            Ok(Done::Unanswered) => {}
            Ok(done) => return done,
            Err(error) => panic!("{error}"),
        }
    }
}
