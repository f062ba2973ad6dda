"""The picture of each job of a preview: its queue, roles and claims, as new, removed, changed or started again."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.job_objects import demands_of, local_queue_of, queue_of, templates_of
from trainform.review.model import Mark, Picture, PictureEdge, PictureFact, PictureNode
from trainform.review.mounts import mounts_of

JOB = "job/"
KINDS = {"claim": steps.CLAIM, "queue": steps.QUEUE}
OF_OBJECTS: dict[str, Mark] = {"create": "added", "update": "changed", "replace": "changed", "delete": "removed"}


class Side(Struct):
    """The parts of one side by their ids, with facts by label, and the lines between them with their labels."""

    nodes: dict[str, dict[str, str]] = {}
    edges: dict[tuple[str, str, str], None] = {}


def pictures(context: Context) -> list[Picture]:
    """Return a picture of each job in which something changes, and whose pods the preview has."""
    return [picture for job in context.jobs if (picture := _picture(context, job)) is not None]


def _picture(context: Context, job: JobReview) -> Picture | None:
    before, after = (_side(context, job, after=after) for after in (False, True))
    if before is None or after is None:
        return None
    nodes = [_node(job, key, before, after) for key in {**after.nodes, **before.nodes}]
    edges = []
    for edge in {**after.edges, **before.edges}:
        start, end, label = edge
        mark = _mark(edge in before.edges, edge in after.edges)
        edges.append(PictureEdge(start=start, end=end, label=label, change=mark))
    changes = any(node.change != "same" for node in nodes)
    return Picture(job=job.name, nodes=nodes, edges=edges) if changes else None


def _mark(before: bool, after: bool) -> Mark:
    return "same" if before and after else "added" if after else "removed"


def _node(job: JobReview, key: str, before: Side, after: Side) -> PictureNode:
    kind: Any
    kind, _, name = key.partition("/")
    old, new = before.nodes.get(key, {}), after.nodes.get(key, {})
    facts = [PictureFact(label=word, before=old.get(word), after=new.get(word)) for word in {**new, **old}]
    mark = _mark(key in before.nodes, key in after.nodes)
    if kind in KINDS:
        mark = _mark_of_object(job, KINDS[kind], name)
    elif mark == "same" and job.job is not None and steps.action(job.job) == "replace":
        mark = "restarted"
    elif mark == "same" and old != new:
        mark = "changed"
    return PictureNode(id=key, kind=kind, name=name or job.name, change=mark, facts=facts)


def _mark_of_object(job: JobReview, kind: str, name: str) -> Mark:
    """Return the mark of a queue or claim: "same" for one that the stack does not create, and for a kept one."""
    for step in job.steps:
        if step.is_object and step.kind == kind and steps.name(step) == name and not steps.leaves(step):
            return OF_OBJECTS.get(steps.action(step), "same")
    return "same"


# --- one side


def _side(context: Context, job: JobReview, *, after: bool) -> Side | None:
    """Return the parts of one side, empty if it has no job; None if the pods are unknown."""
    side = Side()
    state = None if job.job is None else job.job.new if after else job.job.old
    if job.job is None or state is None:
        return side
    templates = templates_of(job, context.environment, after=after)
    if templates is None:
        return None
    body = steps.body(job.job, state)
    side.nodes[JOB] = {"object": str(mapping(body.get("metadata")).get("name")), "kind": str(body.get("kind"))}
    queue = queue_of(job, after=after) or local_queue_of(job, after=after)
    if queue:
        side.nodes[f"queue/{queue}"] = {}
        side.edges[f"queue/{queue}", JOB, ""] = None
    demands = {each.role: each for each in demands_of(job, context.environment, after=after) or ()}
    for template in templates:
        demand = demands.get(template.role)
        _add_role(side, template, f"{demand.each} {demand.kind}" if demand else "")
    for step in steps.of_kind(job.steps, steps.CLAIM):
        claim = step.new if after else step.old
        if claim is not None:
            spec = mapping(steps.body(step, claim).get("spec"))
            size = mapping(mapping(spec.get("resources")).get("requests")).get("storage")
            side.nodes[f"claim/{steps.name(step, claim)}"] = {"size": str(size), "kept": "yes" if claim.keep else "no"}
    return side


def _add_role(side: Side, template: Template, each: str) -> None:
    """Add a role and the claims that its containers mount."""
    role = f"role/{template.role}"
    facts = side.nodes.setdefault(role, {})
    main = next(iter(mappings(template.spec.get("containers"))), {})
    nodes = ", ".join(sorted(f"{key}={value}" for key, value in mapping(template.spec.get("nodeSelector")).items()))
    given = {"pods": str(template.replicas + int(facts.get("pods", "0"))), "each": each, "image": main.get("image")}
    facts |= {label: str(value) for label, value in (given | {"nodes": nodes}).items() if value}
    side.edges[JOB, role, ""] = None
    for path, mount in mounts_of(template):
        if mount.is_claim:
            side.nodes.setdefault(f"claim/{mount.name}", {})
            side.edges[role, f"claim/{mount.name}", f"{path}{' (read-only)' if mount.read_only else ''}"] = None
