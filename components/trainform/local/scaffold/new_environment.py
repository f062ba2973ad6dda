"""A new environment: a skeleton with examples in comments, or one from the data of a live cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.survey import Objects, Survey
from trainform.errors import list_names
from trainform.local.scaffold.hardware import Hardware, as_label, hardware, unused_name, value_at
from trainform.local.scaffold.yaml_text import flow, scalar

# Comments that begin with a key are examples, which are valid without the `# `.
NAMESPACE = "namespace: {{name: {name}, create: true}}   # its stack makes it"
CONTEXT = (
    "# cluster: {context: my-cluster}   # of the kubeconfig; `trainform doctor` shows the uid, which binds to that "
    "cluster"
)
ADMISSION = "# admission: volcano   # or kueue; `none` has no gangs and no queues"
MPI_JOB = "# mpi_job: v1   # where training-operator runs MPIJobs; mpi-operator serves v2beta1"
QUEUES = "# queues:\n#   research: {weight: 1}   # the environment's stack makes them"
ACCELERATORS = "# accelerators:\n#   a100: {resource: nvidia.com/gpu, per_node: 8, nodes: 4, cpu: 96, memory: 1000Gi}"
PRICE = (
    "# In a kind of accelerator, for the plan's cost: price_per_hour: {amount: 2.10, currency: USD, as_of: 2026-01-01}"
)
RDMA = "# rdma: {resource: rdma/hca, count: 1}   # where there is a fabric"
CLASSES = "# storage_classes: {fast: cephfs-ssd}   # short name: name in the cluster"
LIMITS = (
    "# limits: {max_accelerators: 32, host_network: true, host_paths: [/mnt/disks], registries: "
    "[registry.example.com], severity: {TF-IMG-2: error}}"
)
REGISTRIES = "# registries: {registry.example.com: mirror.example.com}   # where images have other names here"
PROMOTION = (
    "# promotion: {from: [dev], digest: true}   # what `trainform promote` asks of a release before it comes here"
)
RULES = (REGISTRIES, LIMITS, PROMOTION)

OPEN = "Open"

HEAD = """\
# yaml-language-server: $schema=../schemas/environment.schema.json
# What the cluster of `{name}` offers and allows. The platform team owns this file; by the schema above editors \
explain every field.
name: {quoted_name}"""


def skeleton(name: str) -> str:
    """Return an environment without data of a cluster, which it has as examples."""
    own = NAMESPACE.format(name=scalar(name))
    return _text(
        name, [CONTEXT, own, _backend_example(), ADMISSION, MPI_JOB, QUEUES, ACCELERATORS, PRICE, RDMA, CLASSES, *RULES]
    )


def environment_text(name: str, survey: Survey) -> str:
    """Return an environment with the data of a cluster, and examples for missing data."""
    found_hardware = hardware([] if survey.nodes is None else survey.nodes)
    return _text(
        name,
        [
            _cluster(survey),
            f"namespace: {flow({'name': survey.namespace})}   # of the context",
            *_operator(survey),
            *_accelerators(found_hardware),
            PRICE,
            *_fabric(found_hardware),
            *_classes(survey.storage_classes),
            *RULES,
        ],
    )


def _cluster(survey: Survey) -> str:
    if survey.uid is None:
        return f"cluster: {flow({'context': survey.context})}   # its UID could not be read"
    return f"cluster: {flow({'context': survey.context, 'uid': survey.uid})}   # no other cluster is touched"


def _backend_example() -> str:
    others = ", ".join(name for name in BACKENDS if name != defaults.BACKEND)
    return f"# backend: {defaults.BACKEND}   # or {others}"


def _text(name: str, lines: Iterable[str]) -> str:
    return "\n".join([HEAD.format(name=name, quoted_name=scalar(name)), *lines, ""])


def _operator(survey: Survey) -> Iterator[str]:
    """Yield the first served operator whose queue system is served too, and the queues of that system; otherwise the
    first operator that needs none."""
    served = () if survey.operators is None else survey.operators
    fitting = (
        (backend, admission)
        for admission in QUEUES_OF
        for backend in (name for name in served if name in BACKENDS)
        if admission in BACKENDS[backend].ADMISSIONS and admission in (*served, defaults.NONE)
    )
    backend, admission = next(fitting, (None, None))
    if backend is None or admission is None:
        yield f"# No operator was found; the default is {defaults.BACKEND}."
        yield _backend_example()
        return
    yield f"backend: {backend}"
    if admission != defaults.KUEUE:  # which admits no jobs of the other version
        yield from _mpi_job(backend, served)
    yield f"admission: {admission}"
    yield from QUEUES_OF[admission](survey)


def _mpi_job(backend: str, served: Collection[str]) -> Iterator[str]:
    """Yield the version of MPIJobs, if the operator of the default one is not served."""
    versions = [each for each in BACKENDS[backend].OPERATORS if each.mpi_job]
    if versions and versions[0].project not in served:
        default, other = versions
        yield f"mpi_job: {other.mpi_job}   # {default.project}, which serves {default.mpi_job}, is not there"


def _volcano_queues(survey: Survey) -> Iterator[str]:
    """Yield the cluster's open queues without children, since only these accept jobs."""
    found = {name: item for name, item in _sort_by_name(survey.queues) if name != defaults.ROOT_QUEUE}
    parents = {value_at(item, "spec", "parent") for item in found.values()}
    states = {name: value_at(item, "status", "state") for name, item in found.items() if name not in parents}
    accepting = [name for name, state in states.items() if state == OPEN and name != defaults.QUEUE]
    if not accepting:
        yield QUEUES
    else:
        yield "# These queues exist, and experiments may name them; `create: false` leaves them unchanged."
        yield "queues:"
    for name in accepting:
        yield f"  {_entry(name, {'create': False})}"
    closed = [name for name, state in states.items() if state != OPEN]
    if closed:
        yield f"# Not open, and left out: {list_names(closed)}"


def _local_queues(survey: Survey) -> Iterator[str]:
    names = [name for name, _ in _sort_by_name(survey.local_queues)]
    if names:
        yield f"# LocalQueues of the namespace, for `queue` of experiments: {list_names(names)}"
    else:
        yield "# Experiments name a LocalQueue of the namespace, but none was found."


def _no_queues(survey: Survey) -> Iterator[str]:
    yield "# Nothing holds a job back until all of its pods fit."


QUEUES_OF = {defaults.VOLCANO: _volcano_queues, defaults.KUEUE: _local_queues, defaults.NONE: _no_queues}
"""By admission, the preferred one first."""


def _accelerators(found_hardware: Hardware) -> Iterator[str]:
    if not found_hardware.kinds:
        yield "# No accelerators were found on its nodes."
        yield ACCELERATORS
    else:
        yield "accelerators:"
    for name, fields in found_hardware.kinds.items():
        yield f"  {_entry(name, fields)}"
    for note in found_hardware.notes:
        yield f"# {note}"
    if found_hardware.others:
        yield f"# Further resources of its nodes: {list_names(found_hardware.others)}"


def _fabric(found_hardware: Hardware) -> Iterator[str]:
    if found_hardware.fabric is None:
        yield RDMA
    else:
        resource, count = found_hardware.fabric
        yield f"rdma: {flow({'resource': resource, 'count': 1, 'per_node': count})}"


def _classes(objects: Objects) -> Iterator[str]:
    classes: dict[str, str] = {}
    for name, _ in _sort_by_name(objects):
        classes[unused_name(as_label(name), classes)] = name
    yield CLASSES if not classes else f"storage_classes: {flow(classes)}"


def _sort_by_name(objects: Objects) -> list[tuple[str, Any]]:
    """Return objects with their names, sorted by name."""
    named = [(item["metadata"]["name"], item) for item in ([] if objects is None else objects)]
    return sorted(named, key=lambda pair: pair[0])


def _entry(key: str, value: dict[str, Any]) -> str:
    """Return `key: {…}` on one line."""
    return flow({key: value})[1:-1]
