#!/usr/bin/env bash
# Sweeps the scenario sqlite-wal over several versions of SQLite, and prints one line for each:
#   sqlite VERSION seeds N first_failure SEED|none failing_share X seconds Y
#
#   run.sh [SEEDS]         every version, seeds 0..SEEDS (2000)
#   run.sh ranges [SEEDS]  SQLite 3.51.1, ten ranges of so many seeds one after the other (2000), each up to its first failure; a line each, then medians
#
# Each version is a workspace of its own beside this file, with the product's crates and one rusqlite. `system` links the library that is installed: it needs
# libsqlite3-dev and pkg-config. Exit code 0: all were swept, whatever was found; 2: something is missing; 70: a sweep broke.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# An environment RUSTFLAGS would replace `--cfg madsim` of .cargo/config.toml.
unset RUSTFLAGS

artifacts=$(mktemp -d)
trap 'rm -rf "$artifacts"' EXIT

# Builds a workspace, and gives its program's path.
build() {
    (cd "$1" && cargo build --release --locked --quiet >&2 &&
        cargo build --release --locked --quiet --message-format json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)
}

measure() {
    "$1" measure "$2" --artifacts "$artifacts/$2" "${@:3}"
}

ranges() {
    local program count=$1 sooner seeds=() seconds=()
    program=$(build rusqlite-0.38)
    for range in 0 1 2 3 4 5 6 7 8 9; do
        local first=$((range * count)) line
        line=$(measure "$program" "$first..$((first + count))" --max-failures 1)
        echo "$line"
        read -r _ _ _ sooner _ _ _ _ _ took <<<"$line"
        seeds+=("$sooner")
        seconds+=("$took")
    done
    echo "median seeds $(median "${seeds[@]}") seconds $(median "${seconds[@]}")"
}

# The mean of the two in the middle.
median() {
    printf '%s\n' "$@" | sort -n | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

if [ "${1:-}" = ranges ]; then
    ranges "${2:-2000}"
    exit
fi

count=${1:-2000}
missing=0
for version in rusqlite-0.38 rusqlite-0.39 rusqlite-0.43 system; do
    if [ "$version" = system ] && ! pkg-config --exists sqlite3 2>/dev/null; then
        echo "system: SQLite's development files are missing; install libsqlite3-dev and pkg-config" >&2
        missing=2
        continue
    fi
    measure "$(build "$version")" "0..$count"
done
exit "$missing"
