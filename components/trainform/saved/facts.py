"""The facts from which a preview follows, as they are now: the state, the config, the two files, the program, the
programs that run it, and the cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
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
from trainform.manifests.shapes import mapping
from trainform.plan.inputs import resolved
from trainform.project import stack_path
from trainform.review.files import StackFiles, stack_files
from trainform.review.stack_choice import chosen_by
from trainform.saved.engine import backend, engine_version
from trainform.saved.file import keyed
from trainform.saved.model import Fact, What
from trainform.saved.program import policy_files, program_files, provider_variables
from trainform.secrets import masked, masked_line
from trainform.spec.environment import Environment
from trainform.spec.read import read_content
from trainform.spec.stack import NAMESPACE, project_name

SECONDS = 10.0
SHOWN = ("experiment", "environment", "run", "release")
"""Keys of trainform's config whose values are not secrets."""
SERVICES = "environment"
"""The part of a stack's file that takes values from Pulumi's service."""
Facts = dict[What, Fact]


class Source(Struct, frozen=True):
    """The stack whose facts are gathered, and the key of their hashes."""

    stack: str
    root: Path
    key: bytes

    def fact(self, data: Any) -> Fact:
        """Return the hash of the data, and the data without secrets."""
        return Fact(hash=keyed(self.key, data), shown=masked(data))

    def hidden(self, values: Mapping[str, Any], shown: Mapping[str, str] | None = None) -> Fact:
        """Return a fact that shows a hash instead of each value, but for those in `shown`."""
        hashes = {name: keyed(self.key, value) for name, value in values.items()}
        return Fact(hash=keyed(self.key, hashes), shown={**hashes, **(shown or {})})


def gather(source: Source) -> Facts:
    """Return the facts. TrainformError if one of them cannot be read."""
    stack, root = source.stack, source.root
    files = stack_files(chosen_by(stack, root), root)
    with ThreadPoolExecutor(4) as pool:
        state = pool.submit(exported, stack, root)
        kept = pool.submit(backend, root)
        engine = pool.submit(engine_version, root)
        uid = pool.submit(cluster_uid, files.environment)
        return {
            "backend": source.fact(kept.result()),
            "project": source.fact(project_name(root)),
            "cluster": source.fact(uid.result()),
            "engine": source.fact(engine.result()),
            "trainform": source.fact(version("trainform")),
            "experiment": source.fact(_experiment(files)),
            "environment": source.fact(None if files.environment is None else _data_of(files.environment)),
            "config": config_of(source),
            "program": source.hidden({path: text.hex() for path, text in program_files(root)}),
            "policy": source.hidden({path: text.hex() for path, text in policy_files(os.environ, root)}),
            "variable": source.hidden(provider_variables(os.environ)),
            "state": state_of(state.result(), source),
        }


def _experiment(files: StackFiles) -> dict[str, Any] | None:
    """Return the experiment with every default; None for an environment's own stack, and for files that cannot be
    read."""
    checked = files.checked
    job = checked.job if isinstance(checked, CheckedJob) else None
    return None if job is None else resolved(job.experiment)


def _data_of(environment: Environment) -> dict[str, Any]:
    """Return the environment with every default. The context of a kubeconfig is a name on one machine."""
    return environment.model_dump(mode="json", by_alias=True, exclude={"cluster": {"context"}})


def cluster_uid(environment: Environment | None) -> str | None:
    """Return the UID of the environment's cluster; None without an environment. ClusterError if the cluster cannot be
    reached, or if its UID may not be read."""
    if environment is None:
        return None
    with contextlib.closing(ClusterApi(environment.cluster.context, SECONDS)) as api:
        uid = api.uid()
        if uid is None:
            reason = (
                f"this account may not read which cluster {place(api)} leads to, and a saved review is for one "
                "cluster alone"
            )
            raise ClusterError(reason, f"ask the platform team for `get` of the namespace {defaults.KUBE_SYSTEM}")
        return uid


def config_of(source: Source) -> Fact:
    """Return the config in the stack's file, without what says how its secrets are encrypted."""
    name = stack_path(source.stack.rpartition("/")[2])
    data = read_content(source.root / name, name).data if (source.root / name).is_file() else {}
    values = {**mapping(data.get("config")), **({SERVICES: data[SERVICES]} if SERVICES in data else {})}
    own = {f"{NAMESPACE}:{name}" for name in SHOWN}
    shown = {key: masked_line(str(each)) for key, each in values.items() if key in own and isinstance(each, str | int)}
    return source.hidden(values, shown)


def state_of(exported: Mapping[str, Any], source: Source) -> Fact:
    """Return the state of the stack, as `pulumi stack export` prints it."""
    deployment = mapping(exported.get("deployment"))
    parts = {
        "written": str(mapping(deployment.get("manifest")).get("time", "")),
        "resources": keyed(source.key, deployment.get("resources")),
        "pending": keyed(source.key, deployment.get("pending_operations")),
    }
    return source.fact(parts)
