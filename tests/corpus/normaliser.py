"""Normalise the requests of a job's pods, from rendered objects and from rows of the corpus."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from trainform import defaults
from trainform.spec.quantities import amount

Body = dict[str, Any]
OWN = (defaults.LAUNCH_MOUNT, defaults.DEEPSPEED_MOUNT)
SOURCES = {
    "persistentVolumeClaim": ("claim", "claimName"),
    "hostPath": ("host", "path"),
    "configMap": ("config map", "name"),
    "secret": ("secret", "secretName"),
    "csi": ("csi", "driver"),
}
"""Types of volumes: how the corpus calls them, and the field that identifies one."""
REFERENCES = {"secretKeyRef": "secret", "configMapKeyRef": "config map"}


def normalise_row(row: Mapping[str, Body]) -> dict[str, Body]:
    """Return what each group asks for; `all` has what the groups have in common."""
    common = row.get("all", {})
    groups = {name: {**common, **group} for name, group in row.items() if name != "all"}
    return {
        name: {
            "replicas": group["replicas"],
            "image": group["image"],
            "resources": {name: _bounds(value) for name, value in group.get("resources", {}).items()},
            "volumes": group.get("volumes", {}),
            "env": group.get("env", {}),
        }
        for name, group in groups.items()
    }


def normalise_job(bodies: Sequence[Body], kind: str, user_env: Iterable[str]) -> dict[str, Body]:
    """Return what each group of pods asks for, without the files and variables of trainform's own launch."""
    own = {body["metadata"]["name"] for body in bodies if body["kind"] in ("ConfigMap", "Secret")}
    return {
        name: {
            "replicas": replicas,
            "image": main_container(pod)["image"],
            "resources": _resources(main_container(pod).get("resources", {})),
            "volumes": _volumes(pod, own),
            "env": {key: value for key, value in variables(main_container(pod)).items() if key in set(user_env)},
        }
        for name, (replicas, pod) in pods(bodies, kind).items()
    }


def pods(bodies: Sequence[Body], kind: str) -> dict[str, tuple[int, Body]]:
    """Return the number of pods and their spec by group. kind: with the version of its API
    (`batch/v1/Job`)."""
    [job] = [body for body in bodies if f"{body['apiVersion']}/{body['kind']}" == kind]
    spec = job["spec"]
    if job["kind"] == "TrainJob":
        [runtime] = [body for body in bodies if body["kind"] == "TrainingRuntime"]
        spec = runtime["spec"]["template"]["spec"]
    if "replicatedJobs" in spec:
        jobs = {each["name"]: (each["replicas"], each["template"]["spec"]) for each in spec["replicatedJobs"]}
        return {name: (count * job["completions"], job["template"]["spec"]) for name, (count, job) in jobs.items()}
    if "tasks" in spec:
        return {task["name"]: (task["replicas"], task["template"]["spec"]) for task in spec["tasks"]}
    if "template" in spec:
        name = spec["template"]["metadata"]["labels"][defaults.ROLE_LABEL]
        return {name: (spec["completions"], spec["template"]["spec"])}
    [groups] = [value for key, value in spec.items() if key.endswith("ReplicaSpecs")]
    return {name.lower(): (group["replicas"], group["template"]["spec"]) for name, group in groups.items()}


def main_container(pod: Body) -> Body:
    """Return the container of the training; init containers are not compared."""
    main: Body = pod["containers"][0]
    return main


def variables(container: Body) -> dict[str, str]:
    """Return the container's variables: a text, or the kind and the name of their source."""
    return {
        each["name"]: each["value"] if "value" in each else _source(each["valueFrom"])
        for each in container.get("env", [])
    }


def _source(source: Body) -> str:
    [(kind, found)] = source.items()
    if kind == "fieldRef":
        return f"field {found['fieldPath']}"
    return f"{REFERENCES[kind]} {found['name']}/{found['key']}"


def _bounds(value: Any) -> tuple[Decimal | None, Decimal | None]:
    """Return request and limit of a resource; one number is both."""
    bounds = value if isinstance(value, dict) else {"request": value, "limit": value}
    request, limit = (None if bounds.get(key) is None else amount(str(bounds[key])) for key in ("request", "limit"))
    return (limit if request is None else request), limit  # Kubernetes requests a limit that has no request


def _resources(resources: Body) -> dict[str, tuple[Decimal | None, Decimal | None]]:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    return {
        name: _bounds({"request": requests.get(name), "limit": limits.get(name)}) for name in {**requests, **limits}
    }


def _volumes(pod: Body, own: set[str]) -> dict[str, str]:
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in main_container(pod).get("volumeMounts", [])}
    named = {path: _volume(volume, own) for path, volume in mounts.items() if path not in OWN}
    return {path: name for path, name in named.items() if name != "secret"}  # the keys of SSH


def _volume(volume: Body, own: set[str]) -> str:
    [(kind, source)] = [(kind, source) for kind, source in volume.items() if kind != "name"]
    if kind == "emptyDir":
        return " ".join(["memory" if "medium" in source else "scratch", *filter(None, [source.get("sizeLimit")])])
    word, field = SOURCES[kind]
    if source[field] in own:
        return "file" if kind == "configMap" else "secret"
    return f"{word} {source[field]}"


def words(bodies: Sequence[Body], container: Body) -> list[str]:
    """Return the words of the process that the container starts: those that the launch script runs at its end, with the
    container's arguments and variables in them, where trainform's script starts it."""
    said = [*container.get("command", []), *container.get("args", [])]
    script = f"{defaults.LAUNCH_MOUNT}/{defaults.LAUNCH_SCRIPT}"
    if script not in said:
        return plain(said)
    [files] = [body["data"] for body in bodies if defaults.LAUNCH_SCRIPT in body.get("data", {})]
    arguments = said[said.index(script) + 1 :]
    values = {f"${name}": value for name, value in variables(container).items()}
    run = shlex.split(files[defaults.LAUNCH_SCRIPT].rpartition("exec ")[2].replace("\\\n", " "))
    return plain([word for each in run for word in (arguments if each == "$@" else [values.get(each, each)])])


def plain(said: Iterable[str]) -> list[str]:
    """Return the words with one spelling of options: `--nnodes=2` is `--nnodes 2`, and `_` in their names is `-`."""
    parts = [(word.partition("=") if word.startswith("--") else (word, "", "")) for word in said]
    return [
        word for option, equals, value in parts for word in ([_option(option), value] if equals else [_option(option)])
    ]


def _option(word: str) -> str:
    return word.replace("_", "-") if word.startswith("--") else word
