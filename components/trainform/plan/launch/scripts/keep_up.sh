# shellcheck shell=sh
## Follows start.sh, in a pod whose processes are started by the operator's own agent (`kubectl exec`).
# Processes are started here by the operator's own agent; this one keeps the container up.
trap 'exit 143' TERM
## A shell that waits ends at once on SIGTERM, which `sleep` as process 1 does not.
while :; do
  sleep 3600 &
  wait $!
done
