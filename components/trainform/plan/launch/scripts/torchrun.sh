# shellcheck shell=sh
## Follows start.sh: torchrun with a fixed number of nodes, each of which knows its rank. The user's words come last and
## win.
exec torchrun \
  --nnodes "$WORLD_SIZE" \
  --nproc-per-node "$NPROC_PER_NODE" \
  --node-rank "$RANK" \
  --master-addr "$MASTER_ADDR" \
  --master-port "$MASTER_PORT" \
  --max-restarts "$MAX_RESTARTS" \
  "$@"
