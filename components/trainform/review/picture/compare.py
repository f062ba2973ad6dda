"""The picture of each job of a preview: its queue, roles and claims, with what is new, removed, changed or started
again."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import CONTAINER_FIELDS, Template
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.objects import demands_of, local_queue_of, queue_of, templates_of
from trainform.review.picture.parts import Mark, Picture, PictureEdge, PictureFact, PictureNode

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What an object of an unexpected shape raises."""
JOB = "job/"
KINDS = {"claim": steps.CLAIM, "queue": steps.QUEUE}


class Side(Struct):
    """The parts of one side by their ids, with facts by label, and the lines between them with their labels."""

    nodes: dict[str, dict[str, str]] = {}
    edges: dict[tuple[str, str, str], None] = {}


def pictures(context: Context) -> list[Picture]:
    """Return a picture of each job in which something changes, and whose pods the preview has."""
    return [picture for job in context.jobs if (picture := _of_job(context, job)) is not None]


def _of_job(context: Context, job: JobReview) -> Picture | None:
    try:
        before, after = (_side(context, job, after=after) for after in (False, True))
        nodes = [_node(job, key, before, after) for key in dict.fromkeys([*after.nodes, *before.nodes])]
    except UNREADABLE:
        return None
    edges = [
        PictureEdge(start=edge[0], end=edge[1], label=edge[2], change=_on(edge in before.edges, edge in after.edges))
        for edge in dict.fromkeys([*after.edges, *before.edges])
    ]
    changes = any(node.change != "same" for node in nodes)
    return Picture(job=job.name, nodes=nodes, edges=edges) if changes else None


def _on(before: bool, after: bool) -> Mark:
    return "same" if before and after else "added" if after else "removed"


def _node(job: JobReview, key: str, before: Side, after: Side) -> PictureNode:
    kind: Any
    kind, _, name = key.partition("/")
    old, new = before.nodes.get(key, {}), after.nodes.get(key, {})
    facts = [PictureFact(label=word, before=old.get(word), after=new.get(word)) for word in dict.fromkeys([*new, *old])]
    mark = _on(key in before.nodes, key in after.nodes)
    if kind in KINDS:
        mark = _of_object(job, KINDS[kind], name)
    elif mark == "same" and job.job is not None and steps.fate(job.job) == "replace":
        mark = "restarted"
    elif mark == "same" and old != new:
        mark = "changed"
    return PictureNode(id=key, kind=kind, name=name or job.name, change=mark, facts=facts)


def _of_object(job: JobReview, kind: str, name: str) -> Mark:
    """What happens to a queue or claim. One that the stack does not create exists already, and a kept one stays."""
    marks: dict[str, Mark] = {"create": "added", "update": "changed", "replace": "changed", "delete": "removed"}
    found = (step for step in job.steps if step.is_object and step.kind == kind and not steps.leaves(step))
    return next((marks.get(steps.fate(step), "same") for step in found if steps.name(step) == name), "same")


# --- one side


def _side(context: Context, job: JobReview, *, after: bool) -> Side:
    """The parts of one side; none where it has no job. Raises ValueError where the pods are not known."""
    found = Side()
    state = None if job.job is None else job.job.new if after else job.job.old
    if job.job is None or state is None:
        return found
    templates = templates_of(job, context.environment, after=after)
    if templates is None:
        raise ValueError(job.name)
    body = steps.body(job.job, state)
    found.nodes[JOB] = {"object": str(mapping(body.get("metadata")).get("name")), "kind": str(body.get("kind"))}
    queue = queue_of(job, after=after) or local_queue_of(job, after=after)
    if queue:
        found.nodes[f"queue/{queue}"] = {}
        found.edges[f"queue/{queue}", JOB, ""] = None
    demands = demands_of(job, context.environment, after=after) or ()
    each = {demand.role: f"{demand.each} {demand.kind}" for demand in demands}
    for template in templates:
        _add_role(found, template, each.get(template.role, ""))
    for step in steps.of_kind(job.steps, steps.CLAIM):
        claim = step.new if after else step.old
        if claim is not None:
            spec = mapping(steps.body(step, claim).get("spec"))
            size = mapping(mapping(spec.get("resources")).get("requests")).get("storage")
            found.nodes[f"claim/{steps.name(step, claim)}"] = {"size": str(size), "kept": "yes" if claim.keep else "no"}
    return found


def _add_role(found: Side, template: Template, each: str) -> None:
    """A role and the claims that its containers mount."""
    role = f"role/{template.role}"
    facts = found.nodes.setdefault(role, {})
    main = next(iter(mappings(template.spec.get("containers"))), {})
    nodes = ", ".join(sorted(f"{key}={value}" for key, value in mapping(template.spec.get("nodeSelector")).items()))
    given = {"pods": str(template.replicas + int(facts.get("pods", "0"))), "each": each, "image": main.get("image")}
    facts |= {label: str(value) for label, value in (given | {"nodes": nodes}).items() if value}
    found.edges[JOB, role, ""] = None
    volumes = {str(volume.get("name")): mapping(volume.get("persistentVolumeClaim")) for volume in template.volumes()}
    containers = (each for field in CONTAINER_FIELDS for each in mappings(template.spec.get(field)))
    for mount in (each for container in containers for each in mappings(container.get("volumeMounts"))):
        claim = volumes.get(str(mount.get("name")), {})
        if claim.get("claimName"):
            reads = " (read-only)" if mount.get("readOnly") or claim.get("readOnly") else ""
            found.nodes.setdefault(f"claim/{claim['claimName']}", {})
            found.edges[role, f"claim/{claim['claimName']}", f"{mount.get('mountPath', '')}{reads}"] = None
