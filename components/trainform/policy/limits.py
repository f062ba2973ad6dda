"""What an environment forbids or cannot hold.

Rules look at the rendered manifests as well as at the plan, so that a merge patch of the user cannot get around a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan, RolePlan
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount

Templates = list[tuple[str, dict[str, Any]]]
Rule = Callable[[Plan, Templates, Environment], Iterator[Problem]]


def limit_problems(plan: Plan, manifests: list[Manifest], environment: Environment) -> list[Problem]:
    """Every limit of the environment that the plan, or a manifest rendered from it, breaks."""
    templates = [template for manifest in manifests for template in pod_templates(manifest.body)]
    return [problem for rule in RULES for problem in rule(plan, templates, environment)]


def pod_templates(body: dict[str, Any]) -> Templates:
    """Role name and pod spec of every template in a Volcano Job."""
    tasks = body.get("spec", {}).get("tasks", [])
    return [(task["name"], task["template"]["spec"]) for task in tasks]


def _containers(spec: dict[str, Any]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Index (None for the containers that are no init containers) and container."""
    yield from ((index, container) for index, container in enumerate(spec.get("initContainers", [])))
    yield from ((None, container) for container in spec.get("containers", []))


def _host_network(plan: Plan, templates: Templates, environment: Environment) -> Iterator[Problem]:
    if environment.limits.host_network:
        return
    reason = f"uses the host network, which the environment {environment.name} forbids"
    fix = "remove it, or ask the platform team for limits.host_network"
    if plan.host_network:
        yield Problem("network.host", True, reason, fix)
        return
    for role, spec in templates:
        if spec.get("hostNetwork"):
            yield Problem(f"roles.{role}.pod_overrides", None, reason, fix)


def _privileged(plan: Plan, templates: Templates, environment: Environment) -> Iterator[Problem]:
    if environment.limits.privileged:
        return
    fix = "remove it, or ask the platform team for limits.privileged"
    for role, spec in templates:
        where = f"roles.{role}.pod_overrides"
        if any(container.get("securityContext", {}).get("privileged") for _, container in _containers(spec)):
            yield Problem(
                where, None, f"makes a container privileged, which the environment {environment.name} forbids", fix
            )
        if any("hostPath" in volume for volume in spec.get("volumes", [])):
            yield Problem(
                where, None, f"mounts a path of the node, which the environment {environment.name} forbids", fix
            )
        shared = [key for key in ("hostPID", "hostIPC") if spec.get(key)]
        if shared:
            yield Problem(
                where,
                ", ".join(shared),
                f"shares the node's processes, which the environment {environment.name} forbids",
                fix,
            )


def _images(plan: Plan, templates: Templates, environment: Environment) -> Iterator[Problem]:
    limits = environment.limits
    told = set()
    for role, spec in templates:
        for index, container in _containers(spec):
            image = container.get("image", "")
            where = _image_path(plan, role, index, image)
            if (where, image) in told:
                continue
            told.add((where, image))
            if limits.registries and not any(_under(qualified(image), registry) for registry in limits.registries):
                allowed = ", ".join(limits.registries)
                yield Problem(
                    where,
                    image,
                    f"is not from a registry that the environment allows ({allowed})",
                    f"push it to {limits.registries[0]} and use that name",
                )
            if limits.require_digest and "@sha256:" not in image:
                yield Problem(
                    where,
                    image,
                    "is not pinned by digest, which the environment requires",
                    "write image@sha256:… as your registry shows it",
                )


def qualified(image: str) -> str:
    """The image with its registry: `python:3.11` comes from docker.io/library."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


def _under(image: str, registry: str) -> bool:
    return image.startswith(registry.rstrip("/") + "/")


def _image_path(plan: Plan, role_name: str, index: int | None, image: str) -> str:
    """The field that the image came from."""
    role = next((role for role in plan.roles if role.name == role_name), None)
    if role is None:
        return "manifest_overrides.job"
    if index is not None and index < len(role.init) and role.init[index].image == image:
        return f"roles.{role_name}.init[{index}].image"
    if image == role.image:
        return role.image_origin
    return f"roles.{role_name}.pod_overrides"


def _per_node(plan: Plan, templates: Templates, environment: Environment) -> Iterator[Problem]:
    for role in plan.roles:
        if role.accelerators is None or role.accelerators[0] not in environment.accelerators:
            continue
        kind, count = role.accelerators
        node = environment.accelerators[kind]
        if count > node.per_node:
            yield Problem(
                f"roles.{role.name}.accelerators.{kind}", count, f"is more than a node has ({node.per_node} {kind})",
                f"ask for at most {node.per_node} on each pod and for more replicas",
            )  # fmt: skip
        for resource, most in (("cpu", node.cpu), ("memory", node.memory)):
            if resource in role.resources and amount(role.resources[resource]) > amount(most):
                yield Problem(
                    f"roles.{role.name}.{resource}",
                    role.resources[resource],
                    f"is more than a node with {kind} has ({most})",
                    f"ask for {most} or less",
                )


def _capacity(plan: Plan, templates: Templates, environment: Environment) -> Iterator[Problem]:
    limit = environment.limits.max_accelerators
    asked = sum(plan.totals.accelerators.values())
    if limit is not None and asked > limit:
        yield Problem(
            "roles",
            None,
            f"ask for {asked} accelerators together; the environment allows {limit}",
            "ask for fewer replicas or accelerators",
        )
    queue = environment.queues.get(plan.queue.name) if plan.queue.request is None else plan.queue.request
    for kind, needed in _gang_accelerators(plan).items():
        node = environment.accelerators.get(kind)
        if node is None:
            continue
        if _gang_nodes(plan, kind, node.per_node) > node.nodes:
            yield Problem(
                "roles",
                None,
                f"need {_gang_nodes(plan, kind, node.per_node)} nodes with {kind} at once; the environment has {node.nodes}",
                "ask for fewer replicas, or set min_available",
            )
        capability = {} if queue is None else queue.capability
        most = capability.get(kind, capability.get(node.resource))
        if most is not None and needed > amount(most):
            yield Problem(
                "queue",
                plan.queue.name,
                f"has a capability of {most} {kind}, and the gang needs {needed} at once",
                "use another queue, or ask for less",
            )


def _gang_accelerators(plan: Plan) -> dict[str, int]:
    needed: dict[str, int] = {}
    for role in plan.roles:
        if role.accelerators is not None:
            kind, count = role.accelerators
            needed[kind] = needed.get(kind, 0) + count * role.min_available
    return needed


def _gang_nodes(plan: Plan, kind: str, per_node: int) -> int:
    """Fewest nodes that hold the gang's pods of this kind: pods of a role share a node as far as its accelerators go."""

    def nodes(role: RolePlan) -> int:
        if role.accelerators is None or role.accelerators[0] != kind:
            return 0
        fitting = max(1, per_node // role.accelerators[1])
        return math.ceil(role.min_available / (1 if any(port.host for port in role.ports) else fitting))

    whole = [role for role in plan.roles if role.accelerators is not None and role.accelerators[1] * 2 > per_node]
    return max(sum(nodes(role) for role in whole), max((nodes(role) for role in plan.roles), default=0))


RULES: tuple[Rule, ...] = (_host_network, _privileged, _images, _per_node, _capacity)
