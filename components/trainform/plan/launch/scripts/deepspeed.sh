# shellcheck shell=sh
## Follows start.sh, in the pod that launches: DeepSpeed starts the processes of all hosts over SSH.
##
## --force_multi is there only where the pod that launches computes nothing: DeepSpeed starts the processes of a single
## host without SSH in the pod where it runs itself, which would be the wrong one.
exec deepspeed \
  --hostfile /etc/trainform/hostfile \
  --master_addr "$MASTER_ADDR" \
  --master_port "$MASTER_PORT" \
  --force_multi \
  "$@"
