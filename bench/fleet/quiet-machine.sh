#!/bin/sh
# The measurements of a fleet that need a machine without other work, one after the other, the most important first, each in a
# file of its own in the folder that is named (default: bench-results). Steps 1 to 7 take about 40 minutes, all an hour; a number
# picks one of them, as in: quiet-machine.sh out 3
set -eu
cd "$(dirname "$0")/../.."
out=${1:-bench-results}
only=${2:-}
mkdir -p "$out"
npm run build
ulimit -n "$(ulimit -H -n)"

run() { # number, minutes, name, program with arguments
  number=$1 minutes=$2 name=$3
  shift 3
  if [ -n "$only" ] && [ "$only" != "$number" ]; then return 0; fi
  echo "$number: $name, about $minutes minutes"
  # A step that fails does not take the others with it.
  npx node "$@" | tee "$out/$number-$name.md" || true
}

# Processor, memory and lag of 10,000 routers at 0.4 s a request, then at 2 s, then the bare client. Old lines are left out: reading
# them takes half an hour.
LOGS_START=now THEN='2000 0 0' run 1 17 fleet-10000 bench/fleet/ten-thousand.ts 10000 3 400
# 1,000 routers, logs every 30 s; then 0.4 s a request, then with a third of them dead: ages of the status.
LOGS_MS=30000 BARE=no THEN='400 0 0, 400 0 0.3' run 2 11 fleet-1000 bench/fleet/ten-thousand.ts 1000 2
run 3 2 status-turns bench/fleet/status-turns.ts 200
run 4 2 log-looks bench/fleet/log-looks.ts 100
INTERVAL_MS=20000 run 5 6 memory-per-router bench/fleet/memory-per-router.ts 100 600
run 6 2 restart bench/fleet/restart.ts 100
run 7 2 scrape-http bench/scrape-http.ts 5000
# The first half of step 2 with a malloc that maps blocks from 32 KiB on: less memory, at a price that is to be seen.
MALLOC_MMAP_THRESHOLD_=32768 MALLOC_TRIM_THRESHOLD_=131072 LOGS_MS=30000 BARE=no run 13 5 fleet-1000-mmap bench/fleet/ten-thousand.ts 1000 2
# The cost of a router in a small fleet, beside that of step 1.
BARE=no run 8 5 fleet-100 bench/fleet/ten-thousand.ts 100 3 400
run 9 2 status-turns-closing bench/fleet/status-turns.ts 100 closing
run 10 3 blackbox bench/fleet/blackbox.ts 100 30
run 11 10 sizing bench/fleet/sizing.ts 0 200 1000 2000
run 12 10 return-of-a-region bench/fleet/region-returns.ts 1000 300 2 3
# Not part of it, because it takes an hour: npx node bench/fleet/ten-thousand.ts 10000 30
