"""Checks of the cluster: connection, account, operators and permissions."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence, Set
from http.client import OK
from typing import Any, cast

from msgspec import Struct

from trainform import defaults
from trainform.backends.gangs import PODGROUP_CRDS
from trainform.backends.queues import CRDS as QUEUE_CRDS
from trainform.backends.table import BACKENDS
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import environment_problem, is_sandbox
from trainform.cluster.operators import Operator, operators
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.doctor.runner import in_parallel
from trainform.spec.environment import Environment

ANONYMOUS = "system:anonymous"
# The requests of Pulumi's Kubernetes provider (4.25) for its objects. Without `list` it does not see a deletion and waits ten minutes;
# without `get` it crashes.
VERBS = ("get", "list", "watch", "create", "patch", "delete")
OF_EXPERIMENTS = ("configmaps", "services", "secrets", "persistentvolumeclaims")  # in addition to the operator's kinds


def look_at_kubeconfig(request: Request, findings: Findings) -> Finding:
    """Check the kubeconfig and its context, and open the connection."""
    api = ClusterApi(request.context, request.timeout)
    config = api.config
    place = "the pod's service account" if config.fname is None else str(config.fname)
    which = "of the environment" if request.context is not None else "the current one"
    text = f"context {config.context_name} ({which}) of {place}, server {api.server}"
    return Finding(State.OK, text, details={"context": config.context_name, "server": api.server}, value=api)


def connection(findings: Findings) -> ClusterApi:
    """Return the connection that the check of the kubeconfig opened."""
    return cast(ClusterApi, findings["kubeconfig"].value)


def look_at_cluster(request: Request, findings: Findings) -> Finding:
    """Check that a Kubernetes API answers."""
    api = connection(findings)
    answer = api.get("/version")
    version = answer.body.get("gitVersion")
    if answer.forbidden:
        return Finding(State.OK, "it answers, but this account has no permission to read its version")
    if answer.status != OK or not isinstance(version, str):
        raise api.not_kubernetes("its answer has no version")
    return Finding(State.OK, f"Kubernetes {version}", details={"version": version})


def look_at_identity(request: Request, findings: Findings) -> Finding:
    """Check that it is the cluster to which the environment is bound, and show the line that binds it."""
    api = connection(findings)
    uid, cluster = api.uid(), None if request.environment is None else request.environment.cluster
    details = {} if uid is None else {"uid": uid}
    if request.environment is not None and cluster is not None and cluster.uid is not None:
        problem = environment_problem(api, request.environment)
        if problem is not None:
            return Finding(State.MISSING, problem.reason, problem.fix, details)
        return Finding(State.OK, f"{uid}, to which the environment is bound", details=details)
    if uid is None:
        return Finding(State.OK, f"this account has no permission to read the namespace {defaults.KUBE_SYSTEM}")
    if cluster is None or is_sandbox(api):
        return Finding(State.OK, uid, details=details)
    fix = f"write in the environment `cluster: {{context: {api.config.context_name}, uid: {uid}}}`"
    return Finding(State.NOTE, f"{uid}; the environment names none, and is bound to no cluster", fix, details)


def look_at_account(request: Request, findings: Findings) -> Finding:
    """Check which account the cluster sees."""
    api, path = connection(findings), "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = api.post(
        path,
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    if ANONYMOUS in answer.message:
        return Finding(State.MISSING, f"the account is {ANONYMOUS}: the kubeconfig has no credentials for the cluster")
    if not answer.found:
        return Finding(State.UNKNOWN, f"the cluster does not return the account: {answer.message}")
    with api.reading(path):
        user = str(answer.body["status"]["userInfo"]["username"])
    return Finding(State.OK, user, details={"user": user})


# --- operators


def look_at_operators(request: Request, findings: Findings) -> Finding:
    """Check which operators are served, with the versions of their controllers. Those of the environment must be; without one, any."""
    api = connection(findings)
    groups = api.get("/apis")
    if not groups.found:
        return Finding(State.UNKNOWN, f"the cluster does not return its API groups: {groups.message}")
    with api.reading("/apis"):
        served = {str(group["name"]): list(_versions(group)) for group in groups.body["groups"]}
    controllers = _controllers(api)
    there = {
        row.name: _controller(row, controllers) for row in operators() if row.api_version in served.get(row.group, ())
    }
    absent = [_absent(row, served) for row in operators() if row.name not in there]
    text = ", ".join(f"{name} ({version})" for name, version in there.items()) if there else "none"
    text += f"; not found: {', '.join(absent)}" if absent else ""
    details = {"found": there}
    lacking = [row.project for row in operators() if row.name in required_operators(request) and row.name not in there]
    if lacking:
        fix = f"install {' and '.join(lacking)} in the cluster, or choose another `backend`"
        return Finding(State.MISSING, f"the environment needs {' and '.join(lacking)}; found: {text}", fix, details)
    if not set(there) - {defaults.KUEUE}:
        return Finding(State.MISSING, text, details=details)
    return Finding(State.OK, text, details=details)


def required_operators(request: Request) -> tuple[str, ...]:
    """Return the operators that the environment's jobs need."""
    environment = request.environment
    return () if environment is None else tuple(dict.fromkeys((environment.backend, environment.admission)))


def _versions(group: Mapping[str, Any]) -> Iterator[str]:
    return (str(version["groupVersion"]) for version in group["versions"])


def _absent(operator: Operator, served: Mapping[str, list[str]]) -> str:
    others = served.get(operator.group)
    return f"{operator.name} (serves {', '.join(others)}, not {operator.api_version})" if others else operator.name


def _controllers(api: ClusterApi) -> list[tuple[str, bool]] | None:
    """Return image and readiness of every Deployment, None if they may not be listed."""
    path = "/apis/apps/v1/deployments"
    with api.reading(path):
        items = api.list_all(path, _images)
    return None if items is None else [image for images in items for image in images]


def _images(deployment: Any) -> list[tuple[str, bool]]:
    ready = deployment.get("status", {}).get("readyReplicas", 0) > 0
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return [(str(container["image"]), ready) for container in containers]


def _controller(operator: Operator, controllers: list[tuple[str, bool]] | None) -> str:
    """Return the version of an operator's controller, or why it is unknown."""
    if controllers is None:
        return "version unknown: this account has no permission to list deployments"
    for image, ready in controllers:
        name, version = image_version(image)
        if name == operator.image:
            return version if ready else f"{version}, but none of its pods is ready"
    return "version unknown: its controller has no deployment"


def image_version(image: str) -> tuple[str, str]:
    """Return the last part of an image's name, and its tag, or its digest, or `latest`."""
    name, _, digest = image.rpartition("/")[2].partition("@")
    name, _, tag = name.partition(":")
    return name, next(word for word in (tag, digest, "latest") if word)


# --- permissions


class Objects(Struct, frozen=True):
    """A kind of objects that `pulumi up` creates; `namespace` is None for the whole cluster."""

    group: str
    plural: str
    namespace: str | None = None

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def look_at_rights(request: Request, findings: Findings) -> Finding:
    """Check the permissions for `pulumi up` of an experiment, in the namespace of the environment or of the context."""
    api = connection(findings)
    if request.environment is not None:
        environment = request.environment
        wanted = experiment_objects({environment.backend}, environment.admission, environment.namespace.name)
    else:
        found = set(findings["operators"].details.get("found", ()))
        admission = defaults.VOLCANO if defaults.VOLCANO in found else defaults.KUEUE
        wanted = experiment_objects(found, admission, api.config.namespace)
    return _rights(api, wanted)


def experiment_objects(backends: Set[str], admission: str, namespace: str) -> list[Objects]:
    """Return the kinds that `pulumi up` of an experiment may create, for any of these backends. Queues are left out: few experiments have
    their own."""
    chosen = [row for row in operators() if row.name in backends]
    made_here = any(BACKENDS[name].MAKES_GANGS for name in backends if name in BACKENDS)
    gangs = _of_crds(PODGROUP_CRDS, namespace) if admission == defaults.VOLCANO and made_here else []
    return [
        *(Objects("", plural, namespace) for plural in OF_EXPERIMENTS),
        *(Objects(row.group, plural, namespace) for row in chosen for plural in row.plurals),
        *gangs,
    ]


def look_at_environment_rights(request: Request, findings: Findings) -> Finding:
    """Check the permissions for `pulumi up` of the environment's own stack."""
    api, environment = connection(findings), request.environment
    namespace = api.config.namespace if environment is None else environment.namespace.name
    return _rights(api, environment_objects(environment, namespace))


def environment_objects(environment: Environment | None, namespace: str) -> list[Objects]:
    """Return the kinds that the stack of this environment creates; without an environment, all kinds that one may create."""
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
    """Return a finding with the verbs that are not allowed on these objects."""
    reviews = [(verb, objects) for objects in wanted for verb in VERBS]
    allowed = in_parallel([functools.partial(_allowed, api, *words) for words in reviews])
    if None in allowed:
        return Finding(State.UNKNOWN, "the cluster does not return the permissions of this account")
    namespaces = sorted({objects.namespace for objects in wanted if objects.namespace is not None})
    where = f" in the namespace {namespaces[0]}" if namespaces else ""
    refused: dict[str, list[str]] = {}
    for (verb, objects), may in zip(reviews, allowed, strict=True):
        if not may:
            refused.setdefault(str(objects), []).append(verb)
    if not refused:
        return Finding(State.OK, f"all permissions that are needed{where}")
    words = "; ".join(f"{', '.join(verbs)} {kind}" for kind, verbs in refused.items())
    return Finding(State.MISSING, f"not allowed{where}: {words}", details={"refused": refused})


def _allowed(api: ClusterApi, verb: str, objects: Objects) -> bool | None:
    """Return if a verb is allowed, None if the cluster does not answer that question."""
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
