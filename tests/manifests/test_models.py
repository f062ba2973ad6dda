"""Names and types in merge patches, by lightkube's models."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, fitting, plan
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.models import KINDS, POD_TEMPLATE, violations

WORKER = "roles.worker.pod_overrides"


def main(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": {"main": fields}}}


@pytest.mark.parametrize(
    ("patch", "path", "fix"),
    [
        ({"spec": {"nodeSelecter": {"pool": "a"}}}, "spec.nodeSelecter", "write nodeSelector, or remove it"),
        (main(gpus=8), "spec.containers.main.gpus", "remove it; known: args, command"),
        (
            {"spec": {"terminationGracePeriodSeconds": "soon"}},
            "spec.terminationGracePeriodSeconds",
            "write a whole number",
        ),
        ({"spec": {"hostIPC": "no"}}, "spec.hostIPC", "write true or false"),
        ({"spec": {"volumes": "data"}}, "spec.volumes", "write a list"),
        ({"spec": {"nodeSelector": {"gpu": True}}}, "spec.nodeSelector.gpu", "write it in quotes"),
        ({"metadata": {"labels": {"team": 7}}}, "metadata.labels.team", "write it in quotes"),
        (main(env=[{"name": "A", "value": 1}]), "spec.containers.main.env.A.value", "write it in quotes"),
        (main(env={"A": "b"}), "spec.containers.main.env", "write a mapping"),
        (
            main(volumeMounts={"scratch": {"readOnly": True}}),
            "spec.containers.main.volumeMounts.scratch",
            "add `mountPath`",
        ),
        (
            main(livenessProbe={"tcpSocket": {"port": 1.5}}),
            "spec.containers.main.livenessProbe.tcpSocket.port",
            "write a whole number or text",
        ),
    ],
    ids=str,
)
def test_names_and_types_of_pods(patch: dict[str, Any], path: str, fix: str) -> None:
    made = experiment(roles={"worker": {"env": {"OWN": "1"}, "pod_overrides": patch}})
    problems = [each for each in job_problems(made, environment()) if each.path == f"{WORKER}.{path}"]
    assert problems[0].fix.startswith(fix)


@pytest.mark.parametrize(
    ("key", "patch", "path"),
    [
        ("service", {"spec": {"sessionAffinityTimeout": 5}}, "spec.sessionAffinityTimeout"),
        ("claim-checkpoints", {"spec": {"storageClassName": 5}}, "spec.storageClassName"),
        ("launch-script", {"immutable": "yes"}, "immutable"),
        ("job", {"metadata": {"labels": "vision"}}, "metadata.labels"),
        (
            "job",
            {"spec": {"tasks": {"worker": {"template": {"spec": {"tolerations": {}}}}}}},
            "spec.tasks.worker.template.spec.tolerations",
        ),
    ],
)
def test_names_and_types_of_objects(key: str, patch: dict[str, Any], path: str) -> None:
    storage = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}
    problems = job_problems(experiment(storage=storage, manifest_overrides={key: patch}), environment())
    assert [problem.path for problem in problems] == [f"manifest_overrides.{key}.{path}"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_rendered_has_no_violation(backend: str) -> None:
    """Otherwise a patch of one field would be blamed for another one."""
    storage = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}
    roles = fitting(backend, {"master": {}, "worker": {"replicas": 2}})
    planned = plan(backend=backend, storage=storage, roles=roles, shared_memory="1Gi")
    manifests = job_manifests(planned)
    for manifest in manifests:
        if manifest.body["kind"] in KINDS:
            assert [*violations(manifest.body, manifest.body["kind"])] == []
    for template in BACKENDS[backend].templates(planned, manifests):
        assert [*violations(template.body, POD_TEMPLATE)] == []
