"""Dry runs before anything is registered: the API server and its webhooks judge the job object, the pod template of
each role, and changes of existing objects.

A core/v1 PodTemplate stands for the pods: nothing runs from it, and quotas do not count it. Pulumi's own preview
ignores every 403, skips objects with values that are known only later, and overwrites fields of other managers where
`pulumi up` stops at them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS, value_at, without_paths
from trainform.cluster.api import Answer, Request
from trainform.cluster.field_places import experiment_field, place_in, set_by_patches
from trainform.cluster.outcome import Outcome, StackContext
from trainform.console.secrets import masked_line
from trainform.errors import ClusterError, Problem, without_credentials
from trainform.job.render import override_paths
from trainform.manifests.manifest import CLAIM, Manifest, mapping, mappings, resource_name
from trainform.manifests.templates import Template
from trainform.plan.model import Plan

MANAGER = "trainform"
LONGEST = 500  # characters of one refusal
_DRY = {"dryRun": "All", "fieldManager": MANAGER, "fieldValidation": "Strict"}
FORCE = "PULUMI_K8S_ENABLE_PATCH_FORCE"
"""A variable of Pulumi's provider: with `true` it overwrites fields of other managers."""
_CONFLICT = "FieldManagerConflict"
# `pulumi up` takes fields of these managers over when it updates an object; a preview does not.
_TAKEN_OVER = ('conflict with "kubectl', 'conflict with "before-first-apply"')
_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
_NO_RIGHT = re.compile(r'is forbidden: User ".*?" cannot (\w+) resource "([^"]*)"')
_DENIED = "denied the request"  # by a webhook, with whatever status it chooses
_WEBHOOK_DOWN, _QUOTA = "failed calling webhook", "exceeded quota"
_TYPES = "failed to create typed patch object"  # with status 500
_DECODING = "cannot be handled as a"  # the server stops at the first mistake of this kind
_MISTAKE = re.compile(r"\.((?:spec|metadata)[.\[]\S+): (.+)")
_FIELD = re.compile(r"(?:(?<![\w.])\.?|Go struct field \w+\.)((?:spec|metadata|template)(?:\.[\w-]+|\[[^]\s]*\])+)")
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
# Values are left out, since they may be secrets.
_VALUES = re.compile(
    r'\b((?:Invalid|Unsupported|Duplicate) value): (?:"(?:[^"\\]|\\.)*"|[{\[].*[}\]]|[^\s:]+)|, got .*'
)


class DryRun(Struct, frozen=True):
    """One dry run."""

    what: str
    request: Request
    role: str = ""
    """The role of a pod template; "" for an object."""
    patches: tuple[str, ...] = ()
    """Paths of the merge patches in it."""
    late: tuple[tuple[str, ...], ...] = ()
    """See `Manifest.late_refusals`."""
    path: str = ""
    """The field of the file that declares an object."""
    fix: str = ""
    """The way to make a change that the server refuses; "" where the refusal shows it."""
    taken_over: tuple[str, ...] = ()
    """Prefixes of messages about managers whose fields `pulumi up` overwrites."""
    suspended: tuple[str, ...] = ()
    """Paths that Kueue's webhook sets to true in a new object that Kueue admits."""


def dry_runs(
    plan: Plan, manifests: Sequence[Manifest], templates: Iterable[Template], stack: StackContext
) -> list[DryRun]:
    """Return the dry runs of a job, pod templates first: the server names the field of a mistake in them more
    precisely. A job that has not changed is left out."""
    templates_path = f"/api/v1/namespaces/{plan.namespace}/podtemplates"
    # the templates of one role differ only in labels and ports, unless a patch of the job changes one of them
    by_role = "job" not in plan.manifest_overrides
    distinct = {template.role if by_role else repr(template.body): template for template in templates}
    runs = []
    for template in distinct.values():
        body = {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"generateName": f"{MANAGER}-"},
            "template": template.body,
        }
        patches = tuple(path for path in plan.overrides if path in (template.path, "manifest_overrides.job"))
        request = Request("POST", templates_path, _DRY, body)
        runs.append(DryRun(f"the pods of {template.role}", request, template.role, patches))
    for manifest in manifests:
        if manifest.is_job and not stack.leaves(manifest):
            job = manifest.body
            plural = f"{job['kind'].lower()}s"  # every operator's job kind has a regular plural
            path = f"/apis/{job['apiVersion']}/namespaces/{plan.namespace}/{plural}/{job['metadata']['name']}"
            run = dry_run_of(manifest, path, stack, plan)
            suspended = BACKENDS[plan.backend].SUSPENDED if plan.admission == defaults.KUEUE else ()
            runs.append(structs.replace(run, suspended=suspended))
    return runs


def dry_run_of(manifest: Manifest, url: str, stack: StackContext, plan: Plan | None = None) -> DryRun:
    """Return the dry run of Pulumi's apply of an object. url: its path in the API. plan: None without a job."""
    body = without_paths(manifest.body, manifest.controller_owned)
    kind, name = body["kind"], body["metadata"]["name"]
    force = "true" if os.environ.get(FORCE) == "true" else "false"
    path, fix = _declaration(manifest, stack, in_job=plan is not None)
    return DryRun(
        f"{kind} {name}",
        Request("PATCH", url, {**_DRY, "force": force}, body),
        patches=() if plan is None else tuple(override_paths(plan, manifest)),
        late=manifest.late_refusals,
        path=path,
        fix=fix,
        taken_over=_TAKEN_OVER if stack.has(manifest) and not stack.preview else (),
    )


def _declaration(manifest: Manifest, stack: StackContext, *, in_job: bool) -> tuple[str, str]:
    """Return the field that declares an object, and what to do if the server refuses a change of it; "" for none."""
    kind, metadata = manifest.body["kind"], manifest.body["metadata"]
    name = metadata["name"]
    if kind == CLAIM:
        path = f"{'storage' if in_job else 'claims'}.{manifest.key.removeprefix('claim-')}.size"
        return path, "write the size that the claim has, or create a second claim under another name"
    if kind == "PriorityClass":
        resource = resource_name(metadata["labels"][defaults.NAME_LABEL], manifest)
        delete = f"pulumi destroy --target '**::{resource}' -s {stack.name}"
        delete = delete if stack.has(manifest) else f"kubectl delete priorityclass {name}"
        fix = (
            f"replace it in two steps: {delete} && pulumi up -s {stack.name}; in between pods that name it are refused"
        )
        return f"priority_classes.{name}", fix
    return "", ""


def judge(run: DryRun, answer: Answer | ClusterError, stack: StackContext, plan: Plan | None = None) -> Outcome:
    """Return the problems of a refusal, or why the server did not judge. plan: None for an object without a job."""
    if isinstance(answer, ClusterError):
        return Outcome(not_checked=[(run.what, answer.message)])
    conflicts = [cause for cause in _causes(answer) if cause.get("reason") == _CONFLICT]
    if conflicts:
        return Outcome([*_conflicts(run, conflicts, stack)])
    if answer.status == HTTPStatus.CREATED and any(value_at(answer.body, path) is not True for path in run.suspended):
        return Outcome([_unadmitted(run)])
    if answer.found:
        warnings = (shown_text(text) for text in answer.warnings if defaults.POD_SECURITY in text)
        return Outcome([*_ignored(run, answer)], warnings=[f"{run.what}: {text}" for text in warnings])
    message = answer.message
    denied = _DENIED in message
    right = _NO_RIGHT.search(message)
    if right is not None and not denied:
        reason = f"this account has no permission for a dry run (verb {right[1]} of {right[2]})"
        return Outcome(not_checked=[(run.what, reason)])
    if any(all(word in message for word in words) for words in run.late):
        reason = "the server accepts it only when an object exists to which it refers"
        return Outcome(not_checked=[(run.what, reason)])
    undecided = _WEBHOOK_DOWN in message or (_QUOTA in message and _makes_room(run, stack))
    if undecided or not (denied or _TYPES in message or answer.status in _REFUSALS):
        return Outcome(not_checked=[(run.what, shown_text(message))])
    return Outcome([_problem(run, plan, fields, reason) for fields, reason in _refusals(answer)])


def _ignored(run: DryRun, answer: Answer) -> Iterator[Problem]:
    """Yield the fields that the server has dropped without a word: those of features that it has not enabled."""
    kept = mapping(answer.body.get("spec"))
    for field in mapping(mapping(run.request.body).get("spec")) if kept else ():
        if field not in kept:
            reason = f"the API server ignores spec.{field} of {run.what}: it is too old, or the feature is not enabled"
            yield Problem(run.path, None, reason, "upgrade or configure the cluster, or use another backend")


def _unadmitted(run: DryRun) -> Problem:
    """Return the problem with a kind of job that Kueue does not know on this cluster."""
    kind = mapping(run.request.body).get("kind")
    reason = f"Kueue makes no Workload of a {kind} on this cluster, so it would never admit the {run.what}"
    fix = f"ask the platform team to list {kind} in Kueue's `integrations.frameworks`, or use another backend"
    return Problem("backend", None, reason, fix)


def _makes_room(run: DryRun, stack: StackContext) -> bool:
    """Return True if `up` may make room in the quota: it deletes a job of the same kind first, and no PodTemplate."""
    kind = str(mapping(run.request.body).get("kind", ""))
    return not run.path and (kind == "PodTemplate" or any(kind == applied for _, applied, *_ in stack.applied))


def _refusals(answer: Answer) -> Iterator[tuple[list[str], str]]:
    """Yield the fields and the reason of each refusal in a Status; without causes, the fields from its message."""
    fields = [cause for cause in _causes(answer) if cause.get("field") and cause["field"] != "<nil>"]
    unknown = _UNKNOWN.findall(answer.message)
    if fields:
        yield from (([cause["field"]], str(cause.get("message", ""))) for cause in fields)
    elif _TYPES in answer.message:
        yield from (([field], reason) for field, reason in _MISTAKE.findall(answer.message))
    elif unknown:
        yield from (([field], "the server does not know this field") for field in unknown)
    else:
        yield _FIELD.findall(answer.message), answer.message


def _causes(answer: Answer) -> list[dict[str, Any]]:
    return mappings(mapping(answer.body.get("details")).get("causes"))


def _conflicts(run: DryRun, causes: Iterable[Mapping[str, Any]], stack: StackContext) -> Iterator[Problem]:
    """Yield the fields that another manager owns with another value: Pulumi stops at them."""
    for cause in causes:
        field, message = str(cause.get("field", "")).removeprefix("."), shown_text(str(cause.get("message", "")))
        if not message.startswith(run.taken_over):
            reason = f"another manager owns {field} of {run.what}, and Pulumi does not overwrite it: {message}"
            fix = f"write the value that it has in the cluster, or overwrite it: {FORCE}=true pulumi up -s {stack.name}"
            yield Problem(run.path, None, reason, fix)


def _problem(run: DryRun, plan: Plan | None, fields: Sequence[str], reason: str) -> Problem:
    shown = f"the API server refuses {run.what}: {shown_text(reason)}"
    with_field = shown if not fields or fields[0] in shown else f"{shown} ({fields[0]})"
    if plan is None or run.path:
        return Problem(run.path, None, with_field, run.fix if run.fix else "change what the message names")
    places = [place_in(mapping(run.request.body), field) for field in fields]
    roles = [place.role or run.role for place in places] or [run.role]
    paths = (experiment_field(plan, place, role) for place, role in zip(places, roles, strict=False))
    path = next(filter(None, paths), "")
    if path:
        return Problem(path, None, shown, "correct it as the message says")
    fix = "change what the message names; "
    if run.patches:
        fix += f"the patches set {set_by_patches(plan, run.patches)}"
    else:
        fix += "if the experiment does not set it, ask the platform team, whose cluster refuses it"
    return Problem(plan.role_path(roles[0]) if roles[0] else ", ".join(run.patches), None, with_field, fix)


def shown_text(text: str) -> str:
    """Return a text of the server on one line, without values and secrets."""
    line = " ".join(masked_line(without_credentials(_VALUES.sub(r"\1", text))).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def drop_repeats(problems_of_runs: Iterable[Iterable[Problem]]) -> list[Problem]:
    """Return the problems of each run whose paths no earlier run has: the job object contains the pod templates, and so
    their mistakes. Where the server cannot decode a template, it may locate the mistake in the job object."""
    found: list[Problem] = []
    for problems in problems_of_runs:
        known = {problem.path for problem in found}
        found += [problem for problem in problems if problem.path not in known]
    return [
        problem
        for problem in found
        if _DECODING not in problem.reason or not any(other.path.startswith(f"{problem.path}.") for other in found)
    ]
