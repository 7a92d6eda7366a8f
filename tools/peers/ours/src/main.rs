//! A contender of the bench of peers: seedstorm. `peers_bench::Request` says how it is asked and what it tells.

mod programs;
mod search;
mod speed;

use peers_bench::Request;

/// As in the product's binary, and as at all contenders.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let request = Request::from_arguments();
    let done = match &request {
        Request::Search { search, .. } | Request::Rate { search, .. } => match programs::named(&search.program) {
            Some(program) => search::search(&request, search, program).map(|told| println!("{told}")),
            None => Err(format!("no program is named `{}`", search.program)),
        },
        Request::Speed { work, tasks, rounds, runs } => speed::speed(*work, *tasks, *rounds, *runs),
    };
    if let Err(why) = done {
        eprintln!("{why}");
        std::process::exit(2);
    }
}
