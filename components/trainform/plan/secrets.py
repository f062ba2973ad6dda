"""Secrets that stand in a file as text: in variables, in the words of a command, in annotations."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from trainform.errors import MASK, Problem, gives_away
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

REASON = "looks like a secret, and would be shown in previews and kept in state"
IN_ANNOTATION = "remove it; let the pods read it from a Secret"

_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)(=(?P<value>\S*))?")  # --hf-token hf_abc, --password=hunter2
_ASSIGNMENT = re.compile(r"\+{0,2}(?P<name>[A-Za-z_][\w.]*)=(?P<value>\S*)")  # wandb.api_key=…, as Hydra takes it
_QUOTES = "\"';&|()"  # what a shell's text has around its words


def secret_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """What the experiment gives away in its own fields; what merge patches bring in, `policy` looks at."""
    written = {"env": experiment.env}
    commands = dict(_launcher_words(experiment))
    notes = {"annotations": experiment.annotations}
    for name, role in experiment.roles.items():
        path = f"roles.{name}"
        written[f"{path}.env"] = role.env
        notes[f"{path}.annotations"] = role.annotations
        commands |= {} if role.command is None else {f"{path}.command": role.command}
        for index, init in enumerate(role.init):
            written[f"{path}.init[{index}].env"] = init.env
            commands[f"{path}.init[{index}].command"] = init.command
    for index, step in enumerate(experiment.prepare):
        written[f"prepare[{index}].env"] = step.env
        commands |= {} if step.command is None else {f"prepare[{index}].command": step.command}
        if step.git is not None and gives_away("", step.git.repository):
            yield Problem(f"prepare[{index}].git.repository", MASK, REASON, in_words("ADDRESS"))
    for path, env in written.items():
        for variable, value in env.items():
            if isinstance(value, str) and gives_away(variable, value):
                fix = f"write `{variable}: {{secret: {{name: SECRET, key: KEY}}}}`"
                yield Problem(f"{path}.{variable}", MASK, REASON, fix)
    for path, words in commands.items():
        for index, variable in secret_words(words).items():
            yield Problem(f"{path}[{index}]", MASK, REASON, in_words(variable))
    for path, noted in notes.items():
        for key in secret_annotations(noted):
            yield Problem(f"{path}.{key}", MASK, REASON, IN_ANNOTATION)


def secret_annotations(annotations: Mapping[str, str]) -> list[str]:
    """Keys of the annotations that give something away."""
    return [key for key, value in annotations.items() if gives_away(key, value)]


def secret_words(words: Sequence[str]) -> dict[int, str]:
    """Index of each word that holds a secret, and what a variable for it may be called."""
    found: dict[int, str] = {}
    for index, (word, following) in enumerate(itertools.pairwise([*words, ""])):
        given = _given(word, following)
        if given is not None:
            name, value, own = given
            if gives_away(name, value):
                found.setdefault(index if own else index + 1, _variable(name))
        elif gives_away("", word):
            found.setdefault(index, "ADDRESS")
        elif len(parts := word.split()) > 1:  # a shell's text in a word of its own
            for variable in secret_words([part.strip(_QUOTES) for part in parts]).values():
                found.setdefault(index, variable)
    return found


def in_words(variable: str) -> str:
    """What to write in a command instead; Kubernetes puts the variable's value in."""
    return f"write `$({variable})` here, and `env: {{{variable}: {{secret: {{name: SECRET, key: KEY}}}}}}`"


def _given(word: str, following: str) -> tuple[str, str, bool] | None:
    """Name and value that the word begins, and whether the value is in the word itself."""
    match = _OPTION.fullmatch(word)
    if match is None:
        match = _ASSIGNMENT.fullmatch(word)
    if match is None:
        return None
    name, value = match["name"], match["value"]
    if value is not None:
        return name, value.strip(_QUOTES), True
    return name, "" if following.startswith("-") else following, False


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).upper()


def _launcher_words(experiment: Experiment) -> Iterator[tuple[str, Sequence[str]]]:
    launcher = experiment.launcher
    path = f"launcher.{launcher.kind}"
    if launcher.command is not None:
        yield path, launcher.command
    if launcher.script is not None:
        yield f"{path}.launcher_args", launcher.script.launcher_args
        yield f"{path}.args", launcher.script.args
    if launcher.mpi is not None:
        yield f"{path}.launcher_args", launcher.mpi.launcher_args
        yield f"{path}.command", launcher.mpi.command
    if launcher.tensorflow is not None:
        yield f"{path}.command", launcher.tensorflow.command
