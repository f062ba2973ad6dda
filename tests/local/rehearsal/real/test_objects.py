"""The objects that a rehearsal on real nodes applies."""

from __future__ import annotations

import itertools
from typing import Any

from tests.backends.trainer.samples import MPI, ON_MPI, on, plan_on
from tests.support.samples import environment, plan
from trainform.job.render import job_manifests
from trainform.local.rehearsal.real.objects import RehearsalObjects, rehearsal_objects
from trainform.local.rehearsal.sources import PLACEHOLDER_VALUE, workload_of_plan

SETTING = {"N": {"config_map": {"name": "tuning", "key": "n"}}}


def objects(*, probe: bool = False, **parts: Any) -> RehearsalObjects:
    """Return the objects of a job on a platform team's runtime for MPI."""
    parts = {**ON_MPI, **parts}
    plan = plan_on(MPI, **parts)
    return rehearsal_objects(plan, workload_of_plan(plan), None, on(MPI, **parts).launcher if probe else None)


def test_stand_ins_are_for_what_the_job_names_and_not_for_what_its_operator_makes() -> None:
    """Trainer makes the Secret with the SSH key and the ConfigMap with the hosts, which only its pods name."""
    made = objects(env=SETTING)
    assert [note for note in made.notes if "stand-in" in note] == [
        f"ConfigMap tuning is not on this machine, so a stand-in takes its place: n = {PLACEHOLDER_VALUE}"
    ]
    assert [body["metadata"]["name"] for body in made.bodies if body["kind"] == "Secret"] == []
    assert next(body for body in made.bodies if body["metadata"]["name"] == "tuning")["data"] == {
        "n": PLACEHOLDER_VALUE
    }


def test_all_nodes_of_a_runtime_get_the_variables_that_trainer_gives_them() -> None:
    """Where the launcher is a node too, Trainer sets them in all nodes; without `trainer.env` it would set none."""
    made = objects(env={"LEVEL": "3"})
    kinds = [body["kind"] for body in made.bodies]
    assert kinds.index("ClusterTrainingRuntime") < kinds.index("TrainJob")
    assert {"name": "LEVEL", "value": "3"} in made.job["spec"]["trainer"]["env"]
    assert {"image", "command", "args"}.isdisjoint(made.job["spec"]["trainer"])


def test_the_probe_is_in_all_nodes_of_a_runtime_and_mpirun_gives_them_its_variables() -> None:
    """Its sshd starts processes without the variables of the container."""
    (runtime,) = (body for body in objects(probe=True).bodies if body["kind"] == "ClusterTrainingRuntime")
    mains = {
        job["name"]: job["template"]["spec"]["template"]["spec"]["containers"][0]
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]
    }
    for main in mains.values():
        assert "/etc/trainform-probe" in [mount["mountPath"] for mount in main["volumeMounts"]]
    words = mains["launcher"]["args"]
    expected = [entry["name"] for entry in mains["launcher"]["env"] if entry["name"].startswith("TRAINFORM_EXPECT_")]
    assert {"TRAINFORM_EXPECT_HOSTS", "TRAINFORM_EXPECT_NODES"} <= {*expected}
    assert {*expected} <= {word for flag, word in itertools.pairwise(words) if flag == "-x"}
    assert words[-2:] == ["python3", "/etc/trainform-probe/probe_mpi.py"]


def test_a_job_that_kueue_admits_gets_its_class_and_any_node() -> None:
    topology = {"kueue.x-k8s.io/podset-required-topology": "cloud.provider.com/topology-rack"}
    roles = {"worker": {"replicas": 2, "annotations": topology}}
    cluster = environment(admission="kueue", workload_priorities=True, queues={})
    made = plan(cluster=cluster, backend="kubeflow", priority_class="urgent", roles=roles)
    applied = rehearsal_objects(made, workload_of_plan(made), None, None)
    assert {"WorkloadPriorityClass", "LocalQueue", "ClusterQueue"} < {body["kind"] for body in applied.bodies}
    assert "podset-required-topology" in str([each.body for each in job_manifests(made) if each.is_job])
    assert "podset-required-topology" not in str(applied.job)
