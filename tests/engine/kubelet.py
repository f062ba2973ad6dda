"""What a kubelet says of a pod: the simulated nodes say that it runs, and a test says the rest."""

from __future__ import annotations

from typing import Any

from tests.engine.live import Live

ALWAYS, NEVER = "Always", "Never"


def succeeds(live: Live, pod: dict[str, Any]) -> None:
    """The pod's containers have ended well: so has the pod, unless its containers are started again whatever they end
    with."""
    _ends(live, pod, 0, "Succeeded", {NEVER, "OnFailure"})


def fails(live: Live, pod: dict[str, Any], code: int = 1) -> None:
    """A container has ended with an error: so has the pod, unless its containers are started again."""
    _ends(live, pod, code, "Failed", {NEVER})


def is_preempted(live: Live, pod: dict[str, Any]) -> None:
    """The node needs the room of the pod: its containers are killed, and nothing starts them again."""
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    conditions = [*pod["status"]["conditions"], disrupted]
    live.report(pod["metadata"]["name"], pod["metadata"]["namespace"], {"conditions": conditions})
    fails(live, pod, 137)


def _ends(live: Live, pod: dict[str, Any], code: int, phase: str, for_good: set[str]) -> None:
    """A pod that somebody has deleted meanwhile says nothing any more."""
    restart = pod["spec"].get("restartPolicy", ALWAYS)
    if restart in for_good:
        changed: dict[str, Any] = {"ready": False, "state": {"terminated": {"exitCode": code}}}
        status: dict[str, Any] = {"phase": phase}
    else:
        changed, status = {"restartCount": 1}, {}
    containers = [container | changed for container in pod["status"]["containerStatuses"]]
    path = live.path("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
    body = {"status": {**status, "containerStatuses": containers}}
    answer = live.request("PATCH", f"{path}/status", body, "application/merge-patch+json")
    assert answer.status_code in (200, 404), answer.text
