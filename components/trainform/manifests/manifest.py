"""A rendered object: how it is applied and deleted, and as YAML for people.

Objects of other programs hold anything at any place: `mapping`, `mappings` and `quantity` treat a value of an
unexpected type as empty.
"""

from __future__ import annotations

import base64
import enum
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast

import yaml
from msgspec import Struct, structs

from trainform import defaults
from trainform.spec.libyaml import Dumper
from trainform.spec.quantities import amount

CLAIM = "PersistentVolumeClaim"
FIELD_MANAGER = {"pulumi.com/patchFieldManager": "trainform"}
RECORD_KEY = "deployed"


Fields = TypeVar("Fields", bound=Mapping[str, object])


class Component(enum.Enum):
    """The component whose child an object is in a preview. The value is the end of the component's name:
    `resnet-queue`."""

    JOB = ""
    QUEUE = "queue"
    STORAGE = "storage"
    RENDEZVOUS = "rendezvous"
    SSH = "ssh"


class Manifest(Struct, frozen=True):
    """One object. `key` is its name in `manifest_overrides`.

    keep: `destroy` leaves the object, and the next `up` adopts it. patch: the object is not ours, and only
    the fields of `body` are set (Volcano makes the queue `default` itself). revision: the revision that the object's
    name contains, so that a change makes a new object; None if the name never changes. component: the part of the job
    that it belongs to. late_refusals: messages with which a webhook refuses the object while it does not yet see
    another object to which this one refers, each as the words that occur in it; creation is then tried again.
    controller_owned: paths that a controller changes after creation; updates leave them as they are.
    """

    key: str
    body: dict[str, Any]
    keep: bool = False
    patch: bool = False
    revision: str | None = None
    component: Component = Component.JOB
    late_refusals: tuple[tuple[str, ...], ...] = ()
    controller_owned: tuple[str, ...] = ()

    @property
    def is_job(self) -> bool:
        """Return True for the job object itself."""
        return self.key == "job"

    @property
    def is_record(self) -> bool:
        """Return True for the ConfigMap that says what is deployed."""
        return self.key == RECORD_KEY


def override_key(manifest: Manifest) -> str:
    """Return the name of the object in `manifest_overrides`: its key, or `queue` for the experiment's own queue."""
    return "queue" if manifest.key.startswith("queue-") else manifest.key


def resource_name(owner: str, manifest: Manifest) -> str:
    """Return the Pulumi name of an object of the job or component `owner`: `resnet-job`, `resnet-launch-script-1f3a9c`.

    The job is one resource in all revisions: the preview shows its replacement with the changed field, and the old job
    is deleted before the new one is created. Any other object whose name contains the revision is a separate resource
    in each revision. If it were one resource, the new object would be created before the old one is deleted, and an
    `up` that fails in between would leave the old one to the next `up`. If that `up` goes back to the old revision, it
    would create the object of this name and then delete it.
    """
    name = f"{owner}-{manifest.key}"
    return name if manifest.revision is None or manifest.is_job else f"{name}-{manifest.revision}"


def job_body(manifests: Iterable[Manifest]) -> dict[str, Any]:
    """Return the body of the job object, among all objects of a job."""
    return next(manifest.body for manifest in manifests if manifest.is_job)


def ownership(name_label: str, *, environment: str) -> dict[str, str]:
    """Return labels that mark an object as made by trainform; they never change while the object exists."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: name_label, defaults.ENVIRONMENT_LABEL: environment}


def object_body(
    kind: str,
    name: str,
    namespace: str | None,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    *,
    api_version: str = "v1",
    **fields: Any,
) -> dict[str, Any]:
    """Return the body of an object with these fields next to its metadata. namespace: None for a cluster-scoped
    kind."""
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {"apiVersion": api_version, "kind": kind, "metadata": without_empty(metadata), **fields}


def with_own_annotations(manifest: Manifest, overrides: Iterable[str] = ()) -> Manifest:
    """Return the object with trainform's annotations. `overrides`: the user's fields whose merge patches are in the
    object.

    One annotation fixes the field manager. Pulumi's own is random per resource, so a change of an object that outlived
    its state (a kept claim, an object of a killed `up`) would fail with a conflict.
    """
    metadata = manifest.body["metadata"]
    patched = {defaults.OVERRIDES_ANNOTATION: ", ".join(overrides)}
    annotations = {**metadata.get("annotations", {}), **FIELD_MANAGER, **(patched if any(patched.values()) else {})}
    return structs.replace(manifest, body={**manifest.body, "metadata": {**metadata, "annotations": annotations}})


def without_empty(fields: Fields) -> Fields:
    """Return the fields without those that are None, an empty list or an empty mapping; 0, False and "" are kept."""
    kept = {key: value for key, value in fields.items() if value is not None and value != [] and value != {}}
    return cast("Fields", kept)


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """Return the items of a list that are mappings; an empty list if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def quantity(value: object) -> Decimal | None:
    """Return the amount of a quantity; None if it is not one, or not in a spelling that trainform reads (`1e3` is one
    that only Kubernetes reads)."""
    try:
        return amount(str(value))
    except ValueError:
        return None


def decoded(value: Any) -> Any:
    """Return the decoded base64 text; the value itself if it is not base64."""
    try:
        return base64.b64decode(value).decode()
    except (TypeError, ValueError):
        return value


class ReadableDumper(Dumper):
    """Writes scripts as literal blocks."""


# Numbers of YAML 1.2, which kubectl reads, and of which PyYAML leaves some without quotes: a revision may be 493e05.
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+")


def _text(dumper: Dumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _NUMBER.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


ReadableDumper.add_representer(str, _text)


def to_yaml(manifests: Iterable[Manifest]) -> str:
    """Return one YAML document per object, in the given order."""
    # without shared parts, which YAML would write as aliases: requests and limits are written twice
    bodies = json.loads(json.dumps([manifest.body for manifest in manifests]))
    return yaml.dump_all(bodies, Dumper=ReadableDumper, sort_keys=False, width=1000, explicit_start=True)
