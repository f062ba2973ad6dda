"""`trainform review` of real previews, with the real engine, scheduler and cluster: a file of `reviews/` each.

A file says what is deployed (`before`, a merge patch on the sample), what happens to it then (`between`), what the
stack becomes (`after`, a merge patch on that) and what the review must say. `version` is another one of trainform,
which deploys it. `program` is text that follows the stack's program, `environ` are variables of the review's shell, and
`secrets` are texts that no form of the report may hold, beside the secrets of the stack. After the review `pulumi up`
runs, and does what the report has said (`truth`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.live import Live, until
from tests.engine.project import Project, Reviewed
from tests.engine.refusing import LABEL, REASON, refusing
from tests.engine.test_policy_pack import POD
from tests.engine.test_ssh_identity import keys, traces
from tests.engine.truth import objects, starts_as_said, untrue
from tests.support.repository import ROOT
from trainform.spec.layers import merge_patch

pytestmark = pytest.mark.proof("reviews of every kind of change")

FOLDER = Path(__file__).parent / "reviews"
STEPS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
SAMPLE: dict[str, Any] = {
    "image": (
        "registry.example.com/ai/pytorch-training@sha256:"
        "4f7c9d1e2b3a5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
    ),
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
    "storage": {"output": {"size": "2Gi", "mount": "/mnt/output", "keep": True}},
}
NAME = "sdxl-lora"
MAIN = (ROOT / "stacks" / "__main__.py").read_text()
OTHER_SECRET = "another secret of thirty-two letters"  # noqa: S105 - of the tests' stacks
FORBIDDEN = {"labels": LABEL}
OF_PLATFORM = ("queues", "claims", "priority_classes")


class Story:
    """A stack of an experiment `sdxl-lora` and one of its environment, and what happens to them."""

    def __init__(self, project: Project, live: Live, before: Mapping[str, Any]) -> None:
        self.project, self.live = project, live
        self.environment: dict[str, Any] = merge_patch({}, before.get("environment", {}))
        self.experiment: dict[str, Any] = merge_patch(SAMPLE, before.get("experiment", {}))
        self.program = before.get("program", "")
        self.write()
        self.stacks = {"experiment": project.stack(NAME)}

    def write(self) -> None:
        """Write both files, and the program."""
        self.project.environment(**self.environment)
        self.project.experiment(NAME, self.experiment)
        more = POD.format(namespace=self.project.namespace) + self.program if self.program else ""
        (self.project.folder / "stacks" / "__main__.py").write_text(f"{MAIN}\n{more}")

    def change(self, patch: Mapping[str, Any]) -> None:
        """Change both files, and the program."""
        self.environment = merge_patch(self.environment, patch.get("environment", {}))
        self.experiment = merge_patch(self.experiment, patch.get("experiment", {}))
        self.program = patch.get("program", self.program)
        self.write()

    def deploy(self, others: Mapping[str, Any]) -> None:
        """Apply both stacks, and a stack for each other experiment, and wait until all pods run. No SSH key may be told
        from now on. An environment without objects needs no stack."""
        plan = self.project.plan(NAME)
        for rotation in (1, 2) if plan.ssh is not None else ():
            self.project.secrets |= traces(keys(plan, rotation))
        if "environment" in self.stacks or any(self.environment.get(kind) for kind in OF_PLATFORM):
            self.project.up(self.stacks.setdefault("environment", self.project.stack()))
        for name, patch in others.items():
            self.project.experiment(name, merge_patch(SAMPLE, {"storage": None, **patch}))
            self.project.up(self.project.stack(name))
        self.project.up(self.stacks["experiment"])
        expected = sum(self.project.plan(name).totals.pods for name in (NAME, *others))
        self.live.running_pods(self.project.namespace, expected)

    def review(self, which: str) -> Reviewed:
        """Return the report of one of the stacks."""
        return self.project.review(self.stacks[which])

    def apply(self, which: str, report: Mapping[str, Any]) -> None:
        """Run `pulumi up`, and fail where it does anything else than the report has said."""
        namespace = self.project.namespace
        before = objects(self.live, namespace)
        ran = self.project.pulumi("up", "--yes", "--skip-preview", "-s", self.stacks[which])
        after = objects(self.live, namespace)
        if report["outcome"] == "failed":
            assert (ran.code != 0, before.changes(after)) == (True, set()), ran.output
            return
        ran.succeeded()
        assert untrue(report, before, after) == []
        if which == "experiment":
            verdict, pods = report["capacity"]["verdict"], self.project.plan(NAME).totals.pods
            assert starts_as_said(self.live, namespace, verdict, pods), (verdict, report["capacity"]["sentence"])


def update(story: Story) -> None:
    story.project.up(story.stacks["experiment"])


def edit_service(story: Story) -> None:
    path = story.live.path("services", story.project.namespace, NAME)
    story.live.merge(path, {"spec": {"publishNotReadyAddresses": False}}, "kubectl-edit")


def finish_job(story: Story) -> None:
    for pod in story.live.find_all("pods", story.project.namespace):
        story.live.report(pod["metadata"]["name"], story.project.namespace, {"phase": "Succeeded"})
    until(
        lambda: story.live.only_job(story.project.namespace)["status"]["state"]["phase"] == "Completed",
        "the job to be complete",
    )


def delete_job(story: Story) -> None:
    name = story.live.only_job(story.project.namespace)["metadata"]["name"]
    story.live.delete("jobs", name, story.project.namespace)
    until(lambda: story.live.find("jobs", name, story.project.namespace) is None, "the job to be gone")


def refuse_update(story: Story) -> None:
    story.change({"experiment": {**FORBIDDEN, "env": {"LETTER": "B"}}})
    with refusing(story.live, story.project.namespace):
        stack = story.stacks["experiment"]
        assert REASON in story.project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    story.change({"experiment": {"labels": None}})


def other_ssh_secret(story: Story) -> None:
    story.project.ssh_secret(story.stacks["experiment"], value=OTHER_SECRET).succeeded()


def another_run(story: Story) -> None:
    story.project.stack(NAME, run=2)


def make_secret(story: Story) -> None:
    body = {"metadata": {"name": "letters"}, "stringData": {"first": "A"}}
    story.live.create("secrets", body, story.project.namespace)


def without_names(headline: str, namespace: str) -> str:
    """Return the headline with any revision, age, namespace and version of trainform."""
    for found, word in ((r"-[0-9a-f]{6}\b", "-REVISION"), (r"\bup \d+ \w+", "up AGE")):
        headline = re.sub(found, word, headline)
    return headline.replace(namespace, "NAMESPACE").replace(version("trainform"), "VERSION")


BETWEEN: Mapping[str, Callable[[Story], None]] = {
    "update": update,
    "edit-service": edit_service,
    "finish-job": finish_job,
    "delete-job": delete_job,
    "refused-update": refuse_update,
    "other-ssh-secret": other_ssh_secret,
    "make-secret": make_secret,
    "another-run": another_run,
}


@pytest.mark.parametrize("name", STEPS)
def test_what_a_review_says(name: str, project: Project, live: Live) -> None:
    step = STEPS[name]
    before = step.get("before", {})
    story = Story(project, live, {} if before == "nothing" else before)
    if "ssh" in str(step):
        project.ssh_secret(story.stacks["experiment"]).succeeded()
    if step.get("review") == "environment":
        story.stacks["environment"] = project.stack()
    project.secrets.update(step.get("secrets", []))
    if before != "nothing":
        with project.as_version(before.get("version", version("trainform"))):
            story.deploy(before.get("others", {}))
    for action in step.get("between", []):
        BETWEEN[action](story)
    story.change(step.get("after", {}))

    project.environ |= step.get("environ", {})
    reviewed = story.review(step.get("review", "experiment"))
    report, text, expected = reviewed.report, reviewed.forms["txt"], step["expected"]
    codes = sorted({finding["code"] for finding in report["findings"]})
    said = (report["outcome"], codes)
    assert said == (expected["outcome"], expected["findings"]), text
    assert without_names(report["headline"], project.namespace) == expected["headline"]
    assert {fact["key"]: fact["number"] for fact in report["facts"]} == expected.get("facts", {}), text
    for sentence in expected.get("says", []):
        assert sentence in " ".join(text.split()), text
    story.apply(step.get("review", "experiment"), report)


def test_a_stack_that_the_backend_does_not_have_and_a_program_that_fails(project: Project) -> None:
    project.environment()
    project.experiment(NAME, SAMPLE)
    path = project.folder / "stacks" / f"Pulumi.{NAME}.dev.yaml"
    path.write_text(f"config:\n  trainform:experiment: {NAME}\n  trainform:environment: dev\n")
    before = path.read_text()
    new = project.review(f"{NAME}.dev").report
    assert "create" in {effect["kind"] for effect in new["effects"]}, new["headline"]
    told = [message["text"] for message in new["messages"]]
    assert [text for text in told if f"The backend does not have the stack {NAME}.dev" in text] != [], told
    assert path.read_text() == before, "no salt"
    assert f"{NAME}.dev" not in project.pulumi("stack", "ls").succeeded()
    path.write_text(f"{before}  trainform:sshSecret:\n    secure: v1:abc:def\n")
    assert "needs its passphrase" in project.review(f"{NAME}.dev").report["headline"]
    path.unlink()

    stack = project.stack(NAME)
    project.experiment(NAME, SAMPLE | {"roles": {}})
    assert project.review(stack, "--fail-on", "high").code == 1
