"""The parts of the benchmark that compute and write; nothing is timed here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.aims import judge_at_least, judge_at_most, judge_seconds
from bench.by_hand import token_program, typed_program
from bench.calls import count_calls
from bench.commands import REPOSITORY, Command, measure, run
from bench.display import BEGIN, END, between_markers, to_markdown
from bench.registered import left_out, objects
from bench.reports import RESOURCES, write_preview
from bench.rounds import in_turn
from bench.samples import Ratio, Sample, Series, compare
from bench.sections import Section
from bench.shapes import write_shape
from trainform.console.progress import SILENT
from trainform.errors import TrainformError
from trainform.job.check import check_experiment
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview


def series(name: str, *seconds: float) -> Series:
    return Series(name, tuple(Sample(each, 10 * each) for each in seconds))


def test_ratios_are_of_pairs_not_of_medians() -> None:
    """The machine is twice as slow in the last two rounds: the ratio of each pair stays what it is."""
    ratio = compare(series("ours", 1.0, 2.0, 2.4), series("theirs", 2.0, 4.0, 4.0))
    assert ratio == Ratio("ours / theirs", 0.5, 0.5, 0.6, (2.0, 4.0))


@pytest.mark.parametrize(
    ("judged", "verdict"),
    [
        (judge_seconds("check", 0.349, 0.35), "met"),
        (judge_seconds("check", 0.35, 0.35), "missed"),
        (judge_at_most(Ratio("a / b", 1.10, 0.9, 2.0, (1.1, 1.0)), 1.10), "met"),
        (judge_at_most(Ratio("a / b", 1.11, 0.9, 1.2, (1.1, 1.0)), 1.10), "missed"),
        (judge_at_least(Ratio("b / a", 2.0, 1.0, 3.0, (2.0, 1.0)), 2.0), "met"),
        (judge_at_least(Ratio("b / a", 1.99, 1.9, 3.0, (2.0, 1.0)), 2.0), "missed"),
    ],
)
def test_aims_are_judged_by_the_median(judged: Any, verdict: str) -> None:
    assert judged.verdict == verdict


def test_rounds_alternate_and_the_first_does_not_count() -> None:
    called: list[str] = []

    def measurement(name: str) -> Sample:
        called.append(name)
        return Sample(float(len(called)))

    first, second = in_turn("two", {"a": lambda: measurement("a"), "b": lambda: measurement("b")}, 2, SILENT)
    assert called == ["a", "b"] * 3
    assert [sample.seconds for sample in first.samples] == [3.0, 5.0]
    assert [sample.seconds for sample in second.samples] == [4.0, 6.0]


def test_the_report_goes_between_the_markers_and_nowhere_else() -> None:
    torchx, kubectl = (
        compare(series("torchx", 0.75), series("render", 0.3)),
        compare(series("a", 0.1), series("b", 0.2)),
    )
    section = Section(
        "Render", (series("render", 0.3),), (kubectl,), (judge_at_least(torchx, 2.0),), notes=("torchx 0.7.0.",)
    )
    without_tables = Section("Review", notes=("kubectl 1.32.4.",))
    text = to_markdown("2 cores", [section, without_tables])
    assert "| torchx / render | 2.50 (2.50 … 2.50) | 750 ms / 300 ms | at least 2.00 | met |" in text
    assert "| a / b | 0.50 (0.50 … 0.50) | 100 ms / 200 ms |  |  |" in text
    assert "\n\ntorchx 0.7.0. kubectl 1.32.4.\n\n### Render\n\n" in text
    assert "| render | 300 ms | 3 MB |" in text
    assert "### Review" not in text
    document = f"# Benchmarks\n\n{BEGIN}\nold\n{END}\n\nWhat it means.\n"
    written = between_markers(document, text)
    assert written == f"# Benchmarks\n\n{BEGIN}\n\n{text}\n\n{END}\n\nWhat it means.\n"
    assert between_markers(written, text) == written


@pytest.mark.parametrize("document", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_document_without_one_place_is_refused(document: str) -> None:
    with pytest.raises(TrainformError, match="not have exactly one place"):
        between_markers(document, "text")


def test_the_document_of_the_repository_has_the_place() -> None:
    between_markers((REPOSITORY / "docs" / "reference" / "benchmarks.md").read_text(), "text")


@pytest.mark.parametrize("pods", [4, 3072])
def test_a_shape_of_any_size_is_accepted_by_check(tmp_path: Path, pods: int) -> None:
    shape = write_shape(tmp_path, pods)
    assert check_experiment(str(shape.experiment), str(shape.environment)).or_raise().plan.totals.pods == pods


MANIFESTS = [
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sdxl-lora"}, "spec": {"clusterIP": "None"}},
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "sdxl-lora-f24334"}, "spec": {}},
]


def test_the_preview_of_many_resources_is_one_of_as_many_jobs(tmp_path: Path) -> None:
    resources = write_preview(tmp_path / "preview.jsonl", RESOURCES)
    preview = read_preview((tmp_path / "preview.jsonl").read_text())
    assert RESOURCES <= resources == len(preview.steps) == len({step.urn for step in preview.steps})
    jobs = jobs_of(preview)
    assert {(job.job.operation, len(job.steps)) for job in jobs if job.job} == {
        ("replace", (resources - 1) // len(jobs) - 1)
    }
    assert (preview.failed, preview.incomplete, preview.not_checked) == ("", False, ())
    assert all(job.before and job.after and not job.not_checked for job in jobs)


def test_programs_by_hand_are_python_and_name_every_object() -> None:
    typed, tokens = typed_program(MANIFESTS, "dev-cluster"), token_program(MANIFESTS, "dev-cluster")
    compile(typed, "typed", "exec")
    compile(tokens, "tokens", "exec")
    assert "k8s.core.v1.Service('sdxl-lora-service'" in typed
    assert "k8s.apiextensions.CustomResource('sdxl-lora-f24334-job'" in typed
    assert "'kubernetes:core/v1:Service', 'sdxl-lora-service'" in tokens
    assert "'kubernetes:batch.volcano.sh/v1alpha1:Job'" in tokens


def test_registered_objects_are_compared_without_what_pulumi_adds() -> None:
    def export(namespace: str, cluster_ip: str, data: dict[str, str] | None = None, **added: Any) -> dict[str, Any]:
        inputs = {"kind": "Service", "metadata": {"name": "sdxl-lora", "namespace": namespace, **added}}
        resource = {
            "type": "kubernetes:core/v1:Service",
            "inputs": {**inputs, "spec": {"clusterIP": cluster_ip}, "data": {} if data is None else data, **added},
        }
        return {"deployment": {"resources": [resource, {"type": "pulumi:pulumi:Stack"}]}}

    ours = objects(export("bench", "None"))
    assert ours == objects(export("by-hand", "None", __defaults=[]))
    assert ours != objects(export("by-hand", "10.0.0.7"))
    ours = objects(export("bench", "None", data={"job": "sdxl-lora-f24334", "version": "1.2.3"}))
    assert ours == objects(export("by-hand", "None", data={"job": "sdxl-lora-f24334"}))
    assert ours != objects(export("by-hand", "None", data={"job": "sdxl-lora-000000", "version": "1.2.3"}))


def test_what_a_program_leaves_out_is_listed_and_what_it_adds_is_refused() -> None:
    def preview(*kinds: str) -> dict[str, Any]:
        return {"steps": [{"urn": f"urn::{kind}::llama", "newState": {"type": kind}} for kind in kinds]}

    whole, part = preview("Rendezvous", "RoleGroup", "Job"), preview("Rendezvous", "Job")
    assert left_out(whole, part) == ["RoleGroup"]
    assert left_out(whole, whole) == []
    with pytest.raises(TrainformError, match="one program alone registers urn::RoleGroup::llama"):
        left_out(part, whole)


PYTHON = Command(
    "python", (sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(3)", "last words"), REPOSITORY
)


def test_a_failed_command_is_an_error_with_the_end_of_its_output() -> None:
    with pytest.raises(TrainformError, match=r"ended with code 3; its last lines:\n  \| \['last words'\]"):
        measure(PYTHON)
    sample, output = run(structs.replace(PYTHON, codes=(3,)))
    assert output == "['last words']\n"
    assert sample.seconds > 0
    assert sample.megabytes is not None
    assert sample.megabytes > 1


def test_registered_objects_are_compared_without_the_mark_of_their_stack() -> None:
    def marked(**annotations: str) -> dict[str, Any]:
        metadata = {"name": "sdxl-lora-deployed", "namespace": "bench", "annotations": annotations}
        resource = {"type": "kubernetes:core/v1:ConfigMap", "inputs": {"kind": "ConfigMap", "metadata": metadata}}
        return objects({"deployment": {"resources": [resource]}})

    assert marked(**{"trainform.dev/stack": "trainform/sdxl-lora.dev"}) == marked()
    assert marked(**{"trainform.dev/run": "2"}) != marked()


def test_calls_of_a_command_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    counted = count_calls(["render", "stacks/experiments/hello.yaml", "-e", "dev"])
    assert 1_000 < counted.total() < 5_000
    assert {code.co_name for code in counted} >= {"build_app", "render_job"}
    assert capsys.readouterr().out == ""
