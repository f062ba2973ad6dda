#!/bin/sh
# Waits for other pods, TRAINFORM_WAIT_SECONDS at most, and then says who is missing and why.
#   wait.sh ssh WORD...      until each host runs a command over SSH
#   wait.sh names WORD...    until the name of each host is known
# A word is a host; with a slash in it, a file whose lines begin with one.
##
## The program runs in any image, so it uses POSIX sh as dash and busybox have it, and no program that an image may
## lack: ssh is asked for, and names are looked up with getent or python3, whichever is there.
set -eu
check=$1
shift
state=$(mktemp -d 2>/dev/null || mktemp -d /dev/shm/trainform.XXXXXX) # where the image is read-only
attending=
# who still writes into the folder has to end before it can be removed
trap 'kill $attending 2>/dev/null || :; wait $attending 2>/dev/null || :; rm -rf "$state"' EXIT
trap 'exit 143' INT TERM

## To standard error, as everything here: standard output belongs to the training.
say() { echo "trainform: $*" >&2; }
count() { echo $#; }
some() { if [ $# -gt 4 ]; then echo "$1 $2 $3 $4 and $(($# - 4)) more"; else echo "$*"; fi; }

if [ "$check" = ssh ]; then
  command -v ssh >/dev/null || { say "the image has no ssh; install openssh-client in it"; exit 1; }
  answers() { LC_ALL=C ssh -n -o ConnectTimeout=5 -o ConnectionAttempts=1 "$1" true; }
elif command -v getent >/dev/null; then
  answers() { getent hosts "$1" || { echo "Could not resolve" >&2; return 1; }; }
elif command -v python3 >/dev/null; then
  answers() { python3 -c 'import socket, sys; socket.getaddrinfo(sys.argv[1], None)' "$1" || { echo "Could not resolve" >&2; return 1; }; }
else
  say "the image has neither getent nor python3 to look names up; not waiting for any"
  exit 0
fi

## The hosts that the words name, one on each line.
hosts() {
  for word in "$@"; do
    case $word in
    */*) while read -r host rest || [ -n "$host" ]; do case $host in '' | '#'*) ;; *) echo "$host" ;; esac; done <"$word" ;;
    *) echo "$word" ;;
    esac
  done
}
#: at-once

# A file by the host's name is there until it answers, and holds what the last attempt said. Only this shell itself writes it: a
# program that it started would outlive it.
attend() {
  before=
  until said=$(answers "$1" 2>&1 >/dev/null); do
    [ "$said" = "$before" ] || echo "$said" >"$state/$1"
    before=$said
    sleep 1
  done
  rm -f "$state/$1"
}
#: one-by-one

# A file by the host's name is there until its name is known. Every pod looks up the names of all: one after the other, none again
# that is known, and less often the more are missing.
look_up() {
  while missing=$(ls "$state" 2>/dev/null || :) && [ -n "$missing" ]; do
    for host in $missing; do
      if answers "$host" >/dev/null 2>&1; then
        rm -f "$state/$host"
      elif [ ! -s "$state/$host" ]; then
        echo "its name is not in DNS; its pod has no node, or has not started" >"$state/$host"
      fi
    done
    # shellcheck disable=SC2086 ## names of hosts become words on purpose
    sleep $((1 + $(count $missing) / 10))
  done
}
#: at-once one-by-one

## The reason for which a host does not answer, from what ssh or the look-up printed last.
why() {
  case $(cat "$state/$1" 2>/dev/null) in
  *"Could not resolve"*) echo "its name is not in DNS; its pod has not been made" ;;
  *"Connection refused"*) echo "no sshd answers (connection refused)" ;;
  *"UNPROTECTED PRIVATE KEY"*) echo "this pod's own key may be read by its group, so ssh does not use it" ;;
  *"IDENTIFICATION HAS CHANGED"*) echo "its host key is not the one in known_hosts (host key verification failed)" ;;
  *"Host key verification failed"*) echo "its host key is not in known_hosts (host key verification failed)" ;;
  *"Permission denied ("*) echo "it does not accept this pod's key (permission denied)" ;;
  '' | *"timed out"* | *"No route to host"* | *"unreachable"*) echo "timed out" ;;
  *) tail -n 1 "$state/$1" ;;
  esac
}
#: at-once

## One background process for each host: all are asked at the same time, and none waits for another.
all=$(hosts "$@")
for host in $all; do
  [ -e "$state/$host" ] && continue
  : >"$state/$host"
  attend "$host" &
  attending="$attending $!"
done
#: one-by-one

## One background process for all hosts.
all=$(hosts "$@")
for host in $all; do : >"$state/$host"; done
look_up &
attending=$!
#: at-once one-by-one

now=$(date +%s)
end=$((now + ${TRAINFORM_WAIT_SECONDS:?}))
reported=$now
# shellcheck disable=SC2086 ## lists of hosts become words on purpose; a name of a host holds no blank
## busybox's `ls` fails if a file is removed while it lists the folder
while missing=$(ls "$state" 2>/dev/null || :) && [ -n "$missing" ]; do
  now=$(date +%s)
  if [ "$now" -ge "$end" ]; then
    say "$(count $missing) of $(count $all) hosts did not answer within $TRAINFORM_WAIT_SECONDS s:
$(for host in $missing; do echo "  $host: $(why "$host")"; done)"
    exit 1
  elif [ $((now - reported)) -ge 15 ]; then
    say "waiting for $(count $missing) of $(count $all): $(some $missing)"
    reported=$now
  fi
  sleep 1
done
