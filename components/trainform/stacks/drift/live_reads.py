"""Reads of live objects by a few lists, and dry runs on the API server. Nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from trainform import defaults
from trainform.cluster.api import ClusterApi, Request, each, labelled
from trainform.cluster.dry_run import shown_text
from trainform.cluster.identity import environment_problem
from trainform.cluster.live_objects import FEW, Key, Live, ObjectReader, key_of, path_of
from trainform.deployed.records import DeploymentRecord, all_deployed, deployed
from trainform.errors import ClusterError
from trainform.manifests.manifest import Manifest
from trainform.spec.environment import Environment
from trainform.stacks.drift.compare import MANAGER

DRY_RUN = {"dryRun": "All", "fieldManager": MANAGER, "force": "true"}


class Reads:
    """A connection to one cluster, with parallel reads."""

    def __init__(self, context: str | None) -> None:
        """Raises `ClusterError` if the kubeconfig has no such cluster."""
        self._api = ClusterApi(context, 2.0 * defaults.CONNECT_SECONDS)
        self._reader = ObjectReader(self._api)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        self._api.close()

    def cluster_problem(self, environment: Environment) -> str:
        """Return why this is not the cluster of the environment; empty if it is, or if the environment names none."""
        problem = environment_problem(self._api, environment)
        return "" if problem is None else f"{problem.reason}; {problem.fix}"

    def records(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], DeploymentRecord | None]:
        """Return the records of experiments in namespaces, None where nothing is recorded. Raises `ClusterError`."""
        found: dict[tuple[str, str], DeploymentRecord | None] = {}
        for namespace, count in Counter(namespace for _, namespace in places).items():
            if count > FEW:
                found |= {(one.experiment, namespace): one for one in all_deployed(self._api, namespace)}
        rest = [pair for pair in places if pair not in found]
        return found | dict(zip(rest, each(lambda pair: deployed(self._api, *pair), rest), strict=True))

    def has_objects(self, experiment: str, namespace: str) -> bool:
        """Return True if the namespace has a ConfigMap of the experiment: each job has one with its launch script."""
        path, what = path_of("ConfigMap", namespace), f"list the ConfigMaps of the namespace {namespace}"
        selector = labelled({defaults.NAME_LABEL: experiment})
        return bool(self._api.find_all(path, what, parameters=selector, metadata_only=True))

    def objects(self, manifests: Iterable[Manifest]) -> dict[Key, Live]:
        """Return the live objects of these manifests."""
        return self._reader.objects(key_of(manifest.body) for manifest in manifests)

    def dry_runs(self, manifests: Sequence[Manifest]) -> list[Live]:
        """Return each object as the API server would store it if it was applied again."""
        return each(self._dry_run, manifests)

    def _dry_run(self, manifest: Manifest) -> Live:
        try:
            path = self._reader.path(key_of(manifest.body))
            answer = self._api.send(Request("PATCH", path, DRY_RUN, manifest.body))
        except ClusterError as error:  # others may be answered
            return Live(None, error.message)
        if answer.found:
            return Live(answer.body)
        kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]
        if answer.forbidden and "admission" not in answer.message:
            return Live(None, f"this account has no permission for a dry run of {kind}/{name} (verb patch)")
        return Live(None, shown_text(answer.message))
