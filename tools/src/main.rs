//! The program `seedstorm`: the library's command line over the scenarios of this workspace. Nothing else lives here.

use std::process::ExitCode;

fn main() -> ExitCode {
    seedstorm::main_with(seedstorm_scenarios::all())
}
