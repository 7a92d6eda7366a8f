//! Runs the contenders in turn and prints what they did side by side. The contenders are programs beside this one, and in the folder that its one argument
//! names; `run.sh` builds and starts all. How a contender is asked is in `peers_bench`.

mod contenders;
mod programs;
mod speed;
mod statistics;

use contenders::Contenders;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([plain, simulated], is_short) = match arguments.as_slice() {
        [plain, simulated] => ([plain, simulated], false),
        [plain, simulated, short] if short == "--short" => ([plain, simulated], true),
        _ => {
            eprintln!("usage: peers-driver FOLDER_OF_SHUTTLE_AND_TURMOIL FOLDER_OF_OURS_AND_MADSIM [--short]");
            std::process::exit(2);
        }
    };
    let contenders = Contenders::new(Path::new(plain), Path::new(simulated));
    let effort = if is_short { programs::Effort::SHORT } else { programs::Effort::FULL };
    let ratios = programs::compare(&contenders, &effort);
    println!();
    let ratios = [ratios, speed::compare(&contenders, &effort)].concat();
    println!();
    for (name, value) in ratios {
        println!("ratio {name} {value}");
    }
}
