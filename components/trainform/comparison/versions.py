"""The versions of an experiment that are compared: what a stack has deployed, and what a file or a release says."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform.check_files import load_experiment
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import refuse_another
from trainform.comparison.compare import Version
from trainform.deployed.records import deployed
from trainform.errors import ClusterError
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.review.wanted import Side
from trainform.spec.environment import Environment
from trainform.spec.experiment import OVERLAYS
from trainform.spec.load import Given


def read_deployed(experiment: str, environment: Environment, seconds: float) -> Record:
    """The live record of what is deployed. ClusterError if nothing is, or if nobody can read it; InputError if the
    cluster is another one."""
    namespace = environment.namespace.name
    with contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api:
        refuse_another(api, environment)
        found = deployed(api, experiment, namespace)
    if found is None:
        raise ClusterError(
            f"nothing of {experiment} is recorded as deployed in the environment {environment.name} (namespace "
            f"{namespace})",
            "run `pulumi up` of its stack first; `trainform stacks` shows what is deployed",
        )
    if found.record is None:
        raise found.unreadable if found.unreadable is not None else ClusterError(f"the record of {experiment} is empty")
    return found.record


def of_record(name: str, record: Record) -> Version:
    """What is deployed. name: how it is called."""
    facts = {
        "revision": record.revision,
        "run": str(record.run),
        "trainform": "" if record.version is None else record.version,
    }
    side = Side(record.experiment, record.environment, record.run, "record", record.version, record.job)
    return Version(name, side, facts)


def of_file(
    name: str, given: Given, root: Path, environment: str = "", facts: Mapping[str, str] | None = None
) -> Version:
    """What a file says in the environment of this name; "" for none, and then with what it has differently in all of
    them. InputError with every problem of the file."""
    loaded = load_experiment(given, root, environment)
    model = loaded.checked()
    told = {**({} if facts is None else facts), **({"environment": environment} if environment else {})}
    overlays: Any = {} if environment or loaded.data is None else loaded.data.get(OVERLAYS)
    return Version(name, Side(resolved(model), {}, 1, "record"), told, overlays if isinstance(overlays, dict) else {})
