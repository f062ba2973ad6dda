# shellcheck shell=sh
## Follows start.sh: accelerate, which counts processes over all nodes.
##
## --multi_gpu is left out for a single process, where accelerate refuses it, and where the user's own options choose
## how accelerate distributes. Everywhere else it has to stand here: accelerate turns it on by itself only where a node
## has several accelerators, so that with one accelerator on each of several nodes every node would train alone.
## --deepspeed_multinode_launcher stands here with DeepSpeed on several nodes: by its default (pdsh) each node would look
## for a hostfile, and train alone without one. (huggingface/accelerate at 00785cd, `commands/launch.py`,
## `utils/launch.py`)
exec accelerate launch \
  --num_processes "$NUM_PROCESSES" \
  --num_machines "$WORLD_SIZE" \
  --machine_rank "$RANK" \
  --rdzv_backend "$RDZV_BACKEND" \
  --main_process_ip "$MASTER_ADDR" \
  --main_process_port "$MASTER_PORT" \
  --multi_gpu \
  --deepspeed_multinode_launcher standard \
  "$@"
