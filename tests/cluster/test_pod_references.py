"""Objects of others that pods name, and what of it a cluster does not have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import Answer
from trainform.cluster.outcome import Outcome, StackContext
from trainform.cluster.pod_references import PULL_SECRET, Reference, judge, references
from trainform.job.render import draft_plan, job_manifests
from trainform.manifests.ssh_files import REQUIRED_FILES
from trainform.spec.experiment import Experiment

MISSING, FORBIDDEN = Answer(404, {}), Answer(403, {})
TOKEN = {"secret": {"name": "hf", "key": "token"}}
MOUNTS = {
    "serviceAccountName": "mine",
    "runtimeClassName": "gvisor",
    "volumes": {
        "more": {"persistentVolumeClaim": {"claimName": "datasets-2024"}},
        "both": {"projected": {"sources": [{"secret": {"name": "token", "items": [{"key": "hf", "path": "hf"}]}}]}},
        "perhaps": {"configMap": {"name": "tuning", "optional": True}},
    },
    "containers": {"main": {"envFrom": [{"configMapRef": {"name": "proxies"}}]}},
}
PATCH = "roles.worker.pod_overrides.spec"


def named(*expected: str, backend: str = "volcano", worker: Any = (), **parts: Any) -> list[Reference]:
    data = {"name": "bert", "image": "a:1", "launcher": {"command": ["true"]}, "backend": backend, **parts}
    plan = draft_plan(
        Experiment.model_validate({**data, "roles": {"worker": {"replicas": 2, **dict(worker)}}}), environment()
    )
    manifests = job_manifests(plan)
    made = {(manifest.body["kind"], manifest.body["metadata"]["name"]) for manifest in manifests}
    found = references(plan, BACKENDS[backend].templates(plan, manifests), made, expected)
    return [each for each in found if each != Reference("Queue", "default", (), "queue")]


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubeflow"])
def test_variables_of_the_experiment_of_a_role_and_of_a_patch(backend: str) -> None:
    config = {"config_map": {"name": "tuning", "key": "steps"}}
    patched = {"valueFrom": {"secretKeyRef": {"name": "wandb", "key": "key"}}}
    perhaps = {"valueFrom": {"secretKeyRef": {"name": "perhaps", "key": "key", "optional": True}}}
    spec = {"containers": {"main": {"env": {"WANDB": patched, "PERHAPS": perhaps}}}}
    worker = {
        "env": {"STEPS": config, "HF_USER": {"secret": {"name": "hf", "key": "user"}}},
        "pod_overrides": {"spec": spec},
    }
    assert {*named(backend=backend, env={"HF_TOKEN": TOKEN}, worker=worker)} == {
        Reference("Secret", "hf", ("token", "user"), "env.HF_TOKEN"),
        Reference("ConfigMap", "tuning", ("steps",), "roles.worker.env.STEPS"),
        Reference("Secret", "wandb", ("key",), f"{PATCH}.containers.main.env.WANDB"),
    }


def test_what_a_patch_of_pods_names() -> None:
    assert {*named(worker={"pod_overrides": {"spec": MOUNTS}})} == {
        Reference("ServiceAccount", "mine", (), f"{PATCH}.serviceAccountName"),
        Reference("RuntimeClass", "gvisor", (), f"{PATCH}.runtimeClassName"),
        Reference("PersistentVolumeClaim", "datasets-2024", (), f"{PATCH}.volumes.more", as_files=True),
        Reference("Secret", "token", ("hf",), f"{PATCH}.volumes.both", as_files=True),
        Reference("ConfigMap", "proxies", (), f"{PATCH}.containers.main.envFrom"),
    }


def test_volumes_of_the_experiment() -> None:
    """A ConfigMap may have the name of a claim."""
    storage = {
        "data": {"claim": "tuning", "mount": "/data"},
        "nccl": {"config_map": "tuning", "mount": "/etc/nccl"},
        "hub": {"secret": "hub", "mount": "/etc/hub", "roles": ["worker"]},
    }
    assert {*named(storage=storage)} == {
        Reference("PersistentVolumeClaim", "tuning", (), "storage.data", as_files=True),
        Reference("ConfigMap", "tuning", (), "storage.nccl", as_files=True),
        Reference("Secret", "hub", (), "storage.hub", as_files=True),
    }


def test_fields_with_one_name() -> None:
    assert {*named(queue="night", priority_class="urgent", service_account="trainer")} == {
        Reference("Queue", "night", (), "queue"),
        Reference("PriorityClass", "urgent", (), "priority_class"),
        Reference("ServiceAccount", "trainer", (), "service_account"),
    }


def test_files_of_ssh_keys_of_git_and_pull_secrets() -> None:
    git = {
        "repository": "git@git.example.com:a/b",
        "commit": "a" * 40,
        "known_hosts": [
            "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
        ],
    }
    step = {"name": "code", "git": {**git, "path": "/code", "key": {"name": "deploy", "key": "id"}}}
    found = named(
        ssh={"secret": "own"}, prepare=[step], image_pull_secrets=["harbor"], launcher={"mpi": {"command": ["a"]}}
    )
    assert {*found} >= {
        Reference("Secret", "own", REQUIRED_FILES, "ssh.secret", as_files=True),
        Reference("Secret", "deploy", ("id",), "prepare[0].git.key", as_files=True),
        Reference(PULL_SECRET, "harbor", (), "image_pull_secrets"),
    }


def test_what_the_job_or_the_program_makes_is_not_looked_up() -> None:
    assert (
        named(launcher={"torchrun": {"script": "/train.py"}}, storage={"data": {"size": "1Ti", "mount": "/data"}}) == []
    )
    assert named("hf", env={"HF_TOKEN": TOKEN}) == []


def test_a_missing_object_and_the_line_that_makes_it() -> None:
    secret = Reference("Secret", "hf", ("token", "user"), "env.HF_TOKEN")
    (problem,) = judge(secret, MISSING, "ai", StackContext()).problems
    assert (problem.path, problem.reason) == ("env.HF_TOKEN", "the Secret hf does not exist in ai")
    assert "kubectl create secret generic hf -n ai --from-file=token=FILE --from-file=user=FILE;" in problem.fix
    config = Reference("ConfigMap", "tuning", ("steps",), "env.STEPS")
    assert (
        "kubectl create configmap tuning -n ai --from-literal=steps=…;"
        in judge(config, MISSING, "ai", StackContext()).problems[0].fix
    )
    files = Reference("Secret", "own", ("id",), "ssh.secret", as_files=True)
    assert (
        "kubectl create secret generic own -n ai --from-file=id=FILE;"
        in judge(files, MISSING, "ai", StackContext()).problems[0].fix
    )


def test_a_missing_key() -> None:
    secret = Reference("Secret", "hf", ("token", "user"), "env.HF_TOKEN")
    assert (
        judge(secret, Answer(200, {"data": {"token": "aHVudGVyMg==", "user": "YQ=="}}), "ai", StackContext())
        == Outcome()
    )
    found = judge(secret, Answer(200, {"data": {"token": "aHVudGVyMg=="}}), "ai", StackContext())
    (problem,) = found.problems
    assert problem.reason == "the Secret hf in ai has no key user"
    assert """kubectl patch secret hf -n ai --type merge -p '{"stringData": {"user": "…"}}'""" in problem.fix
    assert "aHVudGVyMg" not in repr(found)


@pytest.mark.parametrize("state", ["Closed", "Closing"])
def test_a_queue_that_is_not_open(state: str) -> None:
    """Volcano's controller opens a new queue, which has no state until then."""
    queue = Reference("Queue", "night", (), "queue")
    (problem,) = judge(queue, Answer(200, {"status": {"state": state}}), "ai", StackContext()).problems
    assert problem.reason.startswith(f"the queue night is {state}, ")
    for status in ({"state": "Open"}, {"state": ""}, {}):
        assert judge(queue, Answer(200, {"status": status}), "ai", StackContext()) == Outcome()


def test_what_may_not_be_read_is_not_checked_and_a_pull_secret_is_a_warning() -> None:
    secret = Reference("Secret", "hf", ("token",), "env.HF_TOKEN")
    assert judge(secret, FORBIDDEN, "ai", StackContext()).not_checked == [
        ("Secret hf", "this account has no permission to read it")
    ]
    found = judge(Reference(PULL_SECRET, "harbor", (), "image_pull_secrets"), MISSING, "ai", StackContext())
    assert not found.problems
    assert "kubectl create secret docker-registry harbor -n ai" in found.warnings[0]
