#!/bin/sh
# Runs the agent with a log pipeline that reads its standard output:
#
#   run-with-reader.sh 'vector --config vector.yaml' router-exporter run --config.file router-exporter.yaml
#
# The first argument is the command of the reader, the others are the agent. Only the agent gets signals. On SIGTERM it
# writes records in flight and exits; the reader then reaches the end of its input, forwards its records and exits. A plain
# "agent | reader" would stop both at once and lose the content of the pipe.
#
# If the reader exits first, the agent exits with code 1, and a supervisor restarts both. The exit code is the agent's or, if
# that is 0, the reader's.
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

# A signal interrupts wait, so repeat it until the process has exited.
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
