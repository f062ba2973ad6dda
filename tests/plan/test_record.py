"""What is deployed, recorded in a ConfigMap beside the job: what is written is read again, and it never stands in the
way of a job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from msgspec import structs

from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems, plan_job
from tests.support.samples import JOB
from trainform import defaults
from trainform.errors import ClusterError
from trainform.job.render import job_manifests
from trainform.manifests.manifest import Manifest, job_body
from trainform.plan.inputs import environment_part, recorded_models
from trainform.plan.model import Plan
from trainform.plan.record import Record, read_record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse

RICH = Environment.model_validate(ENVIRONMENT)


def planned(data: dict[str, Any], environment: Environment = RICH, run: int = 1) -> Plan:
    return plan_job(Experiment.model_validate(data), environment, run)


def records(plan: Plan) -> list[Manifest]:
    return [manifest for manifest in job_manifests(plan) if manifest.is_record]


def recorded(plan: Plan) -> Record:
    """The record in the ConfigMap, as the server would send it."""
    (made,) = records(plan)
    record = read_record(json.loads(json.dumps(made.body)))
    assert record is not None
    return record


@settings(max_examples=50)
@given(experiments())
def test_the_record_reads_back(data: dict[str, Any]) -> None:
    model = parse(Experiment, data).model
    assume(model is not None and not job_problems(model, RICH, 3))
    assert model is not None
    plan = plan_job(model, RICH, 3)
    record = recorded(plan)
    assert record == plan.record
    assert (record.revision, record.job, record.run, record.version) == (plan.revision, plan.job, 3, None)
    again = parse(Experiment, record.experiment)
    assert (again.model, [*again.problems]) == (model, [])
    assert [*record.experiment["roles"]] == [*model.roles], "ranks follow their order"
    fields = Experiment.model_fields
    names = {name if field.alias is None else field.alias for name, field in fields.items()}
    later = {
        name
        for name, field in fields.items()
        if field.exclude_if is not None and field.exclude_if(getattr(model, name))
    }
    left_out = {"environments"} | later  # the other fields hold the overlays
    assert record.experiment.keys() == names - left_out, "every default is in it"
    assert environment_part(model, RICH, plan).keys() - {"cluster"} <= record.environment.keys()


def test_the_record_has_the_settings_of_experiment_and_environment() -> None:
    environment = Environment.model_validate(
        {
            **ENVIRONMENT,
            "name": "lab",
            "cluster": {"context": "lab-of-somebody"},
            "storage_classes": {"fast": "cephfs-ssd", "slow": "nfs"},
        }
    )
    data = {
        **JOB,
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
        "storage": {"runs": {"size": "1Ti", "class": "fast", "mount": "/runs"}},
        "env": {"TOKEN": {"secret": {"name": "hub", "key": "token"}}},
    }
    record = recorded(planned(data, environment, 2))
    assert record.experiment["max_retry"] == defaults.MAX_RETRY
    assert record.experiment["storage"]["runs"]["access_modes"] == ["ReadWriteMany"]
    assert record.experiment["roles"]["worker"]["ranked"] is True
    assert record.environment["name"] == "lab"
    assert record.environment["backend"] == defaults.BACKEND
    assert record.environment["storage_classes"] == {"fast": "cephfs-ssd"}
    assert [*record.environment["accelerators"]] == ["a800"]
    assert "price_per_hour" not in record.environment["accelerators"]["a800"]
    assert "cluster" not in record.environment, "the context is a name on somebody's machine"


def test_the_file_of_a_runtime_is_a_name_on_somebodys_machine() -> None:
    runtime = {"name": "torch-distributed", "file": "/home/somebody/runtime.yaml"}
    plan = planned({**JOB, "backend": "trainer", "runtime": runtime})
    assert plan.record is not None
    assert plan.record.experiment["runtime"] == {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"}


def test_it_is_the_last_object_under_a_fixed_name_and_no_part_of_the_revision() -> None:
    volumes = [{"runs": {"size": size, "mount": "/runs"}} for size in ("1Ti", "2Ti")]
    one, other = (planned({**JOB, "storage": volume}) for volume in volumes)
    (record,), (changed,) = records(one), records(other)
    assert (one.revision, job_body(job_manifests(one))) == (other.revision, job_body(job_manifests(other)))
    assert record.body["data"] != changed.body["data"]
    assert record.body["metadata"] == changed.body["metadata"]
    assert (record.body["metadata"]["name"], record.revision) == (f"{JOB['name']}-deployed", None)
    assert job_manifests(one)[-1] == record
    assert planned(JOB, run=2).record != planned(JOB).record


RIGHT = {"revision": "1f3a9c", "job": "bert-1f3a9c", "run": "1", "experiment": "{}", "environment": "{}"}


def without(key: str) -> dict[str, str]:
    return {name: text for name, text in RIGHT.items() if name != key}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        *((without(key), f"Object missing required field `{key}`") for key in RIGHT),
        (RIGHT | {"job": ""}, "Expected `str` of length >= 1 - at `$.job`"),
        pytest.param(
            RIGHT | {"environment": "[" * 100_000}, "its entry `environment` is not a mapping in JSON: ", id="too deep"
        ),
        (
            RIGHT | {"environment": "[]"},
            "its entry `environment` is not a mapping in JSON: Expected `object`, got `array`",
        ),
        *(
            (RIGHT | {"experiment": f'{{"queue": {value}}}'}, "its entry `experiment` is not a mapping in JSON: ")
            for value in ("1e999", r'"\ud800"')
        ),
        (RIGHT | {"version": ["0.1.0"]}, "Expected `str | null`, got `array` - at `$.version`"),
        (["revision"], "Expected `object`, got `array`"),
        *((RIGHT | {"run": text}, "Expected `str` matching regex") for text in ("0", "1.5", "٣")),
    ],
)
def test_a_malformed_record_is_an_error(data: Any, reason: str) -> None:
    with pytest.raises(ClusterError) as error:
        read_record({"metadata": {"name": "bert-deployed"}, "data": data})
    said, fix = str(error.value).splitlines()
    assert f"the ConfigMap bert-deployed cannot be read: {reason}" in said
    assert fix == "  fix: delete the ConfigMap, then run `pulumi up --refresh`, which creates it again"


def test_what_the_stack_writes_is_read_with_the_version() -> None:
    (made,) = records(planned(JOB))
    written = {**made.body, "data": {**made.body["data"], "version": "1.2.3"}}
    record = read_record(written)
    assert record is not None
    assert record.version == "1.2.3"
    assert record.data() == written["data"]
    assert structs.replace(record, version=None) == planned(JOB).record


def test_a_record_without_room_is_left_out_and_the_plan_says_so() -> None:
    def of(size: int) -> Plan:
        words = ["x" * (1 + size // 100 + (number < size % 100)) for number in range(100)]
        return planned({**JOB, "roles": {"worker": {"init": [{"name": "notes", "command": words}]}}})

    spare = defaults.LARGEST_RECORD - sum(len(text) for text in records(of(0))[0].body["data"].values())
    assert records(of(spare))
    assert not [note for note in of(spare).notes if "deployed" in note]
    large = of(spare + 1)
    assert records(large) == []
    assert large.record is None
    (note,) = [note for note in large.notes if "deployed" in note]
    assert f"the ConfigMap {JOB['name']}-deployed is left out" in note


OVERLAYS = {RICH.name: {"roles": {"worker": {"replicas": 1}}, "env": {"NCCL_DEBUG": None}}, "other": {"queue": "night"}}


def test_the_record_has_the_experiment_as_it_is_in_all_environments() -> None:
    """What a release needs, and the experiment in one environment cannot give."""
    data = {**JOB, "env": {"NCCL_DEBUG": "INFO"}}
    with_them, plain = recorded(planned({**data, "environments": OVERLAYS})), recorded(planned(data))
    assert with_them.base == {**plain.experiment, "environments": OVERLAYS}
    assert (with_them.experiment["roles"]["worker"]["replicas"], with_them.experiment["env"]) == (1, {})
    again = Experiment.model_validate(with_them.base)
    assert recorded(plan_job(again, RICH)).revision == with_them.revision


def test_a_recorded_waiver_is_read_with_its_last_day() -> None:
    waiver = {
        "rule": "TF-SEC-1",
        "finding": "0123456789abcdef",
        "reason": "it must",
        "owner": "lead",
        "until": "2026-12-01",
    }
    record = structs.replace(recorded(planned(JOB)), experiment={**JOB, "waivers": [waiver]})
    experiment, _ = recorded_models(record)
    assert experiment.waivers[0].until.isoformat() == "2026-12-01"
