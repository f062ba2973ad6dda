"""An experiment on its way from dev to prod, on two clusters: what was tried is promoted, reviewed and applied, drifts,
is rolled back and ends."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.applying import TRAINFORM, apply, refused, reviewed_and_applied, save
from tests.engine.kubelet import succeeds
from tests.engine.live import Live, until
from tests.engine.project import SSH_SECRET, Project, Ran
from tests.engine.test_ssh_identity import kept, traces
from tests.support.leaks import GITHUB_TOKEN, HUB_TOKEN, leaks
from tests.support.releases import write_release
from tests.support.repository import commit_all, git, read
from trainform.deployed.releases.release_files import read_release
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.folder import Layout
from trainform.plan.record import read_record
from trainform.project import release_path

pytestmark = pytest.mark.proof("the way of an experiment over two clusters, each step of which has tests of its own")

DEV, PROD = "bert.dev", "bert.prod"
OWN = ("dev", "prod")  # the environments' own stacks, which have their names
SPACES = {"dev": "ai-of-dev", "prod": "ai-of-prod"}
IMAGE = "ai/bert-training:1.4@sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
REGISTRY, MIRROR = "registry.example.com", "mirror.prod.example.com"
GATES = {"from": ["dev"], "succeeded": True, "digest": True, "clean": True}
PROD_SECRET = "another secret of thirty-six letters"  # noqa: S105 - of the test's stack
MERGE = "application/merge-patch+json"
WHY = "the loss diverges"


class Story(Project):
    """The project, its two clusters, and what every command has printed."""

    def __init__(self, folder: Path, exports: Mapping[str, str], dev: Live, prod: Live) -> None:
        super().__init__(folder, exports, SPACES["dev"])
        self.live = {"dev": dev, "prod": prod}
        self.printed: list[str] = []
        tokens = {"GITHUB_TOKEN": GITHUB_TOKEN, "HF_TOKEN": HUB_TOKEN}  # of the person's shell
        self.environ |= {**tokens, "PULUMI_SKIP_CHECKPOINTS": "true", "NO_COLOR": "1"}
        self.secrets |= {*tokens.values()}

    def run(self, *words: str, **options: Any) -> Ran:
        ran = super().run(*words, **options)
        self.printed.append(ran.output)
        return ran

    def trainform(self, *words: str, **environ: str) -> Ran:
        return self.run(*TRAINFORM, *words, **environ)

    def promote(self, *words: str) -> Ran:
        return self.trainform("promote", "bert", "--from", "dev", "--to", "prod", "--yes", *words)

    def asked(self, *words: str) -> Any:
        """What a command says as JSON."""
        return json.loads(self.trainform(*words, "--output", "json").succeeded())

    @property
    def release(self) -> str:
        """The one that prod follows, "" where it follows the file."""
        text = (self.folder / "stacks" / f"Pulumi.{PROD}.yaml").read_text()
        found = re.search(r'trainform:release: "([0-9a-f]{20})"', text)
        return "" if found is None else found[1]

    def write(self, letter: str) -> None:
        """Write the experiment, and commit all that was written."""
        mine = {"roles": {"worker": {"replicas": 3}}, "queue": "research"}
        data: dict[str, Any] = {"image": f"{REGISTRY}/{IMAGE}", "launcher": {"torchrun": {"script": "/app/train.py"}}}
        data |= {"roles": {"worker": {"replicas": 2}}, "ssh": {}, "env": {"LETTER": letter}}
        self.experiment("bert", {**data, "environments": {"prod": mine}})
        commit_all(self.folder)

    def job(self, environment: str) -> dict[str, Any]:
        return self.live[environment].only_job(SPACES[environment])

    def deployed(self, environment: str) -> tuple[str, int, str]:
        """Letter and number of workers that are recorded as deployed, and the registry from which the pods run."""
        live, space = self.live[environment], SPACES[environment]
        record = read_record(live.get("configmaps", "bert-deployed", space))
        assert record is not None
        count = record.experiment["roles"]["worker"]["replicas"]
        pods = live.running_pods(space, count)
        (image,) = {pod["spec"]["containers"][0]["image"] for pod in pods}
        return record.experiment["env"]["LETTER"], count, image.removesuffix(f"/{IMAGE}")

    def tried(self, letter: str) -> None:
        """What is written is applied in dev, and its job there succeeds."""
        self.up(DEV)
        assert self.deployed("dev") == (letter, 2, REGISTRY)
        for pod in self.live["dev"].running_pods(SPACES["dev"], 2):
            succeeds(self.live["dev"], pod)
        until(lambda: self.job("dev")["status"]["state"]["phase"] == "Completed" or None, "its end")


def bind(story: Story, name: str, uid: str, **parts: Any) -> None:
    """Write an environment of the repository that is bound to its cluster."""
    data = read("environments", name) | {"namespace": {"name": SPACES[name], "create": True}, "claims": {}} | parts
    data["cluster"] = {**data["cluster"], "uid": uid}
    path = story.folder / "stacks" / "environments" / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))


@pytest.fixture
def story(
    tmp_path: Path,
    exports_of_both: dict[str, str],
    sandbox: Sandbox,
    prod_sandbox: Sandbox,
    live: Live,
    prod_live: Live,
) -> Iterator[Story]:
    """A project in git whose environments are up, each on its own cluster, with stacks of the experiment that have
    secrets."""
    story = Story(tmp_path / "project", exports_of_both, live, prod_live)
    (story.folder / ".gitignore").write_text("state\n__pycache__\n*.json\n")
    bind(story, "dev", sandbox.uid)
    bind(story, "prod", prod_sandbox.uid, promotion=GATES)
    for name in (*OWN, DEV, PROD):
        experiment, _, environment = name.rpartition(".")
        config = {"trainform:environment": environment} | ({"trainform:experiment": experiment} if experiment else {})
        story.program_stack(name, config)
    story.ssh_secret(DEV).succeeded()
    story.ssh_secret(PROD, value=PROD_SECRET).succeeded()
    story.write("A")
    for name in OWN:
        story.up(name)
    yield story
    for name in OWN:
        story.destroy(name)
        story.live[name].delete("namespaces", SPACES[name])
        until(lambda name=name: story.live[name].find("namespaces", SPACES[name]) is None, "the namespace to go")  # type: ignore[misc]


def test_from_dev_to_prod(story: Story, sandbox: Sandbox, prod_sandbox: Sandbox) -> None:
    first = tried_and_promoted(story)
    dev_changes_and_prod_does_not_move(story)
    second = promoted_again(story, first)
    gates_hold(story, prod_sandbox)
    drifts_and_is_put_back(story)
    rolled_back_and_held(story, first, second)
    nothing_happens_on_the_wrong_cluster(story, sandbox)
    for name in OWN:
        story.secrets |= traces(kept(story.live[name], SPACES[name], "bert-ssh"))
    ends(story)
    nothing_tells_a_secret(story, sandbox, prod_sandbox)


def tried_and_promoted(story: Story) -> str:
    """Before it has succeeded in dev it does not come to prod. What comes is reviewed, and applied once."""
    story.up(DEV)
    early = story.promote()
    assert early.code == 3, early.output
    assert "succeeded: refused. why the job of the source has not ended yet" in " ".join(early.output.split())
    assert story.release == ""
    story.tried("A")
    story.promote().succeeded()
    first = read_release("bert", story.release, story.folder)
    assert first.promoted.gates == dict.fromkeys(GATES, "passed")
    assert (first.origin.outcome, first.origin.dirty) == ("succeeded", False)
    assert first.origin.commit == git(story.folder, "rev-parse", "HEAD")

    file = save(story, PROD)
    assert story.live["prod"].find_all("jobs", SPACES["prod"]) == [], "a review changes nothing"
    assert apply(story, file).code == 0
    assert story.deployed("prod") == ("A", 3, MIRROR)
    refused(apply(story, file), ("state", "written"))
    for here, there in (("dev", "prod"), ("prod", "dev")):
        assert story.live[here].find("namespaces", SPACES[there]) is None
    return story.release


def dev_changes_and_prod_does_not_move(story: Story) -> None:
    before = story.job("prod")["metadata"]["uid"]
    story.write("B")
    story.tried("B")
    story.unchanged(PROD)
    assert story.job("prod")["metadata"]["uid"] == before
    different = {row["path"]: row["values"] for row in story.asked("diff", DEV, PROD)["experiment"]}
    assert different["env.LETTER"] == ["B", "A"]
    assert {stack["outcome"] for stack in story.asked("drift", DEV, PROD)["stacks"]} == {"in sync"}


def promoted_again(story: Story, first: str) -> str:
    """A review from before the promotion is stale by it."""
    stale = save(story, PROD)
    story.promote().succeeded()
    refused(apply(story, stale), ("config", "trainform:release"))
    assert read_release("bert", story.release, story.folder).promoted.replaces == first
    reviewed_and_applied(story, PROD)
    assert story.deployed("prod") == ("B", 3, MIRROR)
    return story.release


def gates_hold(story: Story, prod: Sandbox) -> None:
    """No edit of files takes prod past its gates, and what runs there stays as it is."""
    file = story.folder / "stacks" / f"Pulumi.{PROD}.yaml"
    written, before = file.read_text(), story.job("prod")["metadata"]["uid"]
    missing = f"why: {PROD} follows no release, and prod takes releases only (gates: from, succeeded, digest, clean)"
    file.write_text(re.sub(".*trainform:release.*\n", "", written))
    ran = story.trainform("check", PROD)
    assert (ran.code, missing in ran.output) == (2, True), ran.output
    for words in (("preview",), ("up", "--yes", "--skip-preview")):
        output = story.pulumi(*words, "-s", PROD).failed()
        assert missing in output
        assert f"fix: trainform promote bert --from dev --to {PROD}; or" in output
    assert high_findings(story, "failed") == ["TR-PROMOTION-3"]

    bind(story, "prod", prod.uid, promotion={**GATES, "required": False})
    story.trainform("check", PROD).succeeded()
    story.pulumi("preview", "-s", PROD).succeeded()
    bind(story, "prod", prod.uid, promotion=GATES)

    program = story.folder / "stacks" / "__main__.py"
    ours = program.read_text()
    program.write_text('from trainform import TrainingJob\n\nTrainingJob("bert", "bert", "prod")\n')
    output = story.pulumi("up", "--yes", "--skip-preview", "-s", PROD).failed()
    assert "The program makes the job bert without a release; prod takes releases only" in output
    program.write_text(ours)

    file.write_text(written)
    made = read_release("bert", story.release, story.folder)
    elsewhere = made.promoted.model_copy(update={"target": "bert.staging"})
    other = write_release(made.model_copy(update={"promoted": elsewhere}), story.folder)
    file.write_text(written.replace(made.name, other))
    output = story.pulumi("up", "--yes", "--skip-preview", "-s", PROD).failed()
    assert f"why: {PROD} follows release {other}, which was promoted to bert.staging" in output
    path = story.folder / release_path("bert", other)
    path.write_text(path.read_text().replace("bert.staging", PROD))
    assert "has been changed" in story.pulumi("up", "--yes", "--skip-preview", "-s", PROD).failed()
    path.unlink()
    file.write_text(written)

    # a gate that is added later, and a copy of the environment without gates
    bind(story, "prod", prod.uid, promotion={**GATES, "soak": "24h"})
    story.up(PROD)
    report = story.review(PROD).report
    (finding,) = [each for each in report["findings"] if each["category"] == "promotion"]
    assert (finding["code"], finding["field"]) == ("TR-PROMOTION-2", "promoted.gates.soak")
    assert (report["origin"]["source"], report["origin"]["passed"]) == (DEV, [*GATES])
    bind(story, "prod", prod.uid, promotion=GATES)
    copied = story.folder / "stacks" / "environments" / "copy.yaml"
    data = yaml.safe_load((copied.parent / "prod.yaml").read_text()) | {"name": "copy", "promotion": {}}
    copied.write_text(yaml.safe_dump(data))
    story.program_stack("bert.copy", {"trainform:environment": "copy", "trainform:experiment": "bert"})
    story.ssh_secret("bert.copy").succeeded()
    output = story.pulumi("preview", "-s", "bert.copy").failed()
    assert f"the namespace {SPACES['prod']} belongs to the environment prod, and not to copy" in output
    copied.unlink()
    (file.parent / "Pulumi.bert.copy.yaml").unlink()
    assert story.job("prod")["metadata"]["uid"] == before


def high_findings(story: Story, outcome: str) -> list[str]:
    report = story.review(PROD).report
    assert report["outcome"] == outcome
    return [each["code"] for each in report["findings"] if each["level"] == "high"]


def drifts_and_is_put_back(story: Story) -> None:
    """Somebody lets the job start with fewer pods, as with `kubectl edit`. A preview does not see it."""
    live, job = story.live["prod"], story.job("prod")
    path = f"{live.path('jobs', SPACES['prod'], job['metadata']['name'])}?fieldManager=kubectl-edit"
    assert live.request("PATCH", path, {"spec": {"minAvailable": 1}}, MERGE).status_code == 200
    story.unchanged(PROD)
    assert story.trainform("drift", DEV, PROD, "--fail").code == 3
    (found,) = story.asked("drift", PROD)["stacks"]
    ((field,),) = (each["fields"] for each in found["objects"])
    assert (field["path"], field["was"], field["now"]) == ("spec.minAvailable", 3, 1)
    (command,) = found["commands"]
    story.run(*shlex.split(command), "--yes", "--non-interactive").succeeded()
    story.trainform("drift", DEV, PROD, "--fail").succeeded()
    assert story.job("prod")["spec"]["minAvailable"] == 3


def rolled_back_and_held(story: Story, first: str, second: str) -> None:
    """The whole earlier release comes back, and no promotion undoes that unseen."""
    story.trainform("rollback", PROD, "--reason", WHY, "--yes").succeeded()
    back = read_release("bert", story.release, story.folder)
    assert back.rollback is not None
    assert (back.rollback.of, back.rollback.to, back.rollback.reason) == (second, first, WHY)
    reviewed_and_applied(story, PROD)
    assert story.deployed("prod") == ("A", 3, MIRROR)
    held = story.promote()
    assert held.code == 3
    told = " ".join(held.output.split())
    assert f"Refused: {PROD} was rolled back" in told
    assert f"follows a rollback, release {story.release}" in told
    assert WHY in told
    story.unchanged(PROD)

    history = story.asked("history", "bert")
    ours = [event["what"] for event in history["events"] if event["stack"] == PROD and event["what"] != "up"]
    assert ours == ["rollback", "promotion", "promotion"]
    states = {row["stack"]: (row["release"], row["state"]) for row in history["stacks"]}
    assert states == {DEV: (None, "deployed"), PROD: (story.release, "deployed")}
    shown = story.trainform("stacks").succeeded()
    assert all(name in shown for name in (DEV, PROD, story.release))


def nothing_happens_on_the_wrong_cluster(story: Story, sandbox: Sandbox) -> None:
    """Of another kubeconfig the context of prod leads to dev."""
    wrong = story.folder.parent / "wrong"
    wrong.write_text(sandbox.kubeconfig.read_text().replace("dev-cluster", "prod-cluster"))
    for words in (("review", PROD), ("destroy", PROD, "--", "--yes")):
        ran = story.trainform(*words, KUBECONFIG=str(wrong))
        assert ran.code == 2, ran.output
        assert f"whose UID is {sandbox.uid}" in ran.output
    assert story.job("prod")["spec"]["minAvailable"] == 3


def ends(story: Story) -> None:
    for stack, environment in ((PROD, "prod"), (DEV, "dev")):
        story.trainform("destroy", stack, "--", "--yes").succeeded()
        assert story.live[environment].find_all("jobs", SPACES[environment]) == []


def nothing_tells_a_secret(story: Story, *sandboxes: Sandbox) -> None:
    """In no file of the project (state with its history, saved reviews, releases, config, commits), in no log, and in
    nothing that was printed."""
    logs = [path for each in sandboxes for path in Layout(each.folder).logs.rglob("*")]
    files = [path for path in (*story.folder.rglob("*"), *logs) if path.is_file()]
    texts = {str(path): path.read_text(errors="replace") for path in files} | {"printed": "\n".join(story.printed)}
    held = "\n".join(texts)
    assert all(part in held for part in ("/state/.pulumi/stacks/", "/state/.pulumi/history/", "/releases/bert/",
            ".saved.json", "kube-apiserver")), held  # fmt: skip
    certificates = {Layout(each.folder).pki / "client.key" for each in sandboxes}
    secrets = {*story.secrets, *(_body(path.read_text()) for path in certificates)}
    assert {SSH_SECRET, PROD_SECRET} <= secrets
    assert leaks(texts, secrets) == []


def _body(key: str) -> str:
    """A line of a key in PEM that no other key has."""
    return key.splitlines()[2]
