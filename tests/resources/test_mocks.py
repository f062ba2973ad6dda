"""A user's unit test of a program with trainform's components, as Pulumi documents it: `set_mocks`, no engine and no
cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import DOCS, blocks_of
from tests.support.repository import copy_stacks

PROGRAM = """\
import json
import sys

import pulumi

made = []


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        made.append([args.typ, args.name])
        return [f"{args.name}-id", args.inputs]

    def call(self, args):
        return {}


pulumi.runtime.set_mocks(Mocks(), project="trainform", stack="dev", preview=False)
pulumi.runtime.set_all_config({"trainform:sshSecret": "a secret of thirty-two characters"}, ["trainform:sshSecret"])

from trainform import Environment, Experiment, RoleGroup, TrainingJob

environment = Environment.model_validate(
    {
        "name": "dev",
        "cluster": {"context": "there-is-none"},
        "namespace": {"name": "ai-namespace"},
        "accelerators": {"a800": {"resource": "nvidia.com/gpu", "per_node": 8, "nodes": 8}},
    }
)
experiment = Experiment.model_validate(
    {
        "name": "bert",
        "image": "registry.example.com/ai/bert:1.0",
        "launcher": {"mpi": {"command": ["python", "/app/pretrain.py"], "role": "launcher"}},
        "roles": {"launcher": {"ranked": False}, "node": {"replicas": 2, "accelerators": {"a800": 8}}},
        "storage": {"runs": {"size": "1Ti", "mount": "/runs"}},
        "files": {"/etc/nccl.conf": {"text": "NCCL_DEBUG=INFO"}},
        "queue": {"weight": 2},
    }
)
seen = {}


@pulumi.runtime.test
def build():
    job = TrainingJob("bert", experiment, environment)
    role = RoleGroup("alone", experiment, environment, "node")
    outputs = pulumi.Output.all(job.job, job.nodes, job.next, role.template)
    return outputs.apply(lambda found: seen.update(outputs=found))


build()
print(json.dumps({"made": made, **seen}))
"""


def test_a_job_with_all_its_components_works_under_mocks(tmp_path: Path) -> None:
    """Each component alone: `tests/tools/docs/test_components.py`."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    job, nodes, following, template = found["outputs"]
    assert job.startswith("bert-")
    assert nodes == 2
    pods = "kubectl get pods -n ai-namespace -l app.kubernetes.io/name=bert"
    assert following == f"{pods} --context there-is-none", "it is the same for each revision"
    revision = job.removeprefix("bert-")
    volumes = {volume["name"]: volume.get("configMap", {}).get("name") for volume in template["spec"]["volumes"]}
    assert volumes.items() >= {"files": f"alone-{revision}-files", "launch": f"alone-{revision}"}.items()
    config_maps = {name for kind, name in found["made"] if kind == "kubernetes:core/v1:ConfigMap"}
    assert {f"bert-files-{revision}", f"alone-files-{revision}", f"alone-launch-script-{revision}"} <= config_maps
    assert ["kubernetes:batch.volcano.sh/v1alpha1:Job", "bert-job"] in found["made"]
    assert {name for kind, name in found["made"] if kind.startswith("trainform:index:")} == {
        "bert", "bert-queue", "bert-storage", "bert-rendezvous", "bert-ssh", "bert-launcher", "bert-node", "alone",
    }  # fmt: skip


@pytest.mark.parametrize(("accelerators", "passed"), [(8, True), (4, False)])
def test_the_unit_test_of_the_documents(accelerators: int, passed: bool, tmp_path: Path) -> None:
    """It passes for the program that the page shows, and fails for another one."""
    _, sweep, _, test, _ = blocks_of("python", DOCS / "how-to" / "write-a-program.md")
    (tmp_path / "Pulumi.yaml").touch()
    copy_stacks(tmp_path / "stacks")
    (tmp_path / "stacks" / "sweep.py").write_text(sweep.text.replace('{"a800": 8}', f'{{"a800": {accelerators}}}'))
    (tmp_path / "stacks" / "test_sweep.py").write_text(test.text)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "stacks"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert ("1 passed" in ran.stdout) == passed == (ran.returncode == 0), ran.stdout
