#!/usr/bin/env bash
# Makes pages of real runs and tries them in a headless Chromium, driven by plain Node. No part of `cargo test`: it needs a browser, and measures time.
#
#     tests/browser/run.sh [FOLDER]     # FOLDER keeps the pages, and screenshots; else all goes
#
# SEEDSTORM names a program that is built already; CHROMIUM a browser. Ends with 2 and says so if there is no browser or no Node.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v node >/dev/null; then
    echo 'no Node: install nodejs, version 18 or newer (Debian: apt-get install nodejs)' >&2
    exit 2
fi

if [[ $# -gt 0 ]]; then
    folder=$1
    mkdir -p "$folder/screenshots"
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

if [[ -z ${SEEDSTORM:-} ]]; then
    unset RUSTFLAGS
    cargo build --quiet --locked --release --package seedstorm --manifest-path "$root/Cargo.toml"
    SEEDSTORM=${CARGO_TARGET_DIR:-$root/target}/release/seedstorm
fi

# A page of a run of a scenario; its arguments are `run`'s. A failing run ends with 1, which is what some of these are for.
page() {
    local name=$1 expected=$2
    shift 2
    local exit=0
    "$SEEDSTORM" run "$@" --artifacts "$folder/kept" --trace "$folder/$name.trace" >"$folder/$name.txt" 2>&1 || exit=$?
    if [[ $exit -ne $expected ]]; then
        echo "run $* ended with $exit instead of $expected: another seed is needed" >&2
        tail -n 5 "$folder/$name.txt" >&2
        exit 1
    fi
    "$SEEDSTORM" report "$folder/$name.trace" --output "$folder/$name.html" >/dev/null
}

# The same of the first of four hundred seeds whose output has some words: draws change with the scenarios, and a page is as good from another seed.
page_with() {
    local name=$1 expected=$2 words=$3
    shift 3
    for seed in {0..399}; do
        # A failing run ends with 1, and that is no failure here.
        "$SEEDSTORM" run "$@" --seed "$seed" --artifacts "$folder/kept" >"$folder/$name.txt" 2>&1 || true
        # What is looked for on the first page are faults, too: a run that met none will not do.
        if [[ $name = failing ]] && grep -Eaq 'faults that fired +none' "$folder/$name.txt"; then
            continue
        fi
        if grep -aq -- "$words" "$folder/$name.txt"; then
            page "$name" "$expected" "$@" --seed "$seed"
            return
        fi
    done
    echo "no seed of run $* says: $words" >&2
    exit 1
}

page_with failing 1 'acquired lock `compaction` while' --scenarios concurrency-storm --set mutant=live-owner-reaped-by-age
page_with messages 1 '^violated: clocks-agree' --scenarios signal-flood --set mutant=merge-skipped
page_with crash 1 'had the power failed' --scenarios guillotine --set mutant=no-sync-before-rename
page_with passed 0 '^PASSED' --scenarios guillotine
# A run of many events that fails at a known place: its budget of steps is used up.
"$SEEDSTORM" run --scenarios concurrency-storm --seed 1 --workers 32 --set operations=80 --print-plan |
    sed 's/^steps_max = .*/steps_max = 120000/' >"$folder/large.toml"
page large 1 --plan "$folder/large.toml" --crash-points none
"$SEEDSTORM" export --format shiviz "$folder/messages.trace" --output "$folder/run.shiviz"
"$SEEDSTORM" export --format perfetto "$folder/messages.trace" --output "$folder/run.perfetto.json"
node -e 'JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))' "$folder/run.perfetto.json"

"$SEEDSTORM" sweep --scenarios guillotine --set mutant=truncate-in-place --seeds 0..12 --artifacts "$folder/artifacts" >"$folder/sweep.txt" 2>&1 || true
"$SEEDSTORM" report "$folder/artifacts" >/dev/null

node "$here/pages.mjs" "$folder"
