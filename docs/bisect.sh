#!/bin/sh
# Bisects the first failure of each planted bug in time, and prints a line for each: docs/bisect.sh SEEDSTORM [MUTANT…]
# BUDGET (60s) is the real time of each search, SHRINK (60s) that of shrinking before; SHRINK=0 bisects what was found.
set -eu
seedstorm=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$seedstorm" list mutants --json > mutants.json
python3 - "$seedstorm" "${BUDGET:-60s}" "${SHRINK:-60s}" "$@" <<'END'
import glob, json, subprocess, sys
program, budget, shrink, chosen = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
print("| mutant | steps | fails at random | step | before | after | in the past | runs | seconds |")
print("|---|---|---|---|---|---|---|---|---|")
def said(*words):
    return subprocess.run([program, *words], capture_output=True, text=True)
def share(counted):
    return "%d/%d (%.0f to %.0f %%)" % (counted["failed"], counted["runs"], 100 * counted["low"], 100 * counted["high"])
for mutant in json.load(open("mutants.json")):
    name, scenario = mutant["name"], mutant["scenarios"][0]
    if chosen and name not in chosen:
        continue
    said("sweep", "--scenarios", scenario, "--seeds", "0..5000", "--determinism", "0%", "--set", "mutant=" + name,
         "--max-failures", "1", "--artifacts", name)
    found = glob.glob(name + "/*/reproducer.toml")
    if not found:
        print("| %s | not found in 5000 seeds | | | | | | | |" % name, flush=True)
        continue
    path = found[0]
    if shrink != "0":
        said("shrink", path, "--budget", shrink, "-o", name + "/shrunk.toml")
        path = (glob.glob(name + "/shrunk*.toml") or [path])[0]
    out = said("bisect", path, "--budget", budget, "--json")
    if out.returncode not in (0, 130):
        print("| %s | %s | | | | | | | |" % (name, out.stderr.strip().splitlines()[-1]), flush=True)
        continue
    told = json.loads(out.stdout)
    common = "| %s | %d | %s" % (name, told["chaos_steps"], share(told["curve"][0]))
    cost = "%d | %.1f |" % (told["runs"], told["seconds"])
    for step in told["decisive"]:
        past = {True: "yes", False: "NO", None: "found at the end"}[step["is_in_causal_past"]]
        event = step["events"][0].replace("|", "\\|") if step["events"] else ""
        print("%s | %d: %s | %s | %s | %s | %s" % (common, step["step"], event, share(step["before"]), share(step["after"]), past, cost), flush=True)
    if not told["decisive"]:
        rise = told["rises_between"]
        why = "none decides: rises between %d and %d" % tuple(rise) if rise else "none decides: the plan does"
        if not told["is_complete"]:
            why += " (the time was over)"
        print("%s | %s | | | | %s" % (common, why, cost), flush=True)
END
