"""Containers that a merge patch names and the pod does not have: without an image they are no new ones, but other names for those that are there."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.errors import list_names
from trainform.manifests.shapes import mapping

FIELDS = {"containers": "container", "initContainers": "init container"}


def unknown_containers(patch: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Place, reason and fix of each. spec: the role's pod without the patch, with the names that a patch has for containers."""
    for field, noun in FIELDS.items():
        known = [container["name"] for container in spec.get(field, ())]
        for name, value in mapping(mapping(patch.get("spec")).get(field)).items():
            if isinstance(value, dict) and "image" not in value and name not in known:
                near = [*difflib.get_close_matches(name, known, 1), *(known if len(known) == 1 else ())]
                meant = f"write `{near[0]}`" if near else f"known: {list_names(known)}" if known else "remove it"
                every = ", as the main container is called in the patch of a role on every operator"
                more = every if near[:1] == [defaults.MAIN_CONTAINER] else ""
                reason = f"the pod has no {noun} of this name, and a new one needs an image"
                yield f"spec.{field}.{name}", reason, f"{meant}{more}; or add `image` for a new one"
