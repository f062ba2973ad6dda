"""The pods that an operator's controller made, held against the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.engine.differences import changed
from tests.engine.live import Live, until
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

WITH_DRAWN_PORTS = ("TF_CONFIG", "MASTER_PORT")


def hostname(pod: dict[str, Any]) -> str:
    """Pods of Jobs have a random end to their names; what peers call them by is their hostname."""
    return str(pod["spec"].get("hostname", pod["metadata"]["name"]))


def is_running(pod: dict[str, Any]) -> bool:
    """Return True if the pod runs and is not on its way out."""
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def pods_of(live: Live, plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the running pods of a plan by name, once all of them run."""

    def running() -> dict[str, dict[str, Any]] | None:
        found = {
            hostname(pod): pod
            for pod in live.find_all("pods", plan.namespace)
            if pod["metadata"]["labels"].get("trainform.dev/revision") == plan.revision
            and pod["metadata"]["labels"].get("app.kubernetes.io/name") == plan.experiment
            and pod["status"].get("phase") == "Running"
        }
        return found if len(found) == plan.totals.pods else None

    return until(running, f"{plan.totals.pods} pods of {plan.job}", seconds=120)


def as_planned(live: Live, plan: Plan) -> None:
    """The pods are called as planned, and are what the controller is known to make."""
    said, _ = BACKENDS[plan.backend].pods(plan, job_manifests(plan))
    found = pods_of(live, plan)
    assert found.keys() == {pod.name for pod in plan.pods()} == {hostname(pod) for pod in said}
    for pod in said:
        spec = found[hostname(pod)]["spec"]
        ours = {
            container["name"]: container
            for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
        }
        theirs = {container["name"]: container for container in [*spec.get("initContainers", []), *spec["containers"]]}
        assert ours.keys() == theirs.keys()
        for name, container in ours.items():
            assert list(_env_changed(plan, container, theirs[name])) == [], (pod["metadata"]["name"], name)
            fields = {"command", "args", "image", "resources"} | (set() if plan.naming.draws_ports else {"ports"})
            for field in fields & container.keys():
                assert list(changed(container[field], theirs[name].get(field))) == []
        for field in ("hostname", "subdomain", "hostNetwork", "dnsPolicy", "restartPolicy", "schedulerName"):
            if field in pod["spec"]:
                assert spec.get(field) == pod["spec"][field], field


def _env_changed(plan: Plan, said: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Whole lists, in order: of two variables with one name the last wins. What holds ports that the operator draws is
    there."""
    ours, theirs = said.get("env", []), found.get("env", [])
    assert [entry["name"] for entry in ours] == [entry["name"] for entry in theirs]
    for one, other in zip(ours, theirs, strict=True):
        if not (plan.naming.draws_ports and one["name"] in WITH_DRAWN_PORTS):
            yield from changed(one, other)
