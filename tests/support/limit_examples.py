"""An example that breaks each rule of an environment's limits, with the problem that `trainform check` finds in it."""

from __future__ import annotations

from collections.abc import Mapping

import yaml
from msgspec import Struct

from trainform.errors import Problem
from trainform.job.render import RenderedJob, render_job
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

_ENVIRONMENT = """
name: dev
namespace: {name: ai}
queues: {default: {weight: 1}, night: {weight: 4, capability: {a800: 8}}}
accelerators:
  a800:
    resource: nvidia.com/gpu
    per_node: 8
    nodes: 4
    cpu: 96
    memory: 800Gi
    node_selector: {pool: a800}
    tolerations: [{key: nvidia.com/gpu, operator: Exists}]
    price_per_hour: {amount: 2.10, currency: USD, as_of: 2026-01-01}
storage_classes: {fast: cephfs-ssd}
"""
_EXPERIMENT = """
name: example
image: registry.example.com/ai/training:1.0
launcher: {command: [python, /app/train.py]}
roles: {worker: {replicas: 2, accelerators: {a800: 8}}}
"""


class Example(Struct, frozen=True):
    """A part of an experiment that breaks a rule, as YAML over a small experiment. `limits`: those of the
    environment."""

    written: str
    limits: str = "{}"

    def problem(self, code: str) -> Problem:
        """Return the problem that `trainform check` finds. A rule that is off, or a warning, is an error here."""
        return next(problem for problem in self.job(code).problems if problem.code == code)

    def job(self, code: str, backend: str | None = None) -> RenderedJob:
        """Return the example as it is rendered for the backend; None: that of the environment."""
        rule = BY_CODE[code]
        limits = yaml.safe_load(self.limits) | ({} if rule.severity == "error" else {"severity": {code: "error"}})
        offered = {**yaml.safe_load(_ENVIRONMENT), "limits": limits}
        written = {**yaml.safe_load(_EXPERIMENT), **yaml.safe_load(self.written)}
        written |= {} if backend is None else {"backend": backend}
        experiment, environment = Experiment.model_validate(written), Environment.model_validate(offered)
        return render_job(experiment, environment)


def _pods(spec: str) -> str:
    """Pods with a merge patch of their spec."""
    return f"roles: {{worker: {{replicas: 2, accelerators: {{a800: 8}}, pod_overrides: {{spec: {spec}}}}}}}"


def _main(container: str) -> str:
    return _pods(f"{{containers: {{main: {container}}}}}")


EXAMPLES: Mapping[str, Example] = {
    "TF-IMG-1": Example("image: docker.io/library/python:3.12", "registries: [registry.example.com]"),
    "TF-IMG-2": Example("image: registry.example.com/ai/training:1.0"),
    "TF-IMG-3": Example(_pods("{initContainers: [{name: first, image: registry.example.com/change-me}]}")),
    "TF-POD-1": Example(_main("{securityContext: {privileged: true}}")),
    "TF-POD-2": Example(_pods("{volumes: {data: {nfs: {server: nfs.example.com, path: /data}}}}")),
    "TF-POD-3": Example("run_as: {user: 0}"),
    "TF-POD-4": Example(_pods("{runtimeClassName: kata}")),
    "TF-POD-6": Example("{annotations: {k8s.v1.cni.cncf.io/networks: storage}}"),
    "TF-NET-1": Example("network: {host: true}"),
    "TF-NET-2": Example("manifest_overrides: {service: {spec: {type: LoadBalancer}}}"),
    "TF-RES-1": Example("roles: {worker: {replicas: 2, accelerators: {a800: 16}}}"),
    "TF-RES-2": Example("roles: {worker: {replicas: 4, accelerators: {a800: 8}}}", "max_accelerators: 16"),
    "TF-RES-3": Example(_main("{resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}")),
    "TF-RES-4": Example("shared_memory: 700Gi", "shared_memory_share: 0.5"),
    "TF-RES-5": Example("roles: {worker: {replicas: 2}}"),
    "TF-RES-6": Example("roles: {worker: {replicas: 5, accelerators: {a800: 8}}}"),
    "TF-RES-7": Example("env: {NVIDIA_VISIBLE_DEVICES: all}"),
    "TF-PLC-1": Example(_pods("{nodeName: node-1}")),
    "TF-PLC-2": Example(_pods("{schedulerName: default-scheduler}")),
    "TF-PLC-3": Example(_pods("{nodeSelector: {pool: other}}")),
    "TF-PLC-4": Example(_pods("{tolerations: []}")),
    "TF-PLC-5": Example("tolerations: [{key: reserved}]", "tolerations: []"),
    "TF-PRI-1": Example("priority_class: urgent", "priority_classes: [batch]"),
    "TF-ACC-1": Example("service_account: admin"),
    "TF-JOB-1": Example("{backend: jobset, manifest_overrides: {job: {spec: {managedBy: kueue.x-k8s.io/multikueue}}}}"),
    "TF-QUE-1": Example("queue: night", "queues: [default]"),
    "TF-QUE-2": Example("queue: {weight: 1}", "own_queues: false"),
    "TF-QUE-3": Example("queue: night"),
    "TF-COST-1": Example(
        "roles: {worker: {replicas: 4, accelerators: {a800: 8}}}", "max_cost_per_hour: {amount: 50, currency: USD}"
    ),
    "TF-DATA-1": Example("storage: {runs: {size: 1Ti, class: fast, mount: /runs}}"),
    "TF-DATA-2": Example(
        "{storage: {runs: {size: 1Ti, mount: /runs}}, manifest_overrides: {claim-runs: {spec: {storageClassName: "
        "gold}}}}"
    ),
    "TF-RUN-1": Example("image: registry.example.com/ai/training:1.0"),
    "TF-RUN-2": Example("image: registry.example.com/ai/training:1.0", "max_run_time: 72h"),
    "TF-SEC-1": Example("env: {HF_TOKEN: not-a-real-token}"),
}
