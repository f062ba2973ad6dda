"""The page is written from the tables that render; the tables say all that is rendered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, plan
from tools.docs.launch_contract import contract_page
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.ssh_files import FILES as SSH_FILES
from trainform.plan.launch.launch import FILES
from trainform.plan.variables import REPLICA_INDEX, VARIABLES
from trainform.spec.launchers import LAUNCHERS

POOL: dict[str, Any] = {"master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}}
SERVED: dict[str, Any] = {"network": {"host": True, "addresses": "service"}}
CODE = {"name": "code", "git": {"repository": "https://git.example.com/a.git", "commit": "a" * 40, "path": "/code"}}
JOBS: dict[str, dict[str, Any]] = {
    "torchrun": {"launcher": {"torchrun": {"script": "/app/train.py"}}, **SERVED, "prepare": [CODE]},
    "accelerate": {"launcher": {"accelerate": {"script": "/app/train.py"}}, **SERVED, "ssh": {}},
    "deepspeed": {"launcher": {"deepspeed": {"script": "/app/train.py"}}},
    "mpi": {"launcher": {"mpi": {"command": ["/app/train"]}}},
    "tensorflow": {
        "launcher": {"tensorflow": {"command": ["/app/train"], "task_types": {"master": "chief"}}},
        **SERVED,
    },
    "jax": {"launcher": {"jax": {"command": ["/app/train"]}}, **SERVED},
    "entrypoint": {"launcher": {"entrypoint": ["--train"]}, "roles": {"worker": {"replicas": 2}}},
    "command": {"launcher": {"command": ["/app/train"]}, **SERVED},
}


def test_every_launcher_is_in_the_contract() -> None:
    assert set(VARIABLES) == set(JOBS) == set(LAUNCHERS)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_everything_rendered_is_on_the_page(launcher: str) -> None:
    made = plan(**{"roles": POOL, **JOBS[launcher]})
    rendered = {variable.name for role in made.roles for variable in role.env}
    assert rendered <= {variable.name for variable in VARIABLES[launcher]}
    assert made.files.keys() <= FILES.keys()
    told = contract_page()
    manifests = job_manifests(made)
    for body in (manifest.body for manifest in manifests):
        if body["kind"] == "Secret":
            assert {name.removesuffix(".pub") for name in body["stringData"]} == SSH_FILES.keys()
    pods, _ = BACKENDS[made.backend].pods(made, manifests)
    names = {entry["name"] for pod in pods for entry in pod["spec"]["containers"][0]["env"]}
    given = {name for name in names - rendered if not name.startswith(("VC_", "TRAINFORM_"))}
    assert given == set(), "an operator's own, or ours by the back door"
    assert all(f"`{name}`" in told for name in rendered | {REPLICA_INDEX})


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_contract_promises_nothing_that_is_never_rendered(launcher: str) -> None:
    """Each row has a job in which a pod gets the variable."""
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}
    further = [plan(launcher=elastic, roles=POOL, network={"host": host}) for host in (False, True)]
    if launcher != "torchrun":
        further = []
    if launcher == "mpi":  # what stands for SSH
        apart: dict[str, Any] = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
        roles = {"launcher": {"ranked": False}, "worker": {"replicas": 2}}
        further = [plan(cluster=environment(mpi_job="v1"), backend="kubeflow", launcher=apart, roles=roles)]
    job = {"roles": POOL, **JOBS[launcher]}
    plans = [plan(**job), plan(roles=job["roles"], launcher=job["launcher"]), *further]
    rendered = {variable.name for made in plans for role in made.roles for variable in role.env}
    assert rendered == {variable.name for variable in VARIABLES[launcher]}
