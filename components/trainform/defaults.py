"""All defaults and fixed names, each defined once. Tests compare those of fields with the committed schemas."""

from __future__ import annotations

from typing import Final

# The operators that jobs can be rendered for, a row each: the name in files, and the class that `backends.backend`
# imports when it is asked for.
BACKENDS = {
    "volcano": "trainform.backends.volcano.backend:Volcano",
    "jobset": "trainform.backends.jobset.backend:JobSet",
    "trainer": "trainform.backends.trainer.backend:Trainer",
    "kubeflow": "trainform.backends.kubeflow.backend:Kubeflow",
    "kubedl": "trainform.backends.kubedl.backend:KubeDL",
    "kubernetes": "trainform.backends.kubernetes.backend:Kubernetes",
}
BACKEND: Final = "volcano"
ENVIRONMENT = "dev"  # of the demo and of a new project, for which the sandbox stands
NONE, VOLCANO, KUEUE = "none", "volcano", "kueue"  # values of the environment's `admission`
ADMITS = {NONE: "jobs start without a queue system", VOLCANO: "Volcano admits jobs", KUEUE: "Kueue admits jobs"}
OF_CONTROL_PLANE = frozenset(["volcano", "kubernetes"])  # the backends that every sandbox has
ADD_ONS = (*(name for name in BACKENDS if name not in OF_CONTROL_PLANE), KUEUE)  # what else a sandbox can run
QUEUE = "default"  # Volcano's scheduler creates this queue when it starts
ROOT_QUEUE = "root"  # and this one, the parent of all others

# Python collects garbage when there are so many more objects than after the last time. Its own number is 700, and the
# imports and a check make about 60,000, which all live to the end: collections find nothing. A command that runs for
# long has them all the same.
NEW_OBJECTS = 100_000

PLACEHOLDER_IMAGE = "change-me"  # the image's name in a file of `trainform new` without --image

# torchrun's default. On the host network the plan uses a port of the environment's range instead.
RENDEZVOUS_PORT = 29500
# As in KubeDL: below the node ports of Services (30000) and the ephemeral ports of Linux (32768).
HOST_PORTS = "20000-30000"

# Ports below 1024 are for root only, and on the host network port 22 belongs to the node's own sshd.
SSH_PORT, SSH_PORT_OF_USERS = 22, 2022  # not 2222, which TensorFlow uses
TENSORFLOW_PORT = 2222
WAIT = "10m"

SHARED_MEMORY_MOUNT = "/dev/shm"  # noqa: S108 - POSIX shared memory, not a temporary file
SHARED_MEMORY_VOLUME = "shared-memory"
LAUNCH_VOLUME = "launch"
FILES_VOLUME = "files"
MAIN_CONTAINER = "main"
LAUNCH_MOUNT = "/etc/trainform"
LAUNCH_SCRIPT = "launch.sh"
SSH_VOLUME = "ssh"
HOME = "/root"
SSH_FOLDER = f"{HOME}/.ssh"
HOSTFILE = "hostfile"
DEEPSPEED_MOUNT = "/job"  # DeepSpeed reads /job/hostfile by default

MOST_REPLICAS = 100_000
MOST_OF_A_NODE = 10_000  # pieces of an accelerator, or of a resource of the fabric
MOST_ROLES = 64  # each role is a component of every preview
LONGEST_WAIVER = "90d"  # a quarter: until then who agreed to it still knows why
MAX_RETRY = 3  # as Volcano's webhook sets it for 0; explicit, since its check of updates compares literally
POD_SECURITY = "would violate PodSecurity"  # in warnings of the API server, from Pod Security Admission
NOT_CHECKED = "not checked: "  # how messages of the preflight begin that a review lists as not checked
QUEUE_OPEN_SECONDS = 40  # a Queue opens in about a second; after this time its controller is taken to be missing
CONNECT_SECONDS = 5
LONGEST_COMMENT = 65_000  # bytes; GitHub refuses more than 65,536 characters

# Limits for one object, in bytes. etcd accepts requests of 1.5 MiB, which include managed fields and status; the API
# server accepts 1 MiB for all values of a ConfigMap or Secret.
LARGEST_OBJECT = 1024 * 1024
LARGEST_RECORD = 1000 * 1024  # all values but trainform's version, for which the rest of a ConfigMap has room
LONGEST_WORD = (
    128 * 1024 - 1
)  # Linux starts no program with a longer argument, or `NAME=value`: MAX_ARG_STRLEN, with the zero at its end
REVISION_DIGITS = 6
RELEASE_DIGITS = 20  # 80 bits: no other content is found for a reviewed name; a longer one fits no table
LAST_RUN = 999_999_999  # the largest `run` in a stack's config

# Files by users have a few KiB. With these limits a wrong file (a checkpoint, an alias bomb) cannot block an editor or
# CI.
LARGEST_FILE = 1 << 20
LARGEST_KUBECONFIG = 16 << 20  # larger, since tools write certificates into it
DEEPEST = 40
MOST_VALUES = 50_000
MOST_OVERLAYS = 100  # environments of an experiment: it is read once for each

NODE_CPU = "128"
NODE_MEMORY = "1Ti"

# Labels and annotations. Selectors of Services use only these, since they must not change between revisions.
LABEL_PREFIX = "trainform.dev/"
MANAGED_BY = {"app.kubernetes.io/managed-by": "trainform"}
NAME_LABEL = "app.kubernetes.io/name"
ROLE_LABEL = "app.kubernetes.io/component"
ENVIRONMENT_LABEL = f"{LABEL_PREFIX}environment"
REPLICA_LABEL = f"{LABEL_PREFIX}replica"
REVISION_LABEL = f"{LABEL_PREFIX}revision"
OVERRIDES_ANNOTATION = f"{LABEL_PREFIX}overrides"
WAIVERS_ANNOTATION = f"{LABEL_PREFIX}waivers"
STACK_ANNOTATION = f"{LABEL_PREFIX}stack"  # of the record of what is deployed: PROJECT/STACK
POLICY_PACK = "trainform"  # the name of the policy pack of a project
KUBE_SYSTEM = "kube-system"  # the namespace that every cluster has, whose UID is the cluster's identity
SANDBOX_CONTEXT = "trainform-sandbox"  # the context in each sandbox's kubeconfig; the cluster's name begins with it
# The kind of a sandbox's node, real or simulated, and the bytes of memory that the pods of a real one can really use.
NODES_LABEL, SIMULATED, REAL = "trainform.dev/nodes", "simulated", "real"
REAL_MEMORY = "sandbox.trainform.dev/memory"
