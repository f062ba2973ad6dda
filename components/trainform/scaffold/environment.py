"""A new environment: a skeleton with examples in comments, or what a live cluster offers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainform.backends.job import BACKENDS
from trainform.catalog import defaults
from trainform.cluster.survey import Objects, Survey
from trainform.errors import list_names
from trainform.scaffold.kinds import Hardware, hardware
from trainform.scaffold.nodes import below, free_name, label_of, spelled
from trainform.scaffold.yaml_text import flow, plain
from trainform.spec.names import LABEL, LABEL_MAX, SUBDOMAIN, SUBDOMAIN_MAX

# Comments that begin with a key are examples: without the `# ` they are right too.
NAMESPACE = "namespace: {{name: {name}, create: true}}   # its stack makes it"
CONTEXT = "# cluster: {context: my-cluster}   # of the kubeconfig; without it the current one"
BACKEND = "# backend: volcano   # or jobset, trainer, kubeflow, kubedl"
QUEUES = "# queues:\n#   research: {weight: 1}   # the environment's stack makes them"
ACCELERATORS = "# accelerators:\n#   a100: {resource: nvidia.com/gpu, per_node: 8, nodes: 4, cpu: 96, memory: 1000Gi}"
PRICE = (
    "# In a kind of accelerator, for the plan's cost: price_per_hour: {amount: 2.10, currency: USD, as_of: 2026-01-01}"
)
RDMA = "# rdma: {resource: rdma/hca, count: 1}   # where there is a fabric"
CLASSES = "# storage_classes: {fast: cephfs-ssd}   # short name: name in the cluster"
LIMITS = (
    "# limits: {max_accelerators: 32, host_network: true, registries: [registry.example.com], require_digest: true}"
)

OPEN = "Open"
# What is written of a cluster at most, so that no answer makes a file that is too long to be read.
MOST_QUEUES = 1000
MOST_CLASSES = 100
MOST_NOTES = 20

HEAD = """\
# yaml-language-server: $schema=../schemas/environment.schema.json
# What the cluster of `{name}` offers and allows. The platform team owns this file; by the schema above editors explain every field.
name: {quoted_name}"""


def skeleton(name: str) -> str:
    """What needs no knowledge of a cluster; all else as examples."""
    own = NAMESPACE.format(name=plain(name))
    return _text(name, [CONTEXT, own, BACKEND, QUEUES, ACCELERATORS, PRICE, RDMA, CLASSES, LIMITS])


def from_survey(name: str, survey: Survey) -> str:
    """What the cluster offers; what it does not say stands there as an example."""
    carried = hardware([] if survey.nodes is None else survey.nodes)
    return _text(
        name,
        [
            f"cluster: {flow({'context': survey.context})}",
            f"namespace: {flow({'name': survey.namespace})}   # of the context",
            *_operator(survey),
            *_accelerators(carried),
            PRICE,
            *_fabric(carried),
            *_classes(survey.storage_classes),
            LIMITS,
        ],
    )


def _text(name: str, lines: Iterable[str]) -> str:
    return "\n".join([HEAD.format(name=name, quoted_name=plain(name)), *lines, ""])


def _operator(survey: Survey) -> Iterator[str]:
    """The first operator that is there together with what admits its jobs, and the queues of that."""
    served = () if survey.operators is None else survey.operators
    fitting = (
        (backend, admission)
        for backend in (name for name in served if name in BACKENDS)
        for admission in BACKENDS[backend].ADMISSIONS
        if admission in served
    )
    backend, admission = next(fitting, (None, None))
    if backend is None or admission is None:
        yield f"# No operator with gangs was found; the default is {defaults.BACKEND}."
        yield BACKEND
        return
    yield f"backend: {backend}"
    yield f"admission: {admission}"
    yield from QUEUES_OF[admission](survey)


def _volcano_queues(survey: Survey) -> Iterator[str]:
    """Those of the cluster that take jobs, and what stands above them, so that experiments may name them. Jobs go into queues without
    others below alone: these come first."""
    found = {name: item for name, item in _named(survey.queues, LABEL_MAX) if name != defaults.ROOT_QUEUE}
    states = {name: below(item, "status", "state") for name, item in found.items()}
    parents = _tree({name: below(item, "spec", "parent") for name, item in found.items()})
    above = set(parents.values())
    takers = [name for name in found if name not in above and states[name] == OPEN and name != defaults.QUEUE]
    queues = _with_those_above(takers[:MOST_QUEUES], parents)
    if not queues:
        yield QUEUES
    else:
        yield "# These are there already, for experiments to name; `create: false` leaves them as they are."
        yield "queues:"
    for name in queues:
        parent = {"parent": parents[name]} if parents.get(name) in queues else {}
        yield f"  {_entry(name, {'create': False, **parent})}"
    closed = [f"{name} ({_state(states[name])})" for name in found if name not in above and states[name] != OPEN]
    if closed:
        yield f"# Not open, and left out: {list_names(closed)}"
    if len(takers) > MOST_QUEUES:
        yield f"# {len(takers) - MOST_QUEUES} further queues are left out."


def _with_those_above(names: Iterable[str], parents: Mapping[str, str]) -> dict[str, None]:
    """At most `MOST_QUEUES`, each once: the names, then what stands above them."""
    found = dict.fromkeys(names)
    for name in tuple(found):
        while (name := parents.get(name, "")) and name not in found and len(found) < MOST_QUEUES:
            found[name] = None
    return found


def _state(state: Any) -> str:
    return state if state in ("Closed", "Closing", "Unknown") else "no state"


def _tree(stated: Mapping[str, Any]) -> dict[str, str]:
    """The parents that are queues themselves, and not below their own children."""
    parents = {name: parent for name, parent in stated.items() if isinstance(parent, str) and parent in stated}
    circles: dict[str, bool] = {}  # of each queue that has been met: whether the way up from it ends in a circle
    for start in parents:
        way, name = dict[str, None](), start
        while name in parents and name not in circles and name not in way:
            way[name] = None
            name = parents[name]
        circles |= dict.fromkeys(way, name in way or circles.get(name, False))
    return {name: parent for name, parent in parents.items() if not circles[name]}


def _local_queues(survey: Survey) -> Iterator[str]:
    names = [name for name, _ in _named(survey.local_queues, LABEL_MAX)]
    if names:
        yield f"# LocalQueues of the namespace, for `queue` of experiments: {list_names(names)}"
    else:
        yield "# Experiments name a LocalQueue of the namespace; none was found."


QUEUES_OF = {defaults.VOLCANO: _volcano_queues, defaults.KUEUE: _local_queues}


def _accelerators(carried: Hardware) -> Iterator[str]:
    if not carried.kinds:
        yield "# No accelerators were found on its nodes."
        yield ACCELERATORS
    else:
        yield "accelerators:"
    for kind in carried.kinds:
        yield f"  {_entry(kind.name, kind.fields)}"
    for note in carried.notes[:MOST_NOTES]:
        yield f"# {note}"
    if len(carried.notes) > MOST_NOTES:
        yield f"# {len(carried.notes) - MOST_NOTES} further groups of nodes are left out."
    if carried.others:
        yield f"# Further resources of its nodes: {list_names(carried.others)}"


def _fabric(carried: Hardware) -> Iterator[str]:
    if carried.fabric is None:
        yield RDMA
    else:
        resource, count = carried.fabric
        yield f"rdma: {flow({'resource': resource, 'count': 1, 'per_node': count})}"


def _classes(objects: Objects) -> Iterator[str]:
    classes: dict[str, str] = {}
    names = [name for name, _ in _named(objects, SUBDOMAIN_MAX)]
    for name in names[:MOST_CLASSES]:
        short = name if spelled(LABEL, name, LABEL_MAX) else label_of(name)
        classes[free_name(short, classes)] = name
    yield CLASSES if not classes else f"storage_classes: {flow(classes)}"
    if len(names) > MOST_CLASSES:
        yield f"# {len(names) - MOST_CLASSES} further storage classes are left out."


def _named(objects: Objects, most: int) -> Iterator[tuple[str, Any]]:
    """Objects by name, each once. most: characters of a name."""
    found: dict[str, Any] = {}
    for item in [] if objects is None else objects:
        name = below(item, "metadata", "name")
        if spelled(SUBDOMAIN, name, most):
            found[name] = item
    yield from sorted(found.items())


def _entry(key: str, value: dict[str, Any]) -> str:
    """`key: {…}` as a line of a mapping."""
    return flow({key: value})[1:-1]
