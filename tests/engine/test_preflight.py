"""What the real API server and Volcano's webhooks say before anything is registered: dry runs, and the Secrets and
ConfigMaps that pods need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.refusing import LABEL, REASON, refusing
from tests.engine.test_rights import person
from tests.support.documents import blocks_of
from tests.support.repository import ROOT
from trainform.cluster.api import ClusterApi
from trainform.cluster.outcome import Outcome, StackContext
from trainform.cluster.preflight import check_job
from trainform.errors import ClusterError
from trainform.job.render import draft_plan, job_manifests
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

IMAGE = "registry.example.com/ai/pytorch-training:latest"
TOKEN = {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}}
Ask = Callable[..., Outcome]


@pytest.fixture
def ask(project: Project, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return the preflight of a job without the rules that would find its mistakes before."""

    def asking(account: str | None = None, **parts: Any) -> Outcome:
        monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"] if account is None else account)
        data = {"name": "bert", "image": IMAGE, "launcher": {"command": ["true"]}, "roles": {"worker": {}}, **parts}
        namespace = {"name": project.namespace}
        environment = Environment.model_validate({"name": "dev", "namespace": namespace})
        plan = draft_plan(Experiment.model_validate(data), environment)
        with closing(ClusterApi("dev-cluster")) as cluster:
            return check_job(cluster, plan, job_manifests(plan), ("jobs.batch.volcano.sh",), (), StackContext())

    return asking


def findings(ask: Ask, **parts: Any) -> Sequence[tuple[str, str]]:
    """Return what the preflight refuses."""
    with pytest.raises(ClusterError) as refused:
        ask(**parts)
    return refused.value.findings or [(refused.value.message, refused.value.fix)]


def make(live: Live, kind: str, namespace: str, name: str, **data: str) -> None:
    live.create(kind, {"metadata": {"name": name}, "stringData" if kind == "secrets" else "data": data}, namespace)


def patched(**spec: Any) -> dict[str, Any]:
    return {"replicas": 1, "pod_overrides": {"spec": spec}}


@pytest.mark.shows("all refusals of server and webhooks in one message, each at its patch")
def test_refusals_of_two_roles_and_of_the_job(ask: Ask) -> None:
    roles = {
        "master": patched(containers={"main": {"resources": {"limits": {"gpu": 1}}}}),
        "worker": patched(hostAliases=[{"ip": "999.1.1.1", "hostnames": ["a"]}]),
    }
    assert ask(roles={"worker": {}}) == Outcome()
    found = [reason.partition(": ")[0] for reason, _ in findings(ask, roles=roles)]
    assert [*dict.fromkeys(found)] == [
        "roles.master.pod_overrides.spec.containers.main.resources.limits.gpu",
        "roles.worker.pod_overrides.spec.hostAliases[0].ip",
    ]
    init = {"name": "first", "command": ["true"]}
    roles["master"] = {"replicas": 1, "init": [init, init]}
    roles["worker"] = {"tolerations": [
        {"key": "a", "operator": "Exists", "value": "b"}, {"key": "c", "toleration_seconds": 5}],
        "resources": {"smarter-devices.io/fuse": {"request": 1, "limit": 2}}}  # fmt: skip
    prepare = [{"name": "main", "command": ["true"]}]
    found = [reason for reason, _ in findings(ask, roles=roles, prepare=prepare)]
    for place in ("initContainers[2].name", "tolerations[0].operator", "tolerations[1].effect", "resources.requests"):
        assert place in "\n".join(found), found
    twice = {"policies": [{"event": "PodEvicted", "action": "RestartJob"}] * 2}
    ((reason, fix),) = findings(ask, manifest_overrides={"job": {"spec": {"tasks": {"worker": twice}}}})
    assert reason.startswith("manifest_overrides.job: the API server refuses Job bert-")
    assert 'admission webhook "validatejob.volcano.sh" denied the request: ' in reason
    assert fix == "change what the message names; the patches set manifest_overrides.job.spec.tasks.worker.policies"


@pytest.mark.shows("Secrets and ConfigMaps that env names are looked up, and no value of them is shown")
def test_what_env_names_must_exist(project: Project, live: Live) -> None:
    config = {"STEPS": {"config_map": {"name": "tuning", "key": "steps"}}}
    project.experiment(
        "mine", {"image": IMAGE, "launcher": {"command": ["true"]}, "env": {**TOKEN, **config}, "roles": {"worker": {}}}
    )
    make(live, "secrets", project.namespace, "hf", user="hunter2-of-the-suite")
    stack = project.stack("mine")
    output = " ".join(project.pulumi("preview", "-s", stack).failed().split())
    assert f"env.HF_TOKEN: the Secret hf in {project.namespace} has no key token" in output
    assert f"env.STEPS: the ConfigMap tuning does not exist in {project.namespace}" in output
    assert f"kubectl create configmap tuning -n {project.namespace} --from-literal=steps=…" in output
    assert "hunter2" not in output


@pytest.mark.proof("the lines that the preflight prints end its refusals, and optional references pass")
def test_what_env_names_exists(ask: Ask, project: Project, live: Live) -> None:
    perhaps = {"valueFrom": {"secretKeyRef": {"name": "perhaps", "key": "key", "optional": True}}}
    parts: dict[str, Any] = {"env": TOKEN, "roles": {"worker": patched(containers={"main": {"env": {"A": perhaps}}})}}
    ((reason, _),) = findings(ask, **parts)
    assert reason == f"env.HF_TOKEN: the Secret hf does not exist in {project.namespace}"
    make(live, "secrets", project.namespace, "hf", token="hunter2-of-the-suite")  # noqa: S106
    assert ask(**parts) == Outcome()
    volumes = {"nccl": {"config_map": "nccl", "mount": "/etc/nccl"}, "hub": {"secret": "hf", "mount": "/etc/hub"}}
    ((reason, fix),) = findings(ask, storage=volumes)
    assert reason == f"storage.nccl: the ConfigMap nccl does not exist in {project.namespace}"
    assert f"kubectl create configmap nccl -n {project.namespace} --from-file=KEY=FILE" in fix
    (warning,) = ask(image_pull_secrets=["harbor"]).warnings
    assert "the Secret harbor does not exist" in warning


@pytest.mark.proof("a missing right is not checked, in a preview and in a review")
def test_a_reviewer_without_rights(ask: Ask, project: Project, live: Live) -> None:
    reviewer = person(project, live, "reviewer", ["reviewer", "reader"])
    assert [*ask(reviewer, env=TOKEN).not_checked] == [
        ("Secret hf", "this account has no permission to read it"),
        ("Job bert-000000", "this account has no permission for a dry run (verb patch of jobs)"),
    ]
    assert findings(ask, account=reviewer, roles={"worker": patched(hostAliases=[{"ip": "9.9"}])})
    project.experiment(
        "mine", {"image": IMAGE, "launcher": {"command": ["true"]}, "env": TOKEN, "roles": {"worker": {}}}
    )
    project.stack("mine")
    project.environ["KUBECONFIG"] = reviewer
    report = project.review("mine.dev").report
    told = {"what": "preflight", "reason": "Secret hf: this account has no permission to read it."}
    assert told in report["not_checked"]
    assert not any("not checked" in message["text"] for message in report["messages"])


@contextmanager
def a_webhook_that_is_down(live: Live, namespace: str) -> Iterator[None]:
    """One of the platform team's, which judges every PodTemplate of the namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["podtemplates"], "operations": ["CREATE"]}
    hook = {
        "name": "pods.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
    }
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [hook],
    }
    live.make(body)
    try:
        yield
    finally:
        live.remove(body)


@pytest.mark.proof("a webhook that is down, a policy that refuses, and a namespace that warns")
def test_what_a_platform_team_adds(ask: Ask, project: Project, live: Live) -> None:
    with a_webhook_that_is_down(live, project.namespace):
        down = until(lambda: ask().not_checked or None, "the webhook to be asked")
    assert [what for what, _ in down] == ["the pods of worker"]
    assert 'failed calling webhook "pods.example.com"' in down[0][1]
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    live.merge(live.path("namespaces", None, project.namespace), {"metadata": {"labels": labels}})
    (warning,) = until(lambda: ask().warnings or None, "the label to hold")
    assert warning.startswith('the pods of worker: would violate PodSecurity "restricted:latest"')
    with refusing(live, project.namespace, dry_runs=True):
        found = findings(ask, labels=LABEL)
        assert found[0][0].startswith("the API server refuses Job bert-")
        assert REASON in found[0][0]


@pytest.mark.proof("a Secret that the program itself makes")
def test_expected_secrets(project: Project) -> None:
    """The program of the documents, whose Secret is not there in the first preview."""
    project.experiment(
        "resnet", {"image": IMAGE, "launcher": {"command": ["true"]}, "env": TOKEN, "roles": {"worker": {}}}
    )
    *_, program = blocks_of("python", ROOT / "docs" / "how-to" / "write-a-program.md")
    here = program.text.replace("ai-namespace", project.namespace)
    main = project.folder / "stacks" / "__main__.py"
    stack = project.program_stack("mine", {"trainform:hfToken": "hunter2-of-the-suite"})
    main.write_text(here)
    assert "hunter2" not in project.pulumi("preview", "-s", stack).succeeded()


STIFF = "cannot-grow"  # a storage class
SIZES = {"size": "1Gi", "class": "stiff", "mount": "/runs", "keep": True}


@pytest.fixture
def stiff(live: Live) -> Iterator[str]:
    """Yield a storage class whose claims cannot grow."""
    body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": STIFF},
            "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}  # fmt: skip
    live.make(body)
    yield STIFF
    live.remove(body)


@pytest.mark.proof("refusals of new objects, which the check leaves to the server")
def test_new_objects_of_an_environment(project: Project) -> None:
    night = {"deserved": {"cpu": 2}, "guarantee": {"cpu": 3}}
    claim = {"size": "1Gi", "access_modes": ["ReadWriteOncePod", "ReadWriteMany"]}
    objects: dict[str, dict[str, Any]] = {
        "deserved should less equal than capability": {"queues": {"day": {"capability": {"cpu": 1}, **night}}},
        "guarantee should less equal than deserved": {"queues": {"night": night}},
        "priority class names with 'system-' prefix are reserved": {
            "priority_classes": {"system-urgent": {"value": 1}}
        },
        "may not use ReadWriteOncePod with other access modes": {"claims": {"data": claim}},
    }
    project.environment()
    stack = project.stack()
    for reason, fields in objects.items():  # each alone: a preview may end at the first object that is refused
        project.environment(**fields)
        assert reason in project.pulumi("preview", "-s", stack).failed()


@pytest.mark.proof("refusals of the server that Pulumi's preview swallows, each with what ends it")
def test_changes_of_existing_objects(project: Project, live: Live, stiff: str) -> None:
    own: dict[str, Any] = {"storage_classes": {"stiff": stiff}, "queues": {"night": {"weight": 2}},
                           "claims": {"datasets": {"size": "1Gi", "class": "stiff"}},
                           "priority_classes": {"rush": {"value": 1000}}}  # fmt: skip
    job: dict[str, Any] = {"image": IMAGE, "launcher": {"command": ["true"]}, "roles": {"worker": {}}}
    uses = {"queue": "night", "priority_class": "rush", "storage": {
        "runs": SIZES, "data": {"claim": "datasets", "mount": "/data"}}}  # fmt: skip
    project.environment(**own)
    project.experiment("bert", {**job, **uses})
    platform, stack = project.stack(), project.stack("bert")
    preview = ("preview", "-s")
    missing = project.pulumi(*preview, stack).failed()
    assert missing.count("pulumi stack select --create dev && pulumi up -s dev") == 3, missing
    project.up(platform)
    project.up(stack)

    path = live.path("queues", None, "night")
    live.merge(path, {"spec": {"weight": 7}}, "autoscaler")
    project.unchanged(platform)
    changed = {**own, "queues": {"night": {"weight": 5}}, "priority_classes": {"rush": {"value": 2000}},
               "claims": {"datasets": {"size": "2Gi", "class": "stiff"}}}  # fmt: skip
    project.environment(**changed)
    refused = " ".join(project.pulumi(*preview, platform).failed().split())
    reasons = (
        "claims.datasets.size: the API server refuses PersistentVolumeClaim datasets: ",
        "priority_classes.rush: the API server refuses PriorityClass rush: ",
        'another manager owns spec.weight of Queue night, and Pulumi does not overwrite it: conflict with "autoscaler"',
    )
    for reason in reasons:
        assert reason in refused
    project.experiment("bert", {**job, **uses, "storage": {"runs": {**SIZES, "size": "2Gi"}}})
    assert "storage.runs.size: the API server refuses" in project.pulumi(*preview, stack).failed()
    reviewer = person(project, live, "reviewer", ["reviewer", "reader"])
    told = project.pulumi(*preview, stack, KUBECONFIG=reviewer).succeeded()
    assert "not checked: PersistentVolumeClaim bert-runs: this account has no permission for a dry run" in told

    project.environment(**{**changed, "claims": own["claims"]})
    _, _, command = refused.partition("replace it in two steps: ")
    first, _, second = command.partition("; in between")[0].partition(" && ")
    for words in (first, f"PULUMI_K8S_ENABLE_PATCH_FORCE=true {second}"):
        project.run("sh", "-c", f"{words} --yes --non-interactive --skip-preview").succeeded()
    assert live.get("priorityclasses", "rush")["value"] == 2000
    assert live.get("queues", "night")["spec"]["weight"] == 5
    project.unchanged(platform)
