"""The records of what is deployed, read from a server that answers as an API server does."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import connected
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import NAMESPACE
from trainform import defaults
from trainform.deployed.records import all_deployed, deployed
from trainform.errors import ClusterError
from trainform.plan.record import Record


def config_map(experiment: str, namespace: str = NAMESPACE, **data: str) -> dict[str, Any]:
    record = Record("1f3a9c", f"{experiment}-1f3a9c", 1, {"name": experiment}, {"name": "dev"}, "0.1.0")
    labels = {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment, defaults.ENVIRONMENT_LABEL: "dev"}
    metadata = {"name": f"{experiment}-deployed", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": record.data() | data}


def launch_files(experiment: str) -> dict[str, Any]:
    """The other ConfigMap of an experiment."""
    body = config_map(experiment)
    labels = {**body["metadata"]["labels"], defaults.REVISION_LABEL: "1f3a9c"}
    return {**body, "metadata": {"name": f"{experiment}-1f3a9c-launch", "namespace": NAMESPACE, "labels": labels}}


@pytest.fixture(name="connected")
def connected_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return functools.partial(connected, tmp_path, monkeypatch)


def test_the_record_of_one_experiment(connected: Any) -> None:
    with connected(ApiObjects([config_map("sdxl-lora"), config_map("sdxl-lora", "team-b", run="7")])) as api:
        found: Any = deployed(api, "sdxl-lora", NAMESPACE)
        other: Any = deployed(api, "sdxl-lora", "team-b")
        assert (found.experiment, found.environment, found.namespace) == ("sdxl-lora", "dev", NAMESPACE)
        assert (found.record.job, found.record.run, found.unreadable) == ("sdxl-lora-1f3a9c", 1, None)
        assert other.record.run == 7


def test_what_is_not_deployed_has_no_record(connected: Any) -> None:
    with connected(ApiObjects()) as api:
        assert deployed(api, "sdxl-lora", NAMESPACE) is None
        assert all_deployed(api, NAMESPACE) == ()


def test_all_records_are_one_list(connected: Any) -> None:
    objects = ApiObjects(
        [config_map("sdxl-lora"), config_map("bert", "team-b"), config_map("bert"), launch_files("bert")]
    )
    with connected(objects) as api:
        assert [each.experiment for each in all_deployed(api, NAMESPACE)] == ["bert", "sdxl-lora"]
    assert len(objects.asked) == 1


def test_one_record_that_cannot_be_read_leaves_the_others(connected: Any) -> None:
    broken: Any
    with connected(ApiObjects([config_map("bert", run="seven"), config_map("sdxl-lora")])) as api:
        broken, whole = all_deployed(api, NAMESPACE)
    assert broken.record is None
    assert "at `$.run`" in broken.unreadable.message
    assert broken.unreadable.fix.startswith("delete the ConfigMap")
    assert whole.record is not None


def test_without_permission_the_error_says_of_what(connected: Any) -> None:
    with connected(ApiObjects([config_map("bert")], forbidden=frozenset({"configmaps"}))) as api:
        with pytest.raises(
            ClusterError, match="no permission to read the ConfigMap bert-deployed of the namespace ai-nam"
        ):
            deployed(api, "bert", NAMESPACE)
        with pytest.raises(ClusterError, match="no permission to list the ConfigMaps of the namespace ai-nam"):
            all_deployed(api, NAMESPACE)
