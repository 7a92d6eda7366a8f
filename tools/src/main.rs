//! The program `seedstorm`: the library's command line over the scenarios of this workspace. Nothing else lives here.

use std::process::ExitCode;

/// A sweep allocates millions of small blocks: this allocator makes it a twentieth faster than the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    seedstorm::main_with(seedstorm_scenarios::all())
}
