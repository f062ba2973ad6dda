"""Every default and fixed name once; `tests/test_defaults.py` pins them."""

from __future__ import annotations

from typing import Final

BACKEND: Final = "volcano"
VOLCANO, KUEUE = "volcano", "kueue"  # what admits jobs
QUEUE = "default"  # Volcano's scheduler makes this queue at its start
ROOT_QUEUE = "root"  # and this one, above all others

PLACEHOLDER_IMAGE = "change-me"  # the last part of the image's name that `trainform new` writes where it is given none

# 29500 is torchrun's own rendezvous port; on the host network the plan takes a port of the environment's range instead.
RENDEZVOUS_PORT = 29500
HOST_PORTS = (
    "20000-30000"  # KubeDL's range; above the usual node ports' neighbours, below Linux' ephemeral ports (32768)
)

# The launchers' usual ports. A user other than root may not open those below 1024; on the host network 22 is the node's own sshd.
SSH_PORT, SSH_PORT_OF_USERS = 22, 2022  # not 2222, which is TensorFlow's
TENSORFLOW_PORT = 2222
WAIT = "10m"

SHARED_MEMORY_MOUNT = "/dev/shm"  # noqa: S108 - POSIX shared memory, not a temporary file
SHARED_MEMORY_VOLUME = "shared-memory"
LAUNCH_VOLUME = "launch"
MAIN_CONTAINER = "main"
LAUNCH_MOUNT = "/etc/trainform"
LAUNCH_SCRIPT = "launch.sh"
SSH_VOLUME = "ssh"
HOME = "/root"
SSH_FOLDER = f"{HOME}/.ssh"
HOSTFILE = "hostfile"
DEEPSPEED_MOUNT = "/job"  # DeepSpeed looks for /job/hostfile by itself

MAX_RETRY = 3  # what Volcano's webhook writes for 0; said explicitly, since its update check compares literally
QUEUE_OPEN_SECONDS = 40  # a Queue opens in about a second; later than this its controller is not there
CONNECT_SECONDS = 5

# What the API server and etcd keep of one object, in bytes. etcd takes requests of 1.5 MiB, with what the API server and controllers add
# (managed fields, status); of a ConfigMap or Secret the API server takes values of 1 MiB together.
LARGEST_OBJECT = 1024 * 1024
LARGEST_ANNOTATIONS = 256 * 1024  # of all keys and values
REVISION_DIGITS = 6
LAST_RUN = 999_999_999  # of `run` in a stack's config and `--run`

# Files that people write have a few KiB. The limits keep a wrong one (a checkpoint, a bomb of aliases) from stalling an editor or CI.
LARGEST_FILE = 1 << 20
LARGEST_KUBECONFIG = 16 << 20  # tools write it, with certificates
DEEPEST = 40
MOST_VALUES = 50_000
MOST_ALIASES = 100

NODE_CPU = "128"
NODE_MEMORY = "1Ti"

# Labels and annotations. The selectors of Services must not change between revisions, so they use these alone.
LABEL_PREFIX = "trainform.dev/"
MANAGED_BY = {"app.kubernetes.io/managed-by": "trainform"}
NAME_LABEL = "app.kubernetes.io/name"
ROLE_LABEL = "app.kubernetes.io/component"
EXPERIMENT_LABEL = f"{LABEL_PREFIX}experiment"
ENVIRONMENT_LABEL = f"{LABEL_PREFIX}environment"
REPLICA_LABEL = f"{LABEL_PREFIX}replica"
REVISION_LABEL = f"{LABEL_PREFIX}revision"
OVERRIDES_ANNOTATION = f"{LABEL_PREFIX}overrides"
SANDBOX_CONTEXT = "trainform-sandbox"  # the name in its kubeconfig that is there for every environment
