#!/bin/sh
## Started by sshd as its forced command, once for each session. No `set -e`: a session starts even where a line here
## fails.
# What sshd runs for a session, with the file in which the container's variables were saved: remote processes see what the
# container's own one sees, and start where it started. What the caller's command sets comes later and wins.
[ -r "$1" ] || { echo "trainform: $1 is gone, and with it the container's variables" >&2; exit 1; }
# bash, where it is sh, would stop at a variable that it keeps for itself, such as UID
# shellcheck disable=SC3040 ## the option is bash's own, and it is asked for in a subshell first
(set +o posix) 2>/dev/null && set +o posix
# shellcheck disable=SC1090 ## the file is made when the pod starts
. "$1" 2>/dev/null
cd "$PWD" 2>/dev/null || cd /
command=${SSH_ORIGINAL_COMMAND-}
unset SSH_ORIGINAL_COMMAND
if [ "$command" = internal-sftp ]; then # a forced command takes the place of sshd's own one
  for server in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server; do
    [ -x "$server" ] && exec "$server"
  done
fi
[ -n "$command" ] || exec "${SHELL:-/bin/sh}" # no login shell: /etc/profile would set another PATH
exec /bin/sh -c "$command"
