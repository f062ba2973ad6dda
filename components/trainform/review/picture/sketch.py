"""One side of the picture: the parts of a job as its objects say it, so that overrides count. No value of a secret is
looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from trainform.cluster.amounts import spelled
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import CONTAINER_FIELDS, Template
from trainform.plan.world import in_world, rank_offsets
from trainform.review.steps import CLAIM, QUEUE, SECRET
from trainform.rules.limits.demands import with_demands
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

Kind = Literal["queue", "job", "role", "shape", "rendezvous", "claim", "secret"]
Edge = tuple[str, str, str]
"""From a part to a part, and what is said of it."""

SHARED_BY_ALL = ("cpu", "memory", "ephemeral-storage")
"""Resources that every node has: they say nothing of its kind."""
NO_ACCELERATOR = "no accelerator"
POOLS = 4  # labels of a node selector that are shown
# The operators that set these variables themselves have the plan's in others.
RENDEZVOUS = tuple((f"{way}MASTER_ADDR", f"{way}MASTER_PORT") for way in ("TRAINFORM_KEPT_", "", "PET_"))


class Node(Struct):
    """A part, with what it says of itself by label."""

    kind: Kind
    name: str
    facts: dict[str, str] = {}


class Sketch(Struct):
    """The parts by their ids, and the lines between them, each in the order in which they are drawn."""

    nodes: dict[str, Node] = {}
    edges: dict[Edge, None] = {}

    def node(self, kind: Kind, name: str, key: str | None = None) -> str:
        """The id of the part, which is added if it is not there. key: what tells it from others of its kind; None: its
        name."""
        made = f"{kind}/{name if key is None else key}"
        self.nodes.setdefault(made, Node(kind, name))
        return made

    def edge(self, start: str, end: str, label: str = "") -> None:
        """Add a line."""
        self.edges[start, end, label] = None


class Seen(Struct, frozen=True):
    """What is known of a job on one side. job: the body of the job object. experiment: for ranks; None: they are not
    shown. kept: the names of the claims that stay when the job goes."""

    name: str
    job: Mapping[str, Any]
    bodies: Sequence[Mapping[str, Any]]
    templates: Sequence[Template]
    queue: str = ""
    experiment: Experiment | None = None
    environment: Environment | None = None
    kept: frozenset[str] = frozenset()


def sketch(seen: Seen) -> Sketch:
    """The parts of one side."""
    found = Sketch()
    of_job = found.node("job", seen.name, "")
    metadata = mapping(seen.job.get("metadata"))
    found.nodes[of_job].facts |= _given({
        "kind": seen.job.get("kind"),
        "object": metadata.get("name"),
        "namespace": metadata.get("namespace"),
        "pods": _pods(seen.templates),
    })  # fmt: skip
    if seen.queue:
        found.edge(found.node("queue", seen.queue), of_job)
    for template, asked in zip(seen.templates, _asked(seen.templates, seen.environment), strict=True):
        _add_role(found, of_job, template, asked)
    for role, ranks in ({} if seen.experiment is None else _ranks(seen.experiment)).items():
        if f"role/{role}" in found.nodes:
            found.nodes[f"role/{role}"].facts["ranks"] = ranks
    _add_rendezvous(found, seen.templates)
    for template in seen.templates:
        _add_volumes(found, template)
        _add_secrets(found, template)
    for body in seen.bodies:
        _add_object(found, body, seen.kept)
    return found


def _given(facts: Mapping[str, object]) -> dict[str, str]:
    return {label: str(value) for label, value in facts.items() if value not in (None, "", [], {})}


def _pods(templates: Sequence[Template]) -> str:
    pods, together = (
        sum(getattr(template, field) for template in templates) for field in ("replicas", "min_available")
    )
    return str(pods) if together in (0, pods) else f"{pods}, of which {together} start together"


# --- roles and the nodes that they need


def _asked(templates: Sequence[Template], environment: Environment | None) -> list[dict[str, Decimal]]:
    """What each pod of a template asks for beside CPU and memory: accelerators by the environment's name of their kind,
    all else by resource."""
    found = []
    resources = set() if environment is None else {kind.resource for kind in environment.accelerators.values()}
    asked: dict[int, list[tuple[str, int]]] = {}
    if environment is not None:
        for template, demands in with_demands(Judged({}, tuple(templates)), environment):
            asked[id(template)] = [(demand.kind, demand.each) for demand in demands]
    for template in templates:
        names = {kind: Decimal(each) for kind, each in asked.get(id(template), [])}
        others = sorted(template.resources() - resources - {*SHARED_BY_ALL})
        found.append(names | {name: amount for name in others if (amount := template.pod_request(name))})
    return found


def _add_role(found: Sketch, of_job: str, template: Template, asked: Mapping[str, Decimal]) -> None:
    role = found.node("role", template.role)
    facts = found.nodes[role].facts
    facts["pods"] = str(int(facts.get("pods", "0")) + template.replicas)
    main = next(iter(mappings(template.spec.get("containers"))), {})
    facts |= _given({
        "image": main.get("image"),
        "CPU": _amount(template, "cpu"),
        "memory": _amount(template, "memory"),
        "network": "of the node" if template.spec.get("hostNetwork") is True else "",
        "ports": _joined(facts.get("ports", ""), _ports(template)),
    })  # fmt: skip
    found.edge(of_job, role)
    found.edge(role, _shape(found, template, asked))


def _amount(template: Template, resource: str) -> str:
    amount = template.pod_request(resource)
    return spelled(resource, amount) if amount else ""


def _ports(template: Template) -> list[str]:
    """The ports of the pods: `29500 rendezvous`."""
    found = []
    for _, container in template.containers():
        for port in mappings(container.get("ports")):
            number, name = port.get("hostPort") or port.get("containerPort"), port.get("name")
            if number is not None:
                found.append(f"{number} {name}" if name else str(number))
    return found


def _joined(before: str, texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys([*filter(None, before.split(", ")), *texts]))


def _shape(found: Sketch, template: Template, asked: Mapping[str, Decimal]) -> str:
    """The nodes that the pods need: by what they ask for beside CPU and memory, and by the labels that they select."""
    name = " + ".join(f"{spelled(kind, amount)} {kind}" for kind, amount in asked.items())
    labels = sorted(f"{key}={value}" for key, value in mapping(template.spec.get("nodeSelector")).items())
    shape = found.node("shape", name if name else NO_ACCELERATOR, " ".join([name if name else NO_ACCELERATOR, *labels]))
    facts = found.nodes[shape].facts
    facts["pods"] = str(int(facts.get("pods", "0")) + template.replicas)
    if labels:
        more = f" and {len(labels) - POOLS} more" if len(labels) > POOLS else ""
        facts["labels"] = f"{', '.join(labels[:POOLS])}{more}"
    return shape


def _ranks(experiment: Experiment) -> dict[str, str]:
    found = {}
    for role, first in rank_offsets(experiment).items():
        last = first + experiment.roles[role].replicas - 1
        if not experiment.roles[role].ranked:
            found[role] = "none"
        elif experiment.launcher.elastic is not None:
            bounds = experiment.launcher.elastic
            found[role] = f"given at run time, to {bounds.min_nodes}-{bounds.max_nodes} nodes"
        elif in_world(experiment, role):
            found[role] = str(first) if last <= first else f"{first}-{last}"
    return found


# --- what roles use


def _add_rendezvous(found: Sketch, templates: Sequence[Template]) -> None:
    """Where the processes meet, as the variables of the pods say it."""
    for template in templates:
        for container in mappings(template.spec.get("containers")):
            given = {str(each.get("name")): each.get("value") for each in mappings(container.get("env"))}
            address, port = next(((given[at], given.get(of)) for at, of in RENDEZVOUS if given.get(at)), (None, None))
            if address is None:
                continue
            others = [node for node in found.nodes.values() if node.kind == "rendezvous"]
            same = next((place for place, node in enumerate(others) if node.facts["address"] == str(address)), None)
            made = found.node("rendezvous", "rendezvous", str(len(others) if same is None else same))
            found.nodes[made].facts |= _given({"address": address, "port": port})
            found.edge(f"role/{template.role}", made)


def _add_volumes(found: Sketch, template: Template) -> None:
    """The claims and Secrets that the containers mount."""
    volumes = {str(volume.get("name")): volume for volume in template.volumes()}
    for field in CONTAINER_FIELDS:
        for container in mappings(template.spec.get(field)):
            for mount in mappings(container.get("volumeMounts")):
                volume = volumes.get(str(mount.get("name")), {})
                _add_mount(found, template, volume, mount)


def _add_mount(found: Sketch, template: Template, volume: Mapping[str, Any], mount: Mapping[str, Any]) -> None:
    role, place = f"role/{template.role}", str(mount.get("mountPath", ""))
    claim = mapping(volume.get("persistentVolumeClaim"))
    if claim.get("claimName"):
        folder = mount.get("subPath") or mount.get("subPathExpr")
        reads = " (read-only)" if mount.get("readOnly") or claim.get("readOnly") else ""
        said = f"{place}{f' (folder {folder})' if folder else ''}{reads}"
        found.edge(role, found.node("claim", str(claim["claimName"])), said)
    parts = [
        mapping(part.get("secret")).get("name") for part in mappings(mapping(volume.get("projected")).get("sources"))
    ]
    for name in filter(None, [mapping(volume.get("secret")).get("secretName"), *parts]):
        found.edge(role, found.node("secret", str(name)), place)


def _add_secrets(found: Sketch, template: Template) -> None:
    """The Secrets that variables come from, and those with which images are pulled: their names alone."""
    for name, used in _named_secrets(template):
        if name:
            found.edge(f"role/{template.role}", found.node("secret", str(name)), used)


def _named_secrets(template: Template) -> Iterator[tuple[object, str]]:
    for field in CONTAINER_FIELDS:
        for container in mappings(template.spec.get(field)):
            for variable in mappings(container.get("env")):
                source = mapping(mapping(variable.get("valueFrom")).get("secretKeyRef"))
                yield source.get("name"), f"variable {variable.get('name')}"
            for source in mappings(container.get("envFrom")):
                yield mapping(source.get("secretRef")).get("name"), "variables"
    for each in mappings(template.spec.get("imagePullSecrets")):
        yield each.get("name"), "pulls images"


def _add_object(found: Sketch, body: Mapping[str, Any], kept: frozenset[str]) -> None:
    """What the stack makes of this side, with what a reader wants to know of it."""
    name, spec = str(mapping(body.get("metadata")).get("name", "")), mapping(body.get("spec"))
    kind = str(body.get("kind", "")).removesuffix("Patch")
    if kind == CLAIM and name:
        node = found.nodes[found.node("claim", name)]
        requests = mapping(mapping(spec.get("resources")).get("requests"))
        node.facts |= _given({
            "size": requests.get("storage"),
            "class": spec.get("storageClassName"),
            "kept": "yes" if name in kept else "no",
        })  # fmt: skip
    elif kind == QUEUE and name:
        held = mapping(spec.get("capability"))
        node = found.nodes[found.node("queue", name)]
        node.facts |= _given({"weight": spec.get("weight"),
                "may hold": _joined("", (f"{amount} {resource}" for resource, amount in held.items()))})  # fmt: skip
    elif kind == SECRET and name:
        found.node("secret", name)
