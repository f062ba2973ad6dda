"""TF_CONFIG as each pod of a TensorFlow job sees it, after the launch script."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import ASKED, RUN, STAND_INS, start
from tests.support.samples import environment, plan
from trainform.plan.model import Plan

COMMAND = ["python", "/app/mnist.py", "--epochs", "3"]
TENSORFLOW: dict[str, Any] = {"name": "mnist", "launcher": {"tensorflow": {"command": COMMAND}}}
# The usual parameter server job, with everything that TensorFlow knows.
ROLES: dict[str, Any] = {"chief": {}, "worker": {"replicas": 3}, "ps": {"replicas": 2}, "evaluator": {}}
HOST = {"host": True}


def mnist(**parts: Any) -> Plan:
    return plan(**{**TENSORFLOW, "roles": ROLES, **parts})


def numbers(made: Plan, role: str) -> list[int]:
    """The port that each replica of the role opens for TensorFlow."""
    found = next(planned for planned in made.roles if planned.name == role)
    opened = [port.number for ports in found.ports for port in ports if port.name == "tensorflow"]
    return opened if found.per_replica else opened * found.replicas


def test_the_cluster(tools: Path) -> None:
    made = mnist()
    started = start(made, "worker", 2, tools)
    assert started.called == COMMAND
    assert started.tf_config == {
        "cluster": {
            role: [f"{made.job}-{role}-{index}.mnist:2222" for index in range(replicas)]
            for role, replicas in (("chief", 1), ("worker", 3), ("ps", 2))
        },
        "task": {"type": "worker", "index": 2},
    }
    assert started.asked == ["wait.sh names /etc/trainform/hostfile"]
    assert made.files["hostfile"].split()[0::2] == [
        f"{made.job}-{name}.mnist" for name in ("chief-0", "worker-0", "worker-1", "worker-2", "ps-0", "ps-1")
    ]


@pytest.mark.parametrize(("role", "index"), [("chief", 0), ("ps", 1), ("evaluator", 0)])
def test_the_own_task(role: str, index: int, tools: Path) -> None:
    found = start(mnist(), role, index, tools).tf_config
    assert found["task"] == {"type": role, "index": index}
    assert found["cluster"].keys() == {"chief", "worker", "ps"}, "the evaluator is outside of the cluster"


def test_roles_by_other_names(tools: Path) -> None:
    roles = {"parameter-server": {"replicas": 1}, "trainers": {"replicas": 2}}
    launcher = {"tensorflow": {"command": COMMAND, "task_types": {"parameter-server": "ps", "trainers": "worker"}}}
    made = mnist(roles=roles, launcher=launcher)
    found = start(made, "trainers", 1, tools).tf_config
    assert found["task"] == {"type": "worker", "index": 1}
    assert found["cluster"]["ps"] == [f"{made.job}-parameter-server-0.mnist:2222"]


def test_a_role_with_a_command_of_its_own(tools: Path) -> None:
    made = mnist(roles={**ROLES, "ps": {"replicas": 2, "command": ["python", "/app/serve.py"]}})
    started = start(made, "ps", 1, tools)
    assert started.called == ["python", "/app/serve.py"]
    assert started.tf_config["task"] == {"type": "ps", "index": 1}


@pytest.mark.parametrize("role", ["worker", "chief"])
def test_a_single_replica_has_no_tf_config(role: str, tools: Path) -> None:
    made = mnist(roles={role: {}})
    started = start(made, role, 0, tools)
    assert "TF_CONFIG" not in started.env
    assert (started.called, started.asked) == (COMMAND, [])
    assert made.files.keys() == {"launch.sh", *RUN}


@pytest.mark.parametrize("ports", ["shared", "per-replica"])
def test_on_the_host_network(ports: str, tools: Path) -> None:
    """Every replica stands in the cluster with the port that it opens."""
    made = mnist(network={**HOST, "ports": ports})
    found = start(made, "worker", 1, tools).tf_config["cluster"]
    addresses = {(pod.role, pod.index): pod.address for pod in made.pods()}
    for role in ("chief", "worker", "ps"):
        assert found[role] == [f"{addresses[role, index]}:{port}" for index, port in enumerate(numbers(made, role))]
    assert len({entry.partition(":")[2] for entry in found["worker"]}) == (3 if ports == "per-replica" else 1)


@pytest.mark.parametrize("port", [{}, {"port": 20000}, {"port": 2222}])
@pytest.mark.parametrize("ports", ["shared", "per-replica"])
def test_behind_services_a_replica_sees_its_own_port(ports: str, port: dict[str, int], tools: Path) -> None:
    made = mnist(
        network={**HOST, "addresses": "service", "ports": ports, **port}, cluster=environment(ports="2000-30000")
    )
    constant = port.get("port", 2222)
    for role, replicas in (("chief", 1), ("worker", 3), ("ps", 2)):
        for index in range(replicas):
            found = start(made, role, index, tools).tf_config
            expected = {
                other: [f"mnist-{other}-{number}:{constant}" for number in range(count)]
                for other, count in (("chief", 1), ("worker", 3), ("ps", 2))
            }
            expected[role][index] = f"mnist-{role}-{index}:{numbers(made, role)[index]}"
            assert found == {"cluster": expected, "task": {"type": role, "index": index}}


@pytest.mark.parametrize("network", [{"addresses": "service"}, {**HOST, "addresses": "service"}])
def test_the_evaluator_beside_services(network: dict[str, Any], tools: Path) -> None:
    made = mnist(network=network)
    found = start(made, "evaluator", 0, tools).tf_config
    assert found["task"] == {"type": "evaluator", "index": 0}
    assert found["cluster"]["worker"] == [f"mnist-worker-{index}:2222" for index in range(3)]


@pytest.mark.parametrize("network", [{}, {**HOST, "addresses": "service"}])
@pytest.mark.parametrize("missing", ["TRAINFORM_REPLICA_INDEX", "TRAINFORM_TASK_TYPE"])
def test_a_missing_variable_of_kubernetes_is_reported(missing: str, network: dict[str, Any], tmp_path: Path) -> None:
    """A pod without TF_CONFIG would train alone."""
    made = mnist(network=network)
    for name, text in made.files.items():
        (tmp_path / name).write_text(ASKED if name in STAND_INS else text.replace("/etc/trainform", str(tmp_path)))
    given = {"TRAINFORM_REPLICA_INDEX": "0", "TRAINFORM_TASK_TYPE": "worker", "TRAINFORM_SERVICE": "mnist-worker"}
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "launch.sh"), "echo", "started"],
        env={"PATH": "/usr/bin:/bin", **{name: value for name, value in given.items() if name != missing}},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert missing in done.stderr
    assert "started" not in done.stdout
