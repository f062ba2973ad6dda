"""`$(NAME)` of a variable that only the launch script sets: Kubernetes reads it before the container starts, and leaves
the text as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainform.backends.backend import Backend
from trainform.errors import Problem
from trainform.plan.launch.launch import SCRIPT_VARIABLES
from trainform.plan.model import Plan, RolePlan
from trainform.plan.references import references
from trainform.spec.experiment import Experiment


def placeholder_problems(experiment: Experiment, plan: Plan, backend: Backend) -> Iterator[Problem]:
    """Yield a problem for each field whose program would get the text `$(RANK)` itself."""
    scripted = {name for names in SCRIPT_VARIABLES[plan.launcher] for name in names.split(", ")}
    scripted -= backend.conventions(plan).appended
    found: dict[tuple[str, str], Problem] = {}
    for role in plan.roles if scripted else ():
        later = scripted - {variable.name for variable in role.env} if role.launched else ()
        for path, text in _texts(experiment, role) if later else ():
            for name in references(text) if "$(" in text else ():
                if name in later:
                    found.setdefault((path, name), _problem(path, name))
    yield from found.values()


def _problem(path: str, name: str) -> Problem:
    reason = f"`$({name})` would stay as it stands: {name} is set by the launch script, when the container has started"
    fix = (
        f"read it in the program, or in a shell (`[sh, -c, '… ${name} …']`), or write `$$({name})` where this text "
        "is meant"
    )
    return Problem(path, None, reason, fix)


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
