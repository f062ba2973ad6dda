"""The revision of a job. Any change of its objects that its backend does not make in place makes a new one; no other
module decides this.

The revision is a hash of the objects, and their names contain it. So the objects are rendered once, with a placeholder
for it.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import pickle
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from trainform import defaults
from trainform.backends.paths import places
from trainform.manifests.manifest import Manifest
from trainform.plan import Plan
from trainform.spec.experiment import Experiment
from trainform.spec.metadata import OnChange, on_change, set_fields

# The fields that only some backends change in place, each with its key in the job object.
_KEYS = {"ttl": "ttlSecondsAfterFinished", "min_available": "minAvailable", "replicas": "replicas"}
_LETTERS = "zyxwvutsrqponmlkjihg"
"""Letters of placeholders: names allow them, and no hash has them."""
RenderedT = TypeVar("RenderedT")


def choose_placeholder(*models: Any) -> str:
    """Return a word as long as a revision that occurs nowhere in the models."""
    texts = repr(models)
    words = map("".join, itertools.product(_LETTERS, repeat=defaults.REVISION_DIGITS))
    return next(word for word in words if word[1:] not in texts)  # a pickle has the length of a text before it


def put_revision(rendered: RenderedT, placeholder: str, number: str) -> RenderedT:
    """Return a copy of a plan and its objects with the revision `number` in names, keys and values.

    A pickle copies values of every type. It stays valid, since both words have the same length.
    """
    pickled = pickle.dumps(rendered).replace(placeholder.encode(), number.encode())
    copied: RenderedT = pickle.loads(pickled)  # noqa: S301 - pickled in the line above
    return copied


def revision(manifests: Iterable[Manifest], plan: Plan, in_place: Iterable[str]) -> str:
    """The hash of everything that cannot change while the job runs.

    manifests: every object of the job. The plan's own revision must be `DRAFT_REVISION`, since names and addresses
    contain it. in_place: the paths in the job object that its backend changes in place.
    """
    revisioned = {manifest.key: manifest.body for manifest in manifests if manifest.revision is not None}
    job = revisioned.pop("job")
    # ranks depend on the number of replicas, also if the backend could change that number while the job runs
    static_world = None if plan.world.bounds is not None else {role.name: role.replicas for role in plan.ranked}
    hashed = [
        immutable_part(job, in_place),
        [body.get("data", body.get("spec")) for body in revisioned.values()],
        plan.run,
        static_world,
    ]
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()
    return digest[: defaults.REVISION_DIGITS]


def immutable_part(job: dict[str, Any], paths: Iterable[str]) -> Any:
    """The spec of a job object without the fields that change in place; their paths are such as
    `spec.tasks.*.replicas`."""
    body = {"spec": copy.deepcopy(job["spec"])}
    for path in paths:
        for holder, key, _ in [*places(body, path)]:
            del holder[key]
    return body["spec"]


def changes(
    experiment: Experiment, plan: Plan, manifests: Iterable[Manifest], in_place: Iterable[str]
) -> dict[str, OnChange]:
    """Return what a change of each field that the experiment sets does, by the field's path.

    If that depends on the backend, the value is the one for this job. Only for a merge patch it stays open
    (`IN_PLACE_BY_PATCH`).
    """
    job = next(manifest.body for manifest in manifests if manifest.key == "job")
    there = [path for path in in_place if any(True for _ in places(job, path))]
    scaling = {role.name for role in plan.roles if role.scales_in_place}
    return {path: change_in_job(path, on_change(field), scaling, there) for path, field in set_fields(experiment)}


def change_in_job(path: str, change: OnChange, scaling: Collection[str], in_place: Iterable[str]) -> OnChange:
    """The change for one job. scaling: its roles whose replicas no process knows. in_place: the paths in the job object
    that its backend changes in place."""
    keys = {path.rpartition(".")[2] for path in in_place}
    if change not in (OnChange.IN_PLACE_BY_BACKEND, OnChange.IN_PLACE_WITHOUT_RANKS):
        return change
    *above, name = path.split(".")
    stays = _KEYS[name] in keys
    if change is OnChange.IN_PLACE_WITHOUT_RANKS:
        stays = stays and above[-1] in scaling
    return OnChange.IN_PLACE if stays else OnChange.NEW_REVISION
