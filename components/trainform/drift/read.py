"""Read live objects, by a few lists, and ask the API server by dry runs. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar
from urllib.parse import quote

from msgspec import Struct

from trainform import defaults
from trainform.cluster.api import MAX_CONNECTIONS, Answer, ClusterApi
from trainform.cluster.drift import SECRETS
from trainform.cluster.identity import environment_problem
from trainform.cluster.served import BUILT_IN, NotReadError, Served, collection, refusal, served
from trainform.deployed.records import Deployed, all_deployed, deployed
from trainform.drift.compare import MANAGER
from trainform.errors import ClusterError, without_credentials
from trainform.manifests.manifest import Manifest
from trainform.manifests.shapes import mapping
from trainform.review.forms.sections import cut
from trainform.secrets import masked_line
from trainform.spec.environment import Environment

LONGEST = 300  # characters of what a webhook answers
FEW = 4  # objects of a kind in a namespace that are read one by one, so that one stack does not read all others
OURS = {"labelSelector": ",".join(f"{label}={value}" for label, value in defaults.MANAGED_BY.items())}
Given = TypeVar("Given")
Made = TypeVar("Made")
Key = tuple[str, str, str, str]


class Live(Struct, frozen=True):
    """An object of the cluster, or of a dry run. body: None if there is none, or if it could not be read (`reason`)."""

    body: Mapping[str, Any] | None
    path: str = ""
    reason: str = ""


class Reads:
    """Reads from one cluster, several at the same time."""

    def __init__(self, context: str | None) -> None:
        """Raises `ClusterError` if the kubeconfig has no such cluster."""
        self._api = ClusterApi(context, 2.0 * defaults.CONNECT_SECONDS)
        self._pool = ThreadPoolExecutor(MAX_CONNECTIONS)
        self._served: dict[str, dict[str, Served] | str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the threads and close the connections."""
        self._pool.shutdown(cancel_futures=True)
        self._api.close()

    def another_cluster(self, environment: Environment) -> str:
        """Why this is not the cluster to which the environment is bound; empty if it is, or if the environment is bound
        to none."""
        problem = environment_problem(self._api, environment)
        return "" if problem is None else f"{problem.reason}; {problem.fix}"

    def records(self, asked: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Deployed | None]:
        """The records of experiments in namespaces, None where nothing is recorded. Raises `ClusterError`."""
        found: dict[tuple[str, str], Deployed | None] = {}
        for namespace, names in _by(asked, lambda pair: pair[1]).items():
            if len(names) > FEW:
                found |= {(each.experiment, namespace): each for each in all_deployed(self._api, namespace)}
        rest = [pair for pair in asked if pair not in found]
        return found | dict(zip(rest, self._each(lambda pair: deployed(self._api, *pair), rest), strict=True))

    def has_objects(self, experiment: str, namespace: str) -> bool:
        """True if the namespace has a ConfigMap of the experiment: each job has one with its launch script."""
        labels = {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment}
        selector = {"labelSelector": ",".join(f"{label}={value}" for label, value in labels.items())}
        path = collection("v1", BUILT_IN["v1", "ConfigMap"], namespace)
        listed = self._api.listed(path, parameters=selector, metadata_only=True)
        return not isinstance(listed, Answer) and bool(listed)

    def objects(self, manifests: Iterable[Manifest]) -> dict[Key, Live]:
        """The live objects of these manifests: those of which there are many by a list, and what a list lacks by
        itself."""
        wanted = {key_of(manifest): manifest for manifest in manifests}
        self._learn(sorted({key[0] for key in wanted if key[:2] not in BUILT_IN} - {*self._served}))
        groups = [*_by(wanted, lambda key: key[:3]).items()]
        many = [group for group, keys in groups if len(keys) > FEW]
        found = {key: live for lists in self._each(self._list, many) for key, live in lists.items() if key in wanted}
        rest = [key for key in wanted if key not in found]
        return found | dict(zip(rest, self._each(self._get, rest), strict=True))

    def dry_runs(self, asked: Sequence[tuple[Manifest, Live]]) -> list[Live]:
        """What the API server would make of each object if it was applied again."""
        return self._each(self._dry_run, asked)

    def _each(self, work: Callable[[Given], Made], items: Sequence[Given]) -> list[Made]:
        return [*(self._pool.map(work, items) if len(items) > 1 else map(work, items))]

    def _learn(self, versions: Sequence[str]) -> None:
        def learn(version: str) -> dict[str, Served] | str:
            try:
                return served(self._api, version)
            except NotReadError as error:
                return str(error)

        self._served |= zip(versions, self._each(learn, versions), strict=True)

    def _place(self, key: Key | tuple[str, str, str]) -> str:
        """The path of the kind's objects; NotReadError without one."""
        if key[:2] in BUILT_IN:
            return collection(key[0], BUILT_IN[key[:2]], key[2])
        kinds = self._served[key[0]]
        if isinstance(kinds, str):
            raise NotReadError(kinds)
        return collection(key[0], kinds[key[1]], key[2]) if key[1] in kinds else ""

    def _list(self, group: tuple[str, str, str]) -> dict[Key, Live]:
        """Our objects of the kind; none where they cannot be listed, since each may be readable by itself."""
        try:
            path = self._place(group)
        except NotReadError:
            return {}
        listed = self._api.listed(path, parameters=OURS, metadata_only=group[1] == SECRETS) if path else []
        if isinstance(listed, Answer):
            return {}
        with self._api.reading(path):
            return {(*group, body["metadata"]["name"]): Live({**body, "kind": group[1]},
                    f"{path}/{quote(body['metadata']['name'], safe='')}") for body in listed}  # fmt: skip

    def _get(self, key: Key) -> Live:
        try:
            place = self._place(key)
        except NotReadError as error:
            return Live(None, reason=str(error))
        if not place:
            return Live(None)
        path = f"{place}/{quote(key[3], safe='')}"
        answer = self._api.get(path, metadata_only=key[1] == SECRETS)
        if answer.found:
            return Live({**answer.body, "kind": key[1]}, path)
        return Live(None, reason="" if answer.missing else refusal(answer, f"read {key[1]}/{key[3]}"))

    def _dry_run(self, asked: tuple[Manifest, Live]) -> Live:
        manifest, live = asked
        try:
            answer = self._api.dry_run_apply(live.path, manifest.body, MANAGER)
        except ClusterError as error:  # others may be answered
            return Live(None, reason=error.message)
        if answer.found:
            return Live(answer.body, live.path)
        kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]
        if answer.forbidden and "admission" not in answer.message:
            return Live(None, reason=f"this account has no permission for a dry run of {kind}/{name} (verb patch)")
        return Live(None, reason=cut(" ".join(masked_line(without_credentials(answer.message)).split()), LONGEST))


def key_of(manifest: Manifest) -> Key:
    """What tells the object apart in a cluster."""
    body = manifest.body
    return (
        body["apiVersion"],
        body["kind"],
        str(mapping(body["metadata"]).get("namespace", "")),
        body["metadata"]["name"],
    )


def _by(items: Iterable[Given], group: Callable[[Given], Made]) -> dict[Made, list[Given]]:
    groups: dict[Made, list[Given]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    return groups
