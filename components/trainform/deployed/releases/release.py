"""The file of a release: an experiment with every value, where it was deployed, and how it came to another stack."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from trainform.console.secrets import masked
from trainform.deployed.stacks import followed
from trainform.errors import InputError, Problem
from trainform.spec.base_model import Model
from trainform.spec.read import Source
from trainform.spec.release import digest


class Origin(Model):
    """The stack from which the experiment is, as it was deployed. None: unknown.

    version: of trainform. commit, dirty: of git then. updated: the end of its `pulumi up`. parent: the release that the
    stack followed. outcome: of the job, when it was promoted. seconds: from the start of the job to its end.
    """

    stack: str
    environment: str
    revision: str
    run: int
    version: str | None
    commit: str | None
    dirty: bool | None
    updated: str | None
    parent: str | None
    outcome: str
    seconds: int | None


class GateWaiver(Model):
    """A gate that did not hold, and was waived."""

    gate: str
    reason: str
    by: str


class PromotionRecord(Model):
    """The promotion of a release to its stack. gates: the result of each gate of the environment. replaces: the release
    that the stack followed before; None: it followed the experiment's file, or did not exist."""

    by: str
    at: str
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    replaces: str | None
    gates: dict[str, str]
    waived: list[GateWaiver]


class Rollback(Model):
    """The rollback that made a release. of: the release that the stack followed; None: the experiment's file. to: the
    restored release; None: it was deployed before there were releases."""

    of: str | None
    to: str | None
    reason: str


class Release(Model):
    """One file, for one promotion or rollback. experiment: as in an experiment's file, with every default."""

    format: Literal[1] = Field(default=1, alias="release")
    experiment: dict[str, Any]
    origin: Origin
    promoted: PromotionRecord
    rollback: Rollback | None = None

    @property
    def content(self) -> str:
        """Return the hash of the experiment: releases with the same one deploy the same."""
        return digest(self.experiment)

    @property
    def name(self) -> str:
        """Return the stem of the file."""
        return digest(self.data())

    @property
    def way(self) -> str:
        """Return its way between stacks or releases, as the end of a sentence."""
        if self.rollback is None:
            return f"from {self.promoted.source} to {self.promoted.target}"
        to = self.rollback.to
        after = f"what was deployed at {self.origin.updated}" if to is None else followed(to)
        return f"from {followed(self.rollback.of)} back to {after}"

    @property
    def masked(self) -> Release:
        """Return the same with its evidence masked: a forged release may hold a secret there."""
        evidence = {key: value for key, value in self.data().items() if key != "experiment"}
        return Release(experiment=self.experiment, **masked(evidence))

    @property
    def evidence(self) -> dict[str, Any]:
        """Return the masked evidence for programs, with the hash of the experiment instead of the experiment."""
        shown = {key: value for key, value in self.masked.data().items() if key != "experiment"}
        return {**shown, "content": self.content}

    def data(self) -> dict[str, Any]:
        """Return the content of the file."""
        found = {**self.model_dump(by_alias=True), "experiment": self.experiment}
        return {key: value for key, value in found.items() if key != "rollback" or value is not None}


def release_of(data: dict[str, Any], source: Source) -> Release:
    """Return the release in a file. InputError for a form that another version of trainform has written."""
    try:
        return Release.model_validate(data)
    except InputError as error:
        fix = "use the version of trainform that has written it, or a later one"
        reason = "this version of trainform does not know this form of a release"
        places = [problem.path for problem in error.problems]
        raise InputError([source.locate(Problem(place, None, reason, fix)) for place in places]) from None
