"""Rehearsals on real nodes with Kueue, and without admission."""

from __future__ import annotations

import pytest

from tests.engine.project import Project
from tests.engine.rehearsing import rehearse
from tests.engine.test_rehearsals_of_operators import ON

TOPOLOGY = {"kueue.x-k8s.io/podset-required-topology": "cloud.provider.com/topology-rack"}


@pytest.mark.rehearsal("pods that wait for all others, since nothing holds the job back")
@pytest.mark.parametrize(
    ("name", "backend"), [("pytorchjob", "kubeflow"), ("deepspeed-job", "jobset"), ("kubedl-tfjob", "jobset")]
)
def test_the_world_forms_without_admission(name: str, backend: str, real: Project) -> None:
    real.environment(admission="none")
    _, case = ON[name]
    output = rehearse(real, name, {**case.experiment, "backend": backend}, "--probe").succeeded()
    assert case.formed in output


@pytest.mark.rehearsal("a class and a topology that the queue of rehearsals does not have")
def test_the_world_forms_where_kueue_admits_the_job(real: Project) -> None:
    real.environment(admission="kueue", workload_priorities=True)
    backend, case = ON["trainjob"]
    roles = {name: {**role, "annotations": TOPOLOGY} for name, role in case.experiment["roles"].items()}
    job = {**case.experiment, "backend": backend, "priority_class": "urgent", "roles": roles}
    assert case.formed in rehearse(real, "admitted", job, "--probe").succeeded()
