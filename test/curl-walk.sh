#!/usr/bin/env bash
# Walks the REST interface of one router with curl alone: logs in, reads, adds, changes and deletes an entry, refreshes,
# logs out. Each step checks the status code and what matters of the body. Meant for a simulated router, as it writes:
#
#   npx router-exporter simulate --routers 1 --listen 127.0.0.1:9443 --ca-out ca.pem
#   test/curl-walk.sh https://127.0.0.1:9443 ca.pem
set -euo pipefail

if (($# != 2)); then
  echo "usage: $0 URL CA_FILE" >&2
  exit 2
fi
readonly api="$1/api/v2_0" ca="$2"
readonly hostnames=/configuration/administration/hostnames
body=''
token=''
step=0

# call STATUS METHOD PATH [curl arguments]: asks with the token, if there is one, keeps the body, and insists on the status.
call() {
  local expected=$1 method=$2 path=$3 answer status
  shift 3
  local -a authorization=()
  if [[ -n $token ]]; then authorization=(--header "Authorization: Bearer $token"); fi
  answer=$(curl --silent --show-error --max-time 20 --cacert "$ca" --request "$method" \
    --header 'Content-Type: application/json' --write-out '\n%{http_code}' \
    "${authorization[@]}" "$@" "$api$path")
  status=${answer##*$'\n'}
  body=${answer%$'\n'*}
  [[ $status == "$expected" ]] || fail "$method $path was answered with $status instead of $expected: $body"
}

say() {
  step=$((step + 1))
  echo "$step. $1"
}

fail() {
  echo "FAILED in step $step: $1" >&2
  exit 1
}

# The body must, or must not, hold a piece of text.
expect() { grep --quiet --fixed-strings -- "$1" <<<"$body" || fail "the body lacks $1: $body"; }
refute() { if grep --quiet --fixed-strings -- "$1" <<<"$body"; then fail "the body holds $1: $body"; fi; }

# field NAME: the first text of that name in the body.
field() {
  local value
  value=$(sed --quiet --regexp-extended "s/^[^\n]*\"$1\":\"([^\"]*)\".*/\1/p" <<<"${body//,/$'\n'}" | head --lines=1)
  [[ -n $value ]] || fail "the body has no $1: $body"
  echo "$value"
}

say 'No call works without a token'
call 401 GET "$hostnames"

say 'A login without a password is no login, one with a wrong password is refused'
call 400 POST /auth/login --data '{"username":"admin"}'
expect '"error":['
call 401 POST /auth/login --data '{"username":"nobody","password":"guessed"}'

say 'A login gives two tokens'
call 200 POST /auth/login --data '{"username":"admin","password":"simulated"}'
token=$(field access)
refresh=$(field refresh)
[[ $token != "$refresh" ]] || fail 'both tokens are the same'

say 'A list is read: profile, single values and entries'
call 200 GET "$hostnames"
expect '"profile":{"name":"Profile"'
expect '"hostname":"plc"'
refute 'curl-walk'

say 'An entry is added at the end, and the running profile is modified by it'
call 201 POST "$hostnames" --data '{"config":{"list":[{"hostname":"curl-walk","ip_address":"192.168.1.77"}]}}'
call 200 GET /profiles
expect '"modified":true'
call 200 GET "$hostnames?return_size=1"
expect '"list_size":2'

say 'An entry that brings an identifier of its own is refused'
call 400 POST "$hostnames" --data '{"config":{"list":[{"hostname":"a","ip_address":"192.0.2.1","list_uid":"0123456789"}]}}'
expect 'list_uid_given'

say 'A filter finds the entry'
filter='{"p":"hostname","o":"like","v":["CURL","nothing"]}'
call 200 GET "$hostnames" --get --data-urlencode "filter=$filter"
expect '"hostname":"curl-walk"'
refute '"hostname":"plc"'
uid=$(field list_uid)

say "The entry $uid is changed by its identifier, and nothing else of it"
call 200 PUT "$hostnames" --data '{"config":{"list":[{"list_uid":"'"$uid"'","ip_address":"192.168.1.78"}]}}'
call 200 GET "$hostnames" --get --data-urlencode "filter=$filter"
expect '"hostname":"curl-walk"'
expect '"ip_address":"192.168.1.78"'
refute '192.168.1.77'

say 'The entry is deleted by the filter, and the others stay'
call 200 DELETE "$hostnames" --get --data-urlencode "filter=$filter"
[[ -z $body ]] || fail "a DELETE is answered with a body: $body"
call 404 GET "$hostnames" --get --data-urlencode "filter=$filter"
call 200 GET "$hostnames"
expect '"hostname":"plc"'

say 'Status, logs and a profile are read'
call 200 GET /status/device_info
expect '"board_type"'
call 200 GET '/download/log?list_files=1'
expect '"log_files":['
call 200 GET '/download/profiles?profile=Profile&format=ascii'
expect 'administration.hostnames'

say 'A refresh token gives two new tokens'
access=$token
spent=$refresh
token=$refresh
call 200 POST /auth/refresh
token=$(field access)
refresh=$(field refresh)
[[ $token != "$access" && $refresh != "$spent" ]] || fail 'the tokens are the old ones'
call 200 GET "$hostnames"

say 'The old refresh token is refused'
access=$token
token=$spent
call 401 POST /auth/refresh

say 'A logout ends the session'
token=$access
call 200 POST /auth/logout

say 'Both tokens are refused afterwards'
call 401 GET "$hostnames"
token=$refresh
call 401 POST /auth/refresh
call 401 POST /auth/logout

echo "Done: all $step steps were answered as they should be."
