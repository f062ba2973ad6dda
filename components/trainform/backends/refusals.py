"""Problems with what a backend cannot do: large objects, unsupported fields, variables of the launch script in texts.

Fixes name the backends that support a field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from trainform import defaults
from trainform.backends.backend import BACKENDS, Backend
from trainform.backends.support import Fields, Support, non_default
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.launch.launch import SCRIPT_VARIABLES
from trainform.plan.model import Plan, RolePlan
from trainform.plan.variables import references
from trainform.spec.experiment import Experiment

_SMALLER = (
    "put large values into a ConfigMap, or into a file of the image or of a volume, or use fewer roles, steps or "
    "replicas"
)
_FIELDS = {"files": ("files", "put large files into the image, or on a volume")}
"""The field of an object's content, and the fix."""
_FEWER_PORTS = "use `ports: shared`, or fewer replicas: each replica with ports of its own has a pod template"

# What an operator may lack beyond single fields (`Backend.LACKS`).
EXTRA_ROLES = "roles besides its replica types"
EVALUATORS = "evaluators"
JOB_RESTARTS = "restarts of the whole job"
RESTART_RULES = "restarts by any exit codes, and without a limit for disruptions"
STEPS_OF_ONE_POD = "steps of one pod for whose end the others wait, however long it takes"


def size_problems(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    """Yield a problem for each object that is too large for etcd. A dry run stores nothing, so no server reports them
    before `up`."""
    for manifest in manifests:
        size = len(json.dumps(manifest.body, ensure_ascii=False, separators=(",", ":")).encode())
        if size > defaults.LARGEST_OBJECT:
            key = override_key(manifest)
            per_replica = manifest.is_job and any(role.per_replica for role in plan.roles)
            field, fix = _FIELDS.get(key, ("", _SMALLER))
            path = f"manifest_overrides.{key}" if key in plan.manifest_overrides else field
            reason = (
                f"the object {key} has {size} bytes, and etcd stores at most {defaults.LARGEST_OBJECT} besides what "
                "servers add"
            )
            yield Problem("network.ports" if per_replica else path, None, reason, _FEWER_PORTS if per_replica else fix)


def support_problems(experiment: Experiment, fields: Fields) -> Iterator[Problem]:
    """Yield a problem for each set field that the backend does not support."""
    for field, support in fields.items():
        if support.is_refusal:
            for path, value in non_default(experiment, field):
                shown = value if isinstance(value, str | int) else None
                yield Problem(path, shown, support.how, support_fix(field, support))


def support_notes(experiment: Experiment, fields: Fields) -> Iterator[str]:
    """Yield the notes on those fields that the experiment sets."""
    for field, support in fields.items():
        if support.noted:
            yield from (
                f"{path}: {support.how}; if that is not wanted, {support_fix(field, support)}"
                for path, _ in non_default(experiment, field)
            )


def support_fix(field: str, support: Support) -> str:
    """Return what to write instead of a field that the backend does not support, or not as its text says, and which
    backends do."""
    return ", or ".join(
        part for part in (support.fix, support.elsewhere and another_backend(field, as_said=support.noted)) if part
    )


def another_backend(need: str, *, as_said: bool = False) -> str:
    """Return the end of a fix: `use the backend volcano or jobset`. need: the path of a field or one of the constants
    above; at least one backend supports it. This imports every backend, so call it only for a message that is shown."""
    *first, last = able(need, as_said=as_said)
    return f"use the backend {', '.join(first)} or {last}" if first else f"use the backend {last}"


def able(need: str, *, as_said: bool = False) -> list[str]:
    """Return the names of the backends that a fix can offer for the need. as_said: only those that need no note."""
    offered = ((name, backend) for name, backend in BACKENDS.items() if not backend.ONE_ROLE)
    return [name for name, backend in offered if is_able(backend, need, as_said=as_said)]


def is_able(backend: Backend, need: str, *, as_said: bool = False) -> bool:
    """Return whether the backend supports the need."""
    support = backend.FIELDS.get(need)
    falls_short = support is not None and (support.is_refusal or (as_said and support.noted))
    return need not in backend.LACKS and not falls_short


def program_problems(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[Problem]:
    """Yield problems with what the containers of the job would run, get or do after a failure."""
    yield from placeholder_problems(experiment, plan, backend)
    yield from overwritten_problems(plan, backend)
    yield from restart_problems(plan, backend)


def restart_problems(plan: Plan, backend: Backend) -> Iterator[Problem]:
    """Yield rules for restarts that the operator does not have."""
    own = backend.RESTARTS
    for role in plan.roles:
        rule, path = role.restart_rule, role.restart_path
        if rule is None or own.counts:
            continue
        if rule.ignore is not None:
            reason = f"{own.reason}; a disruption counts as any other failure"
            yield Problem(f"{path}.ignore", rule.ignore, reason, f"remove it, or {another_backend(RESTART_RULES)}")
        elif rule.when != "on-failure":
            reason = f"{own.reason}; a role has no limit of them"
            yield Problem(f"{path}.when", rule.when, reason, f"remove it, or {another_backend(RESTART_RULES)}")
        if rule.codes and rule.codes != own.codes and len(rule.codes) > own.most:
            shown = f"write `exit_codes: [{own.shown}]`, or " if own.shown else ""
            yield Problem(f"{path}.exit_codes", None, own.reason, f"{shown}{another_backend(RESTART_RULES)}")


def overwritten_problems(plan: Plan, backend: Backend) -> Iterator[Problem]:
    """Yield the user's variables that the operator sets too, in roles on their image's ENTRYPOINT: no command of
    trainform restores them."""
    appended = backend.conventions(plan).appended
    for role in plan.roles if appended else ():
        given = {variable.name: variable.origin for variable in role.env if not variable.origin.startswith("launcher.")}
        for index, init in enumerate(role.init):
            given |= {name: f"{role.init_path(index)}.env.{name}" for name in init.env}
        for name in given if not role.command else ():
            if name in appended:
                reason = "the operator sets the variable itself, and its value wins: no launch script restores yours"
                yield Problem(given[name], None, reason, "remove it, or write a `command` for the role or the launcher")


def placeholder_problems(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[Problem]:
    """Yield a problem for each field whose program would get the text `$(RANK)` itself."""
    scripted = {name for names in SCRIPT_VARIABLES[plan.launcher] for name in names.split(", ")}
    scripted -= backend.conventions(plan).appended
    found: dict[tuple[str, str], None] = {}
    for role in plan.roles if scripted else ():
        later = scripted - {variable.name for variable in role.env} if role.launched else ()
        for path, text in _texts(experiment, role) if later else ():
            for name in references(text) if "$(" in text else ():
                if name in later:
                    found[path, name] = None
    for path, name in found:
        reason = (
            f"`$({name})` would stay as it stands: {name} is set by the launch script, when the container has started"
        )
        fix = (
            f"read it in the program, or in a shell (`[sh, -c, '… ${name} …']`), or write `$$({name})` where this text "
            "is meant"
        )
        yield Problem(path, None, reason, fix)


def _texts(experiment: Experiment, role: RolePlan) -> Iterator[tuple[str, str]]:
    """Yield the texts of the user in the role's main container, each with its field."""
    yield from ((variable.origin, variable.value) for variable in role.env if isinstance(variable.value, str))
    command = experiment.roles[role.name].command
    if command is not None:
        yield from _words(f"roles.{role.name}.command", command)
        return
    launcher = experiment.launcher
    path, given = f"launcher.{launcher.kind}", getattr(launcher, launcher.kind)
    if isinstance(given, list):
        yield from _words(path, given)
        return
    for field in ("launcher_args", "args", "command"):
        yield from _words(f"{path}.{field}", getattr(given, field, ()))


def _words(path: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    yield from ((f"{path}[{index}]", word) for index, word in enumerate(words))
