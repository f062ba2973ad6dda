"""The record of what is deployed, which a successful `pulumi up` writes into a ConfigMap next to the job object.

After an `up` that failed, Pulumi's state holds the desired objects, and the record what was deployed before.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct

from trainform import defaults
from trainform.errors import ClusterError

if TYPE_CHECKING:
    from trainform.spec.experiment import Experiment


class Record(Struct, frozen=True, dict=True):
    """Plain data, since another version of trainform may have written it.

    revision, job: those of the job object. If another job object runs, the last `up` has failed half way. run: counts
    repetitions of an unchanged experiment. experiment: every field with its value, defaults included, under the names
    of the file and in its order. environment: the fields of the environment that reach an object of the job, defaults
    included. version: of the trainform that ran the last `up`; None if no Pulumi program has created the ConfigMap.
    base: the experiment before its overlay, every default included, with `environments` as written; None if it has no
    overlays.
    """

    revision: str
    job: str
    run: int
    experiment: dict[str, Any]
    environment: dict[str, Any]
    version: str | None = None
    base: dict[str, Any] | None = None

    @property
    def backend(self) -> str:
        """Return the name of the operator that runs the job."""
        own = self.experiment.get("backend")
        return str(self.environment.get("backend") if own is None else own)

    @property
    def admission(self) -> str:
        """Return the environment's `admission`; "" if an earlier trainform wrote the record."""
        return str(self.environment.get("admission", ""))

    @property
    def queue(self) -> str:
        """Return the name of its queue; "" without admission. An own queue has the experiment's name by default."""
        queue = self.experiment.get("queue")
        if self.admission == defaults.NONE or queue is None:
            return ""
        return str(queue.get("name") or self.experiment.get("name", "")) if isinstance(queue, Mapping) else str(queue)

    @property
    def whole(self) -> dict[str, Any]:
        """Return the experiment with its overlays, as a release has it."""
        return self.experiment if self.base is None else self.base

    @functools.cached_property
    def model(self) -> Experiment | None:
        """Return the experiment; None if this version of trainform cannot read it."""
        from trainform.spec.experiment import Experiment

        try:
            return Experiment.model_validate(self.experiment, strict=False)
        except (ValueError, RecursionError):
            return None

    @functools.cached_property
    def resolved(self) -> Mapping[str, Any]:
        """Return the experiment with every default and one spelling of each value; as recorded if it is unreadable."""
        from trainform.plan.inputs import resolved

        return self.experiment if self.model is None else resolved(self.model)

    def data(self) -> dict[str, str]:
        """Return the data of the ConfigMap."""
        texts = {"revision": self.revision, "job": self.job, "run": str(self.run)}
        texts |= {"experiment": _json(self.experiment), "environment": _json(self.environment)}
        texts |= {} if self.base is None else {"base": _json(self.base)}
        return texts if self.version is None else texts | {"version": self.version}

    def fits(self) -> bool:
        """Return True if a ConfigMap has room for it."""
        return sum(len(text.encode()) for text in self.data().values()) <= defaults.LARGEST_RECORD


def record_name(experiment: str) -> str:
    """Return the name of the ConfigMap. It contains no revision, since the ConfigMap is updated in place."""
    return f"{experiment}-deployed"


def unmark(experiment: str, namespace: str) -> str:
    """Return the command that removes the stack's mark from the record. The stack of the job is unknown after it."""
    return f"kubectl annotate configmap {record_name(experiment)} -n {namespace} {defaults.STACK_ANNOTATION}-"


def record_notes(record: Record | None, experiment: str) -> list[str]:
    """Return a note if the job of the experiment has no record, otherwise an empty list."""
    if record is not None:
        return []
    limit = f"more than {defaults.LARGEST_RECORD} bytes, for which a ConfigMap has no room"
    return [f"the ConfigMap {record_name(experiment)} is left out: the record of what is deployed has {limit}"]


_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Data(Struct):
    """The data of the ConfigMap."""

    revision: _Text
    job: _Text
    run: Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]{0,8}$")]
    experiment: str
    environment: str
    version: str | None = None
    base: str | None = None


def read_record(config_map: Mapping[str, Any] | None) -> Record | None:
    """Return the record in a ConfigMap as the cluster has it, None if there is no ConfigMap; ClusterError if the record
    is malformed."""
    if config_map is None:
        return None
    try:
        data = msgspec.convert(config_map.get("data"), _Data)
        return Record(
            revision=data.revision,
            job=data.job,
            run=int(data.run),
            experiment=_tree(data, "experiment"),
            environment=_tree(data, "environment"),
            version=data.version,
            base=None if data.base is None else _tree(data, "base"),
        )
    except (msgspec.MsgspecError, ValueError) as error:
        raise ClusterError(
            f"the record of what is deployed in the ConfigMap {config_map['metadata']['name']} cannot be read: {error}",
            "delete the ConfigMap, then run `pulumi up --refresh`, which creates it again",
        ) from None


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _tree(data: _Data, entry: str) -> dict[str, Any]:
    """Return the mapping in the entry; ValueError, whose text is the reason, if it is not a mapping in JSON."""
    try:
        return msgspec.json.decode(getattr(data, entry), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"its entry `{entry}` is not a mapping in JSON: {error}") from None
