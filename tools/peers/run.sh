#!/usr/bin/env bash
# Builds the bench of peers and runs it: concurrency bugs against shuttle, raw speed against madsim, turmoil and shuttle. From anywhere:
# `bash tools/peers/run.sh`, some ten minutes; `--short` only shows that everything runs. It ends with lines `ratio NAME VALUE`.
# `--test` tests instead that each contender finds each bug, and none where it is mended.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Each contender has the flags that it needs and no others: madsim simulates only under its own.
unset RUSTFLAGS
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TERM_COLOR=never
simulated=(--config 'build.rustflags = ["--cfg", "madsim"]' -p peers-ours -p peers-madsim)
plain=(-p peers-bench -p peers-shuttle -p peers-turmoil -p peers-driver)
if [ "${1-}" = --test ]; then
    CARGO_TARGET_DIR=$target/plain cargo test --locked --release "${plain[@]}"
    CARGO_TARGET_DIR=$target/simulated cargo test --locked --release "${simulated[@]}"
    exit
fi
CARGO_TARGET_DIR=$target/plain cargo build --quiet --locked --release "${plain[@]}"
CARGO_TARGET_DIR=$target/simulated cargo build --quiet --locked --release "${simulated[@]}"
exec "$target/plain/release/peers-driver" "$target/plain/release" "$target/simulated/release" "$@"
