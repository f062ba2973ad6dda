"""Our verdict on a pod is the API server's: generated pods go to namespaces that enforce the Pod Security Standards, as
a dry run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.engine.live import Live
from tests.support.generated_pods import single_changes
from tests.support.pod_security import CASES, good_pod, judged_by_us, level_environment
from tests.support.repository import names, read
from trainform.backends.backend import BACKENDS
from trainform.job.render import render_job
from trainform.rules.limits.pod_security import CONTROLS, Openings, controls, violated
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import LAUNCHERS

LEVELS = ("baseline", "restricted")

# What the server calls each control, in its refusals.
WORDS = {
    "hostNamespaces": "host namespaces",
    "privileged": "privileged",
    "capabilities_baseline": "non-default capabilities",
    "capabilities_restricted": "unrestricted capabilities",
    "capabilities_dropped": "unrestricted capabilities",
    "hostPathVolumes": "hostPath volumes",
    "restrictedVolumes": "restricted volume types",
    "hostProbesAndHostLifecycle": "probe or lifecycle host",
    "appArmorProfile": "forbidden AppArmor profile",
    "appArmorAnnotations": "forbidden AppArmor profile",
    "seLinuxOptions": "seLinuxOptions",
    "seLinuxUserAndRole": "seLinuxOptions",
    "procMount": "procMount",
    "seccompProfile_baseline": "seccompProfile",
    "seccompProfile_restricted": "seccompProfile",
    "sysctls": "forbidden sysctls",
    "windowsHostProcess": "hostProcess",
    "allowPrivilegeEscalation": "allowPrivilegeEscalation != false",
    "runAsNonRoot": "runAsNonRoot != true",
    "runAsUser": "runAsUser=0",
}
HOST_PORT = "hostPort"
SERVER_WORDS = {*WORDS.values(), HOST_PORT}


@pytest.fixture(scope="module")
def namespaces(live: Live) -> Iterator[dict[str, str]]:
    """Yield a namespace for each level that enforces it, with one pod that both levels admit."""
    made = {level: f"t-pod-security-{level}" for level in LEVELS}
    for level, name in made.items():
        live.make_namespace(name, **{"pod-security.kubernetes.io/enforce": level})
        live.create("pods", {"apiVersion": "v1", "kind": "Pod", **good_pod(), "metadata": {"name": "there"}}, name)
    yield made
    for name in made.values():
        live.delete("namespaces", name)


def server_says(live: Live, namespace: str, pod: dict[str, Any]) -> set[str] | None:
    """Return the controls that the server finds violated; None if the pod is invalid in itself."""
    body = {**pod, "apiVersion": "v1", "kind": "Pod", "metadata": {**pod.get("metadata", {}), "name": "tried"}}
    return _controls(live.request("POST", f"{live.path('pods', namespace)}?dryRun=All", body))


def _controls(response: httpx2.Response) -> set[str] | None:
    if response.status_code in (200, 201):
        return set()
    message = response.json()["message"]
    if response.status_code == 422:
        return None
    assert response.status_code == 403, message
    _, standard, found = message.partition("violates PodSecurity")
    assert standard, message
    words = {word for word in SERVER_WORDS if re.search(rf"[:,] {re.escape(word)}s? \(", found)}
    assert words, message
    return words


def we_say(level: str, pod: dict[str, Any]) -> set[str]:
    """Return the controls that we find violated, in the server's words."""
    environment = level_environment(level)
    words = {WORDS[control.name] for control, _ in violated(level, pod, Openings.of(environment))}
    if level == "restricted" and WORDS["hostPathVolumes"] in words:
        words = words - {WORDS["hostPathVolumes"]} | {WORDS["restrictedVolumes"]}
    network = {
        finding.where for finding in judged_by_us(pod, environment) if finding.template and "host" in finding.where
    }
    if "spec.hostNetwork" in network:
        words.add(WORDS["hostNamespaces"])
    elif any(where.endswith(".hostPort") for where in network):
        words.add(HOST_PORT)
    return words


def agree(level: str, pod: dict[str, Any], server: set[str]) -> None:
    """The verdict is the same, and so are the controls. Ports of a pod on the node's network are ports of the node: the
    server says both."""
    verdict = [finding.where for finding in judged_by_us(pod, level_environment(level))]
    assert bool(verdict) == bool(server), (level, pod, verdict, server)
    if pod["spec"].get("hostNetwork"):
        server = server - {HOST_PORT}
    assert we_say(level, pod) == server, (level, pod)


@pytest.mark.shows("our verdict on a pod is the server's")
@pytest.mark.parametrize("level", LEVELS)
def test_fixed_pods(level: str, live: Live, namespaces: dict[str, str]) -> None:
    for name, (pod, allowed) in CASES.items():
        server = server_says(live, namespaces[level], pod)
        assert server is not None, name
        assert (server == set()) == (level in allowed), name
        agree(level, pod, server)


@pytest.mark.proof("every value of every field against the Pod Security Standards")
@pytest.mark.parametrize("level", LEVELS)
def test_every_value_alone(level: str, live: Live, namespaces: dict[str, str]) -> None:
    seen: set[str] = set()
    for pod in single_changes():
        server = server_says(live, namespaces[level], pod)
        assert server is not None, pod
        seen |= server
        agree(level, pod, server)
    of_level = {WORDS[control.name] for control in controls(level)}
    of_baseline = {WORDS["hostPathVolumes"]} if level == "restricted" else set()
    assert of_level - of_baseline <= seen, "every control is broken"


@pytest.mark.proof("the pods of every launcher under the level `restricted`")
@pytest.mark.parametrize("backend", ["volcano", "jobset"])
def test_the_pods_of_every_launcher_are_admitted(backend: str, live: Live, namespaces: dict[str, str]) -> None:
    """As a user other than root, and without the node's network. test_backends shows that controllers create these
    pods."""
    namespace = namespaces["restricted"]
    opened = {"namespace": {"name": namespace}, "limits": {"pod_security": "restricted"}, "rdma": None}
    environment = Environment.model_validate({**read("environments", "dev"), **opened})
    admitted = set()
    every = {name: read("experiments", name) for name in names("experiments")}
    every["jax"] = {**every["resnet"], "launcher": {"jax": {"command": ["python", "/app/train.py"]}}}
    every["entrypoint"] = {**every["hello"], "launcher": {"entrypoint": ["--epochs", "1"]}}
    for name, data in every.items():
        for field in ("network", "environments", "priority_class"):
            data.pop(field, None)
        parts = {**data, "backend": backend, "run_as": {"user": 1000, "home": "/home/trainer"}}
        job = render_job(Experiment.model_validate(parts), environment)
        pods, _ = ([], {}) if job.problems else BACKENDS[backend].pods(job.plan, job.manifests)
        for pod in pods:
            pod["metadata"]["namespace"] = namespace
            assert server_says(live, namespace, pod) == set(), name
            admitted |= {*data["launcher"]}
    assert admitted == {*LAUNCHERS}


def test_every_control_has_the_servers_words() -> None:
    assert WORDS.keys() == {control.name for control in CONTROLS}
