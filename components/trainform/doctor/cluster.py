"""Looks at the cluster: the way to it, who we are there, which operators it has, what we may do."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence, Set
from http.client import OK
from typing import Any, cast

from trainform.backends.gangs import PODGROUP_CRDS
from trainform.backends.queues import CRDS as QUEUE_CRDS
from trainform.catalog import defaults
from trainform.cluster.api import ClusterApi
from trainform.cluster.operators import OPERATORS, Operator
from trainform.doctor.looking import side_by_side
from trainform.doctor.model import Asked, Finding, Findings, State
from trainform.spec.environment import Environment

ANONYMOUS = "system:anonymous"
# What Pulumi's Kubernetes provider (4.25) does with each object of its own. Without `list` a deletion is never seen and waits for ten
# minutes, without `get` the provider crashes.
VERBS = ("get", "list", "watch", "create", "patch", "delete")
OF_EXPERIMENTS = ("configmaps", "services", "secrets", "persistentvolumeclaims")  # beside the operator's own kinds
MAKES_GANGS = "jobset"  # the backend whose gangs are made here and not by its operator


def look_at_kubeconfig(asked: Asked, findings: Findings) -> Finding:
    """The file and the context, and the connection that they make."""
    api = ClusterApi(asked.context, asked.patience)
    config = api.config
    place = "the pod's service account" if config.fname is None else str(config.fname)
    which = "of the environment" if asked.context is not None else "the current one"
    text = f"context {config.context_name} ({which}) of {place}, server {api.server}"
    return Finding(State.OK, text, details={"context": config.context_name, "server": api.server}, value=api)


def connection(findings: Findings) -> ClusterApi:
    """The one that the kubeconfig made."""
    return cast(ClusterApi, findings["kubeconfig"].value)


def look_at_cluster(asked: Asked, findings: Findings) -> Finding:
    """Whether a Kubernetes API answers."""
    api = connection(findings)
    answer = api.get("/version")
    version = answer.body.get("gitVersion")
    if answer.forbidden:
        return Finding(State.OK, "answers; this account may not know its version")
    if answer.status != OK or not isinstance(version, str):
        raise api.stranger("it tells no version")
    return Finding(State.OK, f"Kubernetes {version}", details={"version": version})


def look_at_account(asked: Asked, findings: Findings) -> Finding:
    """Whom the cluster takes us for."""
    api, path = connection(findings), "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = api.post(
        path,
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    if ANONYMOUS in answer.message:
        return Finding(State.MISSING, f"the cluster takes us for {ANONYMOUS}: the kubeconfig has no credentials for it")
    if not answer.found:
        return Finding(State.UNKNOWN, f"the cluster does not say: {answer.message}")
    with api.reading(path):
        user = str(answer.body["status"]["userInfo"]["username"])
    return Finding(State.OK, user, details={"user": user})


# --- operators


def look_at_operators(asked: Asked, findings: Findings) -> Finding:
    """Which are served, and the version of each one's controller. The environment's must be among them; without an environment, any."""
    api = connection(findings)
    groups = api.get("/apis")
    if not groups.found:
        return Finding(State.UNKNOWN, f"the cluster does not say what it serves: {groups.message}")
    with api.reading("/apis"):
        served = {str(group["name"]): list(_versions(group)) for group in groups.body["groups"]}
    controllers = _controllers(api)
    there = {
        row.name: _controller(row, controllers) for row in OPERATORS if row.api_version in served.get(row.group, ())
    }
    absent = [_absent(row, served) for row in OPERATORS if row.name not in there]
    text = ", ".join(f"{name} ({version})" for name, version in there.items()) if there else "none"
    text += f"; not found: {', '.join(absent)}" if absent else ""
    details = {"found": there}
    lacking = [row.project for row in OPERATORS if row.name in wanted_operators(asked) and row.name not in there]
    if lacking:
        fix = f"install {' and '.join(lacking)} in the cluster, or choose another `backend`"
        return Finding(State.MISSING, f"the environment needs {' and '.join(lacking)}; found: {text}", fix, details)
    if not set(there) - {defaults.KUEUE}:
        return Finding(State.MISSING, text, details=details)
    return Finding(State.OK, text, details=details)


def wanted_operators(asked: Asked) -> tuple[str, ...]:
    """Those that the environment's jobs go to."""
    environment = asked.environment
    return () if environment is None else tuple(dict.fromkeys((environment.backend, environment.admission)))


def _versions(group: Mapping[str, Any]) -> Iterator[str]:
    return (str(version["groupVersion"]) for version in group["versions"])


def _absent(operator: Operator, served: Mapping[str, list[str]]) -> str:
    others = served.get(operator.group)
    return f"{operator.name} (serves {', '.join(others)}, not {operator.api_version})" if others else operator.name


def _controllers(api: ClusterApi) -> list[tuple[str, bool]] | None:
    """Image, and whether a pod of it is ready, of every Deployment; None where they may not be listed."""
    path = "/apis/apps/v1/deployments"
    with api.reading(path):
        items = api.list_all(path, _images)
    return None if items is None else [image for images in items for image in images]


def _images(deployment: Any) -> list[tuple[str, bool]]:
    ready = deployment.get("status", {}).get("readyReplicas", 0) > 0
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return [(str(container["image"]), ready) for container in containers]


def _controller(operator: Operator, controllers: list[tuple[str, bool]] | None) -> str:
    """The version of the operator's controller, or why it is not known."""
    if controllers is None:
        return "version unknown: this account may not list deployments"
    for image, ready in controllers:
        name, version = image_version(image)
        if name == operator.image:
            return version if ready else f"{version}, and no pod of it is ready"
    return "version unknown: no deployment of its controller"


def image_version(image: str) -> tuple[str, str]:
    """The last part of an image's name, and its tag; without one its digest, or `latest`."""
    name, _, digest = image.rpartition("/")[2].partition("@")
    name, _, tag = name.partition(":")
    return name, next(word for word in (tag, digest, "latest") if word)


# --- rights


@dataclasses.dataclass(frozen=True)
class Objects:
    """A kind of objects that `pulumi up` makes; without a namespace, in the whole cluster."""

    group: str
    plural: str
    namespace: str | None = None

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def look_at_rights(asked: Asked, findings: Findings) -> Finding:
    """What `pulumi up` of an experiment makes, in the environment's namespace or that of the context."""
    api = connection(findings)
    if asked.environment is not None:
        environment = asked.environment
        wanted = of_experiments({environment.backend}, environment.admission, environment.namespace.name)
    else:
        found = set(findings["operators"].details.get("found", ()))
        admission = defaults.VOLCANO if defaults.VOLCANO in found else defaults.KUEUE
        wanted = of_experiments(found, admission, api.config.namespace)
    return _rights(api, wanted)


def of_experiments(backends: Set[str], admission: str, namespace: str) -> list[Objects]:
    """What `pulumi up` of an experiment may make, for any of these backends. A queue of its own is not among them: few have one."""
    operators = [row for row in OPERATORS if row.name in backends]
    gangs = _of_crds(PODGROUP_CRDS, namespace) if admission == defaults.VOLCANO and MAKES_GANGS in backends else []
    return [
        *(Objects("", plural, namespace) for plural in OF_EXPERIMENTS),
        *(Objects(row.group, plural, namespace) for row in operators for plural in row.kinds),
        *gangs,
    ]


def look_at_environment_rights(asked: Asked, findings: Findings) -> Finding:
    """What `pulumi up` of the environment's own stack makes."""
    api, environment = connection(findings), asked.environment
    namespace = api.config.namespace if environment is None else environment.namespace.name
    return _rights(api, of_environments(environment, namespace))


def of_environments(environment: Environment | None, namespace: str) -> list[Objects]:
    """Only what this environment lists; without one, whatever one may list."""
    kinds = {
        Objects("", "namespaces"): environment is None or environment.namespace.create,
        Objects("", "persistentvolumeclaims", namespace): environment is None or environment.claims,
        Objects("scheduling.k8s.io", "priorityclasses"): environment is None or environment.priority_classes,
        **dict.fromkeys(_of_crds(QUEUE_CRDS), environment is None or environment.queues),
    }
    return [objects for objects, listed in kinds.items() if listed]


def _of_crds(crds: tuple[str, ...], namespace: str | None = None) -> list[Objects]:
    return [Objects(group, plural, namespace) for plural, _, group in (name.partition(".") for name in crds)]


def _rights(api: ClusterApi, wanted: Sequence[Objects]) -> Finding:
    """Which of the verbs we may not use on which objects."""
    asked = [(verb, objects) for objects in wanted for verb in VERBS]
    allowed = side_by_side([functools.partial(_allowed, api, *words) for words in asked])
    if None in allowed:
        return Finding(State.UNKNOWN, "the cluster does not say what we may do")
    namespaces = sorted({objects.namespace for objects in wanted if objects.namespace is not None})
    where = f" in the namespace {namespaces[0]}" if namespaces else ""
    refused: dict[str, list[str]] = {}
    for (verb, objects), may in zip(asked, allowed, strict=True):
        if not may:
            refused.setdefault(str(objects), []).append(verb)
    if not refused:
        return Finding(State.OK, f"all that is needed{where}")
    words = "; ".join(f"{', '.join(verbs)} {kind}" for kind, verbs in refused.items())
    return Finding(State.MISSING, f"not allowed{where}: {words}", details={"refused": refused})


def _allowed(api: ClusterApi, verb: str, objects: Objects) -> bool | None:
    """None where we may not even ask."""
    attributes = {"verb": verb, "group": objects.group, "resource": objects.plural}
    attributes |= {} if objects.namespace is None else {"namespace": objects.namespace}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = api.post(
        path,
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        },
    )
    with api.reading(path):
        return bool(answer.body["status"]["allowed"]) if answer.found else None
