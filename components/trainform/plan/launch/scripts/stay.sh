#!/bin/sh
# Runs a command. Where it succeeds, the container stays up until the pod is removed: the operator ends the job by the
# number of pods that have succeeded, and this one is none of those that are meant.
## No `set -e`: the exit code of the command is handled here, and passed on.
set -u
## `main` is the process that runs the command; `told` says that the pod has been asked to end.
# shellcheck disable=SC1007 ## variables that are empty
main= told= heard=yes code=
forward() { told=yes heard=yes; [ -z "$main" ] || kill "$main" 2>/dev/null || :; }
## The signals by which a container is asked to end: an image chooses its own with STOPSIGNAL.
trap forward TERM INT QUIT
"$@" &
main=$!
## A signal may have come before `main` was known.
[ -z "$told" ] || forward
# a signal ends `wait`, and not what it waits for; the shell keeps the code of what has ended meanwhile
while [ -n "$heard" ]; do
  heard='' before=$code code=0
  wait "$main" || code=$?
done
## 127: `wait` had the code already when the last signal came. A command that itself ends with 127 after a signal looks
## the same, and then the code is that of the signal (143 for TERM). Either is a failure.
[ "$code" -ne 127 ] || code=${before:-127}
[ "$code" -eq 0 ] || exit "$code"
trap 'exit 143' TERM INT QUIT
## Success after a request to end is not the success of the training, and must not be counted as one.
[ -z "$told" ] || exit 143
echo "trainform: done; waiting for the end of the job" >&2
## A shell that waits ends at once on a signal, which `sleep` as process 1 does not.
while :; do
  sleep 3600 &
  wait $!
done
