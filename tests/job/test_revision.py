"""What can change while a job runs."""

from __future__ import annotations

import copy
import re
from typing import Any

from msgspec import structs

from tests.support.samples import WITH_EXTRAS, plan
from trainform.backends.table import BACKENDS
from trainform.job.objects import job_manifests
from trainform.job.revision import immutable_part, revision

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


def test_paths_that_change_in_place_on_volcano() -> None:
    made = plan(priority_class="urgent", roles=WITH_EXTRAS)
    volcano = BACKENDS["volcano"]
    part = immutable_part(volcano.job(made).body, volcano.IN_PLACE)
    assert not {"minAvailable", "priorityClassName"} & part.keys()
    assert not any({"replicas", "minAvailable"} & task.keys() for task in part["tasks"])


def test_the_revision_follows_from_the_objects_the_plan_and_the_paths() -> None:
    """The same objects give the same revision; what may change in place is the only thing that does not count."""
    made = plan(roles=WITH_EXTRAS)
    volcano = BACKENDS["volcano"]
    manifests = job_manifests(made)
    before = revision(manifests, made, volcano.IN_PLACE)
    assert re.fullmatch(r"[0-9a-f]+", before) and before == revision(iter(manifests), made, volcano.IN_PLACE)
    assert revision(manifests, made, ()) != before
    [index] = [index for index, manifest in enumerate(manifests) if manifest.key == "job"]
    for path, follows in (("minAvailable", False), ("queue", True)):
        body = copy.deepcopy(manifests[index].body)
        body["spec"][path] = "other"
        changed = [*manifests[:index], structs.replace(manifests[index], body=body), *manifests[index + 1 :]]
        assert (revision(changed, made, volcano.IN_PLACE) != before) == follows


def test_ranks_count_where_the_backend_could_change_their_number() -> None:
    """Volcano changes `replicas` in place; WORLD_SIZE and ranks would be wrong, unless torchrun deals them out."""
    made = plan(roles=WITH_EXTRAS)
    manifests, paths = job_manifests(made), BACKENDS["volcano"].IN_PLACE
    grown = structs.replace(
        made, roles=tuple(structs.replace(role, replicas=role.replicas + role.ranked) for role in made.roles)
    )
    assert revision(manifests, made, paths) != revision(manifests, grown, paths)
