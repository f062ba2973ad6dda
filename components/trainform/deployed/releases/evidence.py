"""Gates that a stack has not passed: stack files are edited by hand, and gates are added later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from trainform.deployed.releases.gates import needs_release, promote_command, required_gates
from trainform.deployed.releases.release import Release, release_of
from trainform.errors import InputError, Problem, list_names, shorten
from trainform.job.check import CheckedJob
from trainform.project import ENVIRONMENTS, project_root, stack_path
from trainform.spec.environment import Environment
from trainform.spec.release import SETTING, read_release_file

PASSED = ("passed", "waived")
"""Results of a gate with which a release is written."""
TEXTS = {
    "program": "The program makes the job {experiment} without a release; {environment} takes releases only{gates}.",
    "none": "{stack} follows no release, and {environment} takes releases only{gates}.",
    "unreadable": "{stack} follows release {release}, whose evidence this version of trainform cannot read.",
    "elsewhere": "{stack} follows release {release}, which was promoted to {found}.",
    "gate": "Release {release} has neither passed nor waived the gate {gate} of {environment}.",
    "source": "Release {release} is from {found}, and {environment} takes releases from {sources} only.",
}
ANOTHER_STACK, LATER_GATE, NO_RELEASE = "TR-PROMOTION-1", "TR-PROMOTION-2", "TR-PROMOTION-3"
CODES = {"unreadable": ANOTHER_STACK, "elsewhere": ANOTHER_STACK, "gate": LATER_GATE, "source": LATER_GATE}
"""The codes of findings. A later gate is not refused: `pulumi up` must still be able to repair drift."""


class Lack(Struct, frozen=True):
    """Something that a stack, or a job of a program, lacks."""

    kind: Literal["program", "none", "unreadable", "elsewhere", "gate", "source"]
    experiment: str
    environment: Environment
    stack: str = ""
    release: str = ""
    gate: str = ""
    found: str = ""
    """The stack to which the release was promoted, or the environment from which it is."""

    @property
    def text(self) -> str:
        """Return what is missing as a sentence."""
        gates = list_names(required_gates(self.environment.promotion))
        named = {**structs.asdict(self), "environment": self.environment.name}
        named |= {"gates": f" (gates: {gates})" if gates else ""}
        return TEXTS[self.kind].format(**named, sources=list_names(self.environment.promotion.sources))

    @property
    def code(self) -> str:
        """Return the code of the finding."""
        return CODES.get(self.kind, NO_RELEASE)

    @property
    def refused(self) -> bool:
        """Return True if `check STACK`, `pulumi preview` and `pulumi up` refuse the stack for it."""
        return self.code != LATER_GATE and needs_release(self.environment.promotion)

    @property
    def problem(self) -> Problem:
        """Return the same with its fix, for the command or the program that refuses the stack."""
        name = self.environment.name
        target = self.stack if self.stack else f"{self.experiment}.{name}"
        promote = promote_command(self.experiment, target, self.environment)
        new = "" if self.stack else f"trainform new {self.experiment} -e {name} && "
        fix = f"{new}{promote}; or the platform team sets `promotion: {{required: false}}` in the environment {name}"
        release, source = self.release if self.release else None, stack_path(self.stack) if self.stack else ""
        return Problem(SETTING, release, self.text.removesuffix("."), fix, source, code=self.code)


def lacks_of(
    stack: str, experiment: str, release: str | None, environment: Environment, root: Path
) -> tuple[Lack, ...]:
    """Return what a stack lacks. A release whose file is missing or edited is a problem of `check_experiment`."""
    short, needed = stack.rpartition("/")[2], needs_release(environment.promotion)
    if release is None:
        return (Lack("none", experiment, environment, short),) if needed else ()
    if not (needed or required_gates(environment.promotion)):
        return ()
    try:
        content = read_release_file(experiment, release, root)
    except InputError:
        return ()
    try:
        return tuple(lacks(short, release_of(content.data, content.source), environment))
    except InputError:
        return (Lack("unreadable", experiment, environment, short, release),)


def lacks(stack: str, release: Release, environment: Environment) -> Iterator[Lack]:
    """Yield what the release lacks. stack: without its project. A rollback restores, and needs no gates."""
    promoted, promotion = release.promoted, environment.promotion
    lack = Lack("gate", str(release.experiment.get("name", "")), environment, stack, release.name)
    if promoted.target != stack:
        if required_gates(promotion) or needs_release(promotion):
            yield structs.replace(lack, kind="elsewhere", found=shorten(release.masked.promoted.target))
    elif release.rollback is None:
        for gate in required_gates(promotion):
            result = promoted.gates.get(gate)
            if result not in PASSED:
                yield structs.replace(lack, gate=gate)
            elif gate == "from" and result == "passed" and release.origin.environment not in promotion.sources:
                origin = shorten(release.masked.origin.environment)
                yield structs.replace(lack, kind="source", gate=gate, found=origin)


def check_gates(checked: CheckedJob, stack: str = "", root: Path | None = None) -> CheckedJob:
    """Return the job, with what refuses it among its problems. stack: "" for a job of a program, which has no
    release."""
    if checked.job is None:
        return checked
    root = project_root() if root is None else root
    environment, source = checked.job.environment, checked.sources[1]
    of_program = (Lack("program", checked.name, environment),)
    found = lacks_of(stack, checked.name, checked.release, environment, root) if stack else of_program
    held = add_refusals(checked, found)
    used = source.name if source.lines else ""  # a model of a program has no file
    return structs.replace(held, problems=(*held.problems, *_copies(used, environment.name, root)))


def _copies(used: str, name: str, root: Path) -> Iterator[Problem]:
    """Yield a problem if the environment's file is a second one of that name, which may leave out its gates."""
    own = f"stacks/{ENVIRONMENTS}/{name}.yaml"
    if used and (root / own).exists() and (root / used).resolve() != (root / own).resolve():
        fix = f"write `trainform:environment: {name}` in the stack, or give the other file another name"
        yield Problem("name", name, f"{own} has this name too", fix, used)


def add_refusals(checked: CheckedJob, found: Iterable[Lack]) -> CheckedJob:
    """Return the job with what is refused among its problems."""
    refused = (lack.problem for lack in found if lack.refused)
    return structs.replace(checked, problems=(*checked.problems, *refused))
