"""Words of commands and values of variables that are too long: the container would never start, with "argument list too long"."""

from __future__ import annotations

from collections.abc import Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.plan.launch.launch import TF_CONFIG
from trainform.plan.model import Plan, RolePlan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

LIMIT = f"Linux starts no program with one of more than {defaults.LONGEST_WORD}"
_OF_WORDS = "put it into a file of the image, or of a volume, and name the file"
_OF_VALUES = "put it into a file of the image or of a volume, or name a shorter value"


def word_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """A problem for each field with such a word or value, once for all roles that have it."""
    found: dict[str, Problem] = {}
    for role in plan.roles:
        for problem in (*_of_commands(experiment, role), *_of_variables(experiment, role)):
            found.setdefault(problem.path, problem)
    yield from found.values()
    size = len("TF_CONFIG=") + len(plan.files.get(TF_CONFIG, ""))
    if size > defaults.LONGEST_WORD:
        reason = f"TF_CONFIG has the addresses of all replicas, which are {size} bytes; {LIMIT}"
        yield Problem("roles", None, reason, "use fewer replicas, or a launcher that does not list them: torchrun")


def _of_commands(experiment: Experiment, role: RolePlan) -> Iterator[Problem]:
    given = experiment.roles[role.name]
    path = "launcher" if given.command is None else f"roles.{role.name}.command"
    places = [(path, [*role.command, *role.args])]
    places += [(f"{role.init_path(index)}.command", init.command) for index, init in enumerate(role.init)]
    for where, words in places:
        size = max((len(word.encode()) for word in words), default=0)
        if size > defaults.LONGEST_WORD:
            yield Problem(where, None, f"a word of the command has {size} bytes; {LIMIT}", _OF_WORDS)


def _of_variables(experiment: Experiment, role: RolePlan) -> Iterator[Problem]:
    own = experiment.roles[role.name].env
    values = [
        (
            f"roles.{role.name}.env.{variable.name}" if variable.name in own else f"env.{variable.name}",
            variable.name,
            variable.value,
        )
        for variable in role.env
    ]
    for index, init in enumerate(role.init):
        values += [(f"{role.init_path(index)}.env.{name}", name, value) for name, value in init.env.items()]
    for path, name, value in values:
        size = len(f"{name}={value}".encode()) if isinstance(value, str) else 0
        if size > defaults.LONGEST_WORD:
            yield Problem(path, None, f"the variable has {size} bytes with its name; {LIMIT}", _OF_VALUES)
