"""The roles of docs/how-to/rights are enough for each person, and no more than that: with accounts that have them and
nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.live import Live, until
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.support.repository import ROOT
from tests.support.samples import fitting
from trainform.backends.backend import BACKENDS

pytestmark = pytest.mark.proof("the rights that each person needs")

RIGHTS = ROOT / "docs" / "how-to" / "rights"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
JOB: dict[str, Any] = {
    "image": "registry.example.com/ai/pytorch-training:latest",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"master": {"replicas": 1, "cpu": 1}, "worker": {"replicas": 1, "cpu": 1}},
    "storage": {"runs": {"size": "1Gi", "class": "fast", "mount": "/runs"}},
}


def role(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((RIGHTS / f"{name}.yaml").read_text())
    return found


def account(live: Live, namespace: str, name: str, roles: list[str]) -> str:
    """Make a ServiceAccount with exactly these roles; its token. Names hold the namespace, so that tests never meet."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    post(live, accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    for written in map(role, roles):
        kind, own = written["kind"], f"{written['metadata']['name']}-{namespace}"
        where = RBAC if kind == "ClusterRole" else f"{RBAC}/namespaces/{namespace}"
        post(live, f"{where}/{kind.lower()}s", {**written, "metadata": {"name": own}}, again=True)
        binding = {
            "apiVersion": written["apiVersion"],
            "kind": f"{kind}Binding",
            "metadata": {"name": f"{own}-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": own},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        post(live, f"{where}/{kind.lower()}bindings", binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token: str = post(live, f"{accounts}/{name}/token", request)["status"]["token"]
    return token


def post(live: Live, path: str, body: dict[str, Any], again: bool = False) -> dict[str, Any]:
    response = live.request("POST", path, body)
    assert response.status_code == 201 or (again and response.status_code == 409), response.text
    made: dict[str, Any] = response.json()
    return made


def kubeconfig(project: Project, token: str, name: str) -> str:
    """Return the project's kubeconfig for another account."""
    config = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = project.folder / f"{name}.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def person(project: Project, live: Live, name: str, roles: list[str]) -> str:
    """Return the kubeconfig of a new account, once its roles apply. The last role must allow to read the namespace."""
    token, user = account(live, project.namespace, name, roles), f"system:serviceaccount:{project.namespace}:{name}"
    own = live.path("namespaces", None, project.namespace)
    until(lambda: live.request("GET", own, user=user).status_code == 200, f"the rights of {name}")
    return kubeconfig(project, token, name)


def write(project: Project, **parts: Any) -> list[str]:
    """Write an experiment for each operator, and return their names."""
    for backend in BACKENDS:
        data = {**JOB, "backend": backend, "roles": fitting(backend, JOB["roles"]), **parts}
        project.experiment(f"mine-{backend}", data)
    return [f"mine-{backend}" for backend in BACKENDS]


def test_a_researcher_runs_jobs_and_a_reviewer_previews_them(addons_project: Project, addons_live: Live) -> None:
    """On every operator, in one stack."""
    project = addons_project
    researcher = person(project, addons_live, "researcher", ["researcher", "reader"])
    reviewer = person(project, addons_live, "reviewer", ["reviewer", "reader"])
    names = write(project)
    stack = stack_of(project, "mine", names)
    new = project.pulumi("preview", "-s", stack, KUBECONFIG=reviewer).succeeded()
    assert new.count("cannot patch resource") >= len(BACKENDS)  # the server is not asked, which the preview notes
    project.environ["KUBECONFIG"] = researcher
    assert "forbidden" not in project.pulumi("preview", "-s", stack).succeeded()
    assert "forbidden" not in project.up(stack)
    write(project, env={"A": "1"})
    changed = project.pulumi("preview", "-s", stack, KUBECONFIG=reviewer).succeeded()
    rows = [line for line in changed.splitlines() if "[diff: +env]" in line]
    assert [name for name in names if not any(f" {name} " in row for row in rows)] == []
    before = made_objects(project, addons_live)
    assert "is forbidden" in project.pulumi("up", "--yes", "--skip-preview", "-s", stack, KUBECONFIG=reviewer).failed()
    assert made_objects(project, addons_live) == before
    assert "forbidden" not in project.up(stack)
    assert "forbidden" not in project.destroy(stack)
    assert made_objects(project, addons_live) == set()


def made_objects(project: Project, live: Live) -> set[tuple[str, str]]:
    """Return kind and name of what the experiments have in the namespace, without pods."""
    kinds = ("services", "persistentvolumeclaims", "configmaps")
    found = {(kind, item["metadata"]["name"]) for kind in kinds for item in live.find_all(kind, project.namespace)}
    return {(kind, name) for kind, name in found if name.startswith("mine")}


@pytest.mark.parametrize("name", ["researcher", "reviewer"])
def test_what_is_not_theirs_cannot_be_changed(name: str, project: Project, live: Live) -> None:
    person(project, live, name, [name, "reader"])
    user = f"system:serviceaccount:{project.namespace}:{name}"
    node = sorted(live.names("nodes"))[0]
    label = {"metadata": {"labels": {"mine": "true"}}}
    changes = [
        ("PATCH", live.path("queues", None, "default"), label),
        ("DELETE", live.path("queues", None, "default"), None),
        ("PATCH", live.path("nodes", None, node), label),
        ("PATCH", live.path("namespaces", None, project.namespace), label),
        ("POST", live.path("configmaps", "default"), {"metadata": {"name": "mine"}}),
        ("POST", live.path("jobs", "default"), {"metadata": {"name": "mine"}}),
        ("POST", f"{RBAC}/namespaces/{project.namespace}/roles", {"metadata": {"name": "mine"}}),
        ("POST", live.path("pods", project.namespace), {"metadata": {"name": "mine"}}),
    ]
    for method, path, body in changes:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        assert live.request(method, f"{path}?dryRun=All", body, kind, user).status_code == 403, (method, path)
    assert live.request("GET", live.path("secrets", "default"), user=user).status_code == 403
    own = live.request("GET", live.path("secrets", project.namespace), user=user).status_code
    assert own == (200 if name == "researcher" else 403)
    # the same request is allowed to those who may
    assert (
        live.request("PATCH", f"{changes[0][1]}?dryRun=All", label, "application/merge-patch+json").status_code == 200
    )


def test_a_platform_engineer_runs_the_stack_of_an_environment(project: Project, live: Live) -> None:
    namespace = f"{project.namespace}-platform"
    project.environment(
        namespace={"name": namespace, "create": True},
        queues={"team-vision": {"weight": 4}},
        priority_classes={"deadline": {"value": 1000}},
        claims={"scratch": {"size": "1Gi"}},
    )
    stack = project.stack()
    researcher = person(project, live, "researcher", ["researcher", "reader"])
    assert (
        "is forbidden" in project.pulumi("up", "--yes", "--skip-preview", "-s", stack, KUBECONFIG=researcher).failed()
    )
    project.environ["KUBECONFIG"] = person(project, live, "platform", ["platform"])
    assert "forbidden" not in project.pulumi("preview", "-s", stack).succeeded()
    assert "forbidden" not in project.up(stack)
    assert live.get("queues", "team-vision")["spec"]["weight"] == 4
    assert "forbidden" not in project.destroy(stack)
    assert live.find("queues", "team-vision") is None
