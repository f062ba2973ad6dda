"""Pods that each break one control of the Pod Security Standards, and pods that just do not."""

from __future__ import annotations

import functools
from typing import Any, get_args

from tests.support.generated_pods import APPARMOR, OF_LEVEL, container, put
from tests.support.samples import environment
from trainform.manifests.templates import Template
from trainform.rules.limits.rule import Finding, Judged
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment
from trainform.spec.limits import VolumeType

ALL, BASELINE, NONE = ("baseline", "restricted"), ("baseline",), ()
RULES = ("TF-POD-1", "TF-NET-1")


def good_pod() -> dict[str, Any]:
    """Return a pod that every level allows."""
    spec = {"containers": [container("main")], "initContainers": [container("before")], "securityContext": {**OF_LEVEL}}
    return {"metadata": {}, "spec": spec}


def changed_pod(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the good pod with other values; `main` and `before` are its containers, `pod` its security context, `...`
    no value."""
    pod = good_pod()
    (main,), (before,) = pod["spec"]["containers"], pod["spec"]["initContainers"]
    parts = {
        "main": main,
        "before": before,
        "pod": pod["spec"]["securityContext"],
        "spec": pod["spec"],
        "metadata": pod["metadata"],
    }
    for path, value in changes.items():
        part, _, rest = path.partition(".")
        put(parts[part], rest, value)
    return pod


def case(allowed: tuple[str, ...], **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the changed pod, and the levels that allow it. `__` in a name is a dot."""
    return changed_pod({path.replace("__", "."): value for path, value in changes.items()}), allowed


LOCALHOST = {"type": "Localhost", "localhostProfile": "own.json"}
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "good": case(ALL),
    "host network": case(NONE, spec__hostNetwork=True),
    "no host network": case(ALL, spec__hostNetwork=False, spec__hostPID=None),
    "host processes": case(NONE, spec__hostPID=True),
    "host memory": case(NONE, spec__hostIPC=True),
    "port of the node": case(NONE, main__ports=[{"containerPort": 80, "hostPort": 80}]),
    "no port of the node": case(ALL, main__ports=[{"containerPort": 80, "hostPort": 0}]),
    "privileged": case(NONE, before__securityContext={"privileged": True}),
    "usual capability": case(BASELINE, main__securityContext__capabilities__add=["CHOWN"]),
    "second capability": case(NONE, main__securityContext__capabilities__add=["SYS_ADMIN", "CHOWN"]),
    "low ports": case(ALL, main__securityContext__capabilities__add=["NET_BIND_SERVICE"]),
    "keeps capabilities": case(BASELINE, before__securityContext__capabilities=None),
    "drops one capability": case(BASELINE, main__securityContext__capabilities__drop=["NET_RAW"]),
    "path of the node": case(NONE, spec__volumes=[{"name": "data", "hostPath": {"path": "/data"}}]),
    "nfs": case(BASELINE, spec__volumes=[{"name": "data", "nfs": {"server": "nfs", "path": "/data"}}]),
    "csi": case(ALL, spec__volumes=[{"name": "data", "csi": {"driver": "csi.example.com"}}]),
    "volume of nothing": case(ALL, spec__volumes=[{"name": "data", "nfs": None}]),
    "unconfined AppArmor of the pod": case(NONE, pod__appArmorProfile={"type": "Unconfined"}),
    "unconfined AppArmor of a container": case(NONE, main__securityContext__appArmorProfile={"type": "Unconfined"}),
    "own AppArmor": case(ALL, main__securityContext__appArmorProfile=LOCALHOST),
    "unconfined AppArmor by annotation": case(NONE, metadata__annotations={f"{APPARMOR}main": "unconfined"}),
    "own AppArmor by annotation": case(ALL, metadata__annotations={f"{APPARMOR}main": "localhost/own"}),
    "SELinux type": case(NONE, main__securityContext__seLinuxOptions={"type": "spc_t"}),
    "SELinux type for containers": case(ALL, pod__seLinuxOptions={"type": "container_engine_t", "level": "s0:c1"}),
    "SELinux user": case(NONE, pod__seLinuxOptions={"user": "system_u"}),
    "SELinux role": case(NONE, before__securityContext__seLinuxOptions={"role": "system_r"}),
    "unmasked /proc": case(NONE, main__securityContext__procMount="Unmasked", spec__hostUsers=False),
    "masked /proc": case(ALL, main__securityContext__procMount="Default"),
    "unconfined seccomp of the pod": case(NONE, pod__seccompProfile={"type": "Unconfined"}),
    "unconfined seccomp of a container": case(NONE, main__securityContext__seccompProfile={"type": "Unconfined"}),
    "own seccomp": case(ALL, pod__seccompProfile=..., main__securityContext__seccompProfile=LOCALHOST,
        before__securityContext__seccompProfile=LOCALHOST),
    "seccomp of one container": case(BASELINE, pod__seccompProfile=None,
        main__securityContext__seccompProfile=LOCALHOST),
    "setting of the kernel": case(NONE, pod__sysctls=[{"name": "kernel.msgmax", "value": "1"}]),
    "setting of the pod": case(ALL, pod__sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1 2 3"}]),
    "process of a Windows node": case(NONE, pod__windowsOptions={"hostProcess": True}, spec__hostNetwork=True),
    "no process of a Windows node": case(ALL, pod__windowsOptions={"hostProcess": False}),
    "probe of another host": case(NONE, main__readinessProbe={"httpGet": {"port": 80, "host": "10.0.0.1"}}),
    "probe of the pod": case(ALL, main__readinessProbe={"httpGet": {"port": 80, "host": ""}}),
    "handler that calls another host": case(NONE,
        main__lifecycle={"preStop": {"tcpSocket": {"port": 80, "host": "a.b"}}}),
    "escalation": case(BASELINE, main__securityContext__allowPrivilegeEscalation=True),
    "escalation by default": case(BASELINE, before__securityContext__allowPrivilegeEscalation=...),
    "no security context": case(BASELINE, main__securityContext=None),
    "root may run": case(BASELINE, pod__runAsNonRoot=...),
    "root may run in a container": case(BASELINE, main__securityContext__runAsNonRoot=False),
    "no container runs as root": case(ALL, pod__runAsNonRoot=None, main__securityContext__runAsNonRoot=True,
        before__securityContext__runAsNonRoot=True),
    "pod runs as root": case(BASELINE, pod__runAsUser=0),
    "container runs as root": case(BASELINE, main__securityContext__runAsUser=0),
    "another user": case(ALL, main__securityContext__runAsUser=1),
}  # fmt: skip


@functools.cache
def level_environment(level: str, **limits: Any) -> Environment:
    """Return an environment of this level that opens nothing."""
    closed = {"pod_security": level, "host_network": False, "volume_types": list(get_args(VolumeType)), **limits}
    return environment(limits=closed, rdma=None)


def judged_by_us(pod: dict[str, Any], cluster: Environment) -> list[Finding]:
    """Return what our rules find that stand for the standards."""
    judged = Judged({}, (Template(1, 1, pod),))
    return [found for code in RULES for found in BY_CODE[code].find(judged, cluster)]
