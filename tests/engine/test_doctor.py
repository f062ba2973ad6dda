"""`trainform doctor` on a real control plane: who asks, what they may do, which operators are there, what an
environment names."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import Project
from trainform import defaults
from trainform.cluster.api import ClusterApi
from trainform.local.doctor.cluster import VERBS, experiment_kinds

pytestmark = pytest.mark.proof("what an account may do, and what an environment names")

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATIENCE = ("--timeout", "60")  # the tests' machine is busy
ACCOUNT = "researcher"
WANTED = experiment_kinds(defaults.BACKEND, defaults.VOLCANO)
DEPLOY = "pulumi stack select --create dev && pulumi up -s dev"


def doctor(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    """Return what it finds, as data."""
    ran = project.trainform("doctor", "--output", "json", *PATIENCE, *words)
    assert ran.code == code, ran.output
    answer: dict[str, Any] = json.loads(ran.output)
    return answer


def become(project: Project, user: dict[str, Any]) -> None:
    """From here on the project's kubeconfig has these credentials."""
    path = project.folder / "kubeconfig"
    content = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    content["users"][0]["user"] = user
    path.write_text(yaml.safe_dump(content))
    project.environ["KUBECONFIG"] = str(path)


def allow(live: Live, namespace: str, verbs: Mapping[str, Sequence[str]]) -> None:
    """Give the account these verbs of each kind in the namespace."""
    names = ((*kind.partition("."), allowed) for kind, allowed in verbs.items())
    rules = [{"apiGroups": [group], "resources": [kind], "verbs": [*allowed]} for kind, _, group, allowed in names]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": ACCOUNT}, "rules": rules}
    path = f"{RBAC}/namespaces/{namespace}/roles/{ACCOUNT}?fieldManager=tests&force=true"
    response = live.request("PATCH", path, role, "application/apply-patch+yaml")
    assert response.status_code in (200, 201), response.text


@pytest.fixture
def researcher(project: Project, live: Live) -> Project:
    """Return the project of an account that may do nothing yet."""
    namespace = project.namespace
    collection = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    made = live.request("POST", collection, {"metadata": {"name": ACCOUNT}})
    assert made.status_code == 201, made.text
    bound = live.request(
        "POST",
        f"{RBAC}/namespaces/{namespace}/rolebindings",
        {
            "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
        },
    )
    assert bound.status_code == 201, bound.text
    token = live.request("POST", f"{collection}/{ACCOUNT}/token", {"spec": {}})
    assert token.status_code == 201, token.text
    become(project, {"token": token.json()["status"]["token"]})
    return project


@pytest.mark.shows("doctor on a cluster")
def test_an_administrator_lacks_nothing(project: Project) -> None:
    found = doctor(project, "-e", "dev", "--for", "preview,up,environment")
    states = {name: check["state"] for name, check in found["checks"].items()}
    assert (found["ready"], found["verbs"]["up"]) == (True, {"ready": True, "missing": [], "not_checked": []})
    assert found["checks"]["cluster"]["details"]["version"].startswith("v1.")
    assert found["checks"]["cluster"]["details"]["user"] == "trainform-sandbox"
    assert "queues default" in found["checks"]["environment"]["found"]
    assert {*states.values()} - {"missing"} == {"ok"}
    assert {name for name, state in states.items() if state == "missing"} <= {"docker"}, (
        "the tests run without one, too"
    )
    if states["docker"] == "ok":
        shown = project.trainform("doctor", "-e", "dev", *PATIENCE).succeeded()
        assert [line.partition(":")[0] for line in shown.splitlines()] == ["this machine", "cluster", "ready"]
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.splitlines()[-1] == "ready: all commands"


# --- who asks


def test_credentials_that_are_refused(project: Project) -> None:
    become(project, {"token": "of-yesterday"})
    found = doctor(project, "-e", "dev", "--for", "up", code=1)
    assert "refuses the credentials of the kubeconfig" in found["checks"]["cluster"]["found"]
    assert "of-yesterday" not in json.dumps(found)


# --- rights


def test_the_rights_that_are_asked_for_are_enough(researcher: Project, live: Live) -> None:
    """An account with these and no others brings a job up, changes it and takes it down, and the doctor finds nothing
    missing."""
    allow(live, researcher.namespace, dict.fromkeys(WANTED, VERBS))
    found = doctor(researcher, "-e", "dev", "--for", "preview,up")
    user = f"system:serviceaccount:{researcher.namespace}:{ACCOUNT}"
    assert found["checks"]["cluster"]["details"]["user"] == user
    assert (
        found["checks"]["rights"]["found"] == f"all permissions that are needed in the namespace {researcher.namespace}"
    )
    assert found["checks"]["environment"]["state"] == "not checked"
    assert found["checks"]["environment_rights"]["state"] == "ok", "this environment lists nothing"

    researcher.copied("llama-sft")  # with Services, Secret, claims and a launch script
    stack = researcher.stack("llama-sft")
    researcher.ssh_secret(stack).succeeded()
    researcher.up(stack)
    researcher.copied("llama-sft", lambda data: data.update(env={"NCCL_DEBUG": "WARN"}))
    assert {"ConfigMap", "Job"} <= {step.kind for step in researcher.applied(stack)}
    researcher.destroy(stack)
    assert live.find_all("jobs", researcher.namespace) == []


def test_each_verb_that_is_not_allowed(researcher: Project, live: Live) -> None:
    absent = {kind: [*VERBS[place :: len(WANTED)]] for place, kind in enumerate(WANTED)}
    allowed = {kind: [verb for verb in VERBS if verb not in verbs] for kind, verbs in absent.items()}
    allow(live, researcher.namespace, allowed)
    rights = doctor(researcher, "-e", "dev", "--for", "up", code=1)["checks"]["rights"]
    assert rights["details"]["refused"] == absent
    assert rights["fix"] == "ask the platform team for these permissions"


def test_the_stack_of_an_environment_needs_more(researcher: Project, live: Live) -> None:
    allow(live, researcher.namespace, dict.fromkeys(WANTED, VERBS))
    queues = {"night": {"weight": 2}}
    researcher.environment(queues=queues, namespace={"name": researcher.namespace, "create": True})
    found = doctor(researcher, "-e", "dev", "--for", "environment", code=1)
    assert set(found["checks"]["environment_rights"]["details"]["refused"]) == {
        "namespaces",
        "queues.scheduling.volcano.sh",
    }
    assert found["verbs"]["up"]["ready"], "those are for the platform team to do"


# --- what an environment names


def test_what_the_environments_stack_makes(project: Project) -> None:
    """Missing before it is up, there afterwards."""
    project.environment(
        queues={"default": {"weight": 1}, "night": {"weight": 4}},
        priority_classes={"t-urgent": {"value": 1000}},
        claims={"shared-data": {"size": "1Ti", "class": "fast"}},
    )
    found = doctor(project, "-e", "dev", "--for", "up", code=1)
    assert found["verbs"]["up"]["missing"] == ["environment"]
    check = found["checks"]["environment"]
    assert check["details"]["missing"] == [
        "queues night",
        "priorityclasses t-urgent",
        "persistentvolumeclaims shared-data",
    ]
    assert check["fix"].startswith(f"`{DEPLOY}` creates")
    assert found["verbs"]["environment"]["ready"]
    (project.folder / "stacks" / "Pulumi.dev.yaml").write_text("config: {trainform:environment: dev}\n")
    stack = "dev"
    project.run("sh", "-c", f"{DEPLOY} --yes").succeeded()  # the backend has no such stack before
    try:
        found = doctor(project, "-e", "dev", "--for", "up")
        assert found["checks"]["environment"]["state"] == "ok"
    finally:
        project.destroy(stack)


def test_a_secret_is_looked_for_without_being_read(
    project: Project, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = {"metadata": {"name": "registry"}, "stringData": {"password": "s3cret"}}
    live.create("secrets", secret, project.namespace)
    project.environment(image_pull_secrets=["registry"])
    checks = doctor(project, "-e", "dev", "--for", "up")["checks"]
    assert (checks["environment"]["state"], "secrets registry" in checks["environment"]["found"]) == ("ok", True)
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    with contextlib.closing(ClusterApi("dev-cluster", 60.0)) as api:
        answer = api.get(f"/api/v1/namespaces/{project.namespace}/secrets/registry", metadata_only=True)
    assert answer.body.keys() == {"apiVersion", "kind", "metadata"}
