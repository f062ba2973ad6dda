"""The record of what is deployed, completed with what only the program of a stack knows."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from importlib.metadata import version

import pulumi
from msgspec import structs

from trainform import defaults
from trainform.manifests.manifest import Manifest


def with_own_record(manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """The objects of a job with what only its program knows in the record of what is deployed: the version of trainform, and whose job it is.

    `trainform render` prints neither, so that what it prints is the same in each version and stack.
    """
    return tuple(_recorded(manifest) if manifest.is_record else manifest for manifest in manifests)


def _recorded(manifest: Manifest) -> Manifest:
    body = copy.deepcopy(manifest.body)
    body["data"]["version"] = version("trainform")
    body["metadata"]["annotations"][defaults.STACK_ANNOTATION] = f"{pulumi.get_project()}/{pulumi.get_stack()}"
    return structs.replace(manifest, body=body)
