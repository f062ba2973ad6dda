"""What is deployed, released and written is the same experiment, unless somebody has changed it."""

from __future__ import annotations

import pytest

from tests.support.repository import ROOT
from trainform.deployed.releases.promote import experiment_for_release, recorded
from trainform.errors import InputError
from trainform.job.check import check_experiment
from trainform.plan.record import read_record
from trainform.project import known_stacks
from trainform.spec.release import ReleasedExperiment
from trainform.spec.stack import Stack, load_stack
from trainform.stacks.comparison.compare import compare, deployed_version, version_in_file


def stacks() -> dict[str, Stack]:
    found = {}
    for name in known_stacks(ROOT):
        try:
            found[name] = load_stack(name, ROOT)
        except InputError:  # an environment's own
            continue
    return found


STACKS = stacks()


@pytest.mark.parametrize("name", STACKS)
def test_what_was_just_deployed_is_what_the_file_and_a_release_of_it_say(name: str) -> None:
    stack = STACKS[name]
    record = check_experiment(stack.given, stack.environment, stack.run, ROOT).or_raise().plan.record
    assert record is not None
    body = {"metadata": {"name": f"{stack.experiment}-deployed"}, "data": record.data()}
    read = read_record(body)
    assert read is not None
    content = experiment_for_release(recorded(read, name))
    released = ReleasedExperiment(stack.experiment, "0a1b2c3d4e5f60718293", content)
    deployed = deployed_version(f"{name}, deployed", read)
    for written in (released, stack.given):
        assert compare(deployed, version_in_file("by its files", written, ROOT, stack.environment)).experiment == ()
