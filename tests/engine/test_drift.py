"""`trainform drift` beside the real API server, webhooks and controllers: each kind of change by hand is seen, nothing
else is, and what the report says to run puts it back."""

from __future__ import annotations

import base64
import copy
import dataclasses
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest

from tests.engine.conftest import own_project
from tests.engine.drifting import MARK, SPY, config, drift, take_over
from tests.engine.kueue import local_queue
from tests.engine.live import Live, until
from tests.engine.pods import as_planned
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.engine.test_capacity_of_kueue import QUOTAS
from trainform.manifests.manifest import Manifest

pytestmark = pytest.mark.proof("live objects that somebody has changed by hand")

APPLY, MERGE, PATCH = (f"application/{kind}" for kind in ("apply-patch+yaml", "merge-patch+json", "json-patch+json"))
PLURALS = {"Service": "services", "Queue": "queues", "PersistentVolumeClaim": "persistentvolumeclaims",
    "Secret": "secrets",
           "ConfigMap": "configmaps", "Job": "jobs", "PyTorchJob": "pytorchjobs", "JobSet": "jobsets"}  # fmt: skip
OURS = "app.kubernetes.io/name"
PODS = "spec.pytorchReplicaSpecs.Worker.template.spec.containers"


def bert(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "image": "registry.example.com/ai/pytorch-training:a",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "env": {"EPOCHS": "3", "LETTER": "A"},
        "labels": {"team": "vision"},
        "annotations": {"example.com/owner": "vision"},
        **data,
    }


VOLCANO: dict[str, Any] = {
    "roles": {"worker": {"replicas": 2}, "watch": {"ranked": False, "replicas": 1, "command": ["watch"]}},
    "storage": {"runs": {"size": "1Gi", "mount": "/runs"}},
    "network": {"host": True, "addresses": "service"},
    "queue": {"weight": 2},
    "ssh": {},
}
KUBEFLOW: dict[str, Any] = {"backend": "kubeflow", "roles": {"worker": {"replicas": 2, "memory": "2Gi"}}}


def apply(live: Live, rendered: dict[str, Any]) -> None:
    """As `pulumi up` writes it."""
    body, metadata = dict(rendered), rendered["metadata"]
    if "stringData" in body:  # the provider too writes it in this form, of which the server keeps the managers
        body["data"] = {key: base64.b64encode(text.encode()).decode() for key, text in body.pop("stringData").items()}
    path = live.path(PLURALS[body["kind"]], metadata.get("namespace"), metadata["name"])
    response = live.request("PATCH", f"{path}?fieldManager=trainform&force=true", body, APPLY)
    assert response.status_code in (200, 201), response.text


@dataclasses.dataclass(frozen=True)
class Deployed:
    """The objects of a stack that is up."""

    live: Live
    manifests: tuple[Manifest, ...]

    def body(self, kind: str, name: str = "") -> dict[str, Any]:
        return next(
            each.body for each in self.manifests if each.body["kind"] == kind and name in each.body["metadata"]["name"]
        )

    def path(self, kind: str, name: str = "") -> str:
        metadata = self.body(kind, name)["metadata"]
        return self.live.path(PLURALS[kind], metadata.get("namespace"), metadata["name"])

    def edit(self, kind: str, patch: Any, name: str = "", manager: str = "kubectl-edit") -> None:
        """As `kubectl edit` does."""
        how = PATCH if isinstance(patch, list) else MERGE
        response = self.live.request("PATCH", f"{self.path(kind, name)}?fieldManager={manager}", patch, how)
        assert response.status_code == 200, response.text

    def delete(self, kind: str, name: str = "") -> None:
        path = self.path(kind, name)
        assert self.live.request("DELETE", path).status_code in (200, 202)
        until(lambda: self.live.request("GET", path).status_code == 404, f"{path} to be gone")

    def anew(self, kind: str, edit: Callable[[dict[str, Any]], object] = lambda body: None, name: str = "") -> None:
        """As `kubectl delete` and `kubectl create` do, of an edited object."""
        body = copy.deepcopy(self.body(kind, name))
        self.delete(kind, name)
        edit(body)
        collection = self.path(kind, name).rpartition("/")[0]
        response = self.live.request("POST", f"{collection}?fieldManager=kubectl-create", body)
        assert response.status_code == 201, response.text

    def restore(self, kind: str, name: str = "") -> None:
        """As `pulumi up` writes it, and faster."""
        body = self.body(kind, name)
        if name == "deployed":  # which is rendered without the version and the stack
            mark = {MARK: f"trainform/{body['metadata']['name'].removesuffix('-deployed')}.dev"}
            metadata = {**body["metadata"], "annotations": {**body["metadata"]["annotations"], **mark}}
            body = {**body, "data": {**body["data"], "version": version("trainform")}, "metadata": metadata}
        apply(self.live, body)


def other_image(body: dict[str, Any]) -> None:
    for task in body["spec"]["tasks"]:
        task["template"]["spec"]["containers"][0]["image"] = "registry.example.com/ai/pytorch-training:b"


OTHER_PORT = [{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}]
CONTAINER = "/spec/pytorchReplicaSpecs/Worker/template/spec/containers/0"


def replace(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": path, "value": value}]


# Stack, kind, part of the name, what `kubectl edit` writes there, and the path that drift reports.
EDITS: list[tuple[str, str, str, Any, str]] = [
    ("bert", "Job", "", replace("/spec/tasks/1/replicas", 2), "spec.tasks.watch.replicas"),
    ("bert", "Job", "", {"metadata": {"labels": {"team": "speech"}}}, "metadata.labels.team"),
    ("bert", "Job", "", {"metadata": {"annotations": {"example.com/owner": None}}},
        "metadata.annotations.example.com/owner"),
    ("bert", "Service", "worker-1", {"metadata": {"labels": {OURS: None}}}, f"metadata.labels.{OURS}"),
    ("bert", "Service", "worker-1", OTHER_PORT, "spec.ports.rendezvous.port"),
    ("bert", "Service", "worker-1", {"spec": {"publishNotReadyAddresses": None}}, "spec.publishNotReadyAddresses"),
    ("bert", "Queue", "", {"spec": {"weight": 7}}, "spec.weight"),
    ("bert", "Secret", "", {"data": {"id_ed25519": SPY}}, "data.id_ed25519"),
    ("bert", "Secret", "", {"data": {"config": None}}, "data.config"),
    ("bert", "ConfigMap", "deployed", {"data": {"version": "9.9.9"}}, "data.version"),
    ("bert", "ConfigMap", "deployed", {"metadata": {"annotations": {MARK: None}}}, f"metadata.annotations.{MARK}"),
    ("pytorch", "PyTorchJob", "", replace(f"{CONTAINER}/image", "other:b"), f"{PODS}.pytorch.image"),
    ("pytorch", "PyTorchJob", "", [{"op": "test", "path": f"{CONTAINER}/env/8/name", "value": "EPOCHS"},
        *replace(f"{CONTAINER}/env/8/value", "4")], f"{PODS}.pytorch.env.EPOCHS.value"),
    ("pytorch", "PyTorchJob", "", replace(f"{CONTAINER}/resources/requests/memory", "1Gi"),
        f"{PODS}.pytorch.resources.requests.memory"),
]  # fmt: skip
GROWN = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, addons_environ: dict[str, str], addons_live: Live
) -> Iterator[Project]:
    """One project for the first two tests; the end of another project takes all queues with it."""
    yield from own_project(tmp_path_factory.mktemp("drift"), addons_environ, addons_live)


@pytest.fixture(scope="module")
def both(shared: Project, addons_live: Live) -> dict[str, Deployed]:
    """Two stacks that are up, whose files name them too."""
    for name, data in (("bert", VOLCANO), ("pytorch", KUBEFLOW)):
        shared.experiment(name, bert(data))
    shared.up(stack_of(shared, "both", ["bert", "pytorch"]))
    for name in ("bert", "pytorch"):
        take_over(addons_live, shared, name)
        as_planned(addons_live, shared.plan(name))
    return {name: Deployed(addons_live, shared.rendered(name).manifests) for name in ("bert", "pytorch")}


def told(project: Project, experiment: str, code: int = 3) -> dict[str, tuple[str, list[str]]]:
    """State and fields of each object that is told, by kind and name."""
    stack = drift(project, f"{experiment}.dev", code=code)[f"{experiment}.dev"]
    return {
        f"{each['kind']}/{each['name']}": (each["state"], [field["path"] for field in each["fields"]])
        for each in stack["objects"]
    }


def test_each_kind_of_change_by_hand_is_seen(both: dict[str, Deployed], shared: Project) -> None:
    expected: dict[str, dict[str, set[str]]] = {name: {} for name in both}
    drift(shared, "bert.dev", "pytorch.dev")
    for stack, kind, name, patch, path in EDITS:
        both[stack].edit(kind, patch, name)
        where = f"{kind}/{both[stack].body(kind, name)['metadata']['name']}"
        expected[stack].setdefault(where, set()).add(path)
    for stack, objects in expected.items():
        found = told(shared, stack)
        assert {where: (state, set(paths)) for where, (state, paths) in found.items()} == {
            where: ("changed", paths) for where, paths in objects.items()
        }
    both["bert"].delete("Service", "worker-1")  # to an apply another port is a second one of the same name
    for stack, kind, name in dict.fromkeys(edit[:3] for edit in EDITS):
        both[stack].restore(kind, name)
    assert [told(shared, stack, code=0) for stack in both] == [{}, {}]


def test_objects_that_are_gone_or_made_anew_and_fields_of_others(both: dict[str, Deployed], shared: Project) -> None:
    project, deployed = shared, both["bert"]
    service = f"Service/{deployed.body('Service', 'worker-1')['metadata']['name']}"
    deployed.delete("Service", "worker-1")
    assert told(project, "bert") == {service: ("gone", [])}
    deployed.restore("Service", "worker-1")
    deployed.anew("Service", lambda body: body["spec"]["ports"][0].update(port=9), "worker-1")
    state, fields = told(project, "bert")[service]
    assert state == "made anew"
    assert any(path.startswith("spec.ports") for path in fields)
    deployed.delete("Service", "worker-1")
    deployed.restore("Service", "worker-1")

    deployed.anew("Job", other_image)
    stack = drift(project, "bert.dev", code=3)["bert.dev"]
    (job,) = stack["objects"]
    assert (job["state"], job["manager"]) == ("made anew", "kubectl-create")
    images = [f"spec.tasks.{role}.template.spec.containers.main.image" for role in ("worker", "watch")]
    assert [field["path"] for field in job["fields"]] == images
    assert "is compared without the API server" in stack["notes"][0], "Volcano refuses the dry run of another image"

    deployed.delete("ConfigMap", "deployed")
    assert told(project, "bert") == {"ConfigMap/bert-deployed": ("gone", [])}

    other = both["pytorch"]
    other.edit("PyTorchJob", {"metadata": {"labels": {"cost-center": "42"}}}, manager="label-tool")
    more = {"name": "MORE", "value": "1"}  # this operator tells variables apart by name: an apply leaves it
    other.edit("PyTorchJob", [{"op": "add", "path": f"{CONTAINER}/env/-", "value": more}])
    found = drift(project, "pytorch.dev")["pytorch.dev"]
    assert found["outcome"] == "in sync"
    (fields,) = (each["others"] for each in found["objects"])
    assert sorted((field["path"], field["now"], field["manager"]) for field in fields) == [
        ("metadata.labels.cost-center", "42", "label-tool"),
        (f"{PODS}.pytorch.env.MORE", more, "kubectl-edit"),
    ]

    deployed.restore("ConfigMap", "deployed")
    deployed.delete("Job")
    deployed.restore("Job")
    deployed.edit("PersistentVolumeClaim", GROWN)  # which cannot be undone
    (claim,) = drift(project, "bert.dev", code=3).values()
    assert [field["path"] for each in claim["objects"] for field in each["fields"]] == [
        "spec.resources.requests.storage"
    ]
    assert "is invalid" in claim["notes"][0]


def test_what_kueue_does_to_hold_a_job_back_and_to_place_it_is_no_drift(
    addons_project: Project, addons_live: Live
) -> None:
    """It switches `suspend`, of which nothing is told, and writes into the pod templates which nodes the job may have:
    a field of others."""
    project, namespace = addons_project, addons_project.namespace
    project.environment(admission="kueue", limits={})
    with local_queue(addons_live, namespace, QUOTAS, {"example.com/pool": "a800"}):
        roles = {"worker": {"replicas": 2, "accelerators": {"a800": 8}}}
        project.experiment("held", bert({"backend": "jobset", "queue": "team", "roles": roles}))
        for manifest in project.rendered("held").manifests:
            apply(addons_live, manifest.body)
        name = project.plan("held").job
        until(lambda: "example.com/pool" in str(addons_live.get("jobsets", name, namespace)["spec"]),
            "Kueue to place it")  # fmt: skip
        (stack,) = drift(project, config(project, "held")).values()
        assert (stack["outcome"], stack["notes"]) == ("in sync", [])
        (job,) = stack["objects"]
        assert {field["manager"] for field in job["others"]} == {"kueue"}
        assert not [field for field in job["others"] if field["path"].endswith("suspend")]


def test_what_the_report_says_to_run_puts_it_back(addons_project: Project, addons_live: Live) -> None:
    project = addons_project
    project.experiment("bert", bert(VOLCANO))
    stack = project.stack("bert")
    project.ssh_secret(stack).succeeded()
    project.up(stack)
    as_planned(addons_live, project.plan("bert"))
    deployed = Deployed(addons_live, project.rendered("bert").manifests)
    deployed.edit("Queue", {"spec": {"weight": 7}})
    deployed.edit("Queue", {"metadata": {"labels": {"by-hand": "1"}}}, manager="kubectl-label")
    deployed.edit("Queue", {"metadata": {"labels": {"by-a-tool": "1"}}}, manager="label-tool")
    deployed.edit("Secret", {"data": {"id_ed25519": SPY}})
    deployed.edit("ConfigMap", {"metadata": {"labels": {OURS: "other"}}}, "launch")
    deployed.edit("Service", OTHER_PORT, "worker-0")
    deployed.delete("Service", "worker-1")
    deployed.delete("Job")
    assert len(told(project, "bert")) == 6

    refreshed = project.pulumi("preview", "--refresh", "-s", stack)
    assert refreshed.code != 0
    relabel, delete, up = (command.split() for command in drift(project, stack, code=3)[stack]["commands"])
    launch = deployed.body("ConfigMap", "launch")["metadata"]["name"]
    assert relabel == ["kubectl", "label", "configmap", launch, "-n", project.namespace, "--overwrite", f"{OURS}=bert"]
    deployed.edit("ConfigMap", {"metadata": {"labels": {OURS: "bert"}}}, "launch", "kubectl-label")
    assert delete == ["kubectl", "delete", "service", "bert-worker-0", "-n", project.namespace]
    deployed.delete("Service", "worker-0")

    project.unchanged(stack)  # a plain preview sees nothing of all this
    refreshed = project.pulumi("preview", "--refresh", "-s", stack)
    assert refreshed.code != 0
    assert "field conflict" in refreshed.output
    project.run(*up, "--yes", "--non-interactive").succeeded()
    assert told(project, "bert", code=0) == {"Queue/bert": ("as deployed", [])}, "the label of the tool stays"
    project.unchanged(stack)
    queue = addons_live.get("queues", "bert")
    assert queue["spec"]["weight"] == 2
    assert {"by-hand", "by-a-tool"} & queue["metadata"]["labels"].keys() == {"by-a-tool"}
    assert addons_live.get("secrets", "bert-ssh", project.namespace)["data"]["id_ed25519"] != SPY
    project.destroy(stack)


def test_an_environments_own_stack_is_compared_with_its_file(addons_project: Project, addons_live: Live) -> None:
    """Volcano makes the queue `default` itself, so that the stack changes some of its fields alone."""
    project, live = addons_project, addons_live
    queues = {"default": {"weight": 1}, "night": {"weight": 3}}
    project.environment(queues=queues)
    stack = project.stack()
    project.up(stack)
    until(lambda: live.get("queues", "night").get("status", {}).get("state") == "Open", "the queue to be open")
    (found,) = drift(project, stack).values()
    assert (found["outcome"], found["objects"], found["compared"]) == ("in sync", [], 2)

    project.environment(queues={**queues, "night": {"weight": 5}})
    (found,) = drift(project, stack).values()
    assert found["outcome"] == "in sync"
    project.environment(queues=queues)
    live.merge(live.path("queues", None, "night"), {"spec": {"weight": 7}}, "kubectl-edit")
    (found,) = drift(project, stack, code=3).values()
    ((field,),) = (each["fields"] for each in found["objects"])
    assert (field["path"], field["was"], field["now"]) == ("spec.weight", 3, 7)
    project.destroy(stack)
