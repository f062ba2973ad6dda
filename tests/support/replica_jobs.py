"""What tests read in jobs of replica specs and in their pods, whichever operator takes them."""

from __future__ import annotations

from typing import Any


def main(replicas: dict[str, Any]) -> dict[str, Any]:
    """Return the container of a role's replica spec."""
    found: dict[str, Any] = replicas["template"]["spec"]["containers"][0]
    return found


def pod_env(pod: dict[str, Any]) -> dict[str, str]:
    """Return the variables as the process finds them: the last value of a name holds."""
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}
