"""What an environment forbids or cannot hold.

Rules look at the rendered manifests as well as at the plan, so that a merge patch of the user cannot get around a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set

from trainform.errors import Problem, list_names
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.policy.capacity import capacity, per_node
from trainform.policy.secrets import patched_annotations, patched_secrets
from trainform.policy.templates import Template
from trainform.spec.environment import Environment
from trainform.spec.names import PLACEHOLDER, is_placeholder, split_registry

Rule = Callable[[Plan, list[Template], Environment], Iterator[Problem]]


def limit_problems(
    plan: Plan, manifests: list[Manifest], templates: list[Template], environment: Environment
) -> list[Problem]:
    """Every limit of the environment that the plan, or a manifest rendered from it, breaks. `templates`: those of the manifests."""
    found = (problem for rule in RULES for problem in rule(plan, templates, environment))
    # replicas with templates of their own break a limit together, and it is told once
    return [*dict.fromkeys(found), *patched_annotations(plan, manifests)]


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
    allowed = frozenset(registry.rstrip("/") for registry in environment.limits.registries)
    told = set()
    for template in templates:
        for index, container in template.containers():
            image = container["image"]
            where = _image_path(plan, template.role, index, image)
            if (where, image) in told:
                continue
            told.add((where, image))
            for reason, fix in _wrong_images(image, allowed, environment):
                yield Problem(where, image, reason, fix)


def _wrong_images(image: str, allowed: Set[str], environment: Environment) -> Iterator[tuple[str, str]]:
    """Reason and fix. allowed: the environment's registries without a slash at the end."""
    limits = environment.limits
    if is_placeholder(image):
        yield PLACEHOLDER
    if allowed and not _under(qualified(image), allowed):
        yield (
            f"is not from a registry that the environment allows ({list_names(limits.registries)})",
            f"push it to {limits.registries[0]} and use that name",
        )
    if limits.require_digest and "@sha256:" not in image:
        yield (
            "is not pinned by digest, which the environment requires",
            "write image@sha256:… as your registry shows it",
        )


def qualified(image: str) -> str:
    """The image with its registry: `python:3.11` comes from docker.io/library."""
    registry, path = split_registry(image)
    if registry:
        return image
    return f"docker.io/{path}" if "/" in path else f"docker.io/library/{path}"


def _under(image: str, registries: Set[str]) -> bool:
    """Whether the image is in one of the registries, which may be paths in a registry."""
    return any(image[: slash.start()] in registries for slash in re.finditer("/", image))


def _image_path(plan: Plan, role_name: str, index: int | None, image: str) -> str:
    """The field that the image came from."""
    role = plan.by_name.get(role_name)
    if role is None:
        return "manifest_overrides.job"
    if index is not None and index < len(role.init) and role.init[index].image == image:
        return f"{role.init_path(index)}.image"
    if image == role.image:
        return role.image_origin
    return f"roles.{role_name}.pod_overrides"


RULES: tuple[Rule, ...] = (_host_network, _privileged, _images, patched_secrets, per_node, capacity)
