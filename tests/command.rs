//! The command line under test: that of the product, with the product's scenarios and some that misbehave. What they do is in `scenarios`.

use std::process::ExitCode;

fn main() -> ExitCode {
    seedstorm::main_with(seedstorm_tests::scenarios::all())
}
