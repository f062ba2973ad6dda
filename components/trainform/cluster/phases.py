"""The phase of a job, from its pods first: operators report Running for a job whose pods wait."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from trainform.cluster.facts import ENDED
from trainform.manifests.manifest import mapping, mappings


class Phase(StrEnum):
    """The phases of a job. A job that Kueue holds suspended is queued."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    RESTARTING = "restarting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUSPENDED = "suspended"
    GONE = "gone"
    UNKNOWN = "unknown"


# The conditions of all operators except Volcano, most specific first, and the matching phases of Volcano.
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
"""Phases that only the operator knows: pods may still run."""


def phase_of(job: Mapping[str, Any], pods: Mapping[str, int]) -> str:
    """Return the phase of the job object. pods: the number of pods by phase."""
    reported = reported_phase(mapping(job.get("status")))
    if reported in ENDED | ON_THE_WAY:
        return reported
    if pods.get("Running"):
        return "Running"
    if reported == "Suspended":
        return reported
    if pods.get("Pending") or not pods:
        return "Pending"
    return "Completing" if set(pods) == {"Succeeded"} else "Restarting"


def reported_phase(status: Mapping[str, Any]) -> str:
    """Return the phase in the job's status; "" if the operator has not set one yet."""
    phase = mapping(status.get("state")).get("phase", status.get("terminalState"))
    if isinstance(phase, str) and phase:
        return phase
    true = {str(each.get("type")) for each in mappings(status.get("conditions")) if each.get("status") == "True"}
    return next((word for condition, word in CONDITIONS.items() if condition in true), "")
