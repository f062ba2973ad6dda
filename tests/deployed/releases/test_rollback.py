"""To what a rollback goes back: never to what was rolled back, and never to what was not there before."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.support.releases import PROMOTED, release
from tests.support.samples import JOB
from trainform.deployed.earlier import EarlierDeployment
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.rollback import (
    Checkpoint,
    Past,
    RestoredExperiment,
    checkpoints,
    restored_deployment,
    rollback,
)
from trainform.deployed.updates import Update
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.spec.experiment import Experiment

STACK = "sdxl-lora.prod"
WHO, WHEN = "Ada Byron <ada@example.com>", "2026-11-24T08:00:00Z"


class Chain:
    """The releases of one stack, each of which replaces the one before."""

    def __init__(self) -> None:
        self.releases: dict[str, Release] = {}
        self.current: str | None = None

    def _add(self, made: Release) -> str:
        self.releases[made.name] = made
        self.current = made.name
        return made.name

    def promoted(self, queue: str, at: str = "2026-11-23T14:35:24Z") -> str:
        promoted = PROMOTED.model_copy(update={"replaces": self.current, "at": at, "target": STACK})
        return self._add(release(promoted, queue=queue))

    def back(self, restored: RestoredExperiment) -> str:
        return self._add(rollback(restored, self.current, STACK, "the loss diverges", WHO, WHEN))

    def back_to(self, name: str) -> str:
        return self.back(self.past().restored(name))

    def past(self, deployed: set[str] | None = None) -> Past:
        return Past(self.releases, self.current, deployed)

    @property
    def earlier(self) -> list[str]:
        return self.past().earlier()


def test_the_earlier_releases_of_a_stack_are_the_newest_first() -> None:
    stack = Chain()
    one, two, three = (stack.promoted(queue) for queue in ("a", "b", "c"))
    assert [*stack.past().followed(three)] == [three, two, one]
    assert stack.earlier == [two, one]


def test_a_release_with_the_same_content_is_no_earlier_thing() -> None:
    stack = Chain()
    one, _, _ = stack.promoted("a"), stack.promoted("b"), stack.promoted("b", "2026-11-23T15:00:00Z")
    assert stack.earlier == [one]


def test_a_second_rollback_goes_further_back_and_not_to_what_was_rolled_back() -> None:
    stack = Chain()
    one, two, _ = stack.promoted("a"), stack.promoted("b"), stack.promoted("c")
    back = stack.back_to(two)
    assert stack.past().restored_by(back) == two
    assert stack.earlier == [one]
    stack.back_to(one)
    assert stack.earlier == []


def test_after_a_promotion_over_a_rollback_the_restored_release_is_the_earlier_one() -> None:
    stack = Chain()
    one, two = stack.promoted("a"), stack.promoted("b")
    stack.back_to(one)
    stack.promoted("c")
    assert stack.earlier == [one, two]


def test_what_was_never_deployed_is_passed_over() -> None:
    stack = Chain()
    one, two, _ = stack.promoted("a"), stack.promoted("b"), stack.promoted("c")
    assert [stack.past({one}).was_deployed(name) for name in (one, two)] == [True, False]
    assert not stack.past({"", "0a1b2c3d4e5f60718293"}).was_deployed(one)
    assert stack.past(None).was_deployed(one), "it is not known"
    assert stack.past({stack.back_to(one)}).was_deployed(one), "by the rollback to it"


def deployment(queue: str, second: int, named: str = "") -> EarlierDeployment:
    experiment = resolved(Experiment.model_validate({**JOB, "queue": queue}))
    record = Record("1f3a9c", "sdxl-lora-1f3a9c", 1, experiment, {"name": "prod"}, "0.1.0")
    time = f"2026-11-20T09:12:{second:02}Z"
    return EarlierDeployment(Update("update", "succeeded", time, time, 0, "9f2c4e1", True, named), record)


def queues(found: Any) -> list[Any]:
    return [each.record.experiment["queue"] for each in found]


DEPLOYED = [deployment("c", 30), deployment("c", 25), deployment("b", 20), deployment("a", 10)]


@pytest.mark.parametrize(("failed", "expected"), [(False, ["b", "a"]), (True, ["c", "c", "b", "a"])])
def test_without_releases_it_goes_back_from_what_is_deployed(failed: bool, expected: list[str]) -> None:
    """After an `up` that failed, what was deployed before is an earlier thing too."""
    assert queues(Past({}, None).before(DEPLOYED, failed=failed)) == expected


def test_before_the_first_release_there_is_what_was_deployed_without_one() -> None:
    stack = Chain()
    one = stack.promoted("d")
    found = [deployment("d", 40, one), *DEPLOYED]
    assert queues(stack.past().before(found, failed=False)) == ["c", "c", "b", "a"]


def test_after_a_rollback_to_a_deployment_only_older_ones_are_left() -> None:
    stack = Chain()
    one = stack.promoted("d")
    back = stack.back(restored_deployment(DEPLOYED[2], "vision/sdxl-lora.prod", "prod"))
    assert stack.earlier == []
    found = [deployment("b", 50, back), deployment("d", 40, one), *DEPLOYED]
    assert queues(stack.past().before(found, failed=False)) == ["a"]


def test_a_deployment_is_restored_with_its_evidence() -> None:
    restored = restored_deployment(DEPLOYED[0], "vision/sdxl-lora.prod", "prod")
    origin = restored.origin
    assert (restored.release, restored.experiment["queue"], origin.parent) == (None, "c", None)
    assert (origin.updated, origin.commit, origin.outcome) == ("2026-11-20T09:12:30Z", "9f2c4e1", "unknown")


def test_what_the_stack_had_differently_in_its_environment_is_restored_too() -> None:
    data = {**resolved(Experiment.model_validate(JOB)), "environments": {"prod": {"queue": "research"}}}
    found = deployment("research", 10)
    with_base = EarlierDeployment(found.update, structs.replace(found.record, base=data))
    restored = restored_deployment(with_base, "vision/sdxl-lora.prod", "prod")
    assert restored.experiment["environments"] == {"prod": {"queue": "research"}}
    assert restored.experiment["queue"] == "default"


OUTPUT = {"size": "2Ti", "mount": "/mnt/output", "keep": True}
SAVES = {"command": ["python", "/app/train.py", "--output_dir=/mnt/output/lora"]}


def resumed(restored: dict[str, Any], deployed: dict[str, Any]) -> list[Checkpoint]:
    one, other = (resolved(Experiment.model_validate({**JOB, **parts})) for parts in (restored, deployed))
    return checkpoints(one, other, "revision 77aa01")


def test_the_checkpoints_from_which_the_restored_experiment_resumes() -> None:
    saves = {"storage": {"output": OUTPUT}, "launcher": SAVES}
    assert resumed(saves, saves) == [Checkpoint("sdxl-lora-output", "revision 77aa01", "/mnt/output", True)]
    theirs = {"storage": {"models": {"claim": "models", "mount": "/mnt"}}}
    assert [(each.claim, each.keep) for each in resumed(theirs, theirs)] == [("models", True)]


@pytest.mark.parametrize(
    ("restored", "deployed"),
    [
        ({}, OUTPUT),
        (OUTPUT, {**OUTPUT, "read_only": True}),
        ({**OUTPUT, "sub_path": "a"}, {**OUTPUT, "sub_path": "b"}),
        ({"scratch": "2Ti", "mount": "/mnt/output"}, {"scratch": "2Ti", "mount": "/mnt/output"}),
    ],
)
def test_what_the_deployed_experiment_has_not_written(restored: dict[str, Any], deployed: dict[str, Any]) -> None:
    one, other = ({"storage": {"output": volume} if volume else {}} for volume in (restored, deployed))
    assert resumed(one, other) == []
