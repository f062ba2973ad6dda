"""Checks of the cluster: connection, account, operators, permissions, and the objects that an environment names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from trainform import defaults
from trainform.backends.admission import CRDS as QUEUE_CRDS
from trainform.backends.admission import PODGROUP_CRDS
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import ClusterApi, each, refusal
from trainform.cluster.identity import environment_problem, is_sandbox
from trainform.cluster.live_objects import path_of
from trainform.cluster.operators import operators, served_operators
from trainform.local.doctor.check_runs import Finding, Findings, Request, State
from trainform.project import deploy
from trainform.spec.environment import Environment

ANONYMOUS = "system:anonymous"
# Requests of Pulumi's provider (4.25). Without `list` it waits ten minutes for a deletion, without `get` it crashes.
VERBS = ("get", "list", "watch", "create", "patch", "delete")
EXPERIMENT_KINDS = ("configmaps", "services", "secrets", "persistentvolumeclaims")  # and the operator's
NAMESPACES, PRIORITY_CLASSES = "namespaces", "priorityclasses.scheduling.k8s.io"
CLUSTER_SCOPED = frozenset({NAMESPACES, PRIORITY_CLASSES, *QUEUE_CRDS})


def look_at_kubeconfig(request: Request, findings: Findings) -> Finding:
    """Check the kubeconfig and its context, and open the connection."""
    api = ClusterApi(request.context, request.timeout)
    config = api.config
    place = "the pod's service account" if config.fname is None else str(config.fname)
    which = "of the environment" if request.context is not None else "the current one"
    text = f"context {config.context_name} ({which}) of {place}, server {api.server}"
    details = {"context": config.context_name, "server": api.server}
    return Finding(State.OK, text, details=details, brief=f"context {config.context_name}", value=api)


def connection(findings: Findings) -> ClusterApi:
    """Return the connection that the check of the kubeconfig opened."""
    return cast(ClusterApi, findings["kubeconfig"].value)


def look_at_cluster(request: Request, findings: Findings) -> Finding:
    """Check that a Kubernetes API answers, and which account it sees."""
    api, path = connection(findings), "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    version = api.version()
    review = api.post(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    if ANONYMOUS in review.message:
        return Finding(State.MISSING, f"the account is {ANONYMOUS}: the kubeconfig has no credentials for the cluster")
    details = {"version": version}
    if review.found:
        with api.reading(path):
            details["user"] = str(review.body["status"]["userInfo"]["username"])
    brief = f"Kubernetes {version}"
    return Finding(State.OK, f"{brief}, account {details.get('user', 'unknown')}", details=details, brief=brief)


def look_at_identity(request: Request, findings: Findings) -> Finding:
    """Check that it is the cluster to which the environment is bound, and show the line that binds it."""
    api, environment = connection(findings), request.environment
    problem = None if environment is None else environment_problem(api, environment)
    if problem is not None:
        return Finding(State.MISSING, problem.reason, problem.fix)
    uid = api.uid()
    if uid is None:
        return Finding(State.OK, f"this account has no permission to read the namespace {defaults.KUBE_SYSTEM}")
    details = {"uid": uid}
    if environment is None or environment.cluster.uid is not None or is_sandbox(api):
        return Finding(State.OK, uid, details=details)
    fix = f"write in the environment `cluster: {{context: {api.config.context_name}, uid: {uid}}}`"
    return Finding(State.NOTE, f"{uid}; the environment names none, and is bound to no cluster", fix, details)


def look_at_operators(request: Request, findings: Findings) -> Finding:
    """Check that the operators of the environment are served; without an environment, any of a backend."""
    served, environment = served_operators(connection(findings)), request.environment
    text, details = ", ".join(served) if served else "none", {"found": served}
    needed = () if environment is None else (environment.backend, environment.admission)
    lacking = [main for name, (main, *_) in operators().items() if name in needed and name not in served]
    if lacking:
        names = " and ".join(f"{row.project} ({row.api_version})" for row in lacking)
        fix = f"install {' and '.join(row.project for row in lacking)} in the cluster, or choose another `backend`"
        return Finding(State.MISSING, f"the environment needs {names}; found: {text}", fix, details)
    return Finding(State.OK if {*served} - {defaults.KUEUE} else State.MISSING, text, details=details, brief=text)


# --- objects that an environment names


def look_at_environment(request: Request, findings: Findings) -> Finding:
    """Check that the objects exist which the environment names."""
    environment, api = _environment(request), connection(findings)
    named = {
        "Namespace": [environment.namespace.name],
        "Queue": [defaults.QUEUE, *environment.queues] if environment.admission == defaults.VOLCANO else [],
        "PriorityClass": environment.priority_classes,
        "StorageClass": environment.storage_classes.values(),
        "PersistentVolumeClaim": environment.claims,
        "Secret": environment.image_pull_secrets,
    }
    objects = [(kind, name) for kind, names in named.items() for name in dict.fromkeys(names)]
    paths = [path_of(kind, environment.namespace.name, name) for kind, name in objects]
    answers = each(lambda path: api.get(path, metadata_only=True), paths)
    shown = [" ".join(path.split("/")[-2:]) for path in paths]
    missing = [text for text, answer in zip(shown, answers, strict=True) if answer.missing]
    unread = [text for text, answer in zip(shown, answers, strict=True) if not (answer.found or answer.missing)]
    if missing:
        fix = f"`{deploy(environment.name)}` creates those of the environment; ask the platform team for the others"
        return Finding(State.MISSING, f"there is no {', no '.join(missing)}", fix, {"missing": missing})
    if unread:
        return Finding(State.UNKNOWN, f"this account has no permission to read {', '.join(unread)}")
    return Finding(State.OK, ", ".join(shown))


def _environment(request: Request) -> Environment:
    """Return the environment, for checks that are made only with one."""
    return cast(Environment, request.environment)


# --- permissions, for kinds as kubectl names them: `jobs.batch.volcano.sh`


def experiment_kinds(backend: str, admission: str) -> list[str]:
    """Return the kinds that `pulumi up` of an experiment may create, without queues: few experiments have one."""
    made = BACKENDS[backend]
    gangs = PODGROUP_CRDS if admission == defaults.VOLCANO and made.MAKES_GANGS else ()
    jobs = (crd for operator in made.OPERATORS for crd in operator.crds)
    return [*dict.fromkeys([*EXPERIMENT_KINDS, *jobs, *gangs])]


def environment_kinds(environment: Environment) -> list[str]:
    """Return the kinds that the stack of this environment creates."""
    kinds = {
        NAMESPACES: environment.namespace.create,
        "persistentvolumeclaims": environment.claims,
        PRIORITY_CLASSES: environment.priority_classes,
        **dict.fromkeys(QUEUE_CRDS, environment.queues),
    }
    return [kind for kind, listed in kinds.items() if listed]


def look_at_rights(request: Request, findings: Findings) -> Finding:
    """Check the permissions for `pulumi up` of an experiment in the environment's namespace."""
    environment = _environment(request)
    return _rights(connection(findings), experiment_kinds(environment.backend, environment.admission), environment)


def look_at_environment_rights(request: Request, findings: Findings) -> Finding:
    """Check the permissions for `pulumi up` of the environment's own stack."""
    environment = _environment(request)
    return _rights(connection(findings), environment_kinds(environment), environment)


def _rights(api: ClusterApi, kinds: Sequence[str], environment: Environment) -> Finding:
    """Return a finding with the verbs that are not allowed on objects of these kinds."""
    namespace = environment.namespace.name
    where = "" if CLUSTER_SCOPED.issuperset(kinds) else f" in the namespace {namespace}"
    reviews = [(verb, kind) for kind in kinds for verb in VERBS]
    allowed = each(lambda review: _is_allowed(api, *review, namespace), reviews)
    refused: dict[str, list[str]] = {}
    for (verb, kind), may in zip(reviews, allowed, strict=True):
        if not may:
            refused.setdefault(kind, []).append(verb)
    if not refused:
        return Finding(State.OK, f"all permissions that are needed{where}")
    words = "; ".join(f"{', '.join(verbs)} {kind}" for kind, verbs in refused.items())
    return Finding(State.MISSING, f"not allowed{where}: {words}", details={"refused": refused})


def _is_allowed(api: ClusterApi, verb: str, kind: str, namespace: str) -> bool:
    plural, _, group = kind.partition(".")
    attributes = {"verb": verb, "group": group, "resource": plural}
    attributes |= {} if kind in CLUSTER_SCOPED else {"namespace": namespace}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = api.post(path, {**review, "spec": {"resourceAttributes": attributes}})
    if not answer.found:
        raise refusal(answer, "return the permissions of this account")
    with api.reading(path):
        return bool(answer.body["status"]["allowed"])
