"""Configs of stacks, which Pulumi passes to the program and `trainform check STACK` reads."""

from __future__ import annotations

import dataclasses

EXPERIMENT, ENVIRONMENT = "trainform:experiment: hello", "trainform:environment: dev"


@dataclasses.dataclass(frozen=True)
class Case:
    """Lines of the stack's config, beside `EXPERIMENT` and `ENVIRONMENT` where these are not set by them.

    `pulumi` is what Pulumi gives the program, None where Pulumi fails; `reason` why trainform refuses it, None where
    trainform reads the same.
    """

    stack: tuple[str, ...]
    pulumi: dict[str, str | None] | None
    reason: str | None = None
    project: tuple[str, ...] = ()
    name: str = "trainform"

    def __str__(self) -> str:
        return " | ".join([self.name, *self.project, "/", *self.stack]).replace("trainform:", "")

    def stack_config(self) -> str:
        keys = {line.partition(": ")[0].rpartition(":")[2] for line in (*self.stack, *self.project)}
        rest = [line for line in (EXPERIMENT, ENVIRONMENT) if line.split(":")[1] not in keys]
        return "config:\n" + "".join(f"  {line}\n" for line in (*rest, *self.stack))

    def project_file(self, head: str = "") -> str:
        config = "config:\n" + "".join(f"  {line}\n" for line in self.project) if self.project else ""
        return f"name: {self.name}\n{head}main: stacks\nstackConfigDir: stacks\n{config}"

    @property
    def expected(self) -> dict[str, str | None]:
        """Every key, where Pulumi gives the program any."""
        assert self.pulumi is not None
        return {"experiment": "hello", "environment": "dev", "run": None, "suspend": None} | self.pulumi


def _runs(written: str, pulumi: str | None, reason: str | None = None) -> Case:
    return Case((f"trainform:run: {written}",), {"run": pulumi}, reason)


NO_NUMBER, NOTHING = "the value is not a whole number from 1", "the value is set to nothing"
OWN = "this stack is the environment's own"
RUNS = [
    _runs("3", "3"),
    _runs("'3'", "3"),
    _runs("'010'", "010", NO_NUMBER),
    _runs('"0x10"', "0x10", NO_NUMBER),
    _runs("010", "8", NO_NUMBER),
    _runs("0x10", "16", NO_NUMBER),
    _runs("1e1", "10", NO_NUMBER),
    _runs("1_0", "10", NO_NUMBER),
    _runs("2020-01-01", "2020-01-01 00:00:00 +0000 UTC", NO_NUMBER),
    _runs("99999999999999999999", "100000000000000000000", "the value is a whole number of more than 64 bits"),
    _runs("0", "0", NO_NUMBER),
    _runs("' 2'", " 2", NO_NUMBER),
    _runs("true", "true", NO_NUMBER),
    _runs("12:30", "12:30", NO_NUMBER),
    _runs("[1]", "[1]", "the value is a list, not one value"),
    _runs("{value: 3}", '{"value":3}', "the value is a mapping, not one value"),
    _runs('""', "", NOTHING),
    _runs("null", "", NOTHING),
    Case(("trainform:run: {secure: x}",), None, "must not be a secret"),
]
SWITCHES = [
    Case((f"trainform:suspend: {written}",), {"suspend": pulumi}, reason)
    for written, pulumi, reason in (
        ("true", "true", None),
        ("'false'", "false", None),
        ("True", "true", None),
        ("'yes'", "yes", "the value is neither true nor false"),
        ("1", "1", "the value is neither true nor false"),
        ("''", "", NOTHING),
    )
]
NAMES = [
    Case(("trainform:experiment: yes", "trainform:environment: on"), {"experiment": "yes", "environment": "on"}),
    Case(("trainform:environment: '08'",), {"environment": "08"}),
    Case(("trainform:environment: ''",), {"environment": ""}, NOTHING),
    Case(("trainform:experiment: ''",), {"experiment": ""}, OWN),
    Case(("experiment: two", "run: 3"), {"experiment": "two", "run": "3"}),
    Case(("run: 3", "trainform:run: 3"), {"run": "3"}, "the key is the same as trainform:run"),
    Case(("run: 3",), {"run": None}, name="other"),
    Case(("trainform:run: 3",), {"run": "3"}, name="other"),
]
DEFAULT = "trainform:experiment: {type: string, default: two}"
PROJECTS = [
    Case(("run: 3",), {"experiment": "two", "run": "3"}, project=(DEFAULT,)),
    Case((EXPERIMENT,), {"experiment": "hello"}, project=(DEFAULT,)),
    Case(("trainform:experiment: ''",), {"experiment": ""}, OWN, project=(DEFAULT,)),
    Case((), {"experiment": "two"}, project=("trainform:experiment: two",)),
    Case((), {"experiment": "two"}, project=("trainform:experiment: {value: two}",)),
    Case((), {"experiment": ""}, OWN, project=("trainform:experiment: {value: ''}",)),
    Case((), {"run": "3"}, project=("trainform:run: {type: integer, default: '3'}",)),
    Case((), {"run": "8"}, NO_NUMBER, project=("trainform:run: {type: integer, default: 010}",)),
    Case(("run: ''",), None, NOTHING, project=("trainform:run: {type: integer, default: 1}",)),
    Case((), {"run": "4"}, project=("trainform:run: 4",), name="other"),
    Case((), {"experiment": "hello"}, project=("run: 4",), name="other"),
]
CASES = [*RUNS, *SWITCHES, *NAMES, *PROJECTS]
