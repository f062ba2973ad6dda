"""Lists of hosts that let no program start: Linux has a limit, and so has a ConfigMap."""

from __future__ import annotations

from tests.support.samples import reasons


def test_the_variables_of_volcanos_plugin() -> None:
    """Every container gets the hosts of every role; other operators have no such list."""
    assert reasons(roles={"worker": {"replicas": 3_000}}) == {}
    found = reasons(roles={"worker": {"replicas": 4_000}})
    assert found.keys() == {"roles.worker.replicas"}
    assert "in VC_WORKER_HOSTS, which are 1" in found["roles.worker.replicas"]
    assert reasons(roles={"worker": {"replicas": 4_000}}, backend="jobset") == {}


def test_the_config_map_of_volcanos_plugin() -> None:
    """It has the hosts of all roles twice: each list fits into a variable, and together they are too many."""
    launcher = {"command": ["python", "/app/train.py"]}
    extras = {
        name: {"replicas": 3_000, "ranked": False, "command": ["python", "watch.py"]}
        for name in ("extra-a", "extra-b", "extra-c", "extra-d")
    }
    found = reasons(roles={"worker": {"replicas": 3_000}, **extras}, launcher=launcher)
    assert found.keys() == {"roles"}
    assert "addresses of all pods twice into one ConfigMap, which are 1" in found["roles"]
