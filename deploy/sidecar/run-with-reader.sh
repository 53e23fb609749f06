#!/bin/sh
# Runs the agent with a log pipeline that reads its standard output:
#
#   run-with-reader.sh 'vector --config vector.yaml' router-exporter run --config.file router-exporter.yaml
#
# The first argument is the command of the reader, the others are the agent. Signals go to the agent alone. At SIGTERM it
# writes what is on its way and ends; the reader finds the end of its input, passes on what it has, and ends as well. A plain
# "agent | reader" would stop both at once, and lose what stands in the pipe between them.
#
# When the reader ends first, the agent ends with exit code 1: a supervisor starts both again. The exit code is the agent's,
# or, if that is 0, the reader's.
set -eu

reader_command=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkfifo -m 0600 "$folder/records"

sh -c "exec $reader_command" <"$folder/records" &
reader=$!
"$@" >"$folder/records" &
agent=$!
trap 'kill -TERM "$agent" 2>/dev/null || true' TERM INT
trap 'kill -HUP "$agent" 2>/dev/null || true' HUP

# A signal interrupts the waiting, so it begins anew until the one waited for has ended.
wait_for() {
  while :; do
    code=0
    wait "$1" || code=$?
    kill -0 "$1" 2>/dev/null || return "$code"
  done
}
agent_code=0
wait_for "$agent" || agent_code=$?
reader_code=0
wait_for "$reader" || reader_code=$?
[ "$agent_code" -ne 0 ] || agent_code=$reader_code
exit "$agent_code"
