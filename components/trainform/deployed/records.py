"""The live records of what is deployed: that of one experiment, or all of a namespace or of the cluster.

A record that cannot be read is returned with the reason. Without permission or a connection `ClusterError` is raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.cluster.api import ClusterApi, labelled
from trainform.cluster.identity import refuse_another
from trainform.cluster.live_objects import path_of
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping
from trainform.plan.record import Record, read_record, record_name
from trainform.spec.environment import Environment


class DeploymentRecord(Struct, frozen=True):
    """One record. record: None if it cannot be read, and then `unreadable` is the error. metadata: of its ConfigMap."""

    experiment: str
    environment: str
    namespace: str
    record: Record | None
    metadata: Mapping[str, Any] = {}
    unreadable: ClusterError | None = None

    @property
    def stack(self) -> str:
        """Return the stack that deployed it, PROJECT/STACK; "" if the record is of an earlier trainform."""
        return str(mapping(self.metadata.get("annotations")).get(defaults.STACK_ANNOTATION, ""))


def live_record(experiment: str, environment: Environment, seconds: float) -> Record | None:
    """Read the record of the experiment in the environment; None if nothing is recorded there. ClusterError if it
    cannot be read, InputError for another cluster than that of the environment."""
    with contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api:
        refuse_another(api, environment)
        found = deployed(api, experiment, environment.namespace.name)
    if found is not None and found.unreadable is not None:
        raise found.unreadable
    return None if found is None else found.record


def deployed(api: ClusterApi, experiment: str, namespace: str) -> DeploymentRecord | None:
    """Read the record of the experiment in the namespace; None if there is none."""
    name = record_name(experiment)
    what = f"read the ConfigMap {name} of the namespace {namespace}"
    found: DeploymentRecord | None = api.find(path_of("ConfigMap", namespace, name), what, _deployed)
    return found


def all_deployed(api: ClusterApi, namespace: str) -> tuple[DeploymentRecord, ...]:
    """Read every record in the namespace by one list, in the order of the experiments."""
    what, selector = f"list the ConfigMaps of the namespace {namespace}", labelled(None, f"!{defaults.REVISION_LABEL}")
    found = api.find_all(path_of("ConfigMap", namespace), what, _deployed, selector)
    return tuple(sorted(filter(_is_record, found), key=lambda each: each.experiment))


def _is_record(found: DeploymentRecord) -> bool:
    labels = mapping(found.metadata.get("labels"))
    return bool(found.metadata["name"] == record_name(str(labels.get(defaults.NAME_LABEL, ""))))


def _deployed(body: Mapping[str, Any]) -> DeploymentRecord:
    metadata = body["metadata"]
    labels = mapping(metadata.get("labels"))
    record, unreadable = None, None
    try:
        record = read_record(body)
    except ClusterError as error:
        unreadable = error
    return DeploymentRecord(
        experiment=metadata["name"].removesuffix(record_name("")),
        environment=str(labels.get(defaults.ENVIRONMENT_LABEL, "")),
        namespace=metadata["namespace"],
        record=record,
        metadata=metadata,
        unreadable=unreadable,
    )
