"""What is wrong with a stage, told before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from trainform.errors import InputError, Problem
from trainform.rehearsal.contents import volume_entries
from trainform.rehearsal.env import container_env
from trainform.rehearsal.fields import Place, Sources, UnknownSourceError
from trainform.rehearsal.placement import Sandbox
from trainform.rehearsal.stage import Stage, containers, pod_name
from trainform.rehearsal.volumes import Volume, holds_token, pod_volumes

NOWHERE = Place("", "")  # nothing that is checked here depends on it


def source_problems(stage: Stage) -> list[Problem]:
    """Everything that a container or volume reads and that is not there."""
    problems: list[Problem] = []
    for pod in stage.pods:
        sources = Sources(stage, pod, NOWHERE)
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
                problems.append(Problem(path, None, error.reason, error.fix))
    return problems


def checked_volumes(
    stage: Stage, sandboxes: Mapping[str, Sandbox], folders: Mapping[str, Path]
) -> dict[str, dict[str, Volume]]:
    """Volumes of each pod; InputError with everything that is wrong with the stage. folders: in place of claims, by name."""
    made: dict[str, dict[str, Volume]] = {}
    problems: list[Problem] = []
    for pod in stage.pods:
        name = pod_name(pod)
        try:
            made[name] = pod_volumes(pod, sandboxes[name].node, folders)
        except InputError as error:
            problems += error.problems
    problems += source_problems(stage)
    if not problems:
        problems += _unused(folders, (volume for volumes in made.values() for volume in volumes.values()))
    if problems:
        raise InputError(problems)
    return made


def _unused(folders: Mapping[str, Path], volumes: Iterable[Volume]) -> Iterable[Problem]:
    claims = sorted({volume.key.partition(".")[2] for volume in volumes if volume.key.startswith("claim.")})
    for name in folders:
        if name not in claims:
            known = f"claims are: {', '.join(claims)}" if claims else "the pods mount no claim"
            yield Problem("--claim", name, "no pod mounts such a claim", known)
