"""`trainform new --from-context` on a real control plane: what it writes is right for the cluster that it read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_doctor import become
from trainform.job.check import check_environment

pytestmark = pytest.mark.proof("a cluster read as an environment, and a preview there")

CONTEXT = "dev-cluster"


def queue(live: Live, name: str, **spec: object) -> None:
    """Make an open queue that is nobody's stack's."""
    live.create(
        "queues", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": {"weight": 1, **spec}}
    )  # fmt: skip
    until(lambda: live.get("queues", name).get("status", {}).get("state") == "Open", f"the queue {name} to open")


@pytest.fixture
def queues(live: Live) -> Iterator[None]:
    """Two of somebody else's, one below the other: it must go first."""
    queue(live, "night")
    queue(live, "late-night", parent="night")
    yield
    live.delete("queues", "late-night")
    until(lambda: live.find("queues", "late-night") is None, "the queue late-night to go")
    path = live.path("queues", name="night")
    # the webhook learns of it from a cache of its own
    until(lambda: live.request("DELETE", path).status_code == 200, "the queue night to go")


def use_own_namespace(project: Project) -> str:
    """Make the context's namespace the project's, as a user does; the kubeconfig that says so."""
    path = project.folder / "kubeconfig"
    content = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    for context in content["contexts"]:
        context["context"]["namespace"] = project.namespace
    path.write_text(yaml.safe_dump(content))
    project.environ["KUBECONFIG"] = str(path)
    return str(path)


def test_what_a_live_cluster_offers(project: Project, queues: None) -> None:
    use_own_namespace(project)
    printed = project.trainform("new", "-e", "live", "--from-context", CONTEXT).succeeded()
    assert "wrote stacks/environments/live.yaml" in printed
    assert "note:" not in printed
    found = check_environment("live", project.folder).or_raise()
    dev = check_environment("dev", project.folder).or_raise()
    (kind,) = found.accelerators.values()
    (offered,) = dev.accelerators.values()
    assert (kind.resource, kind.per_node, kind.nodes) == (offered.resource, offered.per_node, offered.nodes)
    assert found.rdma is not None
    assert dev.rdma is not None
    assert found.rdma.resource == dev.rdma.resource
    assert set(dev.storage_classes.values()) <= set(found.storage_classes.values())
    assert (found.backend, found.namespace.name, found.cluster.context) == ("volcano", project.namespace, CONTEXT)
    assert list(found.queues) == ["late-night"], "a queue with children accepts no jobs"
    words = ("--timeout", "60", "-e", "live", "--for", "preview,up")
    answer = json.loads(project.trainform("doctor", "--output", "json", *words).succeeded())
    assert answer["ready"]
    assert "queues default, queues late-night" in answer["checks"]["environment"]["found"]

    project.trainform("new", "bert", "-e", "live", "--image", "registry.example.com/ai/bert:1").succeeded()
    assert "queue: late-night\n" in (project.folder / "stacks/experiments/bert.yaml").read_text()
    project.pulumi("stack", "init", "bert.live").succeeded()
    assert {step.op for step in project.preview("bert.live")} == {"create"}
    # the queues are somebody else's: the environment's own stack leaves them alone
    project.pulumi("stack", "init", "live").succeeded()
    assert [step.kind for step in project.preview("live") if step.type.startswith("kubernetes:")] == []


def test_an_account_that_may_read_nothing(project: Project, live: Live) -> None:
    path = f"/api/v1/namespaces/{project.namespace}/serviceaccounts"
    token = live.request("POST", f"{path}/default/token", {"spec": {}}).json()["status"]["token"]
    become(project, {"token": token})
    ran = project.trainform("new", "-e", "live", "--from-context", CONTEXT)
    assert "note: nodes could not be read: this account has no permission to list nodes" in ran.succeeded()
    assert token not in ran.output
    assert check_environment("live", project.folder).or_raise().accelerators == {}
