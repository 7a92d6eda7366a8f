//! The tracing spans that blocking code is in stay its own. Alone in its file: the subscriber is the OS process's.

mod sqlite_support;

use seedstorm_sim::{Exit, Os};
use sqlite_support::{pass, plan};
use std::sync::{Arc, Mutex};
use tracing::{Instrument, info, info_span};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// Keeps the spans that each event is in, the outermost first.
#[derive(Clone, Default)]
struct Scopes(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Scopes {
    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        if event.metadata().target().starts_with("blocking_spans") {
            let names = context
                .event_scope(event)
                .map(|scope| scope.from_root().map(|span| span.name()).collect::<Vec<_>>().join(">"));
            self.0.lock().expect("nobody panicked").push(names.unwrap_or_default());
        }
    }
}

fn work(os: &Os) {
    let outer = info_span!("outer").entered();
    for _ in 0..20 {
        let _inner = info_span!("inner").entered();
        os.yield_now();
        info!("between two calls");
    }
    outer.exit();
    os.yield_now();
    info!("in no span of its own");
}

#[test]
fn spans_of_suspended_code_are_nobody_elses() {
    let scopes = Scopes::default();
    tracing::subscriber::set_global_default(Registry::default().with(scopes.clone()))
        .expect("there is no other subscriber");
    pass(&plan(1), |_, world| {
        for index in 0..3 {
            world.process("spanner", index, |sys| {
                async move {
                    sys.blocking(work).await;
                    info!("after it");
                    Exit::success()
                }
                .instrument(info_span!("program"))
            });
        }
        world.process("plain", 0, |sys| async move {
            for _ in 0..50 {
                sys.yield_now().await;
                info!("in no span");
            }
            Exit::success()
        });
    });
    let scopes = scopes.0.lock().expect("nobody panicked");
    // The outermost two are the runtime's own.
    let own = |scope: &String| scope.strip_prefix("node>task").unwrap_or(scope).trim_start_matches('>').to_owned();
    let scopes: Vec<String> = scopes.iter().map(own).collect();
    let count = |scope: &str| scopes.iter().filter(|found| *found == scope).count();
    assert_eq!((count("program>outer>inner"), count("program"), count("")), (60, 6, 50), "{scopes:?}");
    assert_eq!(scopes.len(), 116);
}
