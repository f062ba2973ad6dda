"""What operators refuse beyond single fields: examples, each tried on every operator.

tests/tools/docs/test_refusals.py holds that no place in the code of an operator that refuses something is without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml
from msgspec import Struct

from trainform.backends.backend import Backend
from trainform.backends.own_mounts import own_mount_problems
from trainform.backends.refusals import support_problems
from trainform.backends.table import BACKENDS
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key
from trainform.objects import draft_plan, job_manifests
from trainform.plan.model import Plan
from trainform.rules.experiment import plan_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.merge_patch import merge_patch

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
_LAUNCHER_APART = "roles: {launcher: {ranked: false}, worker: {replicas: 2}}"
_NAMED = "runtime: {name: shared}, launcher: {torchrun: {script: /a.py}}"
_WORKERS = "roles: {worker: {replicas: 2}}"
_OWN_PORTS = "network: {host: true, ports: per-replica}"
_WATCHED = "roles: {worker: {replicas: 2}, watch: {ranked: false, command: [sh]}}"


_ON_TORCH = f"{{{_NAMED}, {_WORKERS}}}"
_ON_MPI = f"{{runtime: {{name: shared}}, {_MPI_APART}, {_LAUNCHER_APART}}}"
_LABELLED = "{template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}"
_TORCH_RUNTIME = """
kind: ClusterTrainingRuntime
metadata: {name: shared}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  podGroupPolicy: {volcano: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {schedulerName: volcano, containers: [{name: node}]}}}
"""
_MPI_RUNTIME = """
kind: ClusterTrainingRuntime
metadata: {name: shared}
spec:
  mlPolicy: {numNodes: 1, mpi: {sshAuthMountPath: /home/mpiuser/.ssh}}
  podGroupPolicy: {volcano: {}}
  template:
    spec:
      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
      replicatedJobs:
        - name: launcher
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {schedulerName: volcano, securityContext: {runAsUser: 1000}, containers: [{name: node}]}}}
        - name: node
          template:
            spec: {template: {spec: {schedulerName: volcano, containers: [{name: node, image: 'registry.example.com/ai/training:1.0'}]}}}
"""
_SAME = "{kind: ClusterTrainingRuntime}"


def _with_job(name: str, patch: str) -> str:
    """The patch of a runtime that patches a replicated job of it."""
    return f"{{spec: {{template: {{spec: {{replicatedJobs: {{{name}: {patch}}}}}}}}}}}"


def _with_pods(name: str, patch: str) -> str:
    """The same for the spec of its pods."""
    return _with_job(name, f"{{template: {{spec: {{template: {{spec: {patch}}}}}}}}}")


class Example(Struct, frozen=True):
    """A part of an experiment that some operators refuse. `what`: in words; `written`: as YAML over a small experiment. `runtime`: a merge patch
    of the runtime that the experiment names, as YAML; empty, if only the cluster has it. `operators`: those whose words the example has, where others
    have the same field with another meaning; empty: all."""

    what: str
    written: str
    environment: str = "{}"
    runtime: str = ""
    operators: tuple[str, ...] = ()

    def problems(self, backend: str) -> Sequence[Problem]:
        """What this operator itself refuses in it. Nothing, if it refuses a field of the example whatever is in it: its table has that.
        Nothing either, if the example is for others."""
        if self.operators and backend not in self.operators:
            return ()
        written = {**yaml.safe_load(_EXPERIMENT), **yaml.safe_load(self.written), "backend": backend}
        offered = {**yaml.safe_load(_ENVIRONMENT), **yaml.safe_load(self.environment)}
        experiment, environment = Experiment.model_validate(written), Environment.model_validate(offered)
        if self.runtime and experiment.runtime is not None:
            of_mpi = experiment.launcher.mpi is not None
            content = merge_patch(
                yaml.safe_load(_MPI_RUNTIME if of_mpi else _TORCH_RUNTIME), yaml.safe_load(self.runtime)
            )
            experiment = experiment.model_copy(update={"runtime": experiment.runtime.with_content(content)})
        operator, plan = BACKENDS[backend], draft_plan(experiment, environment)
        elsewhere = [*support_problems(experiment, operator.FIELDS), *plan_problems(experiment, environment, plan)]
        if elsewhere or plan.admission not in operator.ADMISSIONS:
            return ()
        manifests = job_manifests(plan)
        return [
            *operator.problems(plan),
            *operator.order_problems(plan, manifests),
            *own_mount_problems(experiment, plan, operator, operator.templates(plan, manifests)),
            *_of_webhooks(operator, plan, manifests),
        ]


def _of_webhooks(operator: Backend, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[Problem]:
    """What the operator's webhooks refuse of the objects that the example patches."""
    for manifest in manifests:
        key = override_key(manifest)
        if key in plan.manifest_overrides:
            for where, value, reason, fix, _ in operator.refused(plan, key, manifest.body):
                yield Problem(f"manifest_overrides.{key}.{where}", value, reason, fix)


EXAMPLES: Sequence[Example] = (
    # roles and restarts
    Example("unranked roles", "roles: {master: {replicas: 1}, worker: {replicas: 2}, watch: {ranked: false, command: [sh]}}"),
    Example("a third ranked role", "roles: {master: {replicas: 1}, worker: {replicas: 2}, helper: {replicas: 2}}"),
    Example("a first role of several replicas", "roles: {worker: {replicas: 2}}"),
    Example(
        "TensorFlow's evaluator",
        "{launcher: {tensorflow: {command: [python, /app/train.py]}}, "
        "roles: {chief: {replicas: 1}, evaluator: {replicas: 1}}}",
    ),
    Example("`restart: all-when-evicted`", "restart: all-when-evicted"),
    Example(
        "limits of restarts that differ",
        "{restart: on-failure, roles: {master: {replicas: 1, max_retry: 2}, worker: {replicas: 2, max_retry: 5}}}",
    ),
    Example(
        "`mpi` with a ranked launcher without a GPU",
        f"{{{_MPI}, roles: {{master: {{replicas: 1}}, worker: {{replicas: 2}}}}}}",
    ),
    # policies and mounts
    Example("`*` beside other events", "policies: [{event: '*', action: RestartJob}, {event: PodFailed, action: AbortJob}]"),
    Example(
        "two policies for one event",
        "policies: [{event: PodFailed, action: RestartJob}, {event: PodFailed, action: AbortJob}]",
    ),
    Example(
        "two policies for one exit code",
        "policies: [{exit_code: 3, action: RestartJob}, {exit_code: 3, action: AbortJob}]",
    ),
    Example("a role whose list of hosts, which the operator puts into a variable, lets no program start", "roles: {master: {replicas: 1}, worker: {replicas: 9000}}"),
    Example(
        "roles whose lists of hosts, each of which fits into a variable, are too long together",
        "roles: {master: {replicas: 1}, "
        + ", ".join(f"{name}: {{replicas: 3000, ranked: false, command: [sh]}}" for name in "abcdef")
        + "}",
    ),
    Example("a mount at the operator's own folder", "storage: {mine: {claim: mine, mount: /etc/volcano}}"),
    Example(
        "a policy upon the end of a role whose replicas have templates of their own",
        f"{{{_OWN_PORTS}, policies: [{{event: TaskCompleted, action: AbortJob}}]}}",
    ),
    Example(
        "a policy upon the end of a role whose pods stay until the job ends",
        f"{{{_OWN_PORTS}, roles: {{worker: {{replicas: 2}}, watch: {{ranked: false, command: [sh], "
        "policies: [{event: TaskCompleted, action: AbortJob}]}}}",
    ),
    Example(
        "an unranked role with an image of its own, where several replicas end the job",
        f"{{{_OWN_PORTS}, roles: {{worker: {{replicas: 2}}, "
        "watch: {ranked: false, image: registry.example.com/watch:1, command: [/watch]}}}",
    ),
    # names, labels and annotations
    Example("names of pods without room for the operator's own suffix", f"roles: {{master: {{replicas: 1}}, {'w' * 40}: {{replicas: 2}}}}"),
    Example(
        "a label of pods that the operator sets itself",
        "roles: {master: {replicas: 1}, worker: {replicas: 2, labels: {volcano.sh/task-index: '1', job-name: mine, "
        "training.kubeflow.org/job-role: worker}}}",
    ),
    Example(
        "an annotation of pods that the operator sets itself",
        "roles: {master: {replicas: 1}, worker: {replicas: 2, annotations: {scheduling.k8s.io/group-name: mine}}}",
    ),
    Example(
        "an annotation of the job that trainform sets",
        "annotations: {scheduling.volcano.sh/queue-name: mine, kubedl.io/network-mode: host}",
    ),
    Example("Kueue, and its label", "{queue: lq, labels: {kueue.x-k8s.io/queue-name: other}}", _KUEUE),
    Example("an annotation that brings a container", "annotations: {kubedl.io/git-sync-config: '{}'}"),
    Example(
        "an unranked role called as the operator calls ranked ones",
        "roles: {worker: {replicas: 2}, node: {ranked: false, command: [sh]}}",
    ),
    Example(
        "an init container called as the main container is",
        "roles: {master: {replicas: 1}, worker: {replicas: 2, "
        "init: [{name: node, command: [sh]}, {name: pytorch, command: [sh]}]}}",
    ),
    Example(
        "an init container called as the operator's own",
        "roles: {master: {replicas: 1}, worker: {replicas: 2, init: [{name: init-pytorch, command: [sh]}]}}",
    ),
    Example("a volume called as the operator's own", f"{{{_MPI}, storage: {{mpi-job-config: {{claim: c, mount: /mnt}}}}}}"),
    Example("a volume called as the operator's own, with SSH", f"{{{_MPI}, storage: {{mpi-hostfile: {{claim: c, mount: /mnt}}}}}}"),
    # admission and gangs
    Example("Kueue, and a queue of the job's own", "queue: {weight: 1}", _KUEUE),
    Example("Kueue, and `network.topology`", "{queue: lq, network: {topology: {mode: hard, highest_tier: 1}}}", _KUEUE),
    Example(
        "Kueue, and a part of a role",
        "{queue: lq, roles: {master: {replicas: 1}, worker: {replicas: 4, min_available: 2}}}",
        _KUEUE,
    ),
    Example(
        "Volcano's gangs, and a part of a role",
        "roles: {master: {replicas: 1}, worker: {replicas: 4, min_available: 2}}",
    ),
    Example(
        "Volcano's gangs, and an elastic job that begins with a part",
        "{launcher: {torchrun: {script: /a.py, elastic: {min_nodes: 2, max_nodes: 8}}}, roles: {worker: {replicas: 4}}}",
    ),
    # patches
    Example(
        "a patch of Volcano's tasks by which pods of the gang wait for others of it",
        f"{{{_WATCHED}, manifest_overrides: {{job: {{spec: {{tasks: {{watch: {{dependsOn: {{name: [worker]}}}}}}}}}}}}}}",
    ),
    Example(
        "a patch of JobSet's order by which pods of the gang wait for others of it",
        f"{{{_WATCHED}, manifest_overrides: {{job: {{spec: {{startupPolicy: {{startupPolicyOrder: InOrder}}}}}}}}}}",
    ),
    Example(
        "a patch of JobSet's order by which pods wait for others that come behind them",
        f"{{{_WATCHED}, manifest_overrides: {{job: {{spec: {{replicatedJobs: {{worker: {{dependsOn: [{{name: watch, status: Ready}}]}}}}}}}}}}}}",
    ),
    Example(
        "a patch of JobSet that orders its pods in both ways",
        f"{{{_WATCHED}, manifest_overrides: {{job: {{spec: {{startupPolicy: {{startupPolicyOrder: InOrder}}, "
        "replicatedJobs: {watch: {dependsOn: [{name: worker, status: Ready}]}}}}}}",
    ),
    # mpi
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
    Example("`mpi` with a mount at the folder of the operator's kubectl", f"{{{_MPI_APART}, {_LAUNCHER_APART}, storage: {{mine: {{claim: mine, mount: /opt/kube}}}}}}"),
    Example("`mpi` with a mount at the operator's folder", f"{{{_MPI}, storage: {{mine: {{claim: mine, mount: /etc/mpi}}}}}}"),
    Example("`mpi` with `ssh`", f"{{{_MPI_APART}, ssh: {{}}, {_LAUNCHER_APART}}}"),
    Example("`mpi` with Services", f"{{{_MPI_APART}, network: {{addresses: service}}, {_LAUNCHER_APART}}}"),
    Example(
        "`mpi` with an unranked launcher with a GPU",
        f"{{{_MPI_APART}, roles: {{launcher: {{ranked: false, accelerators: {{a800: 1}}}}, "
        "worker: {replicas: 2, accelerators: {a800: 1}}}}",
    ),
    # a runtime that is named
    Example("a launcher without a policy, on a runtime that is named", "{runtime: {name: shared}, launcher: {tensorflow: {command: [a]}}, roles: {worker: {replicas: 2}}}"),
    Example("a role without pods, on a runtime that is named", f"{{{_NAMED}, roles: {{worker: {{replicas: 2}}, watch: {{ranked: false, command: [sh]}}}}}}"),
    Example(
        "fields that a TrainJob does not have, on a runtime that is named",
        f"{{{_NAMED}, roles: {{worker: {{replicas: 2, init: [{{name: data, command: [sh]}}], pod_overrides: {{spec: {{hostIPC: true}}}}}}}}, "
        "network: {host: true, topology: {highest_tier: 1}}, priority_class: urgent, image_pull_policy: Always}",
    ),
    Example("restarts, on a runtime that is named", f"{{{_NAMED}, restart: on-failure, {_WORKERS}}}"),
    # what such a runtime holds: its file, and at `up` the object in the cluster
    Example("a runtime that is not written as Trainer's API has it", _ON_TORCH, runtime="{spec: {mlPolicy: {numNodes: many}}}"),
    Example("a runtime of another name or kind", _ON_TORCH, runtime="{metadata: {name: other}}"),
    Example("a runtime with two policies", _ON_TORCH, runtime="{spec: {mlPolicy: {jax: {}}}}"),
    Example("a runtime with the policy of another launcher", _ON_MPI, runtime="{spec: {mlPolicy: {torch: {}, mpi: null}}}"),
    Example("a runtime without Trainer's label", _ON_TORCH, runtime=_with_job("node", "{template: {metadata: null}}")),
    Example("a runtime with replicas of a replicated job", _ON_TORCH, runtime=_with_job("node", "{replicas: 2}")),
    Example(
        "a runtime without Trainer's name of the main container",
        _ON_TORCH,
        runtime=_with_pods("node", "{containers: [{name: main, image: 'registry.example.com/ai/training:1.0'}]}"),
    ),
    Example("a runtime with `numNodes` beside the MPI policy", _ON_MPI, runtime="{spec: {mlPolicy: {numNodes: 3}}}"),
    Example("a runtime of MPI without nodes", _ON_MPI, runtime=_with_job("node", "null")),
    Example("a runtime whose launcher is a node, and a launching role that is not", _ON_MPI, runtime="{spec: {mlPolicy: {mpi: {runLauncherAsNode: true}}}}"),
    Example("a runtime with keys outside of the home folder", f"{{{_ON_MPI[1:-1]}, run_as: {{user: 1000, home: /home/me}}}}", runtime=_SAME),
    Example("a runtime whose launcher may run as root", _ON_MPI, runtime=_with_pods("launcher", "{securityContext: null}")),
    Example("a runtime with pods that are in no role", _ON_TORCH, runtime=_with_job("data", "{template: {spec: {template: {spec: {containers: [{name: data}]}}}}}")),
    Example("a runtime with Trainer's label on the nodes of MPI", _ON_MPI, runtime=_with_job("launcher", "{template: {metadata: null}}").replace("{launcher:", f"{{node: {_LABELLED}, launcher:")),
    Example("a runtime without `node`", _ON_TORCH, runtime=_with_job("node", "{name: worker}")),
    Example("a runtime with a subdomain of its own", _ON_TORCH, runtime="{spec: {template: {spec: {network: {subdomain: mine}}}}}"),
    Example("a runtime for another admission", _ON_TORCH, runtime="{spec: {podGroupPolicy: null}}"),
    Example("a runtime with two gangs", _ON_TORCH, runtime="{spec: {podGroupPolicy: {coscheduling: {}}}}"),
    Example("a runtime with a topology without a tier", _ON_TORCH, runtime="{spec: {podGroupPolicy: {volcano: {networkTopology: {mode: hard}}}}}"),
    Example("a runtime with pods outside of the gang", _ON_TORCH, runtime=_with_pods("node", "{schedulerName: null}")),
    Example(
        "a runtime that deletes what has ended",
        _ON_TORCH,
        runtime="{spec: {template: {spec: {ttlSecondsAfterFinished: 60}}}}",
    ),
    Example(
        "a runtime that makes its pods one after the other",
        _ON_MPI,
        runtime="{spec: {template: {spec: {startupPolicy: {startupPolicyOrder: InOrder}}}}}",
    ),
    Example("a runtime whose pods wait for others of the gang", _ON_MPI, runtime=_with_job("launcher", "{dependsOn: [{name: node, status: Ready}]}")),
    Example("a runtime on the host network", _ON_TORCH, runtime=_with_pods("node", "{hostNetwork: true}")),
    Example("a runtime with a volume of the same name", _ON_TORCH, runtime=_with_pods("node", "{volumes: [{name: launch}]}")),
    Example("a runtime with a mount at the same path", _ON_TORCH, runtime=_with_pods("node", "{containers: {node: {volumeMounts: [{name: own, mountPath: /etc/trainform}]}}}")),
    Example("a runtime with other resources", _ON_MPI, runtime=_with_pods("node", "{containers: {node: {resources: {limits: {cpu: 4}}}}}")),
    Example("variables for pods that a TrainJob does not reach, on a runtime", f"{{{_ON_MPI[1:-1]}, env: {{NCCL_DEBUG: INFO}}}}", runtime=_SAME),
    Example("a runtime with another image of the nodes", _ON_MPI, runtime=_with_pods("node", "{containers: {node: {image: 'registry.example.com/other:1'}}}")),
    Example("a runtime that does not end the job", _ON_MPI, runtime="{spec: {template: {spec: {successPolicy: null}}}}"),
)  # fmt: skip
