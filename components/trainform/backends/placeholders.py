"""`$(NAME)` in commands and values: Kubernetes puts the variable in, or leaves the text as it stands and says nothing.

A variable is known in a value if it stands before it in the container's `env`, and in a command wherever it stands. What the image sets, and what the
launch script sets when the container has started, is known in neither. In a probe's command a value is known that stands in `env` itself, and in a hook's
none is. Source: Kubernetes 1.34, `pkg/kubelet/kubelet_pods.go`, third_party/forked/golang/expansion.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from trainform.backends.backend import Backend
from trainform.backends.texts import NAME, VARIABLE, Fields, Text, few, of_launch, shown, texts
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.plan.references import references
from trainform.spec.experiment import Experiment

# Kubernetes knows these, too: of each Service in the namespace.
_OF_SERVICES = re.compile(
    r"[A-Z0-9_]+_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)", re.ASCII
)


class _Left(Struct, frozen=True):
    """A name that Kubernetes leaves as it stands in a text."""

    place: Text
    name: str


def placeholder_problems(
    experiment: Experiment, plan: Plan, backend: Backend, templates: Iterable[Template]
) -> Iterator[Problem]:
    """Those of variables that are there, but only later: the program would get the text itself."""
    conventions = backend.conventions(plan)
    fields = Fields(experiment, plan, conventions)
    found: dict[tuple[str, str], Problem] = {}
    for left in _left_as_they_stand(text for text in texts(templates) if not text.run_by):
        why = _later(left, plan, conventions.of(left.place.container.template.role))
        if why is not None:
            path = fields.of(left.place)
            reason, fix = why
            text = f"`$({shown(left.name)})` would stay as it stands: {reason}"
            found.setdefault((path, left.name), Problem(path, None, text, fix))
    yield from found.values()


def placeholder_notes(
    experiment: Experiment, plan: Plan, backend: Backend, templates: Iterable[Template]
) -> Iterator[str]:
    """Those of variables that nothing here sets, and of commands into which Kubernetes puts none. A runtime of somebody else's may have variables of
    its own."""
    if plan.runtime is not None:
        return
    conventions = backend.conventions(plan)
    fields = Fields(experiment, plan, conventions)
    of_containers, of_handlers = itertools.tee(texts(templates))
    found: dict[tuple[str, str], str] = {}
    for left in _left_as_they_stand(text for text in of_containers if not text.run_by):
        added = conventions.of(left.place.container.template.role).appended
        if _is_told(left) and (left.place.variable is not None or left.name not in added):
            path = fields.of(left.place)
            found.setdefault((path, left.name), _note(left, path))
    for text in (text for text in of_handlers if text.run_by):
        for name in references(text.text):
            why = _not_put_in(text, name, conventions.of(text.container.template.role))
            if why is not None:
                path = fields.of(text)
                found.setdefault((path, name), f"{path}: {why}")
    yield from few([*found.values()], "names in `$(…)` stay as they stand")


def _left_as_they_stand(found: Iterable[Text]) -> Iterator[_Left]:
    for text in found:
        for name in references(text.text):
            if not text.knows(name) and not _OF_SERVICES.fullmatch(name):
                yield _Left(text, name)


def _later(left: _Left, plan: Plan, conventions: PodConventions) -> tuple[str, str] | None:
    """Reason and fix if the variable is there only later; None if nothing here sets it."""
    name, meant = left.name, f"write `$$({shown(left.name)})` where this text is meant"
    variable = left.place.variable
    if variable is not None and shown(variable) == shown(name):
        return (
            "it is the variable's own name, and Kubernetes does not know what the image sets",
            f"write the whole value, set it in a shell (`[sh, -c, 'export {shown(name)}=…; exec …']`), or {meant}",
        )
    if name in left.place.container.values:
        reason = f"Kubernetes puts in variables that stand before, and {shown(name)} stands behind"
        return reason, f"put it before; of variables that refer to each other write one in full; or {meant}"
    if variable is not None and name in conventions.appended:
        reason = f"the operator adds {name} behind the experiment's own variables"
        return reason, f"write `$({name})` in the command, which knows it, or {meant}"
    if name in of_launch(left.place, plan, conventions) and name not in conventions.appended:
        reason = f"{name} is set by the launch script, when the container has started"
        own = "" if left.place.by_shell else f", or {meant}"
        return reason, f"read it in the program, or in a shell (`[sh, -c, '… ${name} …']`){own}"
    return None


def _is_told(left: _Left) -> bool:
    """False where a shell, or a source of variables that nothing here reads, gives the text a meaning."""
    place = left.place
    if place.container.body.get("envFrom") or left.name in place.container.values or left.name == place.variable:
        return False
    return not place.by_shell or VARIABLE.fullmatch(left.name) is not None


def _note(left: _Left, path: str) -> str:
    if NAME.fullmatch(left.name) is None:
        return f"{path}: `$(…)` stays as it stands, since no shell reads it; write `$$(…)` where this is meant"
    import difflib  # here, because only a mistake needs it

    near = difflib.get_close_matches(left.name, left.place.container.values, 1, cutoff=0.8)
    instead = f" (did you mean {near[0]}?)" if near else ""
    known = f"the container's `env` has no {left.name}{instead}, and Kubernetes does not know what the image or a program sets"
    if left.place.by_shell:
        return (
            f"{path}: {known}, so the shell takes `$({left.name})` for a command; write `${left.name}` for a variable"
        )
    return f"{path}: `$({left.name})` stays as it stands: {known}; write `$$({left.name})` where this is meant"


def _not_put_in(text: Text, name: str, conventions: PodConventions) -> str | None:
    """Why the program of a probe or a hook does not get the variable; None if it does, or if the text is one for a shell."""
    if text.by_shell and VARIABLE.fullmatch(name) is None:
        return None
    fix = f"write `${name}` for a shell" if text.by_shell else f"read it in a shell: `[sh, -c, '… ${name} …']`"
    if text.run_by.startswith("lifecycle"):
        return f"`$({name})` stays as it stands: Kubernetes puts no variables into the command of a hook; {fix}"
    if name in conventions.appended:
        return None  # how its value comes into the pod is the operator's own matter
    if name not in text.container.values:
        return f"`$({name})` stays as it stands: into the command of a probe Kubernetes puts only what the container's `env` has; {fix}"
    value = text.container.values[name]
    if value is None:
        return f"`$({name})` becomes empty: into the command of a probe Kubernetes puts no value that comes from elsewhere; {fix}"
    if next(references(value), None) is not None:
        return f"`$({name})` becomes `{name}`'s text with its own `$(…)`: into the command of a probe Kubernetes puts values as they stand; {fix}"
    return None
