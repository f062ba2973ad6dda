# shellcheck shell=sh
## Follows start.sh: torchrun with a range of nodes (NNODES is MIN:MAX), which numbers its nodes itself at every
## rendezvous.
exec torchrun \
  --nnodes "$NNODES" \
  --nproc-per-node "$NPROC_PER_NODE" \
  --rdzv-backend c10d \
  --rdzv-id "$RDZV_ID" \
  --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" \
  --max-restarts "$MAX_RESTARTS" \
  "$@"
