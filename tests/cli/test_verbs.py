"""The verbs that need no cluster, through the real entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.conftest import ROOT
from trainform.job.check import check_experiment
from trainform.job.render import job_manifests


def test_check() -> None:
    code, out, err = run("check", "sdxl-lora", "stacks/experiments/hello.yaml", "-e", "dev")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert (
        first == "sdxl-lora: ok, 4 pods, 32 accelerators, revision "
        f"{check_experiment('sdxl-lora', 'dev').or_raise().plan.revision}"
    )
    assert second.startswith("hello: ok, 2 pods, 0 accelerators, revision ")


def test_check_counts_a_single_pod(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    roles = "roles: {node: {accelerators: {a800: 1}}}"
    file.write_text(
        f"name: one\nimage: registry.example.com/ai/one:1\nlauncher: {{command: [python, /a.py]}}\n{roles}\n"
    )
    code, out, err = run("check", str(file), "-e", "dev")
    assert (code, err) == (0, "")
    assert out.startswith("one: ok, 1 pod, 1 accelerator, revision ")


def test_check_notes_what_may_surprise() -> None:
    code, out, _ = run("check", "hello", "elastic", "-e", "dev")
    hello, elastic, *noted = out.splitlines()
    assert (code, hello.split()[0], elastic.split()[0]) == (0, "hello:", "elastic:")
    assert noted == [f"  note: {note}" for note in check_experiment("elastic", "dev").or_raise().plan.notes]
    assert noted != []
    _, out, _ = run("check", "elastic", "-e", "dev", "--output", "json")
    assert json.loads(out)["experiments"][0]["notes"] == [note.removeprefix("  note: ") for note in noted]


def test_check_as_json() -> None:
    code, out, _ = run("check", "extras", "nowhere", "-e", "dev", "--output", "json")
    answer: dict[str, Any] = json.loads(out)
    assert code == 2
    assert answer.keys() == {"ok", "experiments", "error"}
    right, wrong = answer["experiments"]
    plan = check_experiment("extras", "dev").or_raise().plan
    assert right == {
        "argument": "extras", "name": "extras", "environment": "dev", "ok": True, "job": plan.job,
        "revision": plan.revision, "pods": 8, "accelerators": {"a800": 4}, "notes": [*plan.notes], "problems": [],
        "stack": None, "tried": [],
    }  # fmt: skip
    assert (wrong["name"], wrong["ok"], answer["ok"]) == ("nowhere", False, False)
    assert wrong["problems"][0].keys() == {"source", "line", "path", "value", "reason", "fix", "code", "fingerprint"}


def test_standard_input_needs_an_environment() -> None:
    code, _, err = run("check", "-")
    assert (code, "Missing option '--environment'" in err) == (2, True)


def test_plan_as_json() -> None:
    code, out, _ = run("plan", "sdxl-lora", "-e", "dev", "--output", "json")
    shown: dict[str, Any] = json.loads(out)
    plan = check_experiment("sdxl-lora", "dev").or_raise().plan
    assert code == 0
    assert (shown["job"], shown["run"], shown["revision"], shown["min_available"]) == (plan.job, 1, plan.revision, 4)
    assert [(pod["name"], pod["rank"]) for pod in shown["pods"]] == [(pod.name, pod.rank) for pod in plan.pods()]
    assert shown["world"] == {"nodes": 4, "processes": 32, "bounds": None}
    assert shown["totals"]["accelerators"] == {"a800": 32}
    assert {role["name"] for role in shown["roles"]} == {"master", "worker"}
    assert shown["claims"][0]["request"]["class"] == "fast"


def test_render_reads_back_to_the_manifests() -> None:
    code, out, err = run("render", "extras", "-e", "dev")
    expected = [manifest.body for manifest in job_manifests(check_experiment("extras", "dev").or_raise().plan)]
    assert (code, err) == (0, "")
    assert list(yaml.safe_load_all(out)) == expected


@pytest.mark.parametrize("verb", ["plan", "render"])
def test_invalid_files_have_no_plan(verb: str) -> None:
    code, out, err = run(verb, "tests/spec/bad/secret-in-env.yaml", "-e", "dev")
    assert (code, out) == (2, "")
    assert err == (ROOT / "tests/spec/bad/secret-in-env.txt").read_text()


def test_version() -> None:
    code, out, _ = run("--version")
    assert (code, out.split()[0]) == (0, "trainform")


def test_choices_of_an_argument_are_named_on_one_line() -> None:
    code, out, err = run("completion")
    assert (code, out) == (2, "")
    assert "Missing argument 'bash|zsh|fish'. Choose from: bash, zsh, fish" in err


def imported(*verbs: str, experiment: str = "sdxl-lora") -> set[str]:
    """Modules that a process has after running the verbs."""
    script = (
        "import sys\nfrom trainform.cli.main import main\n"
        f"for verb in {verbs!r}:\n"
        f"    try:\n        main([verb, {experiment!r}, '-e', 'dev'])\n"
        "    except SystemExit as exit_:\n        assert not exit_.code, exit_.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return set(done.stderr.split())


def test_check_imports_only_what_it_needs() -> None:
    heavy = {"pulumi", "pulumi_kubernetes", "lightkube", "httpx2", "cryptography", "psutil", "rich", "grpc", "docker"}
    heavy |= {"asyncio", "concurrent.futures", "http", "logging", "multiprocessing", "ssl", "xml"}
    heavy |= {"trainform.resources", "trainform.local"}
    assert heavy & imported("check") == set()
    assert {"pulumi", "lightkube", "cryptography"} & imported("plan", "render") == set()


def test_only_patches_need_the_fields_of_kinds(tmp_path: Path) -> None:
    """The models of kinds are read for an experiment with patches alone; so is what finds the meaning of a patch."""
    of_patches = {"lightkube.models.core_v1", "trainform.backends.patch_rules"}
    assert of_patches & imported("check", "plan", "render") == set()
    patched = tmp_path / "sdxl-lora.yaml"
    patches = "manifest_overrides: {job: {metadata: {annotations: {example.com/team: vision}}}}\n"
    patched.write_text((ROOT / "stacks/experiments/sdxl-lora.yaml").read_text() + patches)
    assert of_patches <= imported("check", experiment=str(patched))


def test_drift_imports_only_what_it_needs() -> None:
    modules = "trainform.cli.drift, trainform.stacks.drift.report, trainform.stacks.drift.text"
    script = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    others = {"pulumi", "trainform.cluster.facts", "trainform.cluster.live", "trainform.review.preview"}
    others |= {"trainform.backends.patch_rules", "trainform.manifests.served.validation"}
    assert others & set(done.stdout.split()) == set()


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "sdxl-lora", "-e", "dev"],
        ["plan", "sdxl-lora", "-e", "dev", "--output", "json"],
        ["render", "sdxl-lora", "-e", "dev"],
    ],
)
def test_a_reader_that_leaves_early(words: list[str]) -> None:
    """As `trainform plan … | head -c 1`."""
    with subprocess.Popen(
        [sys.executable, "-m", "trainform", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert len(process.stdout.read(1)) == 1
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=120)
