"""Both forms of a preview as they are read, and everything that is none."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.review.previews_with_a_replacement import CLAIM_URN, JOB, RECORDED, job, read_or_refused, replacement
from tests.support import previews
from tests.support.previews import ROLE_GROUP, TRAINING_JOB, VOLCANO_JOB, state, step_event, urn
from tests.support.repository import ROOT
from trainform.errors import InputError
from trainform.review import read
from trainform.review.jobs import jobs_of
from trainform.review.preview import Message, PolicyResult
from trainform.review.read import read_preview
from trainform.review.stand_ins import UNKNOWN


@pytest.mark.parametrize("form", [previews.stream, previews.digest])
@pytest.mark.parametrize(
    "before", ["", "Installing policy pack…\n", "{not JSON}\n{\n", "\ufeff", "Installing policy pack…"]
)
def test_both_forms_say_the_same_whatever_text_comes_before(form: Any, before: str) -> None:
    events = [
        step_event(
            "update", urn(ROLE_GROUP, "bert-node"), state({"replicas": 2}), state({"replicas": 3}), diffs=["replicas"]
        ),
        step_event("create", CLAIM_URN, None, state({"spec": {"storage": "1Ti"}}, retainOnDelete=True, protect=True)),
        previews.diagnostic("warning", "the queue is full\n", JOB),
    ]
    preview = read_preview(before + form(*events))
    assert preview.form == ("stream" if form is previews.stream else "digest")
    update, create = preview.steps
    assert (update.operation, update.name, update.kind, update.diffs) == (
        "update",
        "bert-node",
        "RoleGroup",
        ("replicas",),
    )
    assert update.old is not None
    assert update.new is not None
    assert (update.old.inputs, update.new.inputs) == ({"replicas": 2}, {"replicas": 3})
    assert update.detail is None
    assert create.old is None
    assert create.new is not None
    assert (create.new.keep, create.new.protect, create.new.parent) == (True, True, previews.root())
    assert preview.messages == (Message("warning", "the queue is full", JOB),)
    assert preview.failed == ""
    assert preview.masked == 0


@pytest.mark.parametrize(
    "order",
    [
        ("create-replacement", "replace", "delete-replaced"),
        ("delete-replaced", "replace", "create-replacement"),
        ("replace",),
        ("create-replacement", "delete-replaced"),
    ],
)
def test_a_replacement_is_one_step(order: tuple[str, ...]) -> None:
    (step,) = read_preview(previews.stream(*replacement(*order))).steps
    assert step.operation == "replace"
    assert (step.keys, step.diffs) == (("metadata.name",), ("metadata", "spec"))
    assert step.detail == {"metadata.name": "update-replace"}
    assert step.old is not None
    assert step.new is not None
    assert step.old.inputs["metadata"]["name"] == "bert-1f3a9c"
    assert step.new.inputs["metadata"]["name"] == "bert-77ab01"


def test_an_object_that_an_earlier_up_has_left_is_a_step_of_its_own() -> None:
    old = job("bert-1f3a9c")
    left = step_event("delete", JOB, {**old, "delete": True})
    steps = read_preview(previews.stream(left, step_event("same", JOB, job("bert-77ab01"), job("bert-77ab01")))).steps
    assert [step.operation for step in steps] == ["delete", "same"]
    (alone,) = read_preview(previews.stream(*replacement("delete-replaced"))).steps
    assert alone.operation == "delete-replaced"


def test_no_detail_is_not_the_same_as_no_difference() -> None:
    events = [
        step_event("update", JOB, job("a"), job("a"), detail={}),
        step_event("update", CLAIM_URN, job("a"), job("a")),
    ]
    first, second = read_preview(previews.stream(*events)).steps
    assert first.detail == {}
    assert second.detail is None


def test_operations_of_newer_engines_stay_as_they_are() -> None:
    (step,) = read_preview(previews.stream(step_event("teleport", JOB, None, job("a"), novelty={"x": 1}))).steps
    assert step.operation == "teleport"


def test_values_that_only_up_knows() -> None:
    (step,) = read_preview(
        previews.stream(step_event("create", JOB, None, state({"a": [previews.UNKNOWN_TEXT]})))
    ).steps
    assert step.state.inputs == {"a": [UNKNOWN]}


def test_outputs_are_those_of_training_jobs_and_the_identity_of_objects() -> None:
    component, metadata = (
        urn(TRAINING_JOB, "bert"),
        {"name": "bert-1f3a9c", "uid": "7d6c", "managedFields": [{"manager": "x"}]},
    )
    outputs = step_event("create", component, None, state({}, {"job": "bert-1f3a9c"}))["resourcePreEvent"]
    text = previews.stream(
        step_event("create", component, None, state({})),
        {"resOutputsEvent": outputs},
        step_event("same", JOB, state({}, {"metadata": metadata, "status": {"state": "Running"}}), state({})),
    )
    first, second = read_preview(text).steps
    assert first.state.outputs == {"job": "bert-1f3a9c"}
    assert second.old is not None
    assert second.old.outputs == {"metadata": {"name": "bert-1f3a9c", "uid": "7d6c"}}


def test_policies_and_what_they_change() -> None:
    remediation = {
        "resourceUrn": JOB,
        "policyName": "labels",
        "policyPackName": "trainform",
        "before": {"a": 1},
        "after": {"a": 2, "b": 3},
    }
    text = previews.stream(
        previews.policy("TF-IMG-2", "<{%reset%}>the tag can move<{%reset%}>\n", JOB),
        {"policyRemediationEvent": remediation},
    )
    assert read_preview(text).policies == (
        PolicyResult("TF-IMG-2", "mandatory", JOB, "the tag can move", "trainform"),
        PolicyResult("labels", "remediate", JOB, "The policy changes a, b.", "trainform"),
    )


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (previews.diagnostic("error", "error: Program failed with an unhandled exception"), "Program failed with an unhandled exception"),
        ({"errorEvent": {"error": "panic"}}, "The engine ended with an internal error: panic"),
        ({"resOpFailedEvent": step_event("read", JOB)["resourcePreEvent"]}, "The operation read of bert-job failed."),
        (previews.summary(maybeCorrupt=True), "The engine says that the state of the stack may be corrupt."),
        (previews.summary(result="canceled"), "The preview was cancelled."),
        (previews.summary(result="failed"), "The engine says that the preview failed, and not why."),
    ],
)  # fmt: skip
def test_what_fails_the_preview(event: dict[str, Any], reason: str) -> None:
    text = previews.stream(event, ended="summaryEvent" not in event)
    assert read_preview(text).failed == reason


def test_a_policy_that_stops_the_preview_is_why_it_failed() -> None:
    violated = previews.policy("TF-IMG-2", "the tag can move", JOB)
    ends = (previews.diagnostic("error", "error: preview failed\n"), previews.summary(result="failed"))
    refused = "the policy TF-IMG-2 refuses bert-job: the tag can move"
    assert read_preview(previews.stream(violated, *ends, ended=False)).failed == refused
    assert read_preview(previews.stream(violated, previews.summary(), ended=False)).failed == ""
    advisory = previews.policy("TF-IMG-2", "the tag can move", JOB, level="advisory")
    assert read_preview(previews.stream(advisory, *ends, ended=False)).failed != ""


@pytest.mark.parametrize("form", [previews.stream, previews.digest])
@pytest.mark.parametrize("severity", ["warning", "error"])
@pytest.mark.parametrize("before", ["", "{}: ", "{}: {}: \n", "<{{%fg 3%}}>{}: <{{%reset%}}>{}:"])
def test_no_message_repeats_its_severity(form: Any, severity: str, before: str) -> None:
    """The engine sends it as a prefix, a digest writes it into the message, and a program or an SDK puts it before its own."""
    prefix, said = f"{severity}: ", f"{before.format(severity, severity)}the queue is full\n"
    preview = read_preview(form(previews.diagnostic(severity, said, JOB, prefix=prefix)))
    assert preview.messages == (Message(severity, "the queue is full", JOB),)


def test_which_policy_packs_ran() -> None:
    ran = previews.summary(PolicyPacks={"trainform|local|policy": "0.0.1", "calendar": ""})
    assert read_preview(previews.stream(ran, ended=False)).packs == {"calendar": "", "trainform": "0.0.1"}
    assert read_preview(previews.stream()).packs == {}
    assert read_preview(previews.stream(ended=False)).packs is None
    assert read_preview(previews.digest()).packs is None


def test_a_refresh_is_no_step_beside_the_one_that_follows_it() -> None:
    refresh, same = (step_event(op, JOB, job("bert-1f3a9c"), job("bert-1f3a9c")) for op in ("refresh", "same"))
    assert [step.operation for step in read_preview(previews.stream(refresh, same)).steps] == ["same"]
    assert [step.operation for step in read_preview(previews.stream(refresh)).steps] == ["refresh"]


def test_a_stream_that_is_cut_off_is_incomplete() -> None:
    preview = read_preview(previews.stream(*replacement("replace"), ended=False))
    assert preview.failed == read.INCOMPLETE
    assert preview.not_checked == (read.INCOMPLETE,)
    assert len(preview.steps) == 1


def test_an_event_that_is_cut_off_is_said() -> None:
    text = previews.stream(*replacement("replace"))
    line = next(line for line in text.splitlines() if "replace" in line)
    preview = read_preview(text.replace(line, line[:200]))
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)
    assert (preview.failed, preview.incomplete) == ("", True)


ALONE = step_event("same", CLAIM_URN, state({"a": 1}), state({"a": 1}))
CUT = "The preview is incomplete: the engine counts steps that are not in it (1 create, 3 delete)."


@pytest.mark.parametrize(
    "text",
    [
        previews.stream(
            ALONE, previews.summary(resourceChanges={"same": 1, "create": 1, "delete": 3, "x": None}), ended=False
        ),
        previews.digest().replace('"same": 1', '"same": 7, "create": 1, "delete": 3'),
    ],
)
def test_steps_that_the_engine_counts_and_that_are_not_there(text: str) -> None:
    preview = read_preview(text)
    assert preview.incomplete
    assert CUT in preview.not_checked
    assert preview.failed == ""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "review" / "recorded").glob("replace.*")), ids=lambda path: path.name
)
def test_a_recorded_preview_without_one_of_its_steps(path: Path) -> None:
    text = path.read_text()
    assert not read_preview(text).incomplete
    if path.suffix == ".jsonl":
        less = "\n".join(line for line in text.splitlines() if '"op":"delete"' not in line)
    else:
        whole = json.loads(text)
        less = json.dumps({**whole, "steps": [step for step in whole["steps"] if step["op"] != "delete"]})
    preview = read_preview(less)
    assert preview.incomplete
    assert preview.not_checked[-1].endswith("(1 delete).")


def test_what_a_program_prints_is_not_taken_for_the_digest() -> None:
    digest = previews.digest(*replacement("replace"))
    assert read_preview('{"diagnostics": []}\n' + digest) == read_preview(digest)
    assert read_preview('{"diagnostics": []}').failed == read.INCOMPLETE


@pytest.mark.parametrize("before", ["{ ", 'log {"a":1} {', 'log {"a": {', "log {a} {"])
def test_events_begin_anywhere_in_their_line(before: str) -> None:
    text = previews.stream(*replacement("replace"))
    assert read_preview(text.replace("{", before, 1).replace("\n{", f"\n{before}")) == read_preview(text)


@pytest.mark.parametrize("value", ["NaN", "9" * 5000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_an_event_with_a_value_that_cannot_be_read_is_counted(value: str) -> None:
    text = previews.stream(step_event("delete", JOB, state({"a": "VALUE"}))).replace('"VALUE"', value)
    preview = read_preview(text)
    assert preview.steps == ()
    assert preview.incomplete
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)


@pytest.mark.parametrize("doubled", ['"op":"delete"', '"metadata":{"op":"delete"'])
def test_an_event_with_a_key_twice_cannot_be_read(doubled: str) -> None:
    """A reader that takes the last one would see another change than one that takes the first."""
    text = previews.stream(step_event("delete", JOB, state({"a": 1})))
    other = '"metadata":{}' if doubled.startswith('"metadata"') else '"op":"same"'
    assert doubled in text
    preview = read_preview(text.replace(doubled, f"{other},{doubled}", 1))
    assert preview.steps == ()
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)


def test_a_digest_says_what_it_lacks() -> None:
    assert read_preview(previews.digest(*replacement("replace"))).not_checked == read.DIGEST_LACKS


def test_lines_of_other_programs_stand_between_events() -> None:
    lines = previews.stream(*replacement("replace")).splitlines()
    mixed = "\r\n".join(part for line in lines for part in (line, "warning: {'a': 1}", '{"level": "info"}', ""))
    assert read_preview(mixed) == read_preview("\n".join(lines))


def test_events_are_read_in_the_order_of_their_numbers() -> None:
    lines = previews.stream(*replacement("replace"), step_event("create", CLAIM_URN, None, state({}))).splitlines()
    assert read_preview("\n".join(reversed(lines))) == read_preview("\n".join(lines))


def test_debug_messages_are_dropped() -> None:
    text = previews.stream(
        previews.diagnostic("debug", "sshSecret=a secret of thirty-two characters"),
        previews.diagnostic("info", "resolving", ephemeral=True),
        previews.diagnostic("trace", "of a newer engine"),
        previews.diagnostic("info#err", "printed by the program"),
    )
    preview = read_preview(text)
    assert preview.messages == (Message("info", "printed by the program"),)
    assert "thirty-two" not in repr(preview)
    (lack,) = preview.not_checked
    assert lack.startswith("Of 1 message of the engine the severity is not known")
    assert not preview.incomplete


SUMMARY = {"result": "succeeded", "resources": [{"urn": JOB, "op": "create"}], "changeSummary": {"create": 1}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("Previewing update (bert.dev):\n", "it has no JSON"),
        (json.dumps(SUMMARY), "it is the output of `--output json`, which has no values"),
        ('{"kind": "Job"}', "it is JSON, but no preview of Pulumi"),
        ("[1]", "it has no JSON"),
        (previews.digest(*replacement("replace"))[:-40], "it is no JSON that can be read to its end, so it may have been cut off"),
        ("[" * 100_000, "it has no JSON"),
        ('{"a":' * 100_000, "it is no JSON that can be read to its end, so it may have been cut off"),
    ],
)  # fmt: skip
def test_what_is_no_preview(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_preview(text, "preview.json")
    (problem,) = caught.value.problems
    assert (problem.path, problem.reason) == ("preview.json", reason)
    assert "pulumi preview --json" in problem.fix
    assert read.STDIN in str(_refusal(text))


def _refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_preview(text)
    return caught.value


def test_a_preview_may_not_be_larger_than_any_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "LARGEST", 1 << 20)
    with pytest.raises(InputError, match="it has more than 1 MiB"):
        read_preview(" " * ((1 << 20) + 1))


def test_values_of_ten_megabytes_and_deep_ones() -> None:
    deep: Any = "leaf"
    for _ in range(200):
        deep = {"a": [deep]}
    inputs = {
        "text": "x" * 10_000_000,
        "json": json.dumps({"a": "y" * 10_000_000}),
        "deep": deep,
        "lines": "a: b\n" * 200_000,
    }
    started = time.process_time()
    (step,) = read_preview(previews.stream(step_event("update", JOB, state(inputs), state(inputs)))).steps
    assert time.process_time() - started < 5
    assert len(repr(step)) < 3_000_000
    assert "leaf" not in repr(step)


@pytest.mark.parametrize("depth", range(100, 1000, 25))
def test_values_that_are_nested_as_deep_as_python_reads(depth: int) -> None:
    value = '{"a":' * depth + '"leaf"' + "}" * depth
    event = json.dumps(step_event("update", JOB, state({"b": "DEEP"}), state({"b": "DEEP"}))).replace('"DEEP"', value)
    remediation = f'{{"policyRemediationEvent":{{"before":{{"x":{value}}},"after":{{"x":{value}}}}}}}'
    read_or_refused(f"{event}\n{remediation}\n")
    read_or_refused(f'{{"steps": [{event}]}}')


def test_two_hundred_resources_are_read_at_once() -> None:
    env = [{"name": f"NCCL_{index}", "value": str(index)} for index in range(10)]
    container = {
        "name": "main",
        "image": "registry.example.com/ai/bert:1.0",
        "command": ["python", "/app/pretrain.py"],
        "env": env,
    }
    events = []
    for index in range(200):
        spec = {"tasks": [{"name": "node", "replicas": index, "template": {"spec": {"containers": [container]}}}]}
        old, new = (job(f"bert-{index}-{side}", **spec) for side in ("old", "new"))
        events.append(
            step_event("update", urn(VOLCANO_JOB, f"bert-{index}"), old, new, detail={"metadata.name": "update"})
        )
    text = previews.stream(*events)
    times = []
    for _ in range(3):
        started = time.process_time()
        assert len(read_preview(text).steps) == 200
        times.append(time.process_time() - started)
    assert min(times) < 0.2


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_previews(path: Path) -> None:
    """`tests/engine/test_previews.py` has recorded them."""
    preview = read_preview(path.read_text())
    operations = {step.name: step.operation for step in preview.steps if step.operation != "same" and step.is_object}
    assert operations.pop("allreduce-job") == "replace"
    assert operations.pop("allreduce-ssh") == "update"
    assert operations.pop("allreduce-deployed") == "update"
    assert sorted(operations.values()) == ["create", "delete"]
    assert (preview.failed, preview.masked) == ("", 1)
    (job,) = jobs_of(preview)
    assert job.before is not None
    assert job.after is not None
    assert job.before.experiment["ssh"] != job.after.experiment["ssh"]
