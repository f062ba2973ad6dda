"""`trainform doctor` on a cluster that has every operator."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_doctor import doctor
from tests.engine.test_new_environment import use_own_namespace
from trainform.doctor.survey import survey
from trainform.scaffold.environment import from_survey

pytestmark = pytest.mark.proof("the operators of every add-on")


def deploy(live: Live, namespace: str, name: str, image: str, **spec: Any) -> None:
    """A Deployment of one pod."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": image}], **spec}}
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    response = live.request("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)
    assert response.status_code == 201, response.text


def test_operators_and_their_versions(addons_project: Project, addons_live: Live) -> None:
    namespace = addons_project.namespace
    everywhere = [{"operator": "Exists"}]  # accelerator nodes are tainted
    deploy(addons_live, namespace, "one", "docker.io/volcanosh/vc-controller-manager:v1.14.1", tolerations=everywhere)
    deploy(addons_live, namespace, "two", "mirror.example.com/kueue/kueue:v0.19.2", nodeSelector={"there": "is-none"})
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/one"
    until(lambda: addons_live.request("GET", path).json()["status"].get("readyReplicas") == 1, "the pod to be ready")
    operators = doctor(addons_project)["checks"]["operators"]
    assert operators["state"] == "ok"
    assert operators["details"]["found"] == {
        "volcano": "v1.14.1",
        "kueue": "v0.19.2, but none of its pods is ready",
        **dict.fromkeys(
            ("jobset", "trainer", "kubedl", "kubeflow"), "version unknown: its controller has no deployment"
        ),
    }


def test_the_local_queues_of_kueue(addons_project: Project, addons_live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    addons_project.environment(backend="jobset", admission="kueue", queues={})
    found = doctor(addons_project, "-e", "dev", "--for", "up", code=1)
    assert found["verbs"]["up"]["missing"] == ["local_queues"]
    assert "queues" not in found["checks"], "Volcano's are of no use"
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{addons_project.namespace}/localqueues"
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "team"}}
    made = addons_live.request("POST", path, {**queue, "spec": {"clusterQueue": "all"}})
    assert made.status_code == 201, made.text
    assert doctor(addons_project, "-e", "dev", "--for", "up")["checks"]["local_queues"]["found"] == "team"

    monkeypatch.setenv("KUBECONFIG", use_own_namespace(addons_project))
    read = survey("dev-cluster", addons_project.folder)
    assert read.unread == ()
    assert read.operators == ("volcano", "jobset", "trainer", "kubeflow", "kubedl", "kueue")
    without_volcano = structs.replace(read, operators=tuple(name for name in read.operators if name != "volcano"))
    text = from_survey("live", without_volcano)
    assert (
        "backend: jobset\nadmission: kueue\n# LocalQueues of the namespace, for `queue` of experiments: team\n" in text
    )
