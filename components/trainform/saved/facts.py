"""Everything from which a preview follows, as it is now: the state, the config, the two files, the program, the
programs that run it, and the cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.check import CheckedJob
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import place
from trainform.deployed.engine import exported
from trainform.errors import ClusterError
from trainform.manifests.shapes import mapping, mappings
from trainform.plan.inputs import resolved
from trainform.plan.record import Record, read_record
from trainform.project import stack_path
from trainform.review.files import StackFiles, stack_files
from trainform.review.stack_choice import chosen_by
from trainform.review.steps import RECORD
from trainform.saved.engine import backend, engine_version
from trainform.saved.model import Cluster, Document, Facts, Setting, State
from trainform.saved.program import policy_files, program_files, provider_variables
from trainform.saved.seal import keyed
from trainform.secrets import masked, masked_line
from trainform.spec.environment import Environment
from trainform.spec.read import read_content
from trainform.spec.stack import NAMESPACE, project_name

SECONDS = 10.0
SHOWN = ("experiment", "environment", "run", "release")
"""Keys of the config, of trainform's own, whose values are no secrets."""
SERVICES = "environment"
"""The part of a stack's file that takes values from Pulumi's service."""
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


class Source(Struct, frozen=True):
    """The stack of which facts are gathered, and the key of their hashes."""

    stack: str
    root: Path
    key: bytes

    def document(self, data: Any) -> Document:
        """The data with its hash, and without what looks like a secret."""
        return Document(hash=keyed(self.key, data), shown=masked(data))


def gather(source: Source) -> Facts:
    """The facts. TrainformError if one of them cannot be had."""
    stack, root = source.stack, source.root
    files = stack_files(chosen_by(stack, root), root)
    with ThreadPoolExecutor(4) as pool:
        state = pool.submit(exported, stack, root)
        place = pool.submit(backend, root)
        number = pool.submit(engine_version, root)
        cluster = pool.submit(cluster_of, files.environment)
        return Facts(
            project=project_name(root),
            stack=stack,
            backend=place.result(),
            engine=number.result(),
            trainform=version("trainform"),
            cluster=cluster.result(),
            state=state_of(state.result(), source),
            config=config_of(source),
            policy={path: keyed(source.key, text.hex()) for path, text in policy_files(os.environ, root)},
            variables={name: keyed(source.key, value) for name, value in provider_variables(os.environ).items()},
            program={path: keyed(source.key, text.hex()) for path, text in program_files(root)},
            experiment=_experiment(files, source),
            environment=None if files.environment is None else source.document(_data_of(files.environment)),
        )


def _experiment(files: StackFiles, source: Source) -> Document | None:
    """The experiment with every default; None for an environment's own stack, and for files that cannot be read."""
    checked = files.checked
    job = checked.job if isinstance(checked, CheckedJob) else None
    return None if job is None else source.document(resolved(job.experiment))


def _data_of(environment: Environment) -> dict[str, Any]:
    """The environment with every default. The context of a kubeconfig is a name on somebody's machine."""
    return environment.model_dump(mode="json", by_alias=True, exclude={"cluster": {"context"}})


def cluster_of(environment: Environment | None) -> Cluster | None:
    """The cluster of the environment; None without one. ClusterError for one that cannot be reached, and for one that
    does not say which one it is: what was reviewed on it could be applied to any."""
    if environment is None:
        return None
    context = environment.cluster.context
    with contextlib.closing(ClusterApi(context, SECONDS)) as api:
        uid = api.uid()
        if uid is None:
            reason = (
                f"this account may not read which cluster {place(api)} leads to, and a saved review is for one "
                "cluster alone"
            )
            raise ClusterError(reason, f"ask the platform team for `get` of the namespace {defaults.KUBE_SYSTEM}")
        return Cluster(context=context, server=api.server, uid=uid)


def config_of(source: Source) -> dict[str, Setting]:
    """What the stack's file sets. What encrypts its secrets says nothing of them."""
    name = stack_path(source.stack.rpartition("/")[2])
    if not (source.root / name).is_file():
        return {}
    data = read_content(source.root / name, name).data
    values = {**mapping(data.get("config")), **({SERVICES: data[SERVICES]} if SERVICES in data else {})}
    return {key: Setting(hash=keyed(source.key, value), shown=_shown(key, value)) for key, value in values.items()}


def _shown(key: str, value: Any) -> str | None:
    space, _, name = key.partition(":")
    known = space == NAMESPACE and name in SHOWN and isinstance(value, str | int)
    return masked_line(str(value)) if known else None


# --- the state


def state_of(exported: Mapping[str, Any], source: Source) -> State:
    """The state of the stack in what `pulumi stack export` has printed."""
    deployment = mapping(exported.get("deployment"))
    resources = mappings(deployment.get("resources"))
    return State(
        written=str(mapping(deployment.get("manifest")).get("time", "")),
        resources=keyed(source.key, resources),
        pending=keyed(source.key, deployment.get("pending_operations")),
        deployed={
            str(record.experiment.get("name", record.job)): source.document(_record_data(record))
            for record in _records(resources)
        },
    )


def _records(resources: list[dict[str, Any]]) -> Iterator[Record]:
    """What is recorded as deployed. A record that nobody can read is a resource like any other."""
    for resource in resources:
        data = mapping(mapping(resource.get("inputs")).get("data"))
        if resource.get("type") == CONFIG_MAP and data.keys() >= RECORD:
            with contextlib.suppress(ClusterError):
                record = read_record({"metadata": {"name": ""}, "data": data})
                if record is not None:
                    yield record


def _record_data(record: Record) -> dict[str, Any]:
    return {**record.experiment, "environment": record.environment, "run": record.run}
