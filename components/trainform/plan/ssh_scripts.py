"""The shell texts of the SSH world: sshd in every pod that serves, what its sessions see, and waiting for the others.

POSIX sh alone, as dash and busybox speak it: the image is the user's. Only what OpenSSH 7.6 knows already is used, or asked for.
"""

from __future__ import annotations

from trainform.catalog import defaults

SSHD_CONFIG, SSHD_SCRIPT, SESSION_SCRIPT, WAIT_SCRIPT = "sshd_config", "sshd.sh", "session.sh", "wait.sh"

_MOUNT = defaults.LAUNCH_MOUNT

START_SSHD = f"/bin/sh {_MOUNT}/{SSHD_SCRIPT} background\n"
"""For a pod that goes on to launch. Its sshd ends with the pod; a pod without an sshd's port (TRAINFORM_SSH_PORT) starts none."""

SERVE = f"exec /bin/sh {_MOUNT}/{SSHD_SCRIPT} foreground\n"
"""For a pod that does nothing else."""

# As process 1 a shell without a trap ignores SIGTERM, and one with a trap heeds it between commands: a pod that waits would take its
# whole grace period to end.
_WAITING = f"""\
trap 'exit 143' TERM
/bin/sh {_MOUNT}/{WAIT_SCRIPT} @WORDS@ &
wait $!
"""
WAIT_FOR_SSH = _WAITING.replace("@WORDS@", f"ssh {_MOUNT}/{defaults.HOSTFILE}")
WAIT_FOR_NAMES = _WAITING.replace("@WORDS@", 'names "$MASTER_ADDR"')
WAIT_FOR_ALL_NAMES = _WAITING.replace("@WORDS@", f"names {_MOUNT}/{defaults.HOSTFILE}")

WAIT = r"""#!/bin/sh
# Waits for other pods, TRAINFORM_WAIT_SECONDS at most, and then says who is missing and why.
#   wait.sh ssh WORD...      until each host runs a command over SSH
#   wait.sh names WORD...    until the name of each host is known
# A word is a host; with a slash in it, a file whose lines begin with one.
set -eu
check=$1
shift
state=$(mktemp -d 2>/dev/null || mktemp -d /dev/shm/trainform.XXXXXX) # where the image is read-only
attending=
# who still writes into the folder has to end before it can be removed
trap 'kill $attending 2>/dev/null || :; wait $attending 2>/dev/null || :; rm -rf "$state"' EXIT
trap 'exit 143' INT TERM

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

hosts() {
  for word in "$@"; do
    case $word in
    */*) while read -r host rest || [ -n "$host" ]; do case $host in '' | '#'*) ;; *) echo "$host" ;; esac; done <"$word" ;;
    *) echo "$word" ;;
    esac
  done
}

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

all=$(hosts "$@")
for host in $all; do
  [ -e "$state/$host" ] && continue
  : >"$state/$host"
  attend "$host" &
  attending="$attending $!"
done

now=$(date +%s)
end=$((now + ${TRAINFORM_WAIT_SECONDS:?}))
told=$now
while missing=$(ls "$state") && [ -n "$missing" ]; do
  now=$(date +%s)
  if [ "$now" -ge "$end" ]; then
    say "$(count $missing) of $(count $all) hosts did not answer within $TRAINFORM_WAIT_SECONDS s:
$(for host in $missing; do echo "  $host: $(why "$host")"; done)"
    exit 1
  elif [ $((now - told)) -ge 15 ]; then
    say "waiting for $(count $missing) of $(count $all): $(some $missing)"
    told=$now
  fi
  sleep 1
done
"""

SESSION = """\
#!/bin/sh
# What sshd runs for a session, with the file in which the container's variables were saved: remote processes see what the
# container's own one sees, and start where it started. What the caller's command sets comes later and wins.
[ -r "$1" ] || { echo "trainform: $1 is gone, and with it the container's variables" >&2; exit 1; }
# bash, where it is sh, would stop at a variable that it keeps for itself, such as UID
(set +o posix) 2>/dev/null && set +o posix
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
"""

SSHD = f"""\
#!/bin/sh
# sshd for the other pods of the job, as this container's user:  sshd.sh foreground|background
set -eu
[ -n "${{TRAINFORM_SSH_PORT:-}}" ] || [ "$1" = foreground ] || exit 0 # nobody comes here
port=${{TRAINFORM_SSH_PORT:?}} how=$1

fail() {{ echo "trainform: $*" >&2; exit 1; }}

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
(umask 077 && export -p >"$saved/environment")

set -- -D -e -f {_MOUNT}/{SSHD_CONFIG} -p "$port" -o "ForceCommand=/bin/sh {_MOUNT}/{SESSION_SCRIPT} $saved/environment"
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p /run/sshd 2>/dev/null || : # not every sshd needs it; one that does says so
  # Without PAM sshd refuses an account that is locked, as root's is in some images.
  case $(sed -n 's/^root:\\([^:]*\\):.*/\\1/p' /etc/shadow) in '!'*) set -- "$@" -o UsePAM=yes ;; esac
fi
# OpenSSH >= 9.8 shuts out who comes too often, as one that waits does; others do not know the option.
if "$sshd" -t "$@" -o PerSourcePenalties=no 2>/dev/null; then set -- "$@" -o PerSourcePenalties=no; fi
"$sshd" -t "$@"
[ "$how" = background ] || exec "$sshd" "$@"
"$sshd" "$@" &
"""


def sshd_config(folder: str) -> str:
    """The configuration of sshd; `folder` holds the keys. The port and the forced command come from the script that starts it."""
    return f"""\
# Rendered by trainform. Port and ForceCommand: see {SSHD_SCRIPT}.
HostKey {folder}/ssh_host_ed25519_key
AuthorizedKeysFile {folder}/authorized_keys
# kubelet's folders may be written to by the pod's group, which sshd would refuse
StrictModes no
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
# its limits would take the place of the container's
UsePAM no
PermitUserEnvironment no
X11Forwarding no
PrintMotd no
PrintLastLog no
PidFile none
# all pods of a large job may come at once
MaxStartups 500:30:1000
MaxSessions 500
LoginGraceTime 60
# a peer that is gone is noticed after 30 s * 6
ClientAliveInterval 30
ClientAliveCountMax 6
Subsystem sftp internal-sftp
"""


def ssh_files(folder: str) -> dict[str, str]:
    """What `START_SSHD` and `SERVE` need in the launch mount, by file name; `folder` holds the keys."""
    return {SSHD_CONFIG: sshd_config(folder), SSHD_SCRIPT: SSHD, SESSION_SCRIPT: SESSION}
