"""Whatever `check` accepts, the real admission accepts; and what we rendered comes back as we said it.

The second half matters as much as the first: a field that the server rewrites would show as a change at every preview, and on a
Volcano Job every later update would be denied.
"""

from __future__ import annotations

import base64
import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.differences import changed
from tests.engine.live import Live, until
from tests.engine.project import REPOSITORY, SSH_SECRET
from tests.generators import ENVIRONMENT, experiments
from trainform.backends import job_manifests, plan_job, platform_manifests
from trainform.backends.job import job_problems
from trainform.identity.files import identity_files
from trainform.manifests.ssh import identity
from trainform.spec import Environment, Experiment
from trainform.spec.load import load_environment, parse

PLURALS = {
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Service": "services",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Queue": "queues",
    "Job": "jobs",
    "Namespace": "namespaces",
    "PriorityClass": "priorityclasses",
}


@pytest.fixture(scope="module")
def environment(live: Live) -> Iterator[Environment]:
    """The generators' environment, with its queues open and its namespace there."""
    environment = Environment.model_validate({**ENVIRONMENT, "namespace": {"name": "t-admission", "create": True}})
    made = [manifest for manifest in platform_manifests(environment) if not manifest.patch]
    for manifest in made:
        body = manifest.body
        live.create(PLURALS[body["kind"]], body, body["metadata"].get("namespace"))
    queues = set(environment.queues)

    def all_open() -> bool:
        return queues <= {
            queue["metadata"]["name"]
            for queue in live.find_all("queues")
            if queue.get("status", {}).get("state") == "Open"
        }

    until(all_open, "the queues to open")
    yield environment
    for manifest in reversed(made):
        live.delete(
            PLURALS[manifest.body["kind"]],
            manifest.body["metadata"]["name"],
            manifest.body["metadata"].get("namespace"),
        )


def admitted(live: Live, body: dict[str, Any]) -> dict[str, Any]:
    """The object as the server would keep it; fails the test with the server's words where it would not."""
    path = live.path(PLURALS[body["kind"]], body["metadata"].get("namespace"))
    response = live.request("POST", f"{path}?dryRun=All", body)
    assert response.status_code == 201, response.text
    kept: dict[str, Any] = response.json()
    if body["kind"] == "Secret":  # its texts are read under another name
        kept["stringData"] = {key: base64.b64decode(value).decode() for key, value in kept["data"].items()}
    return kept


def test_what_check_accepts_the_server_accepts_and_keeps(live: Live, environment: Environment, examples: int) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        parsed = parse(Experiment, copy.deepcopy(data))
        if parsed.problems or parsed.model is None or job_problems(parsed.model, environment):
            seen["refused by check"] += 1
            return
        seen["accepted by check"] += 1
        plan = plan_job(parsed.model, environment)
        for manifest in job_manifests(plan):
            body = copy.deepcopy(manifest.body)
            if body["kind"] == "Secret" and plan.ssh is not None:
                body["stringData"] = identity_files(identity(plan), SSH_SECRET, plan.ssh.rotation)
            if body["kind"] == "Job" and plan.queue.request is not None:
                body["spec"]["queue"] = (
                    "default"  # its own queue is only dry-run as well, and Volcano wants an open one
                )
            assert list(changed(body, admitted(live, body))) == []

    check()
    # the proof is worth what it covers: most of what is drawn must be accepted
    assert seen["accepted by check"] > examples / 2, seen


def test_the_teaching_environment_is_admitted(live: Live) -> None:

    for manifest in platform_manifests(load_environment("dev", REPOSITORY).checked()):
        if not manifest.patch and manifest.body["kind"] != "PersistentVolumeClaim":
            assert list(changed(manifest.body, admitted(live, manifest.body))) == []
