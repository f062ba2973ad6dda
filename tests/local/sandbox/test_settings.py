"""The settings of a sandbox that follow from an environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from trainform.console.progress import SILENT
from trainform.errors import SandboxError
from trainform.local.sandbox.control import _merge
from trainform.local.sandbox.settings import NodePool, Taint, settings_from_environment
from trainform.local.sandbox.state import State
from trainform.local.toolchain.tools import PulumiTools
from trainform.spec.environment import Environment

FOLDER = Path("/srv/sandbox")


def _environment(**changes: object) -> Environment:
    content: dict[str, object] = {
        "name": "dev",
        "cluster": {"context": "dev-cluster"},
        "namespace": {"name": "ai-namespace"},
        "accelerators": {
            "a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 4},
            "h100": {
                "resource": "nvidia.com/gpu",
                "per_node": 4,
                "nodes": 2,
                "cpu": "64",
                "memory": "512Gi",
                "node_selector": {"pool": "h100"},
                "tolerations": [{"key": "gpu", "value": "h100", "effect": "NoExecute"}],
            },
        },
        "rdma": {"resource": "rdma/hca", "count": 1, "per_node": 8},
        "storage_classes": {"fast": "cephfs-ssd", "cold": "cephfs-hdd", "quick": "cephfs-ssd"},
        **changes,
    }
    return Environment.model_validate(content)


def test_there_is_a_pool_for_each_accelerator_kind_and_one_without_accelerators() -> None:
    settings = settings_from_environment(_environment(), FOLDER)
    a800, h100, cpu = settings.pools
    assert a800 == NodePool(
        "a800",
        4,
        {
            "cpu": "128",
            "memory": "1Ti",
            "pods": "110",
            "ephemeral-storage": "1Ti",
            "baidu.com/a800_80g_cgpu": "8",
            "rdma/hca": "8",
        },
        {"trainform.dev/accelerator": "a800"},
    )
    assert (h100.resources["cpu"], h100.resources["memory"], h100.resources["nvidia.com/gpu"]) == ("64", "512Gi", "4")
    assert h100.labels == {"trainform.dev/accelerator": "h100", "pool": "h100"}
    assert h100.taints == (Taint("gpu", "h100", "NoExecute"),)
    assert (cpu.name, cpu.count) == ("cpu", 2)
    assert cpu.resources == {"cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti"}
    assert settings.storage_classes == ("cephfs-hdd", "cephfs-ssd")
    assert settings.contexts == ("dev-cluster",)


@pytest.mark.parametrize(("admission", "gangs"), [("volcano", True), ("kueue", False), ("none", False)])
def test_operators_make_gangs_as_the_admission_needs(admission: str, gangs: bool) -> None:
    assert settings_from_environment(_environment(admission=admission), Path("/sandbox")).gangs is gangs


@pytest.mark.parametrize(("mpi_job", "installed"), [("v1", ("kubeflow",)), ("v2beta1", ("kubeflow", "mpi-operator"))])
def test_a_sandbox_serves_one_version_of_mpi_jobs(mpi_job: str, installed: tuple[str, ...]) -> None:
    """The other one has a CRD of the same name, which the API server would not replace."""
    one, other = (
        structs.replace(
            settings_from_environment(_environment(mpi_job=version), Path("/sandbox")), addons=("kubeflow",)
        )
        for version in (mpi_job, "v1" if mpi_job == "v2beta1" else "v2beta1")
    )
    merged = _merge(one, None, SILENT)
    assert merged.addons == installed
    with pytest.raises(SandboxError, match=f"this sandbox serves MPIJob {mpi_job}, and the environment needs"):
        _merge(other, State(merged, PulumiTools(Path("/none"), Path("/none"), "build"), {}), SILENT)


def test_labels_and_taints_of_the_whole_cluster_are_on_every_node() -> None:
    environment = _environment(
        node_selector={"team": "ai"}, tolerations=[{"key": "reserved", "operator": "Exists"}, {"operator": "Exists"}]
    )
    for pool in settings_from_environment(environment, FOLDER).pools:
        assert pool.labels["team"] == "ai"
        assert Taint("reserved", "", "NoSchedule") in pool.taints


def test_a_kind_of_accelerators_may_be_called_like_the_pool_without_any() -> None:
    settings = settings_from_environment(_environment(accelerators={"cpu": {"resource": "nvidia.com/gpu"}}), FOLDER)
    assert [pool.name for pool in settings.pools] == ["cpu", "cpu-only"]
