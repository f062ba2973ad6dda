"""New experiments: every launcher that the spec knows has a file that says what it is for, and that works."""

from __future__ import annotations

import pytest

from tests.support.rendering import job_problems, plan_job
from trainform.backends.backend import BACKENDS
from trainform.local.scaffold.new_experiment import LAUNCHER_TEXTS, LauncherName, NewExperiment
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import LAUNCHERS, Torchrun
from trainform.spec.load import load_environment, parse
from trainform.spec.read import parse_mapping

launchers = pytest.mark.parametrize("launcher", LauncherName)


def environment(**changes: object) -> Environment:
    return load_environment("dev").or_raise().model_copy(update=changes)


def asked(launcher: LauncherName, nodes: int = 2) -> NewExperiment:
    return NewExperiment("bert", "dev", launcher, nodes, ("a800", 8), "default")


def written(launcher: LauncherName, nodes: int = 2) -> Experiment:
    return modelled(asked(launcher, nodes))


def modelled(new: NewExperiment) -> Experiment:
    parsed = parse(Experiment, parse_mapping(new.text("registry.example.com/ai/bert:1"), "").data)
    assert parsed.problems == ()
    assert parsed.model is not None
    return parsed.model


def planned(launcher: LauncherName, nodes: int = 2) -> Plan:
    return plan_job(written(launcher, nodes), environment())


def test_every_launcher_of_the_spec_can_be_written() -> None:
    assert set(LAUNCHER_TEXTS) == set(LauncherName)
    assert {written(launcher).launcher.kind for launcher in LauncherName} == set(LAUNCHERS)
    elastic = {launcher for launcher in LauncherName if written(launcher).launcher.elastic is not None}
    assert "elastic" in Torchrun.model_fields
    assert elastic == {LauncherName.TORCHRUN_ELASTIC}


def test_a_job_without_admission_has_no_queue() -> None:
    new = NewExperiment("bert", "plain", LauncherName.TORCHRUN, 2, None, None)
    assert "queue" not in new.text("registry.example.com/ai/bert:1")
    assert modelled(new).queue == Experiment.model_fields["queue"].default


@launchers
@pytest.mark.parametrize("nodes", [1, 2, 8])
def test_as_many_pods_compute_as_are_asked_for(launcher: LauncherName, nodes: int) -> None:
    plan = planned(launcher, nodes)
    (worker,) = [role for role in plan.roles if role.name == "worker"]
    assert (worker.replicas, worker.accelerators) == (nodes, ("a800", 8))
    assert plan.totals.accelerators == {"a800": 8 * nodes}
    assert not [note for note in plan.notes if "shared_memory" in note]


def test_the_roles_that_a_launcher_needs() -> None:
    roles = {launcher: {role.name: role.ranked for role in planned(launcher).roles} for launcher in LauncherName}
    over_ssh = {"launcher": False, "worker": True}
    assert {launcher: found for launcher, found in roles.items() if found != {"worker": True}} == {
        LauncherName.DEEPSPEED: over_ssh,
        LauncherName.MPI: over_ssh,
        LauncherName.TENSORFLOW: {"ps": True, "worker": True},
    }
    for launcher in (LauncherName.DEEPSPEED, LauncherName.MPI):
        plan = planned(launcher)
        assert (plan.launches, plan.world.nodes, plan.world.processes) == ("launcher", 2, 16)
    assert planned(LauncherName.TORCHRUN_ELASTIC).world.bounds == (1, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_new_experiments_pass_check_on_every_operator(backend: str) -> None:
    """Some layout is right for the operator, or it cannot do what the launcher needs, and says so of the launcher."""
    refused = {}
    for launcher in LauncherName:
        layouts = [modelled(layout) for layout in asked(launcher).layouts]
        found = [job_problems(layout, environment(backend=backend)) for layout in layouts]
        if all(found):
            (problem,) = found[0]
            refused[str(launcher)] = problem.path
    assert refused == REFUSED.get(backend, {})


REFUSED = {
    "kubedl": {
        "torchrun-elastic": "launcher.torchrun.elastic",
        "deepspeed": "launcher.deepspeed",
        "mpi": "launcher.mpi",
        "entrypoint": "roles.worker.replicas",  # more than one
    }
}


@pytest.mark.parametrize("nodes", [2, 3])
def test_the_first_pod_in_a_role_of_its_own(nodes: int) -> None:
    _, layout = asked(LauncherName.TORCHRUN, nodes).layouts
    plan = plan_job(modelled(layout), environment(backend="kubedl"))
    assert {role.name: role.replicas for role in plan.roles} == {"master": 1, "worker": nodes - 1}
    assert plan.totals.accelerators == {"a800": 8 * nodes}
