"""`trainform doctor` on a cluster that has every operator."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.test_doctor import doctor
from tests.engine.test_new_environment import use_own_namespace
from trainform.backends.table import BACKENDS
from trainform.doctor.survey import survey
from trainform.scaffold.environment import from_survey

pytestmark = pytest.mark.proof("the operators of every add-on")


def test_a_survey_of_every_operator(
    addons_project: Project, addons_live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    addons_project.environment(backend="jobset", admission="kueue", queues={})
    found = doctor(addons_project, "-e", "dev", "--for", "up")
    assert {*found["checks"]["operators"]["details"]["found"]} == {*BACKENDS, "kueue"}
    assert "queue" not in found["checks"]["environment"]["found"], "Volcano's are of no use"
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{addons_project.namespace}/localqueues"
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "team"}}
    made = addons_live.request("POST", path, {**queue, "spec": {"clusterQueue": "all"}})
    assert made.status_code == 201, made.text

    monkeypatch.setenv("KUBECONFIG", use_own_namespace(addons_project))
    read = survey("dev-cluster")
    assert read.unread == ()
    assert read.operators == ("volcano", "jobset", "trainer", "kubeflow", "kubedl", "kueue")
    without_volcano = structs.replace(read, operators=tuple(name for name in read.operators if name != "volcano"))
    text = from_survey("live", without_volcano)
    assert (
        "backend: jobset\nadmission: kueue\n# LocalQueues of the namespace, for `queue` of experiments: team\n" in text
    )
