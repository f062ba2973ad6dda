"""What a review says of a ClusterQueue of Kueue's, against what Kueue then does with the same job."""

from __future__ import annotations

import time

import pytest

from tests.engine.kueue import local_queue, stop
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_capacity import GPU, PATIENCE, WAITS, pods
from tests.engine.test_reviews import SAMPLE
from tests.review.jobs import side
from tests.review.jobs_of_previews import context, job_review
from trainform.cluster.live import LiveReads
from trainform.review.capacity import capacity_of
from trainform.spec.layers import merge_patch

pytestmark = pytest.mark.proof("Kueue's own answer; `make test` has the verdicts alone")


QUOTAS = {GPU: 16, "rdma/hca": 16}  # of two nodes


def test_kueue_does_what_the_review_says(
    addons_project: Project, addons_live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, live, namespace = addons_project, addons_live, addons_project.namespace
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    project.environment(backend="jobset", admission="kueue", limits={})
    live.wait_for_free_nodes()

    def said(name: str, replicas: int) -> str:
        patch = {"storage": None, "queue": "team", **pods(replicas)}
        project.experiment(name, merge_patch(SAMPLE, patch))
        made = project.rendered(name)
        with LiveReads(None, namespace, PATIENCE, kueue=True) as reads:
            facts = reads.facts()
        assert facts.not_read == {}
        given = context(job_review(None, side(made)), environment=made.environment, live=facts)
        for manifest in made.manifests:
            live.make(manifest.body)
        return capacity_of(given).verdict

    def suspended() -> dict[str, bool]:
        return {
            job["metadata"]["name"].rpartition("-")[0]: job["spec"]["suspend"]
            for job in live.find_all("jobsets", namespace)
        }

    with local_queue(live, namespace, QUOTAS):
        assert said("large", 3) == "never"
        assert said("fits", 2) == "now"
        until(lambda: not suspended()["fits"], "Kueue to admit the job that fits")
        assert said("waits", 1) == "later"
        time.sleep(WAITS)
        assert suspended() == {"large": True, "fits": False, "waits": True}
        for job in live.find_all("jobsets", namespace):
            live.delete("jobsets", job["metadata"]["name"], namespace)
        stop(live, namespace, "Hold")
        assert said("held", 1) == "later"
        time.sleep(WAITS)
        assert suspended()["held"]
        stop(live, namespace, "None")
        until(lambda: not suspended()["held"], "Kueue to admit the job when its queue is no longer stopped")
