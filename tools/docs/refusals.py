"""What operators refuse beyond single fields: examples, with the problems that `trainform check` finds in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import yaml

from trainform.errors import Problem
from trainform.render import render_job
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

_ENVIRONMENT = """
name: dev
namespace: {name: ai}
queues: {default: {weight: 1}}
accelerators:
  a800: {resource: nvidia.com/gpu, per_node: 8, nodes: 16}
  npu: {resource: huawei.com/Ascend910, per_node: 8, nodes: 16}
limits: {host_network: true}
"""
_EXPERIMENT = """
name: example
image: registry.example.com/ai/training:1.0
launcher: {command: [python, /app/train.py]}
roles: {master: {replicas: 1}, worker: {replicas: 2}}
"""
_KUEUE = "{admission: kueue, queues: {}}"
_MPI = "launcher: {mpi: {command: [python, /app/train.py]}}"
_MPI_APART = "launcher: {mpi: {command: [python, /app/train.py], role: launcher}}"
_OWN_PORTS = "network: {host: true, ports: per-replica}"


@dataclasses.dataclass(frozen=True)
class Example:
    """A part of an experiment that an operator refuses. `what`: in words; `written`: as YAML over a small experiment."""

    what: str
    written: str
    environment: str = "{}"

    def problems(self, backend: str) -> Sequence[Problem]:
        """What `trainform check` says of it on this operator."""
        written = {**yaml.safe_load(_EXPERIMENT), **yaml.safe_load(self.written), "backend": backend}
        offered = {**yaml.safe_load(_ENVIRONMENT), **yaml.safe_load(self.environment)}
        experiment, environment = Experiment.model_validate(written), Environment.model_validate(offered)
        return render_job(experiment, environment).problems


_BY_KUEUE = (
    Example("Kueue, and a queue of the job's own", "queue: {weight: 1}", _KUEUE),
    Example("Kueue, and `network.topology`", "{queue: lq, network: {topology: {mode: hard, highest_tier: 1}}}", _KUEUE),
    Example(
        "Kueue, and a part of a role",
        "{queue: lq, roles: {master: {replicas: 1}, worker: {replicas: 4, min_available: 2}}}",
        _KUEUE,
    ),
)
_REPLICA_TYPES = (
    Example(
        "unranked roles", "roles: {master: {replicas: 1}, worker: {replicas: 2}, watch: {ranked: false, command: [sh]}}"
    ),
    Example("a third ranked role", "roles: {master: {replicas: 1}, worker: {replicas: 2}, helper: {replicas: 2}}"),
    Example("`restart: all-when-evicted`", "restart: all-when-evicted"),
    Example(
        "limits of restarts that differ",
        "{restart: on-failure, roles: {master: {replicas: 1, max_retry: 2}, worker: {replicas: 2, max_retry: 5}}}",
    ),
    Example(
        "an init container called as the main container is",
        "roles: {master: {replicas: 1}, worker: {replicas: 2, init: [{name: pytorch, command: [sh]}]}}",
    ),
)

EXAMPLES: Mapping[str, Sequence[Example]] = {
    "volcano": (
        Example(
            "`*` beside other events",
            "policies: [{event: '*', action: RestartJob}, {event: PodFailed, action: AbortJob}]",
        ),
        Example(
            "two policies for one event",
            "policies: [{event: PodFailed, action: RestartJob}, {event: PodFailed, action: AbortJob}]",
        ),
        Example(
            "two policies for one exit code",
            "policies: [{exit_code: 3, action: RestartJob}, {exit_code: 3, action: AbortJob}]",
        ),
        Example("a mount at Volcano's own folder", "storage: {mine: {claim: mine, mount: /etc/volcano}}"),
        Example(
            "a policy upon the end of a role whose replicas have templates of their own",
            f"{{{_OWN_PORTS}, policies: [{{event: TaskCompleted, action: AbortJob}}]}}",
        ),
        Example(
            "an unranked role with an image of its own, where several replicas end the job",
            f"{{{_OWN_PORTS}, roles: {{worker: {{replicas: 2}}, "
            "watch: {ranked: false, image: registry.example.com/watch:1, command: [/watch]}}}",
        ),
    ),
    "jobset": (
        Example("names of pods without room for JobSet's own suffix", f"roles: {{{'w' * 40}: {{replicas: 2}}}}"),
        *_BY_KUEUE,
    ),
    "trainer": (
        *_BY_KUEUE,
        Example(
            "Volcano's gangs, and a part of a role",
            "roles: {master: {replicas: 1}, worker: {replicas: 4, min_available: 2}}",
        ),
        Example(
            "Volcano's gangs, and an elastic job that begins with a part",
            "{launcher: {torchrun: {script: /a.py, elastic: {min_nodes: 2, max_nodes: 8}}}, roles: {worker: {replicas: 4}}}",
        ),
        Example(
            "an unranked role called as Trainer calls ranked ones",
            "roles: {worker: {replicas: 2}, node: {ranked: false, command: [sh]}}",
        ),
        Example(
            "an init container called as the main container is",
            "roles: {worker: {replicas: 2, init: [{name: node, command: [sh]}]}}",
        ),
        Example(
            "`mpi` with a second kind of node",
            f"{{{_MPI_APART}, roles: {{launcher: {{ranked: false}}, big: {{replicas: 2}}, small: {{replicas: 2}}}}}}",
        ),
        Example(
            "`mpi` with different numbers of processes",
            f"{{{_MPI}, roles: {{master: {{replicas: 1, accelerators: {{a800: 8}}}}, "
            "worker: {replicas: 2, accelerators: {a800: 4}}}}",
        ),
        Example("`mpi` with `ports: per-replica`", f"{{{_MPI}, {_OWN_PORTS}}}"),
        Example(
            "an init container on a runtime that is named",
            "{runtime: {name: torch}, launcher: {torchrun: {script: /a.py}}, "
            "roles: {worker: {replicas: 2, init: [{name: data, command: [sh]}]}}}",
        ),
        Example(
            "`mpi` with a mount at Trainer's folder", f"{{{_MPI}, storage: {{mine: {{claim: mine, mount: /etc/mpi}}}}}}"
        ),
    ),
    "kubeflow": (
        *_REPLICA_TYPES,
        Example(
            "SSH on an MPIJob",
            f"{{{_MPI_APART}, ssh: {{}}, roles: {{launcher: {{ranked: false}}, worker: {{replicas: 2}}}}}}",
        ),
        Example(
            "Services on an MPIJob",
            f"{{{_MPI_APART}, network: {{addresses: service}}, "
            "roles: {launcher: {ranked: false}, worker: {replicas: 2}}}",
        ),
        Example(
            "different numbers of processes on an MPIJob",
            f"{{{_MPI}, roles: {{master: {{replicas: 1, accelerators: {{a800: 8}}}}, "
            "worker: {replicas: 2, accelerators: {a800: 4}}}}",
        ),
        Example(
            "a ranked launcher of an MPIJob without a GPU",
            f"{{{_MPI}, roles: {{master: {{replicas: 1}}, worker: {{replicas: 2}}}}}}",
        ),
        Example(
            "an unranked launcher of an MPIJob with a GPU",
            f"{{{_MPI_APART}, roles: {{launcher: {{ranked: false, accelerators: {{a800: 1}}}}, "
            "worker: {replicas: 2, accelerators: {a800: 1}}}}",
        ),
    ),
    "kubedl": (
        *_REPLICA_TYPES,
        Example("a PyTorchJob without a Master", "roles: {worker: {replicas: 2}}"),
        Example(
            "TensorFlow's evaluator",
            "{launcher: {tensorflow: {command: [python, /app/train.py]}}, "
            "roles: {chief: {replicas: 1}, evaluator: {replicas: 1}}}",
        ),
        Example(
            "fields of pods that are newer than Kubernetes 1.22",
            "roles: {master: {replicas: 1, pod_overrides: {spec: {hostUsers: false}}}, worker: {replicas: 2}}",
        ),
    ),
}
