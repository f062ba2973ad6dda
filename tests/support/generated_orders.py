"""Patches on the order in which the pods of a job start, and on what ends it, in the words of each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from tests.support.generated_fields import some
from tests.support.generated_jobs import IMAGE, PODS
from tests.support.generated_patches import patch_at
from trainform import defaults
from trainform.manifests.manifest import Manifest, override_key
from trainform.objects import job_manifests
from trainform.plan import Plan

Patch = tuple[str, dict[str, Any]]
"""The key of the object that is patched, or `PODS`, and the patch."""

SUSPENDED = st.none() | st.just(False)  # whoever writes true wants a job that does not start yet
CLEANED = st.sampled_from(["All", "Running"])  # whoever writes another value wants pods that run on after the end
numbers = st.sampled_from([0, 1, 2, 600])


def _at(key: str, place: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Patch]:
    return values.map(lambda value: (key, patch_at(tuple(place.split(".")), value)))


def _of_pods() -> Iterator[st.SearchStrategy[Patch]]:
    yield _at(PODS, "spec.schedulingGates", st.just([{"name": "example.com/wait"}]))
    yield _at(PODS, "spec.readinessGates", st.just([{"conditionType": "example.com/ready"}]))
    yield _at(PODS, "spec.schedulerName", st.sampled_from(["volcano", "default-scheduler", "mine", None]))
    yield _at(PODS, "spec.restartPolicy", st.sampled_from(["Always", "OnFailure", "Never", None]))
    yield _at(PODS, "spec.activeDeadlineSeconds", st.sampled_from([600, 100_000]))
    yield _at(PODS, "spec.priorityClassName", st.just("system-node-critical"))
    yield _at(PODS, "spec.terminationGracePeriodSeconds", numbers)
    yield _at(PODS, "spec.nodeName", st.just("node-0"))
    yield _at(PODS, "spec.hostname", st.just("mine"))
    yield _at(PODS, "spec.subdomain", st.just("mine"))
    yield _at(PODS, "spec.containers.side", st.just({"image": IMAGE, "command": ["side"]}))
    yield _at(PODS, "spec.initContainers.side", st.just({"image": IMAGE, "restartPolicy": "Always"}))


def _of_volcano(parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    name = st.sampled_from(parts)
    for part in parts:
        task = f"spec.tasks.{part}"
        yield _at(
            "job",
            f"{task}.dependsOn",
            some({"iteration": st.sampled_from(["any", "all"])}, name=st.lists(name, min_size=1, max_size=1)),
        )
        yield _at("job", f"{task}.maxRetry", st.sampled_from([1, 2, 9]))
        yield _at("job", f"{task}.topologyPolicy", st.sampled_from(["none", "best-effort", "single-numa-node"]))
        yield _at("job", f"{task}.partitionPolicy", st.just({"totalPartitions": 1, "partitionSize": 1}))
    yield _at("job", "spec.minSuccess", st.sampled_from([1, 2, 9]))
    yield _at("job", "spec.maxRetry", st.sampled_from([1, 2]))
    yield _at("job", "spec.schedulerName", st.sampled_from(["default-scheduler", "mine"]))
    yield _at("job", "spec.policies", st.sampled_from([None, []]))
    yield _at("job", "spec.plugins", st.none())
    yield _at("job", "spec.networkTopology", st.just({"mode": "hard", "highestTierAllowed": 1}))
    yield _at("job", "spec.ttlSecondsAfterFinished", st.just(600))
    yield _at("job", "spec.runningEstimate", st.just("1h"))


def _of_set(key: str, spec: str, parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    targets = st.lists(st.sampled_from(parts), min_size=1, unique=True)
    for part in parts:
        one = f"{spec}.replicatedJobs.{part}"
        upon = st.fixed_dictionaries({"name": st.sampled_from(parts), "status": st.sampled_from(["Ready", "Complete"])})
        yield _at(key, f"{one}.dependsOn", upon.map(lambda found: [found]))
        job = f"{one}.template.spec"
        yield _at(key, f"{job}.backoffLimit", numbers)
        yield _at(key, f"{job}.activeDeadlineSeconds", st.sampled_from([600, 100_000]))
        yield _at(key, f"{job}.suspend", st.booleans())
        yield _at(key, f"{job}.completionMode", st.just("NonIndexed"))
        yield _at(key, f"{job}.podReplacementPolicy", st.sampled_from(["Failed", "TerminatingOrFailed"]))
        yield _at(key, f"{job}.managedBy", st.just("example.com/mine"))
        yield _at(key, f"{job}.successPolicy", st.just({"rules": [{"succeededIndexes": "0"}]}))
        yield _at(key, f"{job}.backoffLimitPerIndex", st.sampled_from([0, 3]))
        yield _at(key, f"{job}.ttlSecondsAfterFinished", st.just(0))
        yield _at(key, f"{one}.groupName", st.just("mine"))
    yield _at(key, f"{spec}.startupPolicy.startupPolicyOrder", st.sampled_from(["InOrder", "AnyOrder"]))
    yield _at(key, f"{spec}.successPolicy.operator", st.sampled_from(["All", "Any"]))
    yield _at(key, f"{spec}.successPolicy.targetReplicatedJobs", targets | st.none())
    yield _at(key, f"{spec}.successPolicy", st.none())
    yield _at(key, f"{spec}.failurePolicy.maxRestarts", numbers)
    yield _at(key, f"{spec}.failurePolicy.restartStrategy", st.sampled_from(["BlockingRecreate", "Recreate"]))
    yield _at(key, f"{spec}.failurePolicy", st.none())
    yield _at(key, f"{spec}.network", st.none())
    yield _at(key, f"{spec}.network.enableDNSHostnames", st.booleans())
    yield _at(key, f"{spec}.suspend", SUSPENDED)
    yield _at(
        key,
        f"{spec}.managedBy",
        st.sampled_from(["jobset.sigs.k8s.io/jobset-controller", "kueue.x-k8s.io/multikueue", "mine"]),
    )
    yield _at(
        key,
        f"{spec}.coordinator",
        st.sampled_from(parts).map(lambda part: {"replicatedJob": part, "jobIndex": 0, "podIndex": 0}),
    )


def _of_trainer(parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    yield from _of_set("runtime", "spec.template.spec", parts)
    yield _at("job", "spec.suspend", SUSPENDED)
    yield _at(
        "job",
        "spec.managedBy",
        st.sampled_from(["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"]),
    )
    yield _at("job", "spec.activeDeadlineSeconds", st.just(600))
    yield _at("runtime", "spec.podGroupPolicy", st.sampled_from([None, {"coscheduling": {}}]))
    yield _at("runtime", "spec.mlPolicy", st.sampled_from([{"torch": {}}, {"numNodes": 1}]))


def _of_policy(spec: str) -> Iterator[st.SearchStrategy[Patch]]:
    yield _at("job", f"{spec}.cleanPodPolicy", CLEANED)
    yield _at("job", f"{spec}.backoffLimit", numbers)
    yield _at("job", f"{spec}.activeDeadlineSeconds", st.sampled_from([600, 100_000]))
    yield _at("job", f"{spec}.schedulingPolicy.minResources", st.sampled_from([{"cpu": "1"}, {"cpu": "9999999"}]))
    yield _at("job", f"{spec}.schedulingPolicy", st.none())


def _of_specs(field: str, parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    for part in parts:
        yield _at(
            "job",
            f"spec.{field}.{part}.restartPolicy",
            st.sampled_from(["Always", "OnFailure", "Never", "ExitCode", "mine"]),
        )
    if field.startswith("tf"):
        yield _at("job", "spec.successPolicy", st.sampled_from(["", "AllWorkers", "mine", None]))


def _of_kubeflow(field: str, parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    yield from _of_policy("spec.runPolicy")
    yield from _of_specs(field, parts)
    yield _at("job", "spec.runPolicy.suspend", SUSPENDED)
    yield _at(
        "job",
        "spec.runPolicy.managedBy",
        st.sampled_from(["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"]),
    )
    if field.startswith("tf"):
        yield _at("job", "spec.enableDynamicWorker", st.booleans())
    if field.startswith("mpi"):
        yield _at("job", "spec.cleanPodPolicy", CLEANED)
        yield _at("job", "spec.mainContainer", st.just("mine"))
        yield _at("job", "spec.slotsPerWorker", numbers)
    if field.startswith("pytorch"):
        yield _at(
            "job",
            "spec.elasticPolicy",
            st.sampled_from([{"minReplicas": 1, "maxReplicas": 9}, {"standalone": True}, None]),
        )
        yield _at("job", "spec.nprocPerNode", st.sampled_from(["auto", "2", "mine"]))


def _of_kubedl(field: str, parts: list[str]) -> Iterator[st.SearchStrategy[Patch]]:
    yield from _of_policy("spec")
    yield from _of_specs(field, parts)
    for part in parts:
        yield _at("job", f"spec.{field}.{part}.spotReplicaSpec", st.just({"spotReplicaNumber": 1}))
    yield _at("job", "spec.cronPolicy", st.just({"schedule": "0 0 * * *"}))
    yield _at("job", "spec.enableElastic", st.booleans())
    yield _at("job", "spec.minMembers", st.just({"Worker": 1}))


def parts_of(manifests: list[Manifest]) -> tuple[str, list[str]]:
    """The field that holds the groups of pods, and their names as a patch writes them."""
    bodies = {override_key(manifest): manifest.body for manifest in manifests}
    spec = bodies["runtime"]["spec"]["template"]["spec"] if "runtime" in bodies else bodies["job"]["spec"]
    for field, content in spec.items():
        if field in ("tasks", "replicatedJobs"):
            return field, [part["name"] for part in content]
        if field.endswith("ReplicaSpecs"):
            return field, [*content]
    raise AssertionError([*spec])


_OF: dict[str, Callable[[str, list[str]], Iterator[st.SearchStrategy[Patch]]]] = {
    "volcano": lambda field, parts: _of_volcano(parts),
    "jobset": lambda field, parts: _of_set("job", "spec", parts),
    "trainer": lambda field, parts: _of_trainer(parts),
    "kubeflow": _of_kubeflow,
    "kubedl": _of_kubedl,
}
assert _OF.keys() == {*defaults.BACKENDS}, "every operator has its words for the start and the end"


def orders_of(plan: Plan) -> st.SearchStrategy[Patch]:
    """A patch on the start or the end of this job, or of its pods."""
    field, parts = parts_of(job_manifests(plan))
    return st.one_of(*_OF[plan.backend](field, parts)) | st.one_of(*_of_pods())
