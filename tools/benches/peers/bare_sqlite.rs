//! A peer of the ratios bench: the same SQLite work in a bare loop of coroutines over a plain in-memory VFS. No clock, latency, hash, fault, trace
//! or durable image; each VFS call is one suspension. It links no madsim and nothing of seedstorm.
//!
//! usage: peer-bare-sqlite AGENTS TRANSACTIONS RUNS; prints `units seconds`, the units being VFS calls.

#![allow(unsafe_code, reason = "a VFS is a table of C functions")]

mod bare_vfs;
mod workload;

use bare_vfs::{CALLS, awake, begin, resume_as};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::time::Instant;

const STACK_BYTES: usize = 512 << 10;

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [agents, transactions, runs] = arguments.as_slice() else {
        eprintln!("usage: peer-bare-sqlite AGENTS TRANSACTIONS RUNS");
        std::process::exit(2);
    };
    bare_vfs::register();
    #[allow(clippy::disallowed_methods, reason = "a bench measures wall time")]
    let start = Instant::now();
    let mut stacks: Vec<DefaultStack> = Vec::new();
    for _ in 0..*runs {
        begin();
        workload::prepare().expect("the schema is made");
        let mut agents: Vec<Option<Coroutine<(), (), (), DefaultStack>>> = (0..*agents)
            .map(|agent| {
                let stack = stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a stack"));
                let transactions = *transactions;
                Some(Coroutine::with_stack(stack, move |yielder, ()| {
                    bare_vfs::started(agent as usize, yielder);
                    workload::agent(agent, transactions).expect("the work is done");
                }))
            })
            .collect();
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut left: Vec<usize> = (0..agents.len()).collect();
        while !left.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let choice = ((state >> 33) as usize) % awake(&mut left);
            let agent = left[choice];
            let Some(coroutine) = agents[agent].as_mut() else { continue };
            resume_as(agent);
            if let CoroutineResult::Return(()) = coroutine.resume(()) {
                left.swap_remove(choice);
                if let Some(ended) = agents[agent].take() {
                    stacks.push(ended.into_stack());
                }
            }
        }
    }
    println!("{} {}", CALLS.get(), start.elapsed().as_secs_f64());
}
