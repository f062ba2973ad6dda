"""Rules for labels and annotations: the user may not set those that trainform sets itself."""

from __future__ import annotations

from collections.abc import Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

OWN_LABELS = (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ROLE_LABEL)

# Prefixes of reserved keys of labels and annotations, each with the reason.
RESERVED = {
    defaults.LABEL_PREFIX: "the key is set by trainform itself",
    "pulumi.com/": "the key tells Pulumi how to apply the object, which trainform decides",
}


def reserved(key: str) -> str | None:
    """Return the reason why the key of a label or annotation is reserved; None if users may set it."""
    return next((reason for prefix, reason in RESERVED.items() if key.startswith(prefix)), None)


def metadata_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield labels and annotations of the user with reserved keys."""
    written = [("", experiment.labels, experiment.annotations)]
    written += [(f"roles.{name}.", role.labels, role.annotations) for name, role in experiment.roles.items()]
    for path, labels, noted in written:
        for field, keys in (("labels", labels), ("annotations", noted)):
            for key in keys:
                reason = RESERVED[defaults.LABEL_PREFIX] if key in OWN_LABELS else reserved(key)
                if reason is not None:
                    yield Problem(f"{path}{field}.{key}", keys[key], reason, "choose another key")
