"""Finds the problems of a workload before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from trainform.errors import InputError, Problem
from trainform.local.rehearsal.kubelet.contents import volume_entries
from trainform.local.rehearsal.kubelet.env import container_env
from trainform.local.rehearsal.kubelet.fields import Place, Sources, UnknownSourceError
from trainform.local.rehearsal.kubelet.placement import Sandbox
from trainform.local.rehearsal.kubelet.volumes import Volume, holds_token, pod_volumes
from trainform.local.rehearsal.workload import Workload, containers, pod_name

NOWHERE = Place("", "")  # no check here depends on where a pod runs


def source_problems(workload: Workload) -> list[Problem]:
    """Return a problem for each value or file that a container or a volume reads from an object that does not exist."""
    problems: list[Problem] = []
    for pod in workload.pods:
        sources = Sources(workload, pod, NOWHERE)
        for container in containers(pod):
            try:
                container_env(sources, container)
            except InputError as error:
                problems += error.problems
        for volume in pod["spec"].get("volumes", []):
            try:
                if not holds_token(volume):
                    list(volume_entries(sources, volume, None))
            except UnknownSourceError as error:
                path = f"pods.{pod_name(pod)}.volumes.{volume['name']}"
                problems.append(Problem(path, None, error.message, error.fix))
    return problems


def checked_volumes(
    workload: Workload, sandboxes: Mapping[str, Sandbox], folders: Mapping[str, Path]
) -> dict[str, dict[str, Volume]]:
    """Return the volumes of each pod by name. InputError with every problem. folders: those that replace claims."""
    found: dict[str, dict[str, Volume]] = {}
    problems: list[Problem] = []
    for pod in workload.pods:
        name = pod_name(pod)
        try:
            found[name] = pod_volumes(pod, sandboxes[name].node, folders)
        except InputError as error:
            problems += error.problems
    problems += source_problems(workload)
    if not problems:
        problems += _unused(folders, (volume for volumes in found.values() for volume in volumes.values()))
    if problems:
        raise InputError(problems)
    return found


def _unused(folders: Mapping[str, Path], volumes: Iterable[Volume]) -> Iterable[Problem]:
    claims = sorted({volume.key.partition(".")[2] for volume in volumes if volume.key.startswith("claim.")})
    for name in folders:
        if name not in claims:
            known = f"claims are: {', '.join(claims)}" if claims else "the pods mount no claim"
            yield Problem("--claim", name, "no pod mounts such a claim", known)
