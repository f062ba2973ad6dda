"""`trainform review` of a preview that was made elsewhere: its forms, files, exit codes and wrong words."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.cluster.test_read import use
from tests.review.screen import reviewed
from tests.support import previews
from tests.support.api_objects import ApiObjects
from tests.support.leaks import GITHUB_TOKEN
from tests.support.live_objects import node, queue
from tests.support.repository import ROOT
from tests.support.unseen import unseen
from tests.support.websites import Answer, website
from trainform.cli import review as command_module
from trainform.review.files import stack_files
from trainform.review.forms import as_json, html, markdown, terminal
from trainform.review.model import Report, Review
from trainform.review.preview import State
from trainform.spec.stack import Stack

GOLDEN = ROOT / "tests" / "review" / "forms" / "golden"

STACK = "dev"  # of the preview, and an environment's own in the repository


def events() -> list[previews.Data]:
    """A running job whose variable changes, as the engine tells it."""
    context = reviewed()
    [job] = context.jobs
    assert job.component is not None
    above = job.component.urn

    def state(side: State | None, parent: str) -> previews.Data | None:
        if side is None:
            return None
        return previews.state(side.inputs, parent=parent, retainOnDelete=side.keep, id="1" if parent == above else "")

    found = []
    for step in context.preview.steps:
        parent = previews.root() if step is job.component else above
        sides = state(step.old, parent), state(step.new, parent)
        found.append(previews.step_event(step.operation, step.urn, *sides, step.detail, keys=list(step.keys)))
    return found


@pytest.fixture
def preview(tmp_path: Path) -> str:
    file = tmp_path / "preview.json"
    file.write_text(f"Previewing update (dev):\n{previews.stream(*events())}", encoding="utf-8")
    return str(file)


def review(*words: str) -> tuple[int, str, str]:
    return run("review", "--no-cluster", *words)


def read(*words: str) -> Review:
    code, out, err = review("--format", "json", *words)
    assert (code, err) == (0, "")
    return Review.model_validate_json(out)


def report_of(preview: str, *words: str) -> Report:
    [report] = read("--preview-json", preview, *words).stacks
    return report


def test_a_preview_from_a_file(preview: str) -> None:
    report = report_of(preview)
    assert (report.stack, report.environment, report.outcome) == ("dev", "dev", "findings")
    assert "TR-RESTART-1" in {finding.code for finding in report.findings}
    [cause] = [change for effect in report.effects for change in effect.causes]
    assert (cause.place.path, cause.before, cause.after) == ("roles.worker.env.NCCL_DEBUG", None, "INFO")
    assert ("cluster", "--no-cluster is set.") in {(part.what, part.reason) for part in report.not_checked}


def test_a_digest_from_standard_input(preview: str) -> None:
    text = previews.digest(*events())
    done = subprocess.run(
        [sys.executable, "-m", "trainform", "review", "--no-cluster", "--preview-json", "-", "--format", "json"],
        cwd=ROOT, input=text, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    [report] = Review.model_validate_json(done.stdout).stacks
    assert "preview" in {part.what for part in report.not_checked}
    assert {finding.code for finding in report_of(preview).findings} == {finding.code for finding in report.findings}


def test_forms_on_standard_output(preview: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    expected = read("--preview-json", preview)
    assert review("--preview-json", preview)[1] == terminal.render(expected, 80)
    assert review("--preview-json", preview, "--format", "markdown")[1] == markdown.render(expected)
    assert review("--preview-json", preview, "--format", "html")[1] == html.render(expected)
    assert review("--preview-json", preview, "--format", "json")[1] == as_json.render(expected)


def test_several_files_at_once(preview: str, tmp_path: Path) -> None:
    expected = read("--preview-json", preview)
    made = [tmp_path / f"report.{suffix}" for suffix in ("md", "html", "json", "txt")]
    words = [word for file in made for word in ("-o", str(file))]
    code, out, err = review("--preview-json", preview, *words)
    assert (code, err) == (0, "")
    assert out.startswith("Review of dev\n")
    assert [file.read_text(encoding="utf-8") for file in made] == [
        markdown.render(expected),
        html.render(expected),
        as_json.render(expected),
        terminal.render(expected, 100),
    ]


def test_an_earlier_report_is_replaced(preview: str, tmp_path: Path) -> None:
    made = [tmp_path / f"report.{suffix}" for suffix in ("md", "html", "json", "txt")]
    words = [word for file in made for word in ("-o", str(file))]
    made[0].touch()
    for _ in range(3):
        assert review("--preview-json", preview, *words)[0] == 0
        assert all(file.stat().st_size for file in made)
    made[2].write_text(made[0].read_text(encoding="utf-8"), encoding="utf-8")
    code, _, err = review("--preview-json", preview, *words)
    assert (code, err.count("it is not an earlier report in this form")) == (2, 1)


@pytest.mark.parametrize("begins", ["Review of the quarter\n", "Review of dev\n", "Review of 2 stacks\n"])
@pytest.mark.parametrize("ending", ["md", "txt"])
@pytest.mark.parametrize("ends", ["", "  2 secret values are masked.\nAsk why.\n"])
def test_notes_that_begin_as_a_report_does_are_kept(
    begins: str, ending: str, ends: str, preview: str, tmp_path: Path
) -> None:
    notes = tmp_path / f"notes.{ending}"
    text = f"{'## ' if ending == 'md' else ''}{begins}\nIt went well.\n{ends}"
    notes.write_text(text, encoding="utf-8")
    code, _, err = review("--preview-json", preview, "-o", str(notes))
    assert (code, notes.read_text(encoding="utf-8")) == (2, text)
    assert "it is not an earlier report in this form" in err


def test_notes_of_a_quarter_are_no_report(preview: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Review of the quarter\n\n  2 secret values are masked.\n", encoding="utf-8")
    assert review("--preview-json", preview, "-o", str(notes))[0] == 2


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.*")), ids=lambda file: file.name)
def test_a_report_of_any_change_is_replaced(file: Path, preview: str, tmp_path: Path) -> None:
    report = tmp_path / file.name
    report.write_bytes(file.read_bytes())
    assert review("--preview-json", preview, "-o", str(report))[0] == 0
    assert report.read_bytes() != file.read_bytes()


def test_a_link_that_is_made_while_the_preview_runs_is_refused(
    preview: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "report.md", tmp_path / "notes"
    other.write_text("mine", encoding="utf-8")

    def slow(*words: Any, **options: Any) -> Any:
        file.symlink_to(other)
        return made(*words, **options)

    made = command_module._review
    monkeypatch.setattr(command_module, "_review", slow)
    code, _, err = review("--preview-json", preview, "-o", str(file))
    assert (code, other.read_text(encoding="utf-8")) == (2, "mine")
    assert "is a link to" in err


def test_files_are_refused_before_the_preview_and_all_at_once(tmp_path: Path) -> None:
    experiment = ROOT / "stacks" / "experiments" / "hello.yaml"
    before = experiment.read_bytes()
    link, folder, closed = tmp_path / "x.md", tmp_path / "dir.md", tmp_path / "closed"
    link.symlink_to(experiment)
    (tmp_path / "same.md").symlink_to(tmp_path / "one.json")
    (tmp_path / "stacks").symlink_to(ROOT / "stacks")
    notes = tmp_path / "notes.txt"
    notes.write_text("buy more nodes\n", encoding="utf-8")
    folder.mkdir()
    closed.mkdir(0o500)
    good = tmp_path / "ok1.md"
    names = ("ok1.md", "x.md", "one.json", "same.md", "stacks/new.md", "notes.txt", "dir.md", "dir.md/", "closed/a.md")
    words = [word for name in names for word in ("-o", f"{tmp_path}/{name}")]
    code, out, err = review("--preview-json", str(tmp_path / "there is no preview"), *words)
    assert (code, out) == (2, "")
    reasons = ["is a link to", "is the same file as", "lies among", "not an earlier report", "is a directory"]
    if os.geteuid() != 0:  # who may write everywhere is not held back
        reasons.append("its folder is not writable")
    assert [reason for reason in reasons if reason not in err] == []
    assert "there is no preview" not in err
    assert experiment.read_bytes() == before
    assert notes.read_text(encoding="utf-8") == "buy more nodes\n"
    assert not good.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 0), (["--fail-on", "restart"], 3), (["--fail-on", "incomplete"], 3), (["--fail-on", "data,drift"], 0)],
)
def test_exit_codes(words: list[str], code: int, preview: str) -> None:
    found, out, err = review("--preview-json", preview, *words)
    assert (found, err) == (code, "")
    assert out


def test_a_preview_that_failed_ends_with_1(tmp_path: Path) -> None:
    file = tmp_path / "failed.json"
    failed = previews.summary(result="failed")
    error = previews.diagnostic("error", f"the registry refuses {GITHUB_TOKEN}")
    file.write_text(previews.lines([*events(), error, failed, {"cancelEvent": {}}]), encoding="utf-8")
    code, out, _ = review("--preview-json", str(file), "--fail-on", "high", "--format", "json")
    assert code == 1
    assert json.loads(out)["outcome"] == "failed"
    assert GITHUB_TOKEN not in out


def test_the_headline_names_the_policy_that_stops_the_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine itself says nothing but that the preview failed."""
    where = previews.urn(previews.CONFIG_MAP, "notes")
    ends = (previews.diagnostic("error", "error: preview failed\n"), previews.summary(result="failed"))
    violated = previews.policy("no-friday", "it is Friday: wait for Monday", where)
    text = previews.stream(*events(), violated, *ends, ended=False)
    (tmp_path / "events.jsonl").write_text(text, encoding="utf-8")
    engine(tmp_path, monkeypatch, f"#!/bin/sh\ncat {tmp_path / 'events.jsonl'}\nexit 255\n")
    code, out, _ = review("hello.dev", "--format", "json")
    assert code == 1
    assert json.loads(out)["stacks"][0]["headline"] == (
        "The preview failed: the policy no-friday refuses notes: it is Friday: wait for Monday."
    )


@pytest.mark.parametrize(
    ("told", "headline"),
    [
        (
            "error: no stack named 'hello.dev' found",
            "The preview failed: no stack named 'hello.dev' found. To mend it: pulumi stack select --create hello.dev",
        ),
        (
            "error: getting secrets manager: incorrect passphrase",
            "The preview failed: getting secrets manager: incorrect passphrase.",
        ),
    ],
)
def test_an_engine_that_fails_before_it_has_a_preview(
    told: str, headline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch, f'#!/bin/sh\necho "{told}" >&2\nexit 6\n')
    code, out, err = review("hello.dev", "--quiet", "--format", "json")
    assert (code, err) == (1, "")
    [report] = Review.model_validate_json(out).stacks
    assert (report.outcome, report.headline) == ("failed", headline)
    assert [message.text for message in report.messages] == [f"`pulumi preview` ended with exit code 6:\n{told}"]


def test_a_preview_made_elsewhere_that_a_policy_stopped(tmp_path: Path) -> None:
    """It says the same as one that trainform runs itself."""
    where = previews.urn(previews.CONFIG_MAP, "notes")
    violated = previews.policy("no-friday", "it is Friday: wait for Monday", where)
    made = previews.stream(*events(), violated, previews.summary(result="failed"), ended=False)
    (tmp_path / "preview.json").write_text(made, encoding="utf-8")
    code, out, _ = review("--preview-json", str(tmp_path / "preview.json"), "--no-cluster", "--format", "json")
    [report] = Review.model_validate_json(out).stacks
    assert (code, report.outcome) == (1, "failed")
    assert report.headline == "The preview failed: the policy no-friday refuses notes: it is Friday: wait for Monday."
    assert "no-friday" in {finding.code for finding in report.findings}


def test_an_engine_that_fails_before_its_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one whose policy pack does not start: standard error alone has the reason."""
    text = '{"sequence":0,"timestamp":1,"policyLoadEvent":{}}\n{"sequence":1,"timestamp":1,"cancelEvent":{}}\n'
    told = 'error: policy pack "/srv/ai/policy" failed to start: no such file or directory'
    (tmp_path / "events.jsonl").write_text(text, encoding="utf-8")
    engine(tmp_path, monkeypatch, f"#!/bin/sh\ncat {tmp_path / 'events.jsonl'}\necho '{told}' >&2\nexit 1\n")
    code, out, _ = review("hello.dev", "--format", "json")
    assert code == 1
    assert json.loads(out)["stacks"][0]["headline"] == f"The preview failed: {told.removeprefix('error: ')}."


def test_the_length_of_the_run(preview: str) -> None:
    assert report_of(preview, "--duration", "1h30m").cost.hours in (None, "1.5")
    code, out, err = review("--preview-json", preview, "--duration", "soon")
    assert (code, out) == (2, "")
    assert "--duration = soon" in err
    code, out, err = review("--preview-json", preview, "--duration", "0h")
    assert (code, out) == (2, "")
    assert "--duration = 0h why: must be more than 0" in " ".join(err.split())


@pytest.mark.parametrize("option", ["-s", "--stack"])
def test_the_stack_is_no_option(option: str) -> None:
    code, out, err = review(option, "dev")
    assert (code, out) == (2, "")
    assert "name the stack without an option: `trainform review STACK`" in " ".join(err.split())


def test_the_environment_is_read_beside_an_experiment_that_is_not_yaml(
    tmp_path: Path,
) -> None:
    (tmp_path / "experiment.yaml").write_text("name: [", encoding="utf-8")
    environment = str(ROOT / "stacks" / "environments" / "dev.yaml")
    found = stack_files(Stack(str(tmp_path / "experiment.yaml"), environment, 1), ROOT)
    assert found.environment is not None
    assert found.environment.name == "dev"
    (left_out,) = found.left_out
    assert "read: :" not in left_out.reason
    assert "experiment.yaml: the file is not YAML" in left_out.reason


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fail-on", "hihg"], "did you mean high?"),
        (["--fail-on", "data high"], "fix: write data,high"),
        (["--fail-on", "data;high"], "fix: write data,high"),
        (["--fail-on", ""], "a condition is empty"),
        (["-o", "-"], "--format chooses the form"),
        (["-o", "report.pdf"], "give it one of .md, .html, .json, .txt"),
        (["-o", "a.md", "-o", "a.md"], "name it once"),
        (["-o", "a.md", "-o", "./a.md"], "is the same file as a.md"),
        (["-o", "stacks/schemas/review.schema.json"], "lies among the files of the project's stacks"),
        (["-o", "stacks/new.md"], "lies among the files of the project's stacks"),
        (["-o", "README.md"], "it is not an earlier report in this form"),
        (["-o", "nowhere/a.md"], "its folder does not exist"),
        (["-o", "a.md/"], "is the name of a directory"),
        (["--format", "pdf"], "is not one of terminal, markdown, html, json"),
        (["hello.dev"], "the preview is one of the stack dev, not of hello.dev"),
        (["dev", "hello.dev"], "there are 1 previews and 2 stacks"),
        (["--all", "-e", "dev"], "--all cannot be used with --preview-json"),
        (["-e", "dev"], "-e names the environment of --all"),
    ],
)
def test_wrong_words(words: list[str], said: str, preview: str) -> None:
    code, out, err = review("--preview-json", preview, *words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"a": 1}'])
def test_a_file_that_is_no_preview(text: str, tmp_path: Path) -> None:
    file = tmp_path / "preview.json"
    file.write_text(text, encoding="utf-8")
    code, out, err = review("--preview-json", str(file))
    assert (code, out) == (2, "")
    assert "fix:" in err


def test_a_preview_of_which_no_step_can_be_read_names_no_stack(tmp_path: Path) -> None:
    file = tmp_path / "preview.jsonl"
    steps = [{"resourcePreEvent": {"metadata": {"op": "create", "urn": "of no resource"}}} for _ in range(2)]
    file.write_text(previews.stream(*steps), encoding="utf-8")
    code, out, err = review("--preview-json", str(file))
    assert (code, out) == (2, "")
    assert "nothing says which stack the preview is of: 2 events or steps cannot be read" in err
    code, out, _ = review("hello.dev", "--preview-json", str(file), "--no-cluster")
    assert "2 events or steps cannot be read" in out
    file.write_text(previews.stream(), encoding="utf-8")
    assert "Missing argument 'STACK'" in review("--preview-json", str(file))[2]


def test_a_path_that_leads_to_no_text(tmp_path: Path) -> None:
    binary, folder, pipe = tmp_path / "binary", tmp_path / "folder", tmp_path / "pipe"
    binary.write_bytes(b"\x7fELF\x02\x01\x01\x00\xd0\xff")
    folder.mkdir()
    os.mkfifo(pipe)
    for file, reason in ((binary, "is not UTF-8"), (folder, "a directory"), (pipe, "a pipe"), ("", "a directory")):
        code, out, err = review("--preview-json", str(file))
        assert (code, out) == (2, "")
        place, why, fix = err.splitlines()[1:]
        assert place.startswith("--preview-json = ")
        assert reason in why
        assert (
            fix == "  fix: give the path of a file that `pulumi preview --json` has written, or `-` for standard input"
        )


def test_which_stack() -> None:
    code, _, err = review()
    assert (code, "Missing argument 'STACK'" in err) == (2, True)
    code, _, err = review("resnet.dve")
    assert (code, "did you mean resnet.dev?" in err) == (2, True)


def test_outside_of_a_project(preview: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = review()
    assert (code, "there is no project here" in err) == (2, True)
    left_out = {part.what for part in report_of(preview).not_checked}
    assert left_out == {"files", "cluster", "limits"}


def test_nothing_in_a_terminal_is_obeyed(preview: str) -> None:
    _, out, _ = review("--preview-json", preview)
    assert not unseen(out.replace("\n", ""))


def test_colours_are_for_a_terminal_alone(preview: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    from trainform.cli.main import main

    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit):
        main(["review", "--no-cluster", "--preview-json", preview])
    assert "\x1b[1m" in stream.getvalue()
    monkeypatch.undo()
    assert "\x1b" not in review("--preview-json", preview)[1]


RECORDED = ROOT / "tests" / "review" / "recorded" / "replace.jsonl"
WAITING = """#!/bin/sh
for _ in $(seq 600); do [ -e {asked} ] && exec cat {events}; sleep 0.05; done
exit 1
"""


def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program in the place of Pulumi."""
    path = tmp_path / "bin" / "pulumi"
    path.parent.mkdir()
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")


@pytest.mark.parametrize("stacks", [["allreduce.dev"], ["hello.dev", "allreduce.dev"]])
def test_the_cluster_is_read_while_the_engine_works(
    stacks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine ends when the nodes have been asked for, by each of the stacks."""
    asked = tmp_path / "asked"
    engine(tmp_path, monkeypatch, WAITING.format(asked=asked, events=RECORDED))
    objects = ApiObjects([node("node-0"), queue("default")])
    times = list[str]()

    def answer(path: str) -> Answer:
        if path.startswith("/api/v1/nodes"):
            times.append(path)
            if len(times) == len(stacks):
                asked.touch()
        return objects(path)

    with website(answer) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        code, out, _ = run("review", *stacks, "--format", "json")
    assert code == 0
    for report in Review.model_validate_json(out).stacks:
        assert {fact.object for fact in report.live} == {"default"}
        assert "cluster" not in {part.what for part in report.not_checked}


def test_what_is_wrong_with_the_file_of_the_stack_counts_more_than_the_error_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch, "#!/bin/sh\necho error: it failed >&2\nexit 255\n")
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: lab\nruntime: python\n", encoding="utf-8")
    (tmp_path / "stacks" / "Pulumi.bert.dev.yaml").write_text(
        "config: {trainform:experiment: bert}\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = review("bert.dev")
    assert (code, out) == (2, "")
    assert "stacks/Pulumi.bert.dev.yaml:1: config.trainform:environment" in err
    assert "it failed" not in err


def imported_by(script: str) -> set[str]:
    """The modules of a process after the script."""
    script += "\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, cwd=ROOT, timeout=60, check=True, capture_output=True, text=True)
    return set(done.stderr.split())


def of_review(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("trainform.review")}


CHECK = """
from trainform.cli.main import main
try:
    main(["check", "hello", "-e", "dev"])
except SystemExit as end:
    assert not end.code
"""


def test_other_commands_do_not_import_the_review() -> None:
    assert of_review(imported_by(CHECK)) == set()
    assert of_review(imported_by("import trainform.cli.review")) == set()


def test_the_engine_does_not_wait_for_the_models() -> None:
    """What is imported before the engine starts; all else is imported while it works."""
    early = imported_by("import trainform.cli.main, trainform.cli.review, trainform.cli.review_reading")
    assert early & {"pydantic", "httpx2", "lightkube", "rich", "yaml"} == set()


def test_the_review_imports_neither_the_cluster_nor_builds_its_models() -> None:
    script = """
import trainform.review.report, trainform.review.forms.terminal
from trainform.report_part import Part
waiting = [Part]
while waiting:
    part = waiting.pop()
    assert not part.__pydantic_complete__, part
    waiting += part.__subclasses__()
"""
    assert imported_by(script) & {"httpx2", "lightkube", "rich", "pulumi", "cryptography"} == set()


def test_a_report_without_the_cluster_needs_no_client_and_no_colours() -> None:
    words = ["review", "--no-cluster", "--preview-json", str(RECORDED), "--format", "markdown"]
    script = CHECK.replace('["check", "hello", "-e", "dev"]', repr(words))
    assert imported_by(script) & {"httpx2", "lightkube", "rich", "pulumi"} == set()


# --- several stacks


def other(preview: str, stack: str) -> str:
    """The same preview as one of another stack."""
    file = Path(preview).with_name(f"{stack}.json")
    file.write_text(Path(preview).read_text(encoding="utf-8").replace("urn:pulumi:dev::", f"urn:pulumi:{stack}::"))
    return str(file)


def test_several_previews_stay_in_their_order(preview: str, tmp_path: Path) -> None:
    words = ["--preview-json", other(preview, "hello.dev"), "--preview-json", preview]
    made = [tmp_path / f"report.{suffix}" for suffix in ("md", "html", "json", "txt")]
    found = read(*words, *(word for file in made for word in ("-o", str(file))))
    assert [report.stack for report in found.stacks] == ["hello.dev", "dev"]
    assert [report.stack for report in read(*words, "hello.dev", "dev").stacks] == ["hello.dev", "dev"]
    assert made[0].read_text(encoding="utf-8").startswith("## Review of 2 stacks\n")
    assert made[3].read_text(encoding="utf-8").startswith("Review of 2 stacks\n")
    for _ in range(2):  # an earlier report is known as one
        assert review(*words, *(word for file in made for word in ("-o", str(file))))[0] == 0


@pytest.mark.parametrize(
    ("stacks", "said"),
    [
        (["dev", "hello.dev"], "the preview is one of the stack hello.dev, not of dev"),
        (["hello.dev", "dev", "resnet.dev"], "there are 2 previews and 3 stacks"),
    ],
)
def test_previews_of_other_stacks_than_were_named(stacks: list[str], said: str, preview: str) -> None:
    code, out, err = review(*stacks, "--preview-json", other(preview, "hello.dev"), "--preview-json", preview)
    assert (code, out) == (2, "")
    assert said in err


def test_two_previews_of_a_stack(preview: str) -> None:
    code, out, err = review("--preview-json", preview, "--preview-json", preview)
    assert (code, out) == (2, "")
    assert "named more than once: dev" in err
    assert "only one preview" in review("--preview-json", "-", "--preview-json", "-")[2]
