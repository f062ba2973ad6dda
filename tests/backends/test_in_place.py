"""What of a job changes while it runs."""

from __future__ import annotations

import copy
from typing import Any

from tests.samples import WITH_EXTRAS, plan
from trainform.backends.in_place import immutable_part
from trainform.backends.job import BACKENDS

JOB: dict[str, Any] = {
    "spec": {
        "minAvailable": 8,
        "queue": "default",
        "tasks": [{"name": "worker", "replicas": 7}, {"name": "master"}],
        "roles": {"Worker": {"replicas": 7, "restartPolicy": "Never"}, "Master": {}},
    }
}


def test_paths_are_left_out_and_the_body_is_left_alone() -> None:
    before = copy.deepcopy(JOB)
    paths = ("spec.minAvailable", "spec.tasks.*.replicas", "spec.roles.*.replicas")
    assert immutable_part(JOB, paths) == {
        "queue": "default",
        "tasks": [{"name": "worker"}, {"name": "master"}],
        "roles": {"Worker": {"restartPolicy": "Never"}, "Master": {}},
    }
    assert before == JOB


def test_a_path_that_leads_nowhere_changes_nothing() -> None:
    for path in ("spec.suspend", "spec.runPolicy.suspend", "spec.tfReplicaSpecs.*.replicas"):
        assert immutable_part(JOB, [path]) == JOB["spec"]


def test_of_a_job_of_volcanos() -> None:
    made = plan(priority_class="urgent", roles=WITH_EXTRAS)
    volcano = BACKENDS["volcano"]
    part = immutable_part(volcano.job(made).body, volcano.IN_PLACE)
    assert not {"minAvailable", "priorityClassName"} & part.keys()
    assert not any({"replicas", "minAvailable"} & task.keys() for task in part["tasks"])
