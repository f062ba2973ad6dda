"""The policy pack, run by the engine: what stops an update, what does not, and what a preview cannot know."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.support.repository import ROOT, names, read

PACK = ("--policy-pack", "policy")
REGISTRY = {"registries": ["registry.example.com"]}
ELSEWHERE = "other.example.com/ai/train:1.0"
GOOD = "registry.example.com/ai/train:1.0"
POD = """\
import pulumi
from trainform.job.check import check_environment
from trainform.resources.apply import cluster_provider

provider = cluster_provider(pulumi.ComponentResource("test:index:Cluster", "shared"), \
check_environment("dev").or_raise())
options = pulumi.ResourceOptions(provider=provider)


class Raw(pulumi.CustomResource):
    def __init__(self, name, body, **more):
        kind = f"kubernetes:{{'core/' if '/' not in body['apiVersion'] else ''}}{{body['apiVersion']}}:{{body['kind']}}"
        super().__init__(kind, name, body, pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(**more)))


def metadata(name):
    return {{"name": name, "namespace": "{namespace}"}}


"""
JOB = """\
def job(name, image):
    return {{
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata(name),
        "spec": {{
            "schedulerName": "volcano",
            "minAvailable": 1,
            "queue": "default",
            "tasks": [
                {{
                    "name": "worker",
                    "replicas": 1,
                    "template": {{
                        "spec": {{"restartPolicy": "Never", "containers": [{{"name": "main", "image": image}}]}},
                    }},
                }}
            ],
        }},
    }}


"""


def with_pack(project: Project, **limits: Any) -> None:
    """Give the project the policy pack of the repository, and the environment `dev` these limits."""
    folder = project.folder / "policy"
    if not folder.exists():
        shutil.copytree(ROOT / "policy", folder, ignore=shutil.ignore_patterns("__pycache__"))
        definition = yaml.safe_load((folder / "PulumiPolicy.yaml").read_text())
        definition["runtime"]["options"]["virtualenv"] = sys.prefix
        (folder / "PulumiPolicy.yaml").write_text(yaml.safe_dump(definition))
    project.environment(limits=limits)


def program(project: Project, text: str) -> str:
    """Make the stack `raw` of this program; its name."""
    (project.folder / "stacks" / "__main__.py").write_text((POD + text).format(namespace=project.namespace))
    return "raw" if (project.folder / "stacks" / "Pulumi.raw.yaml").exists() else project.program_stack("raw", {})


@pytest.mark.shows("the engine runs the policy pack")
def test_a_raw_job_from_elsewhere_is_stopped_and_nothing_is_made(project: Project, live: Live) -> None:
    with_pack(project, **REGISTRY)
    stack = program(project, JOB + f'Raw("train", job("train", "{ELSEWHERE}"))\n')
    preview = project.pulumi("preview", *PACK, "-s", stack).failed()
    assert "TF-IMG-1" in preview
    assert "spec.tasks.worker.template.spec.containers.main.image" in preview
    update = project.pulumi("up", "--yes", "--skip-preview", *PACK, "-s", stack).failed()
    assert "TF-IMG-1" in update
    assert live.names("jobs", project.namespace) == set()


UNKNOWN_IMAGE = (
    JOB
    + """\
source = Raw("source", {{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("source"), "data": {{}}}})
Raw("train", job("train", source.id.apply(lambda _: "IMAGE")))
"""
)


@pytest.mark.proof("the levels, unknown values and secrets; `make test` stops one update")
def test_what_a_preview_does_not_know_is_told_and_stops_the_update(project: Project, live: Live) -> None:
    with_pack(project, **REGISTRY)
    stack = program(project, UNKNOWN_IMAGE.replace("IMAGE", ELSEWHERE))
    preview = project.pulumi("preview", *PACK, "-s", stack).succeeded()
    assert "[advisory]" in preview
    assert "train is not checked in full" in preview
    assert "known only at `pulumi up`: spec.tasks[0].template.spec.containers[0].image" in preview
    assert "TF-IMG-1" in preview
    update = project.pulumi("up", "--yes", "--skip-preview", *PACK, "-s", stack).failed()
    assert "[mandatory]" in update
    assert "Images come from the registries of the environment" in update
    assert live.names("jobs", project.namespace) == set()
    program(project, UNKNOWN_IMAGE.replace("IMAGE", GOOD))
    project.up(stack, *PACK)
    assert live.names("jobs", project.namespace) == {"train"}
    project.destroy(stack)


@pytest.mark.proof("the levels, unknown values and secrets; `make test` stops one update")
def test_a_warning_does_not_stop_the_update_and_off_says_nothing(project: Project, live: Live) -> None:
    with_pack(project, **REGISTRY, severity={"TF-IMG-1": "warning"})
    stack = program(project, JOB + f'Raw("train", job("train", "{ELSEWHERE}"))\n')
    update = project.up(stack, *PACK)
    assert "[advisory]" in update
    assert "Images come from the registries of the environment" in update
    assert live.names("jobs", project.namespace) == {"train"}
    with_pack(project, **REGISTRY, severity={"TF-IMG-1": "off"})
    assert "TF-IMG-1" not in project.pulumi("preview", *PACK, "-s", stack).succeeded()
    project.destroy(stack)


@pytest.mark.proof("the levels, unknown values and secrets; `make test` stops one update")
def test_a_secret_is_judged_and_never_shown(project: Project) -> None:
    with_pack(project, **REGISTRY)
    secret = "other.example.com/a-name-that-nobody-may-see:1.0"  # noqa: S105
    stack = program(project, JOB + f'Raw("train", job("train", pulumi.Output.secret("{secret}")))\n')
    preview = project.pulumi("preview", *PACK, "--diff", "-s", stack).failed()
    assert "TF-IMG-1" in preview
    assert "nobody-may-see" not in preview


@pytest.mark.proof("the levels, unknown values and secrets; `make test` stops one update")
def test_a_stack_without_an_environment_does_not_pass(project: Project, live: Live) -> None:
    with_pack(project)
    definition = yaml.safe_load((project.folder / "Pulumi.yaml").read_text())
    (project.folder / "Pulumi.yaml").write_text(yaml.safe_dump(definition | {"name": "own-program"}))
    stack = program(project, JOB + f'Raw("train", job("train", "{GOOD}"))\n')
    project.pulumi("config", "rm", "trainform:environment", "-s", stack).succeeded()
    update = project.pulumi("up", "--yes", "--skip-preview", *PACK, "-s", stack, TRAINFORM_ENVIRONMENT="").failed()
    assert "pulumi config set trainform:environment NAME" in update
    assert live.names("jobs", project.namespace) == set()
    project.pulumi("preview", *PACK, "-s", stack, TRAINFORM_ENVIRONMENT="dev").succeeded()
    unknown = project.pulumi("preview", *PACK, "-s", stack, TRAINFORM_ENVIRONMENT="nowhere").failed()
    assert "nowhere" in unknown


@pytest.mark.proof("whose choice the limits are; `make test` stops one update")
def test_neither_stack_nor_command_line_chooses_the_limits(project: Project) -> None:
    """Another environment than the one that is pinned, a file with other levels, and a provider of another cluster."""
    with_pack(project, **REGISTRY)
    stack = program(project, JOB + f'Raw("train", job("train", "{ELSEWHERE}"))\n')
    pinned = project.pulumi("preview", *PACK, "-s", stack, TRAINFORM_ENVIRONMENT="prod").failed()
    assert "the stack has trainform:environment: dev" in pinned
    levels = project.folder / "levels.json"
    levels.write_text('{"all": "disabled", "TF-IMG-1": "advisory"}')
    preview = project.pulumi("preview", *PACK, "--policy-pack-config", str(levels), "-s", stack).failed()
    assert "[mandatory]  TF-IMG-1" in preview
    other = JOB + f'Raw("train", job("train", "{GOOD}"))\n'
    program(project, other + 'pulumi.ProviderResource("kubernetes", "other", {{"context": "prod-cluster"}})\n')
    preview = project.pulumi("preview", *PACK, "-s", stack).failed()
    assert "the provider has the context prod-cluster" in preview


@pytest.mark.proof("every shipped stack; `make test` has a raw job")
def test_every_shipped_stack_passes(project: Project) -> None:
    """All experiments in one stack, on the environment's stack that is up."""
    data = read("environments", "dev")
    with_pack(project)
    project.environment(**{key: value for key, value in data.items() if key in ("claims", "queues", "limits")})
    platform, experiments = project.stack(), names("experiments")
    assert "trainform@" in project.up(platform, *PACK)
    for name in experiments:
        project.copied(name)
    preview = project.pulumi("preview", *PACK, "-s", stack_of(project, "shipped", experiments)).succeeded()
    assert all(f"trainform:index:TrainingJob {name} " in " ".join(preview.split()) for name in experiments)
    assert "[mandatory]" not in preview, preview
    assert "is not checked in full" not in preview, preview
    assert "trainform@" in preview, preview
    shutil.copy(ROOT / "stacks" / "__main__.py", project.folder / "stacks")
    project.destroy(platform)
