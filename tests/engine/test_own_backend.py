"""A job's life on a backend that trainform does not have, with the real engine and a real API server that serves its
kind.

No controller of it runs here, so nothing makes pods: its Jobs are held against the API server, which would take them
from the controller.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.differences import changed
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.support import app_wrapper
from tests.support.repository import names, read
from tests.support.samples import environment
from trainform.job.render import render_job
from trainform.manifests.manifest import job_body
from trainform.spec.experiment import Experiment

pytestmark = pytest.mark.proof("one more backend, on a real engine and API server")

GROUP, _, VERSION = app_wrapper.API_VERSION.partition("/")
ANYTHING = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"appwrappers.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "AppWrapper", "plural": "appwrappers", "singular": "appwrapper"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"components": ANYTHING, "suspend": {"type": "boolean"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROGRAM = f"""\
from trainform import defaults
from trainform.resources.program import run

defaults.BACKENDS["{app_wrapper.NAME}"] = "app_wrapper:AppWrapper"
run()
"""


@pytest.fixture
def served(live: Live) -> Iterator[None]:
    """Yield the kind, and the backend in this process. Of an object the definition knows `components`, whatever is in
    them, and `suspend`."""
    live.make(DEFINITION)
    path = f"/apis/{app_wrapper.API_VERSION}/appwrappers"
    until(lambda: live.request("GET", path).status_code == 200, "the kind to be served")
    with app_wrapper.registered():
        yield
    live.remove(DEFINITION)
    # the server removes a definition in steps, and until the last of them it refuses to make the definition again
    until(lambda: live.request("GET", f"{DEFINITIONS}/{DEFINITION['metadata']['name']}").status_code == 404, "its end")


def test_a_jobs_life(project: Project, live: Live, served: None) -> None:
    shutil.copy(app_wrapper.__file__, project.folder / "stacks")
    (project.folder / "stacks" / "__main__.py").write_text(PROGRAM)
    project.copied("resnet", lambda data: data.update(backend=app_wrapper.NAME))
    stack = project.stack("resnet")
    before = project.rendered("resnet")
    assert {"AppWrapper", "PodGroup"} <= {step.kind for step in project.applied(stack)}
    (kept,) = live.find_like(job_body(before.manifests))
    assert list(changed(job_body(before.manifests), kept)) == []
    project.unchanged(stack)
    project.copied("resnet", lambda data: data.update(backend=app_wrapper.NAME, env={"EPOCHS": "3"}))
    assert {step.op for step in project.applied(stack) if step.kind == "AppWrapper"} == {"replace"}
    (kept,) = live.find_like(job_body(before.manifests))
    assert kept["metadata"]["name"] == project.plan("resnet").job != before.plan.job
    project.destroy(stack)
    assert live.find_like(job_body(before.manifests)) == []


def test_its_jobs_are_taken_and_kept(project: Project, live: Live, served: None) -> None:
    """Every teaching experiment that it can run, as the controller would make the Jobs."""
    cluster = environment(namespace={"name": project.namespace})
    taken = 0
    for name in names("experiments"):
        made = Experiment.model_validate({**read("experiments", name), "backend": app_wrapper.NAME})
        job = render_job(made, cluster)
        for component in () if job.problems else job_body(job.manifests)["spec"]["components"]:
            body = component["template"]
            assert list(changed(body, live.make(body, dry_run=True))) == [], (name, body["metadata"]["name"])
            taken += 1
    assert taken > 5
