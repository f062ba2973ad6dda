"""Claims: what destroy leaves, what up adopts, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project

pytestmark = pytest.mark.shows("data stays")

CLAIM = "resnet-checkpoints"


def test_destroy_leaves_kept_claims_the_next_up_adopts_them_and_a_change_that_would_delete_data_is_refused(
    project: Project, live: Live
) -> None:
    project.copied("resnet")
    stack = project.stack("resnet")
    project.up(stack)
    before = live.get("persistentvolumeclaims", CLAIM, project.namespace)["metadata"]["uid"]
    project.destroy(stack)
    assert live.names("persistentvolumeclaims", project.namespace) == {CLAIM}
    # Volcano may bring its own back when the job goes while it looks at it; Kubernetes collects that one too
    until(lambda: live.names("configmaps", project.namespace) == {"kube-root-ca.crt"}, "what the job owned to go")

    project.pulumi("preview", "-s", stack).succeeded()
    project.up(stack)
    assert live.get("persistentvolumeclaims", CLAIM, project.namespace)["metadata"]["uid"] == before

    def edit(data: dict[str, Any]) -> None:
        data["storage"]["checkpoints"] |= {"size": "100Gi", "access_modes": ["ReadWriteOnce"]}

    project.copied("resnet", edit)
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"accessModes of the claim {CLAIM} would change" in output
    assert f"the claim {CLAIM} would shrink from 200Gi to 100Gi" in output


def test_a_claim_of_somebody_else_is_refused_and_not_touched_and_one_that_does_not_exist_is_told(
    project: Project, live: Live
) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "labels": {"app.kubernetes.io/managed-by": "Helm"}},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}},
    }
    before = live.create("persistentvolumeclaims", foreign, project.namespace)["metadata"]["uid"]
    project.copied("resnet", lambda data: data["storage"].update(models={"claim": "nowhere", "mount": "/models"}))
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", project.stack("resnet")).failed()
    assert (
        f"PersistentVolumeClaim {CLAIM} exists already and does not belong to this environment (managed-by Helm)"
        in output
    )
    assert f"storage.models: the PersistentVolumeClaim nowhere does not exist in {project.namespace}" in output
    after = live.get("persistentvolumeclaims", CLAIM, project.namespace)
    assert after["metadata"]["uid"] == before
    assert after["spec"]["resources"]["requests"]["storage"] == "1Ti"
    assert live.find_all("jobs", project.namespace) == []
