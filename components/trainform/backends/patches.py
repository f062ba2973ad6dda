"""Merge patches of the user: applied in one place, and held to what the plan has decided."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator

from trainform.backends.contract import Backend
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.manifests.merge_patch import merge_patch
from trainform.manifests.pods import own_labels, pod_template
from trainform.manifests.shape import ANY_OBJECT, KINDS, POD_TEMPLATE, misshapen
from trainform.plan.model import Plan

# What a merge patch may not touch: Pulumi, the revision and the references between objects hang on them.
IDENTITY = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    *(
        ("metadata", "labels", label)
        for label in (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ENVIRONMENT_LABEL)
    ),
)
LARGEST_OBJECT = 1024 * 1024  # bytes; etcd keeps 1.5 MiB, with what the API server and Volcano add


def override_key(manifest: Manifest) -> str:
    """The word for the object in `manifest_overrides`: its key, `queue` for the experiment's own queue."""
    return "queue" if manifest.key.startswith("queue-") else manifest.key


def override_paths(plan: Plan, manifest: Manifest) -> list[str]:
    """The user's fields whose merge patches are in the object; those of roles are in the job."""
    key = override_key(manifest)
    roles = [f"roles.{role.name}.pod_overrides" for role in plan.roles if role.overrides] if key == "job" else []
    return [*roles, *([f"manifest_overrides.{key}"] if key in plan.manifest_overrides else [])]


def patched(plan: Plan, manifest: Manifest) -> Manifest:
    """The object with the user's merge patch."""
    patch = plan.manifest_overrides.get(override_key(manifest))
    if patch is None:
        return manifest
    return dataclasses.replace(manifest, body=merge_patch(manifest.body, patch))


def patch_problems(plan: Plan, manifests: list[Manifest], backend: Backend) -> list[Problem]:
    """What patches may not do. `manifests` are the objects as rendered, before `manifest_overrides`."""
    problems = [*_unknown_keys(plan, manifests), *_identity(plan), *_pods(plan, backend)]
    # an object that is wrecked already has nothing more to say
    return problems if problems else [*_objects(plan, manifests, backend)]


def _unknown_keys(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    known = [override_key(manifest) for manifest in manifests]
    for key in plan.manifest_overrides:
        if key not in known:
            yield Problem(
                f"manifest_overrides.{key}", None, "is no object of this experiment", f"known: {', '.join(known)}"
            )


def _identity(plan: Plan) -> Iterator[Problem]:
    for key, patch in plan.manifest_overrides.items():
        for path in IDENTITY:
            value: object = patch
            for part in path:
                if not isinstance(value, dict) or part not in value:
                    break
                value = value[part]
            else:
                where = ".".join(("manifest_overrides", key, *path))
                yield Problem(where, value, "is the identity of the object", "remove it; names follow from the plan")


def _pods(plan: Plan, backend: Backend) -> Iterator[Problem]:
    for role in plan.roles:
        if not role.overrides:
            continue
        path = f"roles.{role.name}.pod_overrides"
        group = next(role.groups())
        template = pod_template(plan, role, group, backend.operator(plan))
        wrecked = [*misshapen(template, POD_TEMPLATE)]
        yield from (Problem(f"{path}.{where}", None, reason, "patch only what differs") for where, reason in wrecked)
        labels = {} if wrecked else template["metadata"]["labels"]
        for label, value in own_labels(plan, role, group).items():
            if not wrecked and labels.get(label) != value:
                yield Problem(
                    f"{path}.metadata.labels.{label}", labels.get(label), "is set by trainform itself", "remove it"
                )


def _objects(plan: Plan, manifests: Iterable[Manifest], backend: Backend) -> Iterator[Problem]:
    shapes = backend.shapes(plan)
    for manifest in manifests:
        key = override_key(manifest)
        path = f"manifest_overrides.{key}"
        body = patched(plan, manifest).body
        shape = shapes.get(key, KINDS.get(body["kind"], ANY_OBJECT))
        wrecked = [*misshapen(body, shape)]
        yield from (Problem(f"{path}.{where}", None, reason, "patch only what differs") for where, reason in wrecked)
        if key in shapes and not wrecked:
            for where, reason in backend.replanned(key, manifest.body, body):
                yield Problem(f"{path}.{where}", None, reason, "write it in the field of the experiment")
        size = len(json.dumps(body))
        if size > LARGEST_OBJECT:
            yield Problem(
                "" if key == "job" else path, None, f"makes the object {key} {size} bytes long; etcd keeps at most {LARGEST_OBJECT}", "put large values into a ConfigMap or the image"
            )  # fmt: skip
