"""What an environment forbids or cannot hold.

Rules look at the rendered manifests as well as at the plan, so that a merge patch of the user cannot get around a limit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from trainform.errors import MASK, Problem, looks_secret
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan, RolePlan
from trainform.spec.environment import Environment
from trainform.spec.quantities import amount


@dataclasses.dataclass(frozen=True)
class Template:
    """The pods of one role as rendered, merge patches of the user applied."""

    role: str
    replicas: int
    spec: dict[str, Any]

    @property
    def path(self) -> str:
        """Where the user may have changed what was rendered."""
        return f"roles.{self.role}.pod_overrides"

    def containers(self) -> Iterator[tuple[int | None, dict[str, Any]]]:
        """Index (None for the containers that are no init containers) and container."""
        yield from enumerate(self.spec.get("initContainers", []))
        yield from ((None, container) for container in self.spec.get("containers", []))


Rule = Callable[[Plan, list[Template], Environment], Iterator[Problem]]


def limit_problems(plan: Plan, manifests: list[Manifest], environment: Environment) -> list[Problem]:
    """Every limit of the environment that the plan, or a manifest rendered from it, breaks."""
    job = next(manifest.body for manifest in manifests if manifest.key == "job")
    templates = pod_templates(job)
    return [problem for rule in RULES for problem in rule(plan, templates, environment)]


def pod_templates(body: dict[str, Any]) -> list[Template]:
    """Every pod template in a Volcano Job."""
    return [Template(task["name"], task["replicas"], task["template"]["spec"]) for task in body["spec"]["tasks"]]


def _host_network(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    if environment.limits.host_network:
        return
    reason = f"uses the host network, which the environment {environment.name} forbids"
    fix = "remove it, or ask the platform team for limits.host_network"
    if plan.host_network:
        yield Problem("network.host", True, reason, fix)
        return
    for template in templates:
        ports = [port for _, container in template.containers() for port in container.get("ports", [])]
        if template.spec.get("hostNetwork") or any(port.get("hostPort") for port in ports):
            yield Problem(template.path, None, reason, fix)


def _privileged(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    if environment.limits.privileged:
        return
    granted = () if environment.rdma is None else environment.rdma.capabilities
    for template in templates:
        for what in _privileges(template, granted):
            yield Problem(
                template.path,
                None,
                f"{what}, which the environment {environment.name} forbids",
                "remove it, or ask the platform team for limits.privileged",
            )


def _privileges(template: Template, granted: Iterable[str]) -> Iterator[str]:
    contexts = [container.get("securityContext", {}) for _, container in template.containers()]
    if any(context.get("privileged") for context in contexts):
        yield "makes a container privileged"
    added = {name for context in contexts for name in context.get("capabilities", {}).get("add", [])}
    if added - set(granted):
        yield f"adds the capabilities {', '.join(sorted(added - set(granted)))}"
    if any(context.get("procMount", "Default") != "Default" for context in contexts):
        yield "unmasks /proc"
    if any("hostPath" in volume for volume in template.spec.get("volumes", [])):
        yield "mounts a path of the node"
    if any(template.spec.get(key) for key in ("hostPID", "hostIPC")):
        yield "shares the node's processes"


def _images(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    limits = environment.limits
    told = set()
    for template in templates:
        for index, container in template.containers():
            image = container["image"]
            where = _image_path(plan, template.role, index, image)
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


def _per_node(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
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


def _capacity(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    limit = environment.limits.max_accelerators
    asked = _rendered_accelerators(templates, environment)
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


def _secrets(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    """The same rule as for `env`, for what a merge patch brings in."""
    told = {(role.name, variable.name) for role in plan.roles for variable in role.env}
    told |= {(role.name, name) for role in plan.roles for init in role.init for name in init.env}
    for template in templates:
        for _, container in template.containers():
            for entry in container.get("env", []):
                name, value = entry["name"], entry.get("value")
                if value and (template.role, name) not in told and looks_secret(name, value):
                    yield Problem(
                        f"{template.path}.env.{name}",
                        MASK,
                        "looks like a secret, and would be shown in previews and kept in state",
                        f"write `valueFrom: {{secretKeyRef: {{name: SECRET, key: KEY}}}}` for {name}",
                    )


def _rendered_accelerators(templates: list[Template], environment: Environment) -> int:
    """Accelerators of all pods as rendered: a merge patch may ask for more than the plan."""
    resources = {kind.resource for kind in environment.accelerators.values()}
    asked = Decimal(0)
    for template in templates:
        for _, container in template.containers():
            limits = container.get("resources", {}).get("limits", {})
            asked += sum(amount(str(limits[name])) for name in resources & limits.keys()) * template.replicas
    return int(asked)


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


RULES: tuple[Rule, ...] = (_host_network, _privileged, _images, _secrets, _per_node, _capacity)
