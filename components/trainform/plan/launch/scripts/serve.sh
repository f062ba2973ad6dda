# shellcheck shell=sh
## Follows start.sh, in a pod whose processes another pod starts over SSH: the SSH server is all that runs here.
exec /bin/sh /etc/trainform/sshd.sh foreground
