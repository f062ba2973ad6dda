"""Texts in containers into which somebody might put variables, Kubernetes or a shell, and the fields of the experiment from which they come.

Kubernetes puts `$(NAME)` into values and commands as they are said in `placeholders`. Into the command of a probe it puts only values that stand in the
container's `env` as they are, and nothing into that of a hook. Source: Kubernetes 1.34, pkg/kubelet: `kubelet_pods.go`, `prober/prober.go`,
`container/helpers.go` (`ExpandContainerCommandOnlyStatic`), `lifecycle/handlers.go`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.manifests.env import KEPT_PREFIX, PodConventions
from trainform.manifests.handlers import handlers
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.plan.launch.checkout import GIT_PREFIX
from trainform.plan.launch.launch import SCRIPT_VARIABLES
from trainform.plan.model import Plan, RolePlan
from trainform.spec.experiment import Experiment

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)  # a shell runs what is not called like one
MOST_NOTES = 20

_OPTION = re.compile(r"[-+][A-Za-z-]*")
_BEFORE_A_PROGRAM = re.compile(r"[-+][A-Za-z]*c[A-Za-z]*|--command")  # `-c`, `-lc`, `-ce`: a shell's, su's or Python's
_MOST_OPTIONS = 20  # between the two; nobody writes more


class _Container:
    """A container of the pods, with its variables. They are read once for all its texts, of which there may be very many."""

    def __init__(self, template: Template, where: str, body: dict[str, Any]) -> None:
        self.template, self.where, self.body = template, where, body

    @functools.cached_property
    def values(self) -> dict[str, str | None]:
        """The variables, wherever they stand. None: what comes from elsewhere, of which only the cluster knows the value."""
        return {
            str(entry.get("name")): None if "valueFrom" in entry else str(entry.get("value", ""))
            for entry in mappings(self.body.get("env"))
        }

    @functools.cached_property
    def shown(self) -> frozenset[str]:
        """The names of the variables, as the user gave them."""
        return frozenset(map(shown, self.values))

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Where each variable stands."""
        return {name: place for place, name in enumerate(self.values)}


class Text(Struct, frozen=True):
    """One text with a `$`. where: its place in the pods. variable: the one whose value it is; None for a word of a command. by_shell: the word is a
    program that a shell reads. run_by: empty where the container itself runs the command, or the field of the probe or hook."""

    container: _Container
    where: str
    text: str
    variable: str | None = None
    by_shell: bool = False
    run_by: str = ""

    def knows(self, name: str) -> bool:
        """Whether the container has the variable: for a value before it, for a command wherever it stands."""
        places = self.container.places
        return name in places and (self.variable is None or places[name] < places[self.variable])


def texts(templates: Iterable[Template]) -> Iterator[Text]:
    """Each of the pods' containers, the values in the order of `env`."""
    for template in templates:
        for where, body in template.named_containers():
            container = _Container(template, where, body)
            yield from _of_values(container)
            yield from _of_commands(container)


def _of_values(container: _Container) -> Iterator[Text]:
    for entry in mappings(container.body.get("env")):
        name, value = str(entry.get("name")), entry.get("value")
        if isinstance(value, str) and "$" in value:
            yield Text(container, f"{container.where}.env.{name}", value, name)


def _of_commands(container: _Container) -> Iterator[Text]:
    body = container.body
    places: dict[str, tuple[object, str]] = {field: (body.get(field), "") for field in ("command", "args")}
    for name, handler in handlers(body).items():
        places[f"{name}.exec.command"] = mapping(handler.get("exec")).get("command"), name
    read: list[tuple[str, object, str]] = []
    for field, (words, run_by) in places.items():
        listed = words if isinstance(words, list) else []
        read += [(f"{field}[{index}]", word, run_by) for index, word in enumerate(listed)]
    for _, several in itertools.groupby(read, key=lambda each: each[2]):  # `args` go on where `command` ends
        together = [*several]
        words_of = [str(word) for _, word, _ in together]
        for index, (place, word, run_by) in enumerate(together):
            if isinstance(word, str) and "$" in word:
                by_shell = _is_program(words_of, index)
                yield Text(container, f"{container.where}.{place}", word, by_shell=by_shell, run_by=run_by)


def _is_program(words: Sequence[str], index: int) -> bool:
    """Whether the word is a program, by those before it: `sh -c`, `bash -c -e --`, `bash -c -o pipefail`."""
    last = index - 1
    while last >= max(0, index - _MOST_OPTIONS):
        if _BEFORE_A_PROGRAM.fullmatch(words[last]) is not None:
            return True
        named = last > 0 and words[last - 1] in ("-o", "+o")
        if not named and _OPTION.fullmatch(words[last]) is None:
            return False
        last -= 2 if named else 1
    return False


def of_launch(text: Text, plan: Plan, conventions: PodConventions) -> frozenset[str]:
    """The variables that the launch script sets in this container."""
    role = plan.by_name.get(text.container.template.role)
    if role is None or not role.launched or not _is_main(text.container.body, conventions):
        return frozenset()
    return frozenset(name for names in SCRIPT_VARIABLES[plan.launcher] for name in names.split(", "))


def few(notes: Sequence[str], more: str) -> Iterator[str]:
    """The first notes, and how many more there are."""
    yield from notes[:MOST_NOTES]
    if len(notes) > MOST_NOTES:
        yield f"{len(notes) - MOST_NOTES} more {more}"


def shown(name: str) -> str:
    """The name that the user gave a variable."""
    return name.removeprefix(KEPT_PREFIX)


def _is_main(container: dict[str, Any], conventions: PodConventions) -> bool:
    return container.get("name") in (conventions.container, defaults.MAIN_CONTAINER)


class Fields:
    """The fields of the experiment from which texts in its containers come."""

    def __init__(self, experiment: Experiment, plan: Plan, conventions: PodConventions) -> None:
        self._experiment, self._plan, self._conventions = experiment, plan, conventions
        self._known: dict[tuple[str, str], dict[tuple[str | None, str], str]] = {}

    def of(self, text: Text) -> str:
        """The path of the field that holds the text; what no field holds comes from a merge patch."""
        role = self._plan.by_name.get(text.container.template.role)
        if role is None:
            return "manifest_overrides.job"
        path = None if text.run_by else self._given(text, role)
        if path is not None or not role.overrides:
            return "manifest_overrides.job" if path is None else path
        where = text.where.replace(f".{self._conventions.container}.", f".{defaults.MAIN_CONTAINER}.", 1)
        return f"{text.container.template.path}.{where}"

    def _given(self, text: Text, role: RolePlan) -> str | None:
        container = (role.name, str(text.container.body.get("name")))
        if container not in self._known:
            given = [*_texts(text, self._experiment, role, self._conventions)]
            self._known[container] = {
                (name, value): path for path, name, value in reversed(given) if isinstance(value, str)
            }
        variable = None if text.variable is None else shown(text.variable)
        return self._known[container].get((variable, text.text.replace(f"$({KEPT_PREFIX}", "$(")))


def _texts(
    text: Text, experiment: Experiment, role: RolePlan, conventions: PodConventions
) -> Iterator[tuple[str, str | None, object]]:
    """What the fields of the experiment bring into the container: the path, the name of a variable or None, and the text."""
    for index, init in enumerate(role.init):
        if init.name == text.container.body.get("name"):
            path = role.init_path(index)
            yield from ((_of_step(path, name), name, value) for name, value in init.env.items())
            yield from _words(f"{path}.command", init.command)
    yield from ((variable.origin, variable.name, variable.value) for variable in role.env)
    if _is_main(text.container.body, conventions):
        own = experiment.roles[role.name].command
        yield from _words(f"roles.{role.name}.command", () if own is None else own)
        yield from _of_launcher(experiment)


def _of_step(path: str, name: str) -> str:
    """The field of a variable of an init container; a checkout has fields of its own."""
    field = name.removeprefix(GIT_PREFIX)
    return f"{path}.env.{name}" if field == name else f"{path}.git.{field.lower()}"


def _of_launcher(experiment: Experiment) -> Iterator[tuple[str, None, str]]:
    launcher = experiment.launcher
    path, given = f"launcher.{launcher.kind}", getattr(launcher, launcher.kind)
    if isinstance(given, list):
        yield from _words(path, given)
        return
    for field in ("launcher_args", "args", "command"):
        yield from _words(f"{path}.{field}", getattr(given, field, ()))
    if launcher.script is not None:
        yield f"{path}.script", None, launcher.script.script


def _words(path: str, words: Iterable[str]) -> Iterator[tuple[str, None, str]]:
    yield from ((f"{path}[{index}]", None, word) for index, word in enumerate(words))
