"""What is said of a key that is not known at its place."""

from __future__ import annotations

import pytest

from tests.support.samples import CLUSTER, JOB
from trainform.backends.owned import POD_FIELDS
from trainform.job.check import check_experiment
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.unknown_keys import OTHER_WORDS, REFUSED_IN_PATCH, key_meant


def of_role(key: str) -> str:
    return key_meant(Experiment, ("roles", "worker", key))


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        (("labls",), "did you mean labels?"),
        (("roles", "worker", "replica"), "did you mean replicas?"),
        (("replicas",), "write it as `roles.NAME.replicas`"),
        (("roles", "worker", "queue"), "write `queue` at the top of the file"),
        (
            ("script",),
            "write it as `launcher.torchrun.script` or `launcher.accelerate.script` or `launcher.deepspeed.script`",
        ),
        (("affinity",), "write it as a patch of the role: `pod_overrides: {spec: {affinity: …}}`"),
        (
            ("roles", "worker", "livenessProbe"),
            "write it as a patch of the role: `pod_overrides: {spec: {containers: {main: {livenessProbe: …}}}}`",
        ),
        (("storage", "data", "mountPath"), "did you mean mount?"),
        (("env", "NAME", "value"), "known here: secret, config_map, field"),
        (("roles", "worker", "gpus"), OTHER_WORDS["gpus"]),
        (("roles", "worker", "requests"), OTHER_WORDS["requests"]),
        (("volumes",), OTHER_WORDS["volumes"]),
    ],
)
def test_what_is_meant(path: tuple[str, ...], fix: str) -> None:
    assert key_meant(Experiment, path) == fix


def test_a_patch_that_is_always_refused_is_not_suggested() -> None:
    assert POD_FIELDS.keys() <= REFUSED_IN_PATCH
    for key in REFUSED_IN_PATCH:
        assert "as a patch of the role" not in of_role(key)
    patch = {"spec": {"hostname": "x"}}
    data = {**JOB, "roles": {name: {**role, "pod_overrides": patch} for name, role in JOB["roles"].items()}}
    (problem, *_) = check_experiment(Experiment.model_validate(data), Environment.model_validate(CLUSTER)).problems
    assert problem.path.endswith("pod_overrides.spec.hostname")


def test_an_environment_has_no_roles_to_patch() -> None:
    assert key_meant(Environment, ("affinity",)).startswith("known here: name, backend, ")
    assert key_meant(Environment, ("gpus",)).startswith("known here: name, backend, ")


@pytest.mark.parametrize("word", [*OTHER_WORDS, "affinity", "livenessProbe", "replica", "nodeSelector", "queue"])
def test_no_advice_leads_back(word: str) -> None:
    """Whatever is said of a key, the key itself is not what to write there."""
    assert f"`{word}:" not in of_role(word)
    assert f"mean {word}?" not in of_role(word)
