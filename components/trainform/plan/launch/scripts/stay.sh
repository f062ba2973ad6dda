#!/bin/sh
# Runs a command. Where it succeeds, the container stays up until the pod is removed: the operator ends the job by the
# number of pods that have succeeded, and this one is none of those that are meant.
## No `set -e`: the exit code of the command is handled here, and passed on.
set -u
## `main` is the process that runs the command; `told` says that the pod has been asked to end.
# shellcheck disable=SC1007 ## two variables that are empty
main= told=
forward() { told=yes; [ -z "$main" ] || kill "$main" 2>/dev/null || :; }
## The signals by which a container is asked to end: an image chooses its own with STOPSIGNAL.
trap forward TERM INT QUIT
"$@" &
main=$!
## A signal may have come before `main` was known.
[ -z "$told" ] || forward
# a signal ends `wait`, and not what it waits for
code=0
wait "$main" || code=$?
while kill -0 "$main" 2>/dev/null; do
  code=0
  wait "$main" || code=$?
done
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
