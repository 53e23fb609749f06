#!/bin/sh
# The measurements of a fleet that need a machine without other work, one after the other, each in a file of its own in the
# folder that is named (default: bench-results). About 75 minutes in all; a number picks one of them, as in: quiet-machine.sh out 3
set -eu
cd "$(dirname "$0")/../.."
out=${1:-bench-results}
only=${2:-}
mkdir -p "$out"
npm run build
export AGENT_FLAGS=--max-semi-space-size=8
ulimit -n "$(ulimit -H -n)"

run() { # number, minutes, name, program with arguments
  number=$1 minutes=$2 name=$3
  shift 3
  if [ -n "$only" ] && [ "$only" != "$number" ]; then return 0; fi
  echo "$number: $name, about $minutes minutes"
  npx node "$@" | tee "$out/$number-$name.md"
}

run 1 3 status-turns bench/fleet/status-turns.ts 200
run 2 3 status-turns-closing bench/fleet/status-turns.ts 200 closing
run 3 2 log-looks bench/fleet/log-looks.ts 100
run 4 9 memory-per-router bench/fleet/memory-per-router.ts 200 1000
run 5 3 blackbox bench/fleet/blackbox.ts 100 30
run 6 10 sizing bench/fleet/sizing.ts 0 200 1000 2000
run 7 7 sizing-latency bench/fleet/sizing.ts 400 1000 2000
run 8 10 return-of-a-region bench/fleet/region-returns.ts 1000 300 2 3
run 9 10 fleet-1000 bench/fleet/ten-thousand.ts 1000 4
BARE=no run 10 10 fleet-10000 bench/fleet/ten-thousand.ts 10000 5
# Not part of it, because it takes an hour: npx node bench/fleet/ten-thousand.ts 10000 30
