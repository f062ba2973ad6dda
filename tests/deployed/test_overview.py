"""The table of what is deployed, from servers that answer as API servers do."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.cluster.test_identity import OTHER, UID
from tests.cluster.test_identity import answer as kube_system
from tests.deployed.test_records import config_map, launch_files
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import pod, volcano_job
from tests.support.samples import CLUSTER, JOB
from tests.support.websites import website
from trainform import defaults
from trainform.cluster.live_drift import age
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.deployed.overview import Overview, overview
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

PLENTY = 30.0  # on a busy machine
PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}
REVISION = "1f3a9c"


def environment(name: str = "dev", **changes: Any) -> Environment:
    accelerators = {"a800": {**CLUSTER["accelerators"]["a800"], "price_per_hour": PRICE}}
    return Environment.model_validate({**CLUSTER, "name": name, "accelerators": accelerators, **changes})


def recorded(
    experiment: str, replicas: int = 2, accelerators: int = 8, stack: str = "vision/bert.dev", **more: Any
) -> dict[str, Any]:
    """The record of a job with one role."""
    roles = {"worker": {"replicas": replicas, "accelerators": {"a800": accelerators} if accelerators else None}}
    model = Experiment.model_validate({**JOB, "name": experiment, "roles": roles, **more})
    record = Record(
        REVISION, f"{experiment}-{REVISION}", 1, resolved(model), {"backend": "volcano", "admission": "volcano"}
    )
    body = {**config_map(experiment), "data": record.data()}
    body["metadata"]["annotations"] = {defaults.STACK_ANNOTATION: stack}
    return body


def job(experiment: str, phase: str = "Running") -> dict[str, Any]:
    body = volcano_job(f"{experiment}-{REVISION}", phase)
    own = {defaults.NAME_LABEL: experiment, defaults.REVISION_LABEL: REVISION}
    body["metadata"]["labels"] = {**defaults.MANAGED_BY, **own}
    return body


def of_job(experiment: str, index: int, phase: str = "Running", on: str | None = "node-0") -> dict[str, Any]:
    body = pod(f"{experiment}-{REVISION}", index, phase, on, experiment=experiment)
    own = {defaults.NAME_LABEL: experiment, defaults.REVISION_LABEL: REVISION}
    body["metadata"]["labels"] |= {**own, **defaults.MANAGED_BY}
    return body


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def reading(answers: Any, *environments: Environment) -> Overview:
        with website(answers) as server:
            use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
            return overview(environments if environments else [environment()], PLENTY)

    return reading


def test_a_job_costs_something_while_a_pod_runs(read: Any) -> None:
    running = [recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1), launch_files("bert")]
    waiting = [recorded("sdxl-lora", 4), job("sdxl-lora", "Running"), of_job("sdxl-lora", 0, "Pending", None)]
    bert, sdxl = read(ApiObjects([*running, *waiting])).rows
    assert (bert.phase, bert.created) == ("running", "2026-11-22T09:00:00Z")
    assert f"{bert.cost.amount:.2f} {bert.cost.currency}" == "33.60 USD"
    assert (sdxl.phase, sdxl.accelerators, sdxl.cost) == ("queued", {"a800": 32}, None), "no pod of it runs"


@pytest.mark.parametrize(("word", "phase"), [("Completed", "succeeded"), ("Failed", "failed")])
def test_a_job_that_is_over_costs_nothing(read: Any, word: str, phase: str) -> None:
    (row,) = read(ApiObjects([recorded("bert"), job("bert", word), of_job("bert", 0, "Succeeded")])).rows
    assert (row.phase, row.cost) == (phase, None)


def test_a_job_that_somebody_has_deleted_is_gone(read: Any) -> None:
    (row,) = read(ApiObjects([recorded("bert")])).rows
    assert (row.phase, row.created, row.cost) == ("gone", "", None)


def test_what_may_not_be_read_is_unknown_and_not_gone(read: Any) -> None:
    bodies = [recorded("bert"), job("bert"), recorded("mnist"), of_job("mnist", 0), of_job("mnist", 1)]
    found = read(ApiObjects(bodies, forbidden=frozenset({"jobs"})))
    assert [(row.phase, row.created) for row in found.rows] == [("unknown", ""), ("running", "")]
    assert "no permission to list jobs of the namespace ai-namespace" in found.not_read["dev"].message
    found = read(ApiObjects([recorded("bert")], forbidden=frozenset({"configmaps"})))
    assert (found.rows, [*found.not_read]) == ((), ["dev"])
    assert "no permission to list the ConfigMaps of the namespace ai-namespace" in found.not_read["dev"].message


def test_nothing_is_read_of_another_cluster(read: Any) -> None:
    bound = environment(cluster={"uid": UID})
    objects = ApiObjects([recorded("bert")])

    def answering(path: str) -> Any:
        return kube_system(OTHER) if path.endswith("/kube-system") else objects(path)

    found = read(answering, bound)
    assert found.rows == ()
    assert found.not_read["dev"].problems[0].path == "cluster.uid"
    assert not any("configmaps" in path for path in objects.asked)


def test_the_reads_do_not_grow_with_the_stacks(read: Any) -> None:
    def asked(number: int) -> int:
        names = [f"bert-{index}" for index in range(number)]
        objects = ApiObjects([body for name in names for body in (recorded(name), job(name), of_job(name, 0))])
        assert len(read(objects).rows) == number
        return len(objects.asked)

    assert asked(1) == asked(60)


@pytest.mark.parametrize(
    ("created", "shown"),
    [
        ("", ""),
        ("2026-11-23T11:59:58Z", "2 s"),
        ("2026-11-23T11:00:00Z", "60 min"),
        ("2026-11-23T09:54:59Z", "2 h"),
        ("2026-11-20T08:00:00Z", "3 d"),
        ("2026-11-23T12:00:30Z", "0 s"),
        ("2026-11-20T08:00:00", ""),
        ("None", ""),
    ],
)
def test_an_age_has_its_largest_unit(created: str, shown: str) -> None:
    assert age(created, "2026-11-23T12:00:00Z") == shown


def test_the_kinds_of_all_roles_are_added() -> None:
    roles = {
        "master": {"accelerators": {"a800": 8}},
        "worker": {"replicas": 3, "accelerators": {"a800": "8", "l40s": 1}},
    }
    assert accelerators_of_roles(roles) == {"a800": 32, "l40s": 3}


@pytest.mark.parametrize(
    "count",
    ["1e9999999", "9" * 5000, "-8", "NaN", "Infinity", 1e300, True, None, [], {"a": 1}],
    ids=lambda each: str(each)[:9],
)
def test_what_is_no_count_is_none_and_takes_no_time(count: Any) -> None:
    assert not accelerators_of_roles({"worker": {"replicas": count, "accelerators": {"a800": 8}}})
    assert not accelerators_of_roles({"worker": {"accelerators": {"a800": count}}})
