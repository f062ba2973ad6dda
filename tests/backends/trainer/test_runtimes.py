"""What a runtime must be so that Trainer's controller runs a job on it as planned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.trainer.samples import MPI, MPI_APART, TORCH, replicated, runtime, with_jobs, with_pods, with_spec
from trainform.backends.trainer.runtime_rules import node_pods, runtime_findings


def texts(content: dict[str, Any], nodes: int = 4) -> list[str]:
    return [f"{finding.path} {finding.text}" for finding in runtime_findings(content["spec"], nodes)]


IN_ORDER = {"template": {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}}


@pytest.mark.parametrize("content", [TORCH, MPI, MPI_APART])
def test_valid_runtimes_have_no_findings(content: dict[str, Any]) -> None:
    assert texts(content) == []


@pytest.mark.parametrize(
    ("missing", "add"),
    [
        (
            "launcher",
            (
                "add a replicated job `launcher`, with the label trainer.kubeflow.org/trainjob-ancestor-step: "
                "trainer and a container `node`"
            ),
        ),
        ("node", "add a replicated job `node`, with a container `node` that runs sshd"),
    ],
)
def test_a_launcher_that_is_a_node_needs_both(missing: str, add: str) -> None:
    content = with_jobs(MPI, {missing: None})
    found = [text for text in texts(content) if "runLauncherAsNode" in text]
    assert found == [
        f"template.spec.replicatedJobs has no replicated job `{missing}`, and with runLauncherAsNode 4 nodes need "
        "both: `launcher` is one of them and starts the processes of all, `node` has the other 3, which it reaches "
        f"over SSH; {add}; or set runLauncherAsNode to false, or train on 1 node"
    ]
    assert not any("runLauncherAsNode" in text for text in texts(content, nodes=1))


def test_both_are_missing() -> None:
    found = texts(runtime({"mpi": {"runLauncherAsNode": True}}, replicated("main", True)), nodes=2)
    assert ["`launcher`" in found[0], "`node`" in found[1], len(found)] == [True, True, 2]


@pytest.mark.parametrize(("nodes", "pods"), [(1, 1), (2, 1), (4, 3)])
def test_the_controllers_split(nodes: int, pods: int) -> None:
    """kubeflow/trainer#3954: with one node the launcher gets a node beside it all the same."""
    assert node_pods(MPI["spec"], nodes) == pods
    assert node_pods(MPI_APART["spec"], nodes) == nodes


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (with_jobs(TORCH, {"node": {"template": {"metadata": None}}}), "has 0 replicated jobs (node) with the label"),
        (
            with_jobs(
                MPI,
                {
                    "node": {
                        "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
                    }
                },
            ),
            "has 2 replicated jobs (node, launcher)",
        ),
        (
            with_pods(TORCH, {"containers": {"node": {"name": "main"}}}),
            "node has no container node, the only one of a trainer",
        ),
        (
            with_spec(MPI, {"mlPolicy": {"numNodes": 4}}),
            "mlPolicy.numNodes is 4, and with the MPI policy it counts the labelled replicated job",
        ),
        (
            with_jobs(MPI_APART, {"launcher": None}),
            "has no replicated job `launcher`, the only one to which Trainer adds a hostfile",
        ),
        (
            with_jobs(MPI_APART, {"node": None}),
            "has no replicated job `node`, so the hostfile that Trainer writes is empty",
        ),
        (
            with_spec(TORCH, {"podGroupPolicy": {"volcano": {"networkTopology": {"mode": "hard"}}}}),
            "controller crashes",
        ),
        (with_pods(TORCH, {"schedulerName": None}), "has no schedulerName, so its pods are outside of the gang"),
        (with_pods(TORCH, {"schedulerName": "mine"}), "has the schedulerName mine"),
        (
            with_jobs(MPI, {"launcher": {"dependsOn": [{"name": "node", "status": "Ready"}]}}),
            "launcher.dependsOn is set, and Trainer's gang starts all pods together, also those that wait for others",
        ),
        (
            with_jobs(
                with_spec(MPI, {"podGroupPolicy": {"volcano": None, "coscheduling": {}}}),
                {"launcher": {"dependsOn": [{"name": "node", "status": "Ready"}]}},
            ),
            "also those that wait for others",
        ),
        (
            with_spec(TORCH, {"template": {"spec": {"ttlSecondsAfterFinished": 60}}}),
            "ttlSecondsAfterFinished is set, and Trainer makes a failed job's JobSet again",
        ),
        (with_spec(MPI, IN_ORDER), "startupPolicy.startupPolicyOrder is InOrder, and Trainer's gang"),
    ],
)
def test_findings_in_runtimes(content: dict[str, Any], reason: str) -> None:
    assert any(reason in text for text in texts(content)), texts(content)


def test_without_a_gang_jobs_may_wait_for_others() -> None:
    content = with_jobs(MPI, {"launcher": {"dependsOn": [{"name": "node", "status": "Ready"}]}})
    assert texts(with_pods(with_spec(content, {"podGroupPolicy": None}), {"schedulerName": None})) == []
    assert texts(with_pods(with_spec(MPI, {**IN_ORDER, "podGroupPolicy": None}), {"schedulerName": None})) == []


def test_a_single_replicated_job_has_no_order() -> None:
    assert texts(with_spec(TORCH, IN_ORDER)) == []
