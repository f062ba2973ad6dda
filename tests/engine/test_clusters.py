"""Two clusters whose kubeconfigs have a context of the same name: a stack that is bound to one of them never touches
the other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.applying import apply as apply_saved
from tests.engine.applying import refused as moved
from tests.engine.applying import save
from tests.engine.live import Live
from tests.engine.project import Project
from trainform.local.sandbox.control import Sandbox

pytestmark = pytest.mark.proof("clusters that are taken for each other")

CONTEXT = "dev-cluster"
PROVIDER = "pulumi:providers:kubernetes"


@pytest.fixture(scope="module")
def other(twin_sandbox: Sandbox) -> Sandbox:
    """Return a second cluster, with the same contexts."""
    return twin_sandbox


@pytest.fixture
def other_live(twin_live: Live, project: Project) -> Iterator[Live]:
    """Yield the second cluster, where the project's namespace exists too."""
    twin_live.make_namespace(project.namespace)
    yield twin_live
    twin_live.delete("namespaces", project.namespace)


def uid(live: Live) -> str:
    found: str = live.get("namespaces", "kube-system")["metadata"]["uid"]
    return found


def bind(project: Project, live: Live | None) -> None:
    project.environment(cluster={"context": CONTEXT} | ({} if live is None else {"uid": uid(live)}))


def resources(project: Project, stack: str) -> list[dict[str, Any]]:
    exported = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())
    found: list[dict[str, Any]] = exported["deployment"].get("resources", [])
    return found


def provider(project: Project, stack: str) -> dict[str, Any]:
    """Return the only provider of Kubernetes: no object is made by a default one, which takes whichever cluster is the
    current one."""
    (found,) = (each for each in resources(project, stack) if each["type"] == PROVIDER)
    return found


def refused(output: str, live: Live, other_live: Live, other: Sandbox) -> None:
    """It says which cluster was wanted, which one answered, and where that one comes from."""
    assert f"cluster.uid = {uid(live)}" in output, output
    assert f"the context {CONTEXT} of {other.kubeconfig} ({other.url}) leads to another one" in output
    assert f"whose UID is {uid(other_live)}" in output
    assert "an earlier sandbox" in output


def test_a_bound_stack_touches_no_other_cluster(project: Project, live: Live, other: Sandbox, other_live: Live) -> None:
    bind(project, live)
    project.copied("hello")
    stack = project.stack("hello")
    for verb in (("preview",), ("up", "--yes", "--skip-preview")):
        refused(project.pulumi(*verb, "-s", stack, KUBECONFIG=str(other.kubeconfig)).failed(), live, other_live, other)
        assert [each for each in resources(project, stack) if not each["type"].startswith("pulumi:")] == []
    reviewed = project.trainform("review", stack, KUBECONFIG=str(other.kubeconfig))
    refused(reviewed.failed(), live, other_live, other)
    assert reviewed.code == 2
    assert other_live.names("jobs", project.namespace) == set()
    looked = project.trainform("doctor", "-e", "dev", KUBECONFIG=str(other.kubeconfig))
    assert f"leads to another one, whose UID is {uid(other_live)}" in " ".join(looked.output.split())

    project.up(stack)
    project.unchanged(stack)
    assert provider(project, stack)["inputs"]["clusterIdentifier"] == uid(live)
    assert len(live.names("jobs", project.namespace)) == 1
    row = [word for word in project.trainform("stacks").succeeded().split() if word]
    assert {"hello", "dev", project.plan("hello").revision, "trainform/hello.dev"} <= {*row}
    shown = project.trainform("stacks", KUBECONFIG=str(other.kubeconfig)).failed()
    assert "not read completely: the environment dev" in shown
    refused(shown, live, other_live, other)
    looked = project.trainform("drift", stack, KUBECONFIG=str(other.kubeconfig))
    assert looked.code == 1
    assert f"leads to another one, whose UID is {uid(other_live)}" in " ".join(looked.output.split())
    project.destroy(stack)


def test_what_was_reviewed_on_one_cluster_is_not_applied_to_another(
    project: Project, live: Live, other: Sandbox, other_live: Live
) -> None:
    """Although the environment is not bound: the file of the review is."""
    bind(project, None)
    project.copied("hello")
    stack = project.stack("hello")
    file = save(project, stack)
    found = apply_saved(project, file, KUBECONFIG=str(other.kubeconfig))
    moved(found, ("cluster", "cluster"))
    (told,) = found.verdict["moved"]
    assert (told["was"], told["now"]) == (uid(live), uid(other_live))
    assert live.names("jobs", project.namespace) == other_live.names("jobs", project.namespace) == set()
    assert apply_saved(project, file).code == 0
    assert len(live.names("jobs", project.namespace)) == 1
    project.destroy(stack)


def test_a_stack_is_bound_in_place_and_another_uid_is_refused_before_it_replaces_everything(
    project: Project, live: Live, sandbox: Sandbox, other_live: Live
) -> None:
    bind(project, None)
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    before = live.only_job(project.namespace)["metadata"]["uid"]
    assert "clusterIdentifier" not in provider(project, stack)["inputs"]

    bind(project, live)
    changes = {(step.op, step.kind) for step in project.preview(stack) if step.op != "same"}
    assert changes == {("update", "kubernetes"), ("update", "TrainingJob")}
    project.up(stack)
    assert provider(project, stack)["inputs"]["clusterIdentifier"] == uid(live)
    assert live.only_job(project.namespace)["metadata"]["uid"] == before

    bind(project, other_live)
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"whose UID is {uid(live)}" in output
    assert provider(project, stack)["inputs"]["clusterIdentifier"] == uid(live)
    bind(project, live)
    project.unchanged(stack)

    project.environment(cluster={"context": sandbox.context, "uid": uid(live)})
    changes = {(step.op, step.kind) for step in project.preview(stack) if step.op != "same"}
    assert changes == {("update", "kubernetes"), ("update", "TrainingJob")}, "another name of the same cluster"
    project.destroy(stack)


def renamed(sandbox: Sandbox, name: str, folder: Path) -> Path:
    """Return a kubeconfig of the cluster whose only context has this name."""
    content = yaml.safe_load(sandbox.kubeconfig.read_text())
    (context,) = (each for each in content["contexts"] if each["name"] == CONTEXT)
    context["name"] = content["current-context"] = name
    for kind, each in (("clusters", "cluster"), ("users", "user")):
        content[kind] = [part | {"name": name} for part in content[kind] if part["name"] == context["context"][each]]
        context["context"][each] = name
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content | {"contexts": [context]}))
    return path


def test_another_context_is_refused_unless_it_leads_to_the_objects_of_the_stack(
    project: Project, live: Live, sandbox: Sandbox, other: Sandbox, other_live: Live
) -> None:
    """The engine would only update the provider, and leave the objects running on the old cluster."""
    bind(project, None)
    project.copied("hello")
    stack, platform = project.stack("hello"), project.stack()
    project.environment(cluster={"context": CONTEXT}, queues={"research": {"weight": 1}})
    project.up(platform)
    project.up(stack)
    files = [renamed(other, "prod-cluster", project.folder), renamed(sandbox, "lab-cluster", project.folder)]
    project.environ["KUBECONFIG"] = os.pathsep.join(map(str, (sandbox.kubeconfig, *files)))
    for cluster in ({"context": "prod-cluster"}, {"context": "prod-cluster", "uid": uid(other_live)}):
        project.environment(cluster=cluster, queues={"research": {"weight": 1}})
        for each in (stack, platform):
            why = f"the objects of the stack {each} were created through the context {CONTEXT}"
            output = " ".join(project.pulumi("up", "--yes", "--skip-preview", "-s", each).failed().split())
            assert why in output, output
            assert f"`trainform destroy {each}`" in output
            reviewed = project.review(each)
            assert (reviewed.code, reviewed.report["findings"]) == (1, []), reviewed.forms["txt"]
            assert why in reviewed.report["headline"]
    assert other_live.names("jobs", project.namespace) == set()

    project.environment(cluster={"context": "lab-cluster"}, queues={"research": {"weight": 1}})
    for each in (stack, platform):
        project.up(each)
        assert provider(project, each)["inputs"]["context"] == "lab-cluster"
        project.destroy(each)


def deployed_on(project: Project, live: Live) -> tuple[str, str]:
    """Return the stack of `hello`, bound to the cluster and deployed on it; the name of its job."""
    bind(project, live)
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    (job,) = live.names("jobs", project.namespace)
    return stack, job


def made_on_both(project: Project, live: Live, other_live: Live, other: Sandbox) -> tuple[str, str]:
    """Return the stack of `hello`, bound to the first cluster, and one of another checkout that made the same on the
    second; the name of the job."""
    project.copied("hello")
    bind(project, other_live)
    theirs = project.program_stack("theirs.dev", {"trainform:experiment": "hello"})
    project.pulumi("up", "--yes", "--skip-preview", "-s", theirs, KUBECONFIG=str(other.kubeconfig)).succeeded()
    stack, job = deployed_on(project, live)
    assert other_live.names("jobs", project.namespace) == {job}
    return stack, job


def test_destroy_deletes_on_the_stacks_own_cluster_alone(
    project: Project, live: Live, other: Sandbox, other_live: Live
) -> None:
    stack, job = made_on_both(project, live, other_live, other)
    ran = project.trainform("destroy", stack, "--", "--yes", KUBECONFIG=str(other.kubeconfig))
    refused(ran.failed(), live, other_live, other)
    assert ran.code == 2
    assert "pulumi stack rm --force hello.dev" in ran.output
    assert live.names("jobs", project.namespace) == other_live.names("jobs", project.namespace) == {job}

    # Pulumi's own verbs are refused by the program where they run it
    for verb in ("destroy", "refresh"):
        words = (verb, "--yes", "--skip-preview", "-s", stack)
        output = project.pulumi(*words, KUBECONFIG=str(other.kubeconfig), PULUMI_RUN_PROGRAM="true").failed()
        refused(output, live, other_live, other)
    assert other_live.names("jobs", project.namespace) == {job}

    ran = project.trainform("destroy", stack, "--", "--yes")
    assert "Resources:" in ran.succeeded()
    assert live.names("jobs", project.namespace) == set()
    assert other_live.names("jobs", project.namespace) == {job}


def test_a_stack_that_is_not_bound_is_destroyed_with_a_note(project: Project, live: Live) -> None:
    bind(project, None)
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    project.environment(cluster={"context": CONTEXT, "uid": "0b7a3c11-26cd-4a8f-8e0a-7d5f9a1c4e02"})
    output = project.trainform("destroy", stack, "--", "--yes", "--skip-preview").failed()
    assert f"the environment dev is bound to this cluster, and the context {CONTEXT}" in output
    assert len(live.names("jobs", project.namespace)) == 1
    bind(project, None)
    output = project.trainform("destroy", stack, "--", "--yes", "--skip-preview").succeeded()
    assert "not compared: the stack hello.dev is bound to no cluster" in output
    assert live.names("jobs", project.namespace) == set()
    output = project.trainform("destroy", "nowhere.dev").failed()
    assert "the stack has no file" in output


def test_a_stack_whose_cluster_is_gone_begins_again_on_the_new_one(
    project: Project, live: Live, other: Sandbox, other_live: Live
) -> None:
    stack, job = deployed_on(project, live)

    bind(project, other_live)
    project.environ["KUBECONFIG"] = str(other.kubeconfig)
    for verb in (("preview",), ("up", "--yes", "--skip-preview")):
        output = " ".join(project.pulumi(*verb, "-s", stack).failed().split())
        assert f"the objects of the stack hello.dev are on the cluster {uid(live)}" in output
        assert "`pulumi refresh --run-program=false -s hello.dev`, which forgets its objects" in output
    assert other_live.names("jobs", project.namespace) == set()
    project.environ["PULUMI_RUN_PROGRAM"] = "true"  # as in CI: then a plain refresh is refused by the program, too
    assert "--run-program=false" in project.pulumi("refresh", "--yes", "--skip-preview", "-s", stack).failed()
    project.pulumi("refresh", "--run-program=false", "--yes", "--skip-preview", "-s", stack).succeeded()
    del project.environ["PULUMI_RUN_PROGRAM"]
    project.up(stack)
    project.unchanged(stack)
    assert other_live.names("jobs", project.namespace) == {job}
    assert "hello-deployed" in other_live.names("configmaps", project.namespace)
    assert provider(project, stack)["inputs"]["clusterIdentifier"] == uid(other_live)
    assert live.names("jobs", project.namespace) == {job}, "the cluster that is not there is left alone"
    project.destroy(stack)
