"""What holds for every backend of the table, and for one of somebody else's."""

from __future__ import annotations

import copy
from typing import Any, get_type_hints

from tests.support.generated_patches import Way, patch_at, ways
from tests.support.planned_jobs import CLUSTER, RICH
from tests.support.samples import environment, experiment, fitting, plan
from trainform.backends.backend import BACKENDS, Backend
from trainform.backends.owned import object_changes
from trainform.backends.refusals import able
from trainform.job.render import job_manifests, render_job, revision
from trainform.manifests.manifest import Manifest
from trainform.spec.layers import merge_patch

COUNTS = {"minAvailable", "minMember", "completions", "parallelism", "replicas", "numNodes"}
PARTS: dict[str, Any] = {
    "roles": {"master": {"replicas": 1}, "worker": {"replicas": 3}},
    "storage": {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}},
    "queue": {"weight": 2},
    "priority_class": "urgent",
}


def parts(backend: str) -> dict[str, Any]:
    return {"backend": backend, **copy.deepcopy(PARTS), "roles": fitting(backend, PARTS["roles"])}


def test_class_attributes(backend: str) -> None:
    """Every attribute of the contract has a value of the right kind, in a class of its own."""
    made = BACKENDS[backend]
    for name in get_type_hints(Backend):
        assert getattr(made, name) is not None, name
    for texts in (made.ADMISSIONS, made.IN_PLACE, *(operator.plurals for operator in made.OPERATORS)):
        assert isinstance(texts, tuple)
        assert all(isinstance(text, str) for text in texts)
    assert made.OPERATORS and made.ADMISSIONS
    assert made.MAKES and made.ENDS and made.ADDS
    for operator in made.OPERATORS:
        group, slash, version = operator.api_version.partition("/")
        assert operator.project and operator.plurals and slash and version.startswith("v")
        assert all(f".{plural}.{group}".endswith(f".{operator.domain}") for plural in operator.plurals)


def test_another_backend_can_do_what_one_lacks(backend: str) -> None:
    """A fix names those, and never this one."""
    made = BACKENDS[backend]
    noted = {field for field, support in made.FIELDS.items() if support.elsewhere and support.noted}
    needs = {field for field, support in made.FIELDS.items() if support.elsewhere and not support.noted} | made.LACKS
    for able_ones in (*map(able, needs), *(able(need, as_said=True) for need in noted)):
        assert able_ones
        assert backend not in able_ones


def test_volumes_files_and_amounts_reach_every_pod(backend: str) -> None:
    """Those of the experiment, in the pods as the operator makes them, and in their steps."""
    given = {**RICH, "roles": fitting(backend, RICH["roles"])}
    made, planned = BACKENDS[backend], plan(cluster=CLUSTER, backend=backend, **given)
    pods, _ = made.pods(planned, job_manifests(planned))
    assert len(pods) == 3
    for each in pods:
        spec = each["spec"]
        volumes = {volume["name"]: {**volume} for volume in spec["volumes"]}
        assert {name: volumes[name] for name in ("disk", "cache", "nccl", "hub", "files", "shared-memory")} == {
            "disk": {"name": "disk", "hostPath": {"path": "/mnt/disks/0"}},
            "cache": {"name": "cache", "emptyDir": {"sizeLimit": "500Gi"}},
            "nccl": {"name": "nccl", "configMap": {"name": "nccl"}},
            "hub": {"name": "hub", "secret": {"secretName": "hub"}},
            "files": {"name": "files", "configMap": {"name": planned.user_files, "defaultMode": 0o555}},
            "shared-memory": {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        }
        (main,) = [one for one in spec["containers"] if one["name"] == made.conventions(planned).container]
        for container in (main, next(one for one in spec["initContainers"] if one["name"] == "fetch")):
            mounted = {mount["mountPath"]: mount.get("subPath") for mount in container["volumeMounts"]}
            assert mounted.items() >= {"/disk": None, "/cache": None, "/etc/nccl": None, "/etc/hub": None}.items()
            assert mounted["/workload/launch.sh"] == "0-launch.sh"
        if "baidu.com/a800_80g_cgpu" not in main["resources"]["limits"]:
            assert main["resources"] == {"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}


def test_the_objects(backend: str) -> None:
    """What the other parts read of them."""
    made, planned = BACKENDS[backend], plan(**parts(backend))
    manifests = job_manifests(planned)
    (job,) = [manifest for manifest in manifests if manifest.is_job]
    assert (job.body["apiVersion"], job.body["metadata"]["name"]) == (made.OPERATORS[0].api_version, planned.job)
    assert made.conventions(planned).index_label == made.INDEX_LABEL
    assert all(name.partition(".")[2] for name in made.crds(planned))
    prerequisites = [manifest.key for manifest in made.prerequisites(planned)]
    assert ("pod-group" in prerequisites) == made.MAKES_GANGS


def test_two_builds_are_the_same(backend: str) -> None:
    one, other = (render_job(experiment(**parts(backend)), environment()) for _ in range(2))
    assert one.problems == ()
    assert one.manifests == other.manifests


def in_place(way: Way, paths: tuple[str, ...]) -> bool:
    """Whether a path of the backend leads to this place in the job object."""
    return any(
        len(words) == len(way) and all(word in ("*", name) for word, name in zip(words, way, strict=True))
        for words in (path.split(".") for path in paths)
    )


def test_a_change_of_the_job_object_is_a_new_revision_but_in_place(backend: str) -> None:
    made, planned = BACKENDS[backend], plan(**parts(backend))
    manifests = job_manifests(planned)
    (job,) = [manifest for manifest in manifests if manifest.is_job]
    before = revision(manifests, planned, made.IN_PLACE)
    leaves = [way for way in ways(job.body["spec"], ("spec",)) if not any(ways(_at(job.body, way)))]
    assert len(leaves) >= 1
    added = [tuple(path.split(".")) for path in made.IN_PLACE if "*" not in path]
    for way in [*leaves, *added, ("spec", "unheardOf")]:
        body = merge_patch(job.body, patch_at(way, "other"))
        changed = [Manifest("job", body, revision=planned.revision) if each.is_job else each for each in manifests]
        assert (revision(changed, planned, made.IN_PLACE) == before) == in_place(way, made.IN_PLACE), way


def _at(body: Any, way: Way) -> Any:
    for word in way:
        body = body[word] if isinstance(body, dict) else next(item for item in body if item["name"] == word)
    return body


def test_the_plans_numbers_cannot_be_patched(backend: str) -> None:
    """Whatever the objects look like: one pod more is refused, at the place where the patch has it."""
    made, planned = BACKENDS[backend], plan(**parts(backend))
    found = 0
    for manifest in job_manifests(planned):
        for way in ways(manifest.body):
            if way[-1] in COUNTS:
                body = merge_patch(manifest.body, patch_at(way, 7))
                changes = [change.place for change in object_changes(manifest, body, made.READS)]
                assert changes == [way]
                found += 1
    assert found > 0
