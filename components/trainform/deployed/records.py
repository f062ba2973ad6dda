"""The live records of what is deployed: that of one experiment, or all of a namespace or of the cluster.

A record that cannot be read is returned with the reason. Without permission or a connection `ClusterError` is raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from trainform import defaults
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.identity import refuse_another
from trainform.errors import ClusterError
from trainform.manifests.shapes import mapping
from trainform.plan.record import Record, read_record, record_name
from trainform.spec.environment import Environment

SELECTOR = ",".join(f"{label}={value}" for label, value in defaults.MANAGED_BY.items())
"""All objects that trainform has made."""


class Deployed(Struct, frozen=True):
    """One record. record: None if it cannot be read, and then `unreadable` is the error. metadata: of its ConfigMap."""

    experiment: str
    environment: str
    namespace: str
    record: Record | None
    metadata: Mapping[str, Any] = {}
    unreadable: ClusterError | None = None

    @property
    def stack(self) -> str:
        """The stack that deployed it, PROJECT/STACK; "" if the record is of an earlier trainform."""
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


def deployed(api: ClusterApi, experiment: str, namespace: str) -> Deployed | None:
    """Read the record of the experiment in the namespace; None if there is none."""
    path = f"{_path(namespace)}/{quote(record_name(experiment), safe='')}"
    answer = api.get(path)
    if answer.missing:
        return None
    if not answer.found:
        raise refused(answer, f"read the ConfigMap {record_name(experiment)} of the namespace {namespace}")
    with api.reading(path):
        return _deployed(answer.body)


def all_deployed(api: ClusterApi, namespace: str) -> tuple[Deployed, ...]:
    """Read every record in the namespace by one list, in the order of the experiments."""
    path = _path(namespace)
    listed = api.listed(path, parameters={"labelSelector": f"{SELECTOR},!{defaults.REVISION_LABEL}"})
    if isinstance(listed, Answer):
        raise refused(listed, f"list the ConfigMaps of the namespace {namespace}")
    with api.reading(path):
        found = [_deployed(body) for body in listed if _is_record(body)]
    return tuple(sorted(found, key=lambda each: each.experiment))


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps"


def _is_record(body: Mapping[str, Any]) -> bool:
    labels = mapping(body["metadata"].get("labels"))
    return bool(body["metadata"]["name"] == record_name(str(labels.get(defaults.NAME_LABEL, ""))))


def _deployed(body: Mapping[str, Any]) -> Deployed:
    metadata = body["metadata"]
    labels = mapping(metadata.get("labels"))
    record, unreadable = None, None
    try:
        record = read_record(body)
    except ClusterError as error:
        unreadable = error
    return Deployed(
        experiment=metadata["name"].removesuffix(record_name("")),
        environment=str(labels.get(defaults.ENVIRONMENT_LABEL, "")),
        namespace=metadata["namespace"],
        record=record,
        metadata=metadata,
        unreadable=unreadable,
    )


def refused(answer: Answer, what: str) -> ClusterError:
    """Return the error for an answer that is not what was asked for. what: `list the pods of the namespace ai`."""
    if answer.forbidden:
        return ClusterError(f"this account has no permission to {what}", "ask the platform team for the permission")
    return ClusterError(f"the cluster does not {what}: {answer.message}", "check your access with `kubectl get`")
