"""What `check` knows of the API server and of the operators, held against them: the tables of fields, and every field of pods."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from tests.engine.admission import NAMESPACE, offered
from tests.engine.live import Live
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, plan
from tests.support.server_fields import of_kubernetes, of_operators
from trainform.backends.paths import EACH
from trainform.backends.served import QUEUES, folder_of, pod_types, pod_values, user_conventions
from trainform.backends.table import BACKENDS
from trainform.cluster.served import BUILT_IN, Served
from trainform.manifests.pods import pod_from_template, pod_template
from trainform.manifests.served.validation import QUANTITY, Schema, kubernetes, read
from trainform.objects import job_manifests
from trainform.spec import Environment
from trainform.spec.merge_patch import merge_patch

pytestmark = pytest.mark.proof("every field of pods, and the definitions of every operator")

STORAGE = {"data": {"claim": "datasets", "mount": "/data"}}
OPEN = environment(limits={"host_network": True, "pod_security": "privileged"})
# What is left to the server: kinds of volumes that Kubernetes has removed or hardly a cluster has, Windows, what the sandbox's version or gates decide, and names of objects
# that are not there, which the preflight looks for. A container's own restartPolicy and stopSignal, which the server drops without a word while their
# gates are off, and which Volcano's webhook refuses. What a kubelet alone refuses, the server takes. Priorities as numbers and requests of extended resources: a rule of the limits refuses them.
LEFT = (
    "awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "photonPersistentDisk",
    "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume", "fc", "iscsi", "clusterTrustBundle", "podCertificate", "windowsOptions", "volumeDevices",
    "procMount", "resizePolicy", "claims", "restartPolicyRules", "seLinuxChangePolicy", "preemptionPolicy", "priorityClassName", "runtimeClassName",
    "priority", "containers.*.resources.requests", "serviceAccount", "serviceAccountName", "dnsConfig.options", "dataSource", "dataSourceRef", "hostUsers", "fileKeyRef", "os.name",
    "emptyDir.medium", "workingDir", "containers.*.restartPolicy", "stopSignal",
)  # fmt: skip


def test_the_tables_of_fields_say_what_the_server_says(addons_live: Live) -> None:
    """Each line says what to write in a table of fields (`definitions`): in `manifests/served`, or beside the operator."""
    document = addons_live.request("GET", "/openapi/v3/api/v1").json()
    folders = (QUEUES, *(folder_of(backend) for backend in BACKENDS.values()))
    tables = {key: schema for folder in folders for key, schema in read(folder).items()}
    found = [*of_kubernetes(document), *of_operators(tables, addons_live.find_all("customresourcedefinitions"))]
    assert "\n".join(sorted(found)) == ""


def test_the_built_in_kinds_are_served_under_these_names(addons_live: Live) -> None:
    for (version, kind), known in BUILT_IN.items():
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        kinds = addons_live.request("GET", path).json()["resources"]
        assert [
            Served(each["name"], each["namespaced"])
            for each in kinds
            if each["kind"] == kind and "/" not in each["name"]
        ] == [known]


def resolved(schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = kubernetes()[schema["$ref"]]
    return schema


def usual(schema: Schema, wrong: bool = False) -> Any:
    """A value as the schema has it, or one of another type."""
    schema = resolved(schema)
    if wrong:
        return 3.5 if schema.get("type") in ("array", "object", "boolean") else ["wrong"]
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("x-kubernetes-int-or-string"):
        return "1" if schema.get("pattern") == QUANTITY else 1
    if "properties" in schema:
        return {name: usual(schema["properties"][name]) for name in schema.get("required", ())}
    if schema["type"] == "object":
        return {"example.com/key": "1"}
    if schema["type"] == "array":
        return [usual(schema["items"])]
    return {"string": "text", "integer": 1, "boolean": True}[schema["type"]]


def fields(schema: Schema, way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Every field below a schema that holds no others."""
    schema = resolved(schema)
    for name, field in schema.get("properties", {}).items():
        inner = resolved(field)
        of_items = resolved(inner["items"]) if "items" in inner else {}
        if "properties" in inner or "properties" in of_items:
            yield from fields(of_items if of_items else inner, (*way, name, *([EACH] if of_items else [])))
        else:
            yield (*way, name), field


def at(schema: Schema, way: tuple[str, ...], value: Any) -> Any:
    """A value of the schema with this one in it, and whatever must stand beside it."""
    schema = resolved(schema)
    if not way:
        return value
    if way[0] == EACH:
        return [at(schema["items"], way[1:], value)]
    beside = {name: usual(schema["properties"][name]) for name in schema.get("required", ()) if name != way[0]}
    return {**beside, way[0]: at(schema["properties"][way[0]], way[1:], value)}


def patch_of(way: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The patch of a pod's spec for one field: of the main container, of one more volume, or of the spec itself."""
    for field, kind, name in (("containers", "Container", "main"), ("volumes", "Volume", "more")):
        if way[0] == field:
            return {field: {name: {**at({"$ref": kind}, way[2:], value), "name": value if way[2] == "name" else name}}}
    return {way[0]: at({"$ref": "PodSpec"}, way, value)[way[0]]}


def accepts(server: Live, spec: dict[str, Any]) -> bool:
    """Whether the API server would make a pod with this patch."""
    made = plan(cluster=OPEN, storage=STORAGE)
    role = structs.replace(made.roles[0], overrides={"spec": spec})
    template = pod_template(made, role, next(role.groups()), BACKENDS[made.backend].conventions(made))
    pod = pod_from_template("probe", NAMESPACE, template, {})
    path = f"{server.path('pods', NAMESPACE)}?dryRun=All&fieldValidation=Strict"
    return server.request("POST", path, pod).status_code == 201


def refused(spec: dict[str, Any]) -> list[str]:
    """Why the check refuses the patch, but for the environment's limits."""
    roles = {"worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}
    found = job_problems(experiment(roles=roles, storage=STORAGE), OPEN)
    return [problem.reason for problem in found if not problem.code]


def refused_by_tables(patch: dict[str, Any]) -> list[str]:
    """Why the server would refuse the patch, as the tables have it. What the plan decides, the server may well accept."""
    made = plan(cluster=OPEN, storage=STORAGE)
    backend = BACKENDS[made.backend]
    role = structs.replace(made.roles[0], overrides=patch)
    pods = pod_template(made, role, next(role.groups()), user_conventions(backend, made))
    return [
        mistake.reason
        for mistake in (*pod_types(backend, made, pods, patch), *pod_values(backend, made, role, pods, patch))
    ]


@pytest.fixture(scope="module")
def offering(addons_live: Live) -> Iterator[Environment]:
    """The namespace and the queues of generated experiments."""
    yield from offered(addons_live)


@pytest.mark.parametrize("wrong", [False, True], ids=["right types", "wrong types"])
def test_every_field_of_pods(addons_live: Live, offering: Environment, wrong: bool) -> None:
    """What the server refuses of a single field is refused here, and nothing else is."""
    seen: Counter[bool] = Counter()
    differs = []
    for way, field in fields({"$ref": "PodSpec"}):
        if way[0] == "initContainers" or any(name in ".".join(way) for name in LEFT):
            continue
        for value in [usual(field, wrong=True)] if wrong else resolved(field).get("enum", [usual(field)]):
            spec = patch_of(way, value)
            accepted = accepts(addons_live, spec)
            found = refused_by_tables({"spec": copy.deepcopy(spec)}) if accepted else refused(spec)
            seen[accepted] += 1
            if accepted == bool(found):
                differs.append(f"{'.'.join(way)}: {value} {found}")
    assert "\n".join(differs) == ""
    assert seen[False] > (200 if wrong else 20), seen
    assert wrong or seen[True] > 200, seen


# By backend: a patch of the job object that the operator's definition does not allow.
OF_JOBS: dict[str, list[dict[str, Any]]] = {
    "volcano": [{"maxRetyr": 5}, {"maxRetry": "often"}, {"maxRetry": 2**31}, {"networkTopology": {"mode": "loose"}}],
    "jobset": [{"suspended": False}, {"ttlSecondsAfterFinished": -1}, {"startupPolicy": {"startupPolicyOrder": "Any"}}],
    "trainer": [{"suspended": False}, {"suspend": "no"}],
    "kubeflow": [{"nprocPerNodes": "8"}, {"runPolicy": {"activeDeadlineSeconds": "1h"}}],
    "kubedl": [{"backofLimit": 3}, {"backoffLimit": "three"}],
}


@pytest.mark.parametrize("name", [*BACKENDS])
def test_fields_of_jobs(addons_live: Live, offering: Environment, name: str) -> None:
    cluster = offering
    made = plan(cluster=cluster, backend=name, roles={"master": {}, "worker": {"replicas": 2}})
    (job,) = [manifest.body for manifest in job_manifests(made) if manifest.is_job]
    for spec in OF_JOBS[name]:
        parts = {
            "backend": name,
            "roles": {"master": {}, "worker": {"replicas": 2}},
            "manifest_overrides": {"job": {"spec": spec}},
        }
        assert [problem.path for problem in job_problems(experiment(**parts), cluster)], spec
        body = merge_patch(job, {"spec": spec})
        with pytest.raises(AssertionError):
            addons_live.make(body, dry_run=True)
