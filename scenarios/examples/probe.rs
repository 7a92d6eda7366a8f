#![allow(missing_docs, clippy::disallowed_methods)]
use seedstorm_scenarios::concurrency_storm::ConcurrencyStorm;
use seedstorm_sim::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (from, to): (u64, u64) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let mut o = Options::default();
    for kv in &a[3..] {
        let (k, v) = kv.split_once('=').unwrap();
        match k {
            "workers" => o.workers = Some(v.parse().unwrap()),
            "faults" => o.faults = plan::Faults::None,
            "lock" => o.lock = Some(v.into()),
            "strategy" => o.strategy = plan::StrategyPlan::parse(v),
            _ => {
                o.set.insert(k.into(), v.into());
            }
        }
    }
    let unchecked = o.set.remove("unchecked").is_some();
    let (mut steps, mut fails) = (0, 0);
    let mut cov = std::collections::BTreeMap::new();
    let t = std::time::Instant::now();
    for seed in from..to {
        let p = ConcurrencyStorm.plan(Seed(seed), &o).unwrap();
        let tail = std::env::var("TAIL").ok().map(|n| n.parse::<usize>().unwrap());
        let ring = std::sync::Arc::new(std::sync::Mutex::new(std::collections::VecDeque::new()));
        let r2 = ring.clone();
        let t1 = std::time::Instant::now();
        let r = run(
            &ConcurrencyStorm,
            &p,
            Settings {
                without_invariants: unchecked,
                listener: tail.map(|n| -> Box<dyn FnMut(&trace::Event<'_>, &View<'_>) + Send> {
                    let who = std::env::var("WHO").unwrap_or_default();
                    Box::new(move |e, v| {
                        let name = e.process.map_or("machine".to_string(), |p| v.process(p).name.to_string());
                        if !who.is_empty() && !who.split(',').any(|w| w == name) {
                            return;
                        }
                        let mut r = r2.lock().unwrap();
                        let claim = match e.body {
                            trace::Body::Claim { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
                            _ => String::new(),
                        };
                        r.push_back(format!(
                            "{:>12} {:>6} {name} {} {claim:?}",
                            e.time_ns,
                            e.step,
                            trace::layer::Words(e)
                        ));
                        if r.len() > n {
                            r.pop_front();
                        }
                    })
                }),
                ..Default::default()
            },
        )
        .unwrap();
        for l in ring.lock().unwrap().iter() {
            println!("{l}");
        }
        if tail.is_some() {
            println!("{:#?}", p.settings);
            println!("{:#?}", p.faults);
        }
        steps += r.steps;
        for (k, v) in &r.observations.coverage {
            *cov.entry(*k).or_insert(0) += v;
        }
        for (k, v) in &r.observations.counters {
            *cov.entry(*k).or_insert(0) += v;
        }
        if to - from < 30 {
            println!(
                "seed {seed} {} steps {} sim {:.3}s {:?} {:.1}ms faults {:?}",
                r.trace_hash,
                r.steps,
                r.simulated_ns as f64 / 1e9,
                p.strategy,
                t1.elapsed().as_secs_f64() * 1e3,
                r.observations.faults
            );
        }
        if !r.passed() {
            fails += 1;
            if fails < 20 {
                let v = &r.violations[0];
                println!(
                    "FAIL seed {seed} {} at step {}: {}",
                    v.fingerprint,
                    v.step,
                    &v.message[..v.message.len().min(400)]
                );
            }
        }
    }
    let e = t.elapsed().as_secs_f64();
    println!(
        "{} seeds {fails} fails {:.1} seeds/s {:.2} M steps/s {cov:#?}",
        to - from,
        (to - from) as f64 / e,
        steps as f64 / e / 1e6
    );
}
