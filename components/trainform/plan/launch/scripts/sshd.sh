#!/bin/sh
# sshd for the other pods of the job, as this container's user:  sshd.sh foreground|background
##
## `background` returns once sshd has accepted its configuration, `foreground` becomes sshd. Nothing here needs root,
## and only what OpenSSH 7.6 knows already is used, or asked for first: the image is the user's.
set -eu
[ -n "${TRAINFORM_SSH_PORT:-}" ] || [ "$1" = foreground ] || exit 0 # nobody comes here
port=${TRAINFORM_SSH_PORT:?} how=$1

fail() { echo "trainform: $*" >&2; exit 1; }

sshd=
for file in /usr/sbin/sshd /usr/local/sbin/sshd "$(command -v sshd || :)"; do
  if [ -z "$sshd" ] && [ -x "$file" ]; then sshd=$file; fi
done
[ -n "$sshd" ] || fail "the image has no sshd; install openssh-server in it"
id -un >/dev/null 2>&1 || fail "the image's passwd has no user $(id -u), and SSH needs one; add it, or run as another user"

saved=
for folder in /run /tmp /dev/shm; do # the first that this user may write to
  if [ -z "$saved" ]; then saved=$(umask 077 && mktemp -d "$folder/trainform.XXXXXX" 2>/dev/null) || :; fi
done
[ -n "$saved" ] || fail "no folder for the container's variables: /run, /tmp and /dev/shm are read-only"
## session.sh reads this file: remote processes get the container's variables, Secrets among them, so only this user may
## read it.
(umask 077 && export -p >"$saved/environment")

set -- -D -e -f /etc/trainform/sshd_config -p "$port" -o "ForceCommand=/bin/sh /etc/trainform/session.sh $saved/environment"
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p /run/sshd 2>/dev/null || : # not every sshd needs it; one that does says so
  # Without PAM sshd refuses an account that is locked, as root's is in some images.
  case $(sed -n 's/^root:\([^:]*\):.*/\1/p' /etc/shadow) in '!'*) set -- "$@" -o UsePAM=yes ;; esac
fi
# OpenSSH >= 9.8 shuts out who comes too often, as one that waits does; others do not know the option.
if "$sshd" -t "$@" -o PerSourcePenalties=no 2>/dev/null; then set -- "$@" -o PerSourcePenalties=no; fi
## With a configuration that is wrong the container ends here, with sshd's own message.
"$sshd" -t "$@"
[ "$how" = background ] || exec "$sshd" "$@"
"$sshd" "$@" &
