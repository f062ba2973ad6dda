"""What is deployed in dev goes to prod as it was, and stays there whatever is written afterwards."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.interruption import kill_all, start_up
from tests.engine.kubelet import succeeds
from tests.engine.live import Live, until
from tests.engine.project import Project, Ran
from tests.engine.refusing import LABEL, refusing
from tests.support.leaks import leaks
from tests.support.releases import follow, write_release
from tests.support.repository import read
from trainform import defaults
from trainform.deployed.releases.release import Rollback
from trainform.deployed.releases.release_files import read_release
from trainform.plan.record import read_record
from trainform.project import release_path

pytestmark = pytest.mark.proof("promotion from one environment to another one")

DIGEST = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
IMAGE = "registry.example.com/ai/pytorch-training:2.8"
MIRROR = "mirror.prod.example.com"
DEV, PROD = "bert.dev", "bert.prod"


@pytest.fixture
def prod(project: Project, live: Live) -> Iterator[str]:
    """Yield the namespace of a second environment, in which images come from a mirror, and the experiment's stack
    there."""
    name = f"{project.namespace}-prod"
    live.make_namespace(name)
    data = read("environments", "dev") | {"name": "prod", "namespace": {"name": name}, "queues": {}, "claims": {}}
    data["registries"] = {"registry.example.com": MIRROR}
    data["limits"] = {**data["limits"], "registries": [MIRROR]}
    (project.folder / "stacks" / "environments" / "prod.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    write(project)
    project.stack("bert")
    text = "# the large one\nconfig:\n  trainform:experiment: bert # ours\n  trainform:environment: prod\n"
    config(project, PROD).write_text(text)
    project.pulumi("stack", "init", PROD).succeeded()
    yield name
    files = [path for path in (project.folder / "stacks").rglob("*") if path.is_file()]
    written = {str(path): path.read_text(errors="replace") for path in files}  # compiled modules are no text
    assert leaks(written, project.secrets) == []
    live.delete("namespaces", name)


def write(project: Project, name: str = "bert", **parts: Any) -> None:
    data = {
        "image": IMAGE,
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2}},
        "environments": {"prod": {"roles": {"worker": {"replicas": 3}}}},
        **parts,
    }
    project.experiment(name, data)


def config(project: Project, stack: str) -> Path:
    return project.folder / "stacks" / f"Pulumi.{stack}.yaml"


def promote(project: Project, *words: str, also: str = "") -> Ran:
    named = ("bert", *([also] if also else []), "--from", "dev", "--to", "prod", *words)
    ran = project.trainform("promote", *named)
    assert leaks({"shown": ran.output}, project.secrets) == []
    return ran


def state_of(project: Project, stack: str) -> str:
    """Return what the history says of the stack."""
    told = project.trainform("history", "bert", "--output", "json").succeeded()
    (found,) = [each["state"] for each in json.loads(told)["stacks"] if each["stack"] == stack]
    return str(found)


def follows(project: Project) -> str:
    found = re.search(r'trainform:release: "([0-9a-f]{20})"', config(project, PROD).read_text())
    return "" if found is None else found[1]


def releases(project: Project) -> set[str]:
    return {path.stem for path in (project.folder / "stacks" / "releases" / "bert").glob("*")}


def has_run(live: Live, namespace: str, image: str, digest: str = DIGEST) -> None:
    """The nodes of the sandbox run nothing, and say no image: the pods get what a real node says."""
    repository = image.rpartition(":")[0]
    for pod in live.running_pods(namespace, 2):
        states = [state | {"imageID": f"{repository}@{digest}"} for state in pod["status"]["containerStatuses"]]
        live.report(pod["metadata"]["name"], namespace, {"containerStatuses": states})


def deployed(live: Live, namespace: str) -> dict[str, Any]:
    record = read_record(live.get("configmaps", "bert-deployed", namespace))
    assert record is not None
    return record.experiment


def test_what_ran_in_dev_runs_in_prod_whatever_is_written_afterwards(project: Project, prod: str, live: Live) -> None:
    never = promote(project, "--yes")
    assert never.code == 1
    assert "Pulumi's history has no `pulumi up` of the stack bert.dev" in never.output
    assert f"pulumi stack select --create {DEV} && pulumi up -s {DEV}" in never.output, "it may not be there"
    project.up(DEV)

    live.running_pods(project.namespace, 2)
    unknown = promote(project, "--yes")
    assert unknown.code == 2, unknown.output
    assert "the image has no digest, and the cluster has no pod of the source that has run it" in unknown.output
    assert (releases(project), follows(project)) == (set(), "")

    has_run(live, project.namespace, IMAGE)
    shown = promote(project, "--dry-run").succeeded()
    assert (releases(project), follows(project)) == (set(), "")
    assert "roles.worker.replicas" in shown
    before = config(project, PROD).read_text()
    promote(project, "--yes").succeeded()
    first = follows(project)
    assert releases(project) == {first}
    ours = "  trainform:experiment: bert # ours\n"
    assert config(project, PROD).read_text() == before.replace(ours, f'{ours}  trainform:release: "{first}"\n')
    made = read_release("bert", first, project.folder)
    assert (made.experiment["image"], made.origin.outcome) == (f"{IMAGE}@{DIGEST}", "not ended")
    for word in (project.namespace, "dev-cluster", MIRROR, "baidu.com"):
        assert word not in json.dumps(made.experiment), "of an environment nothing is in it"

    # the experiment is edited before prod is deployed: prod runs what was promoted
    write(project, image=IMAGE.replace("2.8", "2.9"), env={"NEW": "1"})
    project.up(PROD)
    history = json.loads(project.pulumi("stack", "history", "-s", PROD, "--json").succeeded())
    assert history[0]["config"]["trainform:release"]["value"] == first, (
        "by which the parent of a later release is known"
    )
    ran = deployed(live, prod)
    assert (ran["image"], ran["env"], ran["roles"]["worker"]["replicas"]) == (f"{IMAGE}@{DIGEST}", {}, 3)
    pods = live.running_pods(prod, 3)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {
        f"{IMAGE.replace('registry.example.com', MIRROR)}@{DIGEST}"
    }
    project.unchanged(PROD)
    again = promote(project, "--yes").succeeded()
    assert "there is nothing to promote" in " ".join(again.split())
    assert releases(project) == {first}


def test_what_has_failed_is_not_promoted(project: Project, prod: str, live: Live) -> None:
    write(project, image=f"{IMAGE}@{DIGEST}")
    project.up(DEV)
    with refusing(live, project.namespace):
        write(project, image=f"{IMAGE}@{DIGEST}", labels=LABEL, env={"NEW": "1"})
        project.pulumi("up", "--yes", "--skip-preview", "-s", DEV).failed()
    refused = promote(project, "--yes")
    assert refused.code == 1
    assert "the last `pulumi up` of the stack bert.dev failed" in refused.output
    assert (releases(project), follows(project)) == (set(), "")
    project.destroy(DEV)
    assert "the stack bert.dev was destroyed" in promote(project, "--yes").output


def test_a_record_that_somebody_has_edited_in_the_cluster_is_not_promoted(
    project: Project, prod: str, live: Live
) -> None:
    """The release is made from Pulumi's state, which users of the cluster cannot edit."""
    write(project, image=f"{IMAGE}@{DIGEST}")
    project.up(DEV)
    path = live.path("configmaps", project.namespace, "bert-deployed")
    experiment = deployed(live, project.namespace)
    changed = {"data": {"base": json.dumps(experiment | {"image": f"registry.example.com/x@{DIGEST}"}), "run": "2"}}
    live.merge(path, changed, "kubectl-edit")
    told = " ".join(promote(project, "--yes").succeeded().split())
    assert f"{DEV} is not as deployed" in told
    made = read_release("bert", follows(project), project.folder)
    assert (made.experiment["image"], made.origin.run) == (f"{IMAGE}@{DIGEST}", 1)
    project.pulumi("refresh", "--yes", "-s", DEV).succeeded()
    assert promote(project, "--yes").code == 1, (
        "a refresh takes the edit into the state, later than the last `pulumi up`"
    )
    project.pulumi("up", "--yes", "--refresh", "--skip-preview", "-s", DEV).succeeded()
    assert deployed(live, project.namespace) == experiment


def test_what_was_killed_is_not_promoted_also_after_a_refresh(project: Project, prod: str, live: Live) -> None:
    """The refresh takes all that was made into the state, with a time of its own, and is the last update that the
    history has."""
    write(project, image=f"{IMAGE}@{DIGEST}")
    project.up(DEV)
    for cpu in range(1, 9):  # an `up` may have ended when its job is seen
        write(project, image=f"{IMAGE}@{DIGEST}", roles={"worker": {"replicas": 2, "cpu": cpu}})
        job = project.plan("bert").job
        process = start_up(project, DEV)
        until(functools.partial(live.find, "jobs", job, project.namespace), "the job of the new revision")
        kill_all(process)
        if state_of(project, DEV) == "an up runs or was killed":
            break
    assert "a `pulumi up` of the stack bert.dev runs, or was killed" in promote(project, "--yes").output
    project.pulumi("cancel", "--yes", DEV).succeeded()
    project.pulumi("refresh", "--run-program=false", "--yes", "--skip-preview", "-s", DEV).succeeded()
    assert state_of(project, DEV) == "an up runs or was killed"
    refused = promote(project, "--yes")
    assert refused.code == 1
    assert "a `pulumi up` of the stack bert.dev runs, or was killed" in refused.output
    record = read_record(live.get("configmaps", "bert-deployed", project.namespace))
    assert record is not None
    drifted = project.trainform("drift", DEV, "--fail")
    # the kill comes after the job, and before or after its record in the cluster
    assert drifted.code == (0 if record.job == job else 3), drifted.output
    project.up(DEV)
    exported = json.loads(project.pulumi("stack", "export", "-s", DEV).succeeded())
    assert state_of(project, DEV) == "deployed", exported["deployment"].get("pending_operations")
    promote(project, "--yes").succeeded()


def test_what_has_not_run_in_the_source_as_it_is_promoted_is_told(project: Project, prod: str, live: Live) -> None:
    """An image of the target's overlay, and a job that somebody has edited since it was deployed."""
    other = f"registry.example.com/ai/other:1@sha256:{'7a' * 32}"
    write(project, image=f"{IMAGE}@{DIGEST}", environments={"prod": {"image": other}})
    project.up(DEV)
    job = live.path("jobs", project.namespace, project.plan("bert").job)
    assert "is not as deployed" not in promote(project, "--dry-run").succeeded()
    live.merge(job, {"spec": {"minAvailable": 1}}, "kubectl-edit")
    told = " ".join(promote(project, "--dry-run").succeeded().split())
    assert f"environments.prod.image names an image that {DEV} has not run: only {PROD} has it." in told
    assert other in json.loads(promote(project, "--dry-run", "--output", "json").succeeded())["new_images"][0]["image"]
    assert f"{DEV} is not as deployed, so what has run there may not be what is promoted" in told


def gated(project: Project, **asked: Any) -> None:
    """Gates of the environment prod."""
    path = project.folder / "stacks" / "environments" / "prod.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"promotion": asked}, sort_keys=False))


def test_no_edit_of_files_takes_prod_past_its_gates(project: Project, prod: str, live: Live) -> None:
    """The running job stays as it is. The lesson on two clusters has the way of a release that passes."""
    write(project, image=f"{IMAGE}@{DIGEST}")
    gated(project, **{"from": ["dev"]})
    project.up(DEV)
    promote(project, "--yes").succeeded()
    project.up(PROD)
    before = live.only_job(prod)["metadata"]["uid"]
    file, program = config(project, PROD), project.folder / "stacks" / "__main__.py"
    written, ours = file.read_text(), program.read_text()

    def refused(said: str, stack: str = PROD) -> None:
        assert said in project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()

    made = read_release("bert", follows(project), project.folder)
    file.write_text(re.sub(".*trainform:release.*\n", "", written))
    missing = f"why: {PROD} follows no release, and prod takes releases only (gates: from)"
    assert missing in project.pulumi("preview", "-s", PROD).failed()
    refused(missing)
    program.write_text('from trainform import TrainingJob\n\nTrainingJob("bert", "bert", "prod")\n')
    refused("The program makes the job bert without a release; prod takes releases only")
    program.write_text(ours)

    elsewhere = made.promoted.model_copy(update={"target": "bert.staging"})
    other = write_release(made.model_copy(update={"promoted": elsewhere}), project.folder)
    file.write_text(written.replace(made.name, other))
    refused(f"why: {PROD} follows release {other}, which was promoted to bert.staging")
    path = project.folder / release_path("bert", other)
    path.write_text(path.read_text().replace("bert.staging", PROD))
    refused("has been changed")
    file.write_text(written)

    # a copy of the environment without gates
    labels = {"metadata": {"labels": {defaults.ENVIRONMENT_LABEL: "prod"}}}  # as the environment's own stack sets it
    live.merge(live.path("namespaces", None, prod), labels)
    copied = project.folder / "stacks" / "environments" / "copy.yaml"
    data = yaml.safe_load((copied.parent / "prod.yaml").read_text()) | {"name": "copy", "promotion": {}}
    copied.write_text(yaml.safe_dump(data))
    project.program_stack("bert.copy", {"trainform:environment": "copy", "trainform:experiment": "bert"})
    refused(f"the namespace {prod} belongs to the environment prod, and not to copy", "bert.copy")
    project.unchanged(PROD)
    assert live.only_job(prod)["metadata"]["uid"] == before


def as_person(project: Project, name: str) -> None:
    """Who works in the project, by git's own settings."""
    address = f"{name.split()[0].lower()}@example.com"
    project.environ |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": name}
    project.environ |= {"GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": address}


def test_gates_and_rollbacks_hold_a_promotion(project: Project, prod: str, live: Live) -> None:
    write(project, image=f"{IMAGE}@{DIGEST}")
    gated(project, succeeded=True, clean=True, waivable={"succeeded": ["Ada Byron"]})
    (project.folder / ".gitignore").write_text("state\n__pycache__\nreview.*\n")
    commit = ("-c", "user.name=ci", "-c", "user.email=ci@example.com", "commit", "-qm", "All of it")
    for words in (("init", "-q"), ("add", "."), commit):
        project.run("git", *words).succeeded()
    project.up(DEV)
    as_person(project, "Grace Hopper")

    refused = promote(project, "--yes")
    assert refused.code == 3
    told = " ".join(refused.output.split())
    assert "succeeded: refused. why the job of the source has not ended yet" in told
    assert "clean: passed." in told
    waived = ("--waive", "succeeded", "--reason", "the demo is today")
    assert "not Grace Hopper" in " ".join(promote(project, "--yes", *waived).output.split())
    assert (releases(project), follows(project)) == (set(), "")
    assert promote(project, "--yes", "--waive", "soak", "--reason", "x").code == 2
    as_person(project, "Ada Byron")
    promote(project, "--yes", *waived).succeeded()
    first = follows(project)
    made = read_release("bert", first, project.folder)
    assert made.promoted.gates == {"succeeded": "waived", "clean": "passed"}
    assert [(each.gate, each.reason, each.by) for each in made.promoted.waived] == [
        ("succeeded", "the demo is today", "Ada Byron <ada@example.com>")
    ]
    assert made.origin.dirty is False
    assert made.origin.commit == project.run("git", "rev-parse", "HEAD").succeeded().strip()

    # prod is rolled back from it, and dev has not become another thing
    back = made.model_copy(update={"rollback": Rollback(of=first, to=None, reason="the loss rises")})
    promoted = made.promoted.model_copy(update={"replaces": first})
    other = {"experiment": made.experiment | {"max_retry": 9}, "promoted": promoted}
    second = follow(back.model_copy(update=other), PROD, project.folder)
    held = promote(project, "--yes", *waived)
    assert held.code == 3
    told = " ".join(held.output.split())
    assert "Refused: bert.prod was rolled back" in told
    assert f"follows a rollback, release {second} of" in told
    assert "the loss rises" in told
    assert follows(project) == second
    promote(project, "--yes", "--over-rollback", *waived).succeeded()
    assert follows(project) not in (first, second)


def test_the_job_of_a_source_that_has_succeeded_is_its_evidence(project: Project, prod: str, live: Live) -> None:
    write(project, image=f"{IMAGE}@{DIGEST}")
    gated(project, succeeded=True, soak="24h")
    project.up(DEV)
    for pod in live.running_pods(project.namespace, 2):
        succeeds(live, pod)
    until(lambda: live.only_job(project.namespace)["status"]["state"]["phase"] == "Completed" or None, "its end")
    refused = json.loads(promote(project, "--yes", "--output", "json").output)
    assert {each["gate"]: each["result"] for each in refused["gates"]} == {"succeeded": "passed", "soak": "refused"}
    gated(project, succeeded=True)

    # of several experiments all are promoted or none
    write(project, "resnet", image=f"{IMAGE}@{DIGEST}")
    project.up(project.stack("resnet"))
    resnet = config(project, "resnet.prod")
    resnet.write_text("config:\n  trainform:experiment: resnet\n  trainform:environment: prod\n")
    both = promote(project, "--yes", "--output", "json", also="resnet")
    assert both.code == 3, both.output
    found = json.loads(both.output)
    assert [each["result"] for each in found["promotions"]] == ["not written", "refused"]
    assert (found["ok"], releases(project), "release" in resnet.read_text()) == (False, set(), False)
    gated(project)
    promote(project, "--yes", also="resnet").succeeded()
    assert follows(project)
    assert "trainform:release" in resnet.read_text()

    origin = read_release("bert", follows(project), project.folder).origin
    assert origin.outcome == "succeeded"
    assert origin.seconds is not None
