#!/bin/sh
## The beginning of every launch script: who this pod is, its SSH server, and waiting for the other pods. The line that
## starts the launcher follows from torchrun.sh, accelerate.sh, deepspeed.sh, mpirun.sh or command.sh.
##
## What differs between pods and jobs comes in as variables of the container; docs/launch-contract.md lists them. A line
## `#: NAME` begins a section: its lines are in the script of jobs that need NAME (launch.py decides), and a preview
## shows these alone.
# Rendered by trainform. Each pod of a role has the same template; what differs is its index, which Kubernetes hands in as
# TRAINFORM_REPLICA_INDEX. A value that is already set is kept.
set -eu

#: others-wait
## Nothing holds the job back until all of its pods fit, so a pod must not hold its node for ever without the first one.
if [ "${TRAINFORM_REPLICA_INDEX:?}" != 0 ]; then
  trap 'exit 143' TERM
  /bin/sh /etc/trainform/wait.sh names /etc/trainform/peers &
  wait $!
fi

#: others-serve
## The pods of a role that launches may share one template. `:?` because a pod without an index is not the first one.
if [ "${TRAINFORM_REPLICA_INDEX:?}" != 0 ]; then exec /bin/sh /etc/trainform/sshd.sh foreground; fi

#: rank
## `:?` because shell arithmetic takes a variable that is not set for 0, and then every pod would be rank 0.
export RANK="${RANK-$((${TRAINFORM_RANK_OFFSET:?} + ${TRAINFORM_REPLICA_INDEX:?}))}"

#: own-address
## Behind a Service of its own, rank 0 opens another address and port than the ones that its peers call.
if [ "$RANK" = 0 ] && [ -n "${TRAINFORM_OWN_ADDR:-}" ]; then
  export MASTER_ADDR="$TRAINFORM_OWN_ADDR" MASTER_PORT="${TRAINFORM_RENDEZVOUS_PORT:?}"
fi

#: elastic-on-host
## torchrun gives its peers the name of its machine, and looks that name up to learn whether all meet in this pod. On the
## host network it is the node's, which other pods may not know, and which a node may have for 127.0.1.1.
if [ "${TRAINFORM_REPLICA_INDEX:?}" = 0 ] && [ -n "${TRAINFORM_RENDEZVOUS_PORT:-}" ]; then is_host=1; else is_host=0; fi
set -- --local-addr "${TRAINFORM_POD_ADDR:?}" --rdzv-conf "is_host=$is_host" "$@"

#: jax
## Rank 0 binds the port of the address that it is given, so this follows from what it opens itself.
export JAX_PROCESS_ID="${JAX_PROCESS_ID-$RANK}"
export JAX_COORDINATOR_ADDRESS="${JAX_COORDINATOR_ADDRESS-$MASTER_ADDR:$MASTER_PORT}"

#: tf-config
## TensorFlow's description of the cluster, with this pod's own task. It is worked out in a variable of its own, because
## `export` would hide that a command within `$()` failed.
config=$(sed -e "s/@TYPE@/${TRAINFORM_TASK_TYPE:?}/" -e "s/@INDEX@/${TRAINFORM_REPLICA_INDEX:?}/" /etc/trainform/tf_config.json)
#: tf-config-own-port
## Behind Services of their own, a replica needs the port that it opens itself, and the constant ports of the others.
## The quotes of JSON around the own entry keep `worker-1` from matching `worker-10`.
own="$TRAINFORM_SERVICE-$TRAINFORM_REPLICA_INDEX"
config=$(printf '%s' "$config" | sed "s/\"$own:[0-9]*\"/\"$own:${TRAINFORM_TENSORFLOW_PORT:-}\"/")
#: tf-config
export TF_CONFIG="${TF_CONFIG-$config}"

#: open-mpi
## MPICH's and Intel MPI's mpirun (Hydra) takes Open MPI's variables for nothing, and would start all processes in this
## pod, as one that trains well and slowly. Who gives it its hosts has said what is meant.
if [ -z "${HYDRA_HOST_FILE:-}${I_MPI_HYDRA_HOST_FILE:-}" ]; then
  case $(mpirun --version 2>/dev/null) in
  *HYDRA* | *"Intel(R) MPI"*)
    echo "trainform: mpirun of this image is MPICH's or Intel MPI's, and would start all $NUM_PROCESSES processes in this pod;" \
      "use an image with Open MPI 4 or 5, or give it its hosts in HYDRA_HOST_FILE or I_MPI_HYDRA_HOST_FILE" >&2
    exit 1
    ;;
  esac
fi

#: sshd
## It returns at once, and sshd ends with the pod. A pod without an sshd's port (TRAINFORM_SSH_PORT) starts none.
/bin/sh /etc/trainform/sshd.sh background

#: wait-for-sshd wait-for-sshd-of-runtime wait-for-rank-0 wait-for-names wait-for-peers
## As process 1, a shell without a trap ignores SIGTERM, and a shell with a trap acts on it only between two commands.
## With wait.sh in the background and `wait`, a pod that waits for others ends at once when Kubernetes asks it to.
trap 'exit 143' TERM
#: wait-for-sshd
/bin/sh /etc/trainform/wait.sh ssh /etc/trainform/hostfile &
#: wait-for-sshd-of-runtime
## The operator's list, without this pod, which need not run sshd. How ssh reaches the others is the runtime's own matter, and
## options of mpirun may say more of it: a wait in vain is reported, and mpirun decides.
others=$(sed -e "/^$(uname -n)[.[:space:]]/d" -e 's/[[:space:]].*//' "${PRTE_MCA_prte_default_hostfile:?}")
# shellcheck disable=SC2086 ## a name of a host holds no blank
/bin/sh /etc/trainform/wait.sh ssh $others &
wait $! || echo "trainform: starting mpirun all the same" >&2
#: wait-for-rank-0
/bin/sh /etc/trainform/wait.sh names "$MASTER_ADDR" &
#: wait-for-names
/bin/sh /etc/trainform/wait.sh names /etc/trainform/hostfile &
#: wait-for-peers
## Nothing holds the job back until all of its pods fit, so a pod must not hold its node for ever while others have none.
/bin/sh /etc/trainform/wait.sh names /etc/trainform/peers &
#: wait-for-sshd wait-for-rank-0 wait-for-names wait-for-peers
wait $!
