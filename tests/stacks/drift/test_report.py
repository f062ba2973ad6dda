"""Stacks beside a server that answers as an API server does: which objects are read and asked about, and what is said
where something cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.applied import applied, entry
from tests.support.websites import Answer, website
from trainform import defaults
from trainform.deployed.stacks import ProjectStack
from trainform.job.render import render_job
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan.record import record_name
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import load_environment
from trainform.spec.stack import Stack
from trainform.stacks.drift.report import NO_PLATFORM, PUT_BACK, UNNOTED, commands, find_drift
from trainform.stacks.drift.report_model import DriftReport, FieldDrift, ObjectDrift, Outcome, StackDrift

DEV = load_environment("dev").or_raise()
SECRET = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"  # noqa: S105 - a made-up one
UID, OTHER = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90", "0a1b2c3d-8a54-4f0e-9b1d-3f6f6c1b2a90"
NAMES = [f"bert-{number}" for number in range(6)]


def bert(name: str = "bert", **more: Any) -> Experiment:
    data = {
        "name": name,
        "image": "registry.example.com/ai/pytorch-training:1",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs"}},
        "ssh": {},
        "queue": {"weight": 2},
    }
    return Experiment.model_validate(data | more)


def objects(experiment: Experiment, mark: str = "") -> list[dict[str, Any]]:
    """What the cluster has after an `up` of the experiment. mark: PROJECT/STACK of the stack that has made it."""
    rendered = render_job(experiment, DEV)
    assert rendered.problems == ()
    found = [applied(manifest) for manifest in rendered.manifests]
    for body in found:
        if body["kind"] == "Secret":
            body["data"] = dict.fromkeys(body.pop("stringData"), SECRET)
            (ours,) = body["metadata"]["managedFields"]
            ours["fieldsV1"]["f:data"] = ours["fieldsV1"].pop("f:stringData")
    record = one(found, "ConfigMap", record_name(experiment.name))["metadata"]
    record.setdefault("annotations", {}).update({defaults.STACK_ANNOTATION: mark} if mark else {})
    return found


def one(bodies: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    return next(body for body in bodies if body["kind"] == kind and name in body["metadata"]["name"])


Find = Callable[..., DriftReport]


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Find]:
    def finding(answers: Callable[[str], Answer], *experiments: str, environment: Environment = DEV) -> DriftReport:
        with website(answers) as server:
            use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
            names = experiments if experiments else ("bert",)
            report = find_drift(
                [
                    ProjectStack(f"{name}.dev" if name else "dev", Stack(name, "dev", 1), name, environment, "vision")
                    for name in names
                ]
            )
        assert SECRET not in report.model_dump_json()
        return report

    yield finding


def only(report: DriftReport) -> StackDrift:
    (stack,) = report.stacks
    assert report.outcome == stack.outcome
    return stack


def test_a_stack_as_it_was_deployed_is_compared_without_a_dry_run(find: Find) -> None:
    server = ApiObjects(objects(bert()))
    stack = only(find(server))
    assert stack == StackDrift(stack="bert.dev", experiment="bert", environment="dev", namespace=DEV.namespace.name,
        revision=stack.revision, outcome=Outcome.in_sync, compared=7)  # fmt: skip
    assert len(stack.revision) == 6
    assert not [path for path in server.asked if "dryRun" in path]


def test_another_cluster_than_that_of_the_environment_says_nothing_of_the_stack(find: Find) -> None:
    """A kubeconfig with a context of the same name: what is there is not what was deployed, in sync or not."""
    live = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": UID}}
    server = ApiObjects([*objects(bert()), live])
    bound = {uid: DEV.model_copy(update={"cluster": DEV.cluster.model_copy(update={"uid": uid})}) for uid in (UID,
            OTHER)}  # fmt: skip
    assert only(find(server, environment=bound[UID])).outcome is Outcome.in_sync
    asked = len(server.asked)
    stack = only(find(server, environment=bound[OTHER]))
    assert (stack.outcome, stack.compared, stack.objects) == (Outcome.failed, 0, [])
    [lacking] = stack.not_compared
    assert f"leads to another one, whose UID is {UID}" in lacking.reason
    assert [path for path in server.asked[asked:] if "kube-system" not in path] == []


@pytest.mark.parametrize("mark", ["vision/bert.prod", "speech/bert.dev"])
def test_what_another_stack_has_deployed_is_not_in_sync(find: Find, mark: str) -> None:
    assert only(find(ApiObjects(objects(bert(), "vision/bert.dev")))).outcome is Outcome.in_sync
    stack = only(find(ApiObjects(objects(bert(), mark))))
    assert stack.outcome is Outcome.failed
    assert [(each.what, each.reason) for each in stack.not_compared] == [
        ("all objects", f"bert is deployed there by the stack {mark}, and not by vision/bert.dev")
    ]


def test_many_stacks_are_read_by_lists(find: Find) -> None:
    server = ApiObjects([body for name in NAMES for body in objects(bert(name))])
    report = find(server, *NAMES)
    assert (report.outcome, [stack.compared for stack in report.stacks]) == (Outcome.in_sync, [7] * len(NAMES))
    assert len(server.asked) < 20  # six stacks have 42 objects


def test_an_object_without_our_label_is_not_in_the_list_and_not_gone(find: Find) -> None:
    bodies = [body for name in NAMES for body in objects(bert(name))]
    del one(bodies, "Service", "bert-3")["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    del one(bodies, "ConfigMap", "bert-4-deployed")["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    report = find(ApiObjects(bodies), *NAMES)
    changed = {stack.experiment: stack.objects for stack in report.stacks if stack.objects}
    assert {name: [(each.kind, each.state, [field.path for field in each.fields]) for each in found] for name,
        found in changed.items()} == {
        "bert-3": [("Service", "changed", ["metadata.labels.app.kubernetes.io/managed-by"])],
        "bert-4": [("ConfigMap", "changed", ["metadata.labels.app.kubernetes.io/managed-by"])],
    }  # fmt: skip


class Judging:
    """An API server that answers dry runs too. answers: by PLURAL/NAME."""

    def __init__(self, bodies: list[dict[str, Any]], answers: dict[str, tuple[int, Any]]) -> None:
        self.objects, self.answers = ApiObjects(bodies), answers

    def __call__(self, path: str) -> Answer:
        if "dryRun=All" not in path:
            return self.objects(path)
        assert "fieldManager=trainform" in path
        assert "force=true" in path
        status, body = self.answers["/".join(path.partition("?")[0].split("/")[-2:])]
        return status, "application/json", json.dumps(body).encode()


def edited() -> list[dict[str, Any]]:
    """The Service is edited by hand."""
    bodies = objects(bert())
    service = one(bodies, "Service")
    service["spec"]["publishNotReadyAddresses"] = False
    service["metadata"]["managedFields"].append(entry("kubectl-edit", {"f:spec": {"f:publishNotReadyAddresses": {}}}))
    return bodies


def test_what_differs_is_judged_by_the_server(find: Find) -> None:
    stack = only(find(Judging(edited(), {"services/bert": (200, one(objects(bert()), "Service"))})))
    ((drifted),) = stack.objects
    assert [(field.path, field.was, field.now, field.manager) for field in drifted.fields] == [
        ("spec.publishNotReadyAddresses", True, False, "kubectl-edit")
    ]
    assert (stack.outcome, stack.notes, stack.commands) == (Outcome.drift, [], [PUT_BACK.format(stack="bert.dev")])
    same = only(find(Judging(edited(), {"services/bert": (200, one(edited(), "Service"))})))
    assert (same.outcome, same.objects) == (Outcome.in_sync, [])


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (403, "services is forbidden", "this account has no permission for a dry run of Service/bert (verb patch)"),
        (403, "admission webhook denied the request: no edits", "admission webhook denied the request: no edits"),
        (422, "Service is invalid: field is immutable", "Service is invalid: field is immutable"),
        (400, f"token {SECRET} is wrong", "[secret]"),
    ],
)
def test_where_the_dry_run_is_refused_the_comparison_is_made_here(
    find: Find, status: int, message: str, said: str
) -> None:
    stack = only(find(Judging(edited(), {"services/bert": (status, {"kind": "Status", "message": message})})))
    assert [(each.name, each.state, len(each.fields)) for each in stack.objects] == [("bert", "changed", 1)]
    assert stack.outcome is Outcome.drift
    assert stack.notes == [f"Service bert is compared without the API server, which answers the dry run with: {said}."]


def test_objects_without_notes_of_who_has_written_them_are_not_wholly_compared(find: Find) -> None:
    """Somebody may remove `managedFields`: the values count, and of a Secret and of the record there is nothing to go
    by."""
    bodies = objects(bert())
    for body in bodies:
        del body["metadata"]["managedFields"]
    stack = only(find(ApiObjects(bodies)))
    assert (stack.outcome, stack.objects, stack.compared) == (Outcome.incomplete, [], 7)
    assert {each.reason for each in stack.not_compared} == {UNNOTED}
    assert [each.what for each in stack.not_compared] == [
        f"{body['kind']} {body['metadata']['name']}" for body in bodies
    ]
    one(bodies, "Service")["spec"]["publishNotReadyAddresses"] = False
    stack = only(find(ApiObjects(bodies)))
    assert (stack.outcome, stack.objects[0].fields[0].path) == (Outcome.drift, "spec.publishNotReadyAddresses")


def test_a_job_with_a_ttl_goes_by_itself(find: Find) -> None:
    stack = only(find(ApiObjects([body for body in objects(bert(ttl="1h")) if body["kind"] != "Job"])))
    assert (stack.outcome, stack.objects) == (Outcome.in_sync, [])
    assert "its `ttl` deletes it" in stack.notes[0]


def test_a_stack_that_was_never_deployed_and_one_whose_record_is_gone(find: Find) -> None:
    stack = only(find(ApiObjects([])))
    assert (stack.outcome, stack.compared, stack.commands) == (Outcome.not_deployed, 0, [])
    bodies = [body for body in objects(bert()) if not body["metadata"]["name"].endswith("-deployed")]
    stack = only(find(ApiObjects(bodies)))
    assert (stack.outcome, [each.name for each in stack.objects]) == (Outcome.drift, ["bert-deployed"])
    assert [each.what for each in stack.not_compared] == ["all other objects"]


def test_a_record_that_cannot_be_read_or_rendered(find: Find) -> None:
    bodies = objects(bert())
    record = one(bodies, "ConfigMap", "-deployed")
    good = record["data"]
    wrong = {"{": "its entry `experiment` is not a mapping in JSON", '{"name": "bert"}': "cannot render it"}
    for experiment, said in wrong.items():
        record["data"] = {**good, "experiment": experiment}
        stack = only(find(ApiObjects(bodies)))
        assert stack.outcome is Outcome.failed
        assert said in stack.not_compared[0].reason


def test_what_this_account_may_not_read_is_said(find: Find) -> None:
    """No permission is needed for Secrets."""
    stack = only(find(ApiObjects(objects(bert()), forbidden=frozenset({"secrets"}))))
    assert (stack.outcome, stack.compared, stack.not_compared) == (Outcome.in_sync, 6, [])
    assert stack.notes == ["Secret bert-ssh is not compared: this account has no permission to read Secret/bert-ssh."]
    stack = only(find(ApiObjects(objects(bert()), forbidden=frozenset({"queues"}))))
    assert (stack.outcome, stack.compared, stack.objects) == (Outcome.incomplete, 6, [])
    assert [(each.what, each.reason) for each in stack.not_compared] == [
        ("Queue bert", "this account has no permission to read Queue/bert"),
    ]


def test_a_cluster_that_is_not_there_fails_its_stacks_and_no_others(
    find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = DEV.model_copy(update={"cluster": DEV.cluster.model_copy(update={"context": "prod"})})
    report = find(ApiObjects(objects(bert())), "bert", environment=elsewhere)
    assert report.outcome is Outcome.failed
    assert "the kubeconfig has no such context" in report.stacks[0].not_compared[0].reason


def test_an_environment_that_was_never_deployed_has_not_drifted(find: Find) -> None:
    """Also where the operator makes a queue of the file itself."""
    of_operator = [applied(manifest) for manifest in platform_manifests(DEV) if manifest.patch]
    for body in of_operator:
        body["metadata"]["managedFields"][0]["manager"] = "vc-scheduler"
    for bodies in ([], of_operator):
        stack = only(find(ApiObjects(bodies), ""))
        assert (stack.outcome, stack.objects, stack.commands) == (Outcome.not_deployed, [], [])
        assert stack.notes == [NO_PLATFORM]


def test_an_environment_is_compared_with_its_file(find: Find) -> None:
    small = Environment.model_validate({"name": "dev", "cluster": {"context": "dev-cluster"},
            "namespace": {"name": "ai"}, "queues": {"day": {}, "night": {"weight": 3}}})  # fmt: skip
    manifests: list[Manifest] = platform_manifests(small)
    bodies = [applied(manifest) for manifest in manifests]
    stack = only(find(ApiObjects(bodies), "", environment=small))
    assert (stack.outcome, stack.objects, stack.compared, stack.stack) == (Outcome.in_sync, [], 2, "dev")
    queue = one(bodies, "Queue", "night")
    queue["spec"]["weight"] = 1  # by trainform: the file says 3 since
    stack = only(find(Judging(bodies, {"queues/night": (200, applied(manifests[1]))}), "", environment=small))
    assert (stack.outcome, stack.objects) == (Outcome.in_sync, [])
    queue["metadata"]["managedFields"].append(entry("kubectl-edit", {"f:spec": {"f:weight": {}}}))
    stack = only(find(Judging(bodies, {"queues/night": (200, applied(manifests[1]))}), "", environment=small))
    assert (stack.outcome, stack.objects[0].fields[0].path) == (Outcome.drift, "spec.weight")


LABEL = "metadata.labels.app.kubernetes.io/name"


@pytest.mark.parametrize(
    ("kind", "namespace", "field", "before"),
    [
        (
            "Service",
            "ai",
            (LABEL, "bert"),
            ["kubectl label service bert -n ai --overwrite app.kubernetes.io/name=bert"],
        ),
        ("Queue", "", (LABEL, "bert"), ["kubectl label queue bert --overwrite app.kubernetes.io/name=bert"]),
        ("Service", "ai", ("metadata.labels.team", "vision"), []),
        ("Service", "ai", ("spec.ports.ssh.port", 22), ["kubectl delete service bert -n ai"]),
        ("Service", "ai", ("spec.ports.ssh.protocol", "TCP"), ["kubectl delete service bert -n ai"]),
        ("Service", "ai", ("spec.ports.ssh.targetPort", 22), []),
    ],
)
def test_commands_that_put_it_back(kind: str, namespace: str, field: tuple[str, Any], before: list[str]) -> None:
    """`tests/engine/test_drift.py` runs them."""
    fields = [FieldDrift(path=field[0], was=field[1], now=None)]
    found = ObjectDrift(kind=kind, name="bert", namespace=namespace, state="changed", fields=fields)
    assert commands([found], "bert.dev") == [*before, "pulumi up --refresh --skip-preview -s bert.dev"]
