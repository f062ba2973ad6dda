"""The phase of a job, worked out from its pods first: an operator says Running of a job whose pods wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.cluster.facts import ENDED
from trainform.manifests.shapes import mapping, mappings

# The conditions of all operators but Volcano, the one that says most first, in the words of Volcano's phases.
CONDITIONS = {
    "Failed": "Failed",
    "Succeeded": "Completed",
    "Complete": "Completed",
    "Completed": "Completed",
    "Suspended": "Suspended",
    "Restarting": "Restarting",
    "Running": "Running",
    "Created": "Pending",
    "Queuing": "Pending",
}
ON_THE_WAY = frozenset({"Aborting", "Restarting", "Completing", "Terminating"})
"""What only the operator knows: its pods may still run."""


def phase_of(job: Mapping[str, Any], pods: Mapping[str, int]) -> str:
    """The phase of the job object with so many pods by phase."""
    said = said_phase(mapping(job.get("status")))
    if said in ENDED | ON_THE_WAY:
        return said
    if pods.get("Running"):
        return "Running"
    if said == "Suspended":
        return said
    if pods.get("Pending") or not pods:
        return "Pending"
    return "Completing" if set(pods) == {"Succeeded"} else "Restarting"


def said_phase(status: Mapping[str, Any]) -> str:
    """The phase that the operator says; "" if it says none yet."""
    phase = mapping(status.get("state")).get("phase", status.get("terminalState"))
    if isinstance(phase, str) and phase:
        return phase
    true = {str(each.get("type")) for each in mappings(status.get("conditions")) if each.get("status") == "True"}
    return next((word for condition, word in CONDITIONS.items() if condition in true), "")
