#!/bin/sh
# Runs a command as the first process of a container: it passes signals on, reaps, keeps the exit code, and after a failure
# writes the reason to the pod's status.
##
## POSIX sh as dash and busybox have it. `tee` passes on each byte of standard error at once, and message.awk reads a copy.
## Where something is missing for that, the command runs without it. No `set -e`: the exit code is handled here.
set -u
## `main` is the process that runs the command; `asked` is the signal that asks the container to end.
# shellcheck disable=SC1007 ## variables that are empty
main= asked= heard= state= tee= reason=
## A shell starts what it waits for with INT and QUIT ignored. GNU's env takes that back; without it TERM comes instead.
default='env --default-signal=INT,QUIT'
$default true 2>/dev/null || default=
forward() {
  asked=$1 heard=yes
  [ -n "$default" ] || set -- TERM
  [ -z "$main" ] || kill -s "$1" "$main" 2>/dev/null || :
}
## The signals by which a container is asked to end: an image chooses its own with STOPSIGNAL.
trap 'forward TERM' TERM
trap 'forward INT' INT
trap 'forward QUIT' QUIT

# a signal ends `wait`, and not what it waits for; the shell keeps the code of what has ended meanwhile
finish() {
  # shellcheck disable=SC1007
  heard=yes code=
  while [ -n "$heard" ]; do
    heard='' before=$code code=0
    wait "$1" 2>/dev/null || code=$? # the shell would report a signal
  done
  ## 127: `wait` had the code already when the last signal came. A command that itself ends with 127 after a signal looks
  ## the same, and then the code is that of the signal (143 for TERM). Either is a failure.
  [ "$code" -ne 127 ] || code=${before:-127}
}

## A terminal stays one, and so has no copy.
can_listen() {
  [ -w /dev/termination-log ] && [ ! -t 4 ] || return 1
  for program in awk tee tr fold; do command -v "$program" || return 1; done
  state=$(mktemp -d || mktemp -d /dev/shm/trainform.XXXXXX) && mkfifo "$state/stderr" "$state/copy"
}

exec 3<&0 4>&2
if can_listen >/dev/null 2>&1; then
  ## torchrun copies the error file of the rank that failed first here (only with @record).
  export TORCHELASTIC_ERROR_FILE="${TORCHELASTIC_ERROR_FILE-$state/error.json}"
  ## Both end with the last writer, and not by a signal to all processes. `cat`: the command must go on if awk ends.
  (trap '' TERM; exec tee "$state/copy") <"$state/stderr" >&2 &
  tee=$!
  (
    trap '' TERM
    export LC_ALL=C
    ## A progress bar ends its lines with CR. awk reads a line that never ends, or has NUL in it, again and again.
    tr '\r\000' '\n ' | fold -b -w 8192 | awk -v file="$state/error.json" -f /etc/trainform/message.awk || cat >/dev/null
  ) <"$state/copy" >"$state/message" &
  reason=$!
  exec 4>"$state/stderr"
fi
# shellcheck disable=SC2086 ## words on purpose
$default "$@" <&3 2>&4 3<&- 4>&- &
main=$!
exec 3<&- 4>&-
## A signal may have come before `main` was known.
[ -z "$asked" ] || forward "$asked"
finish "$main"
main='' ended=$code
if [ -n "$reason" ]; then
  # what the command has left behind, such as sshd, may hold the pipe open
  (sleep 2; kill -9 "$tee") >/dev/null 2>&1 &
  finish "$reason"
  [ "$ended" -eq 0 ] || cat "$state/message" >/dev/termination-log
  rm -rf "$state"
fi
[ "$ended" -eq 0 ] || exit "$ended"

#: stay
# The operator ends the job by the number of pods that have succeeded, and this one is none of those that are meant: it stays up.
trap 'exit 143' TERM INT QUIT
## Success after a request to end is not the success of the training, and must not be counted as one.
[ -z "$asked" ] || exit 143
echo "trainform: done; waiting for the end of the job" >&2
## A shell that waits ends at once on a signal, which `sleep` as process 1 does not.
while :; do
  sleep 3600 &
  wait $!
done
