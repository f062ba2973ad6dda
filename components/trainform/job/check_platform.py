"""Check an environment by itself, with the objects of its own stack."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, Problem
from trainform.job.check_files import check_environment
from trainform.job.render_platform import RenderedPlatform, render_platform
from trainform.spec.environment import Environment
from trainform.spec.load import Given, name_of


class CheckedPlatform(Struct, frozen=True):
    """An environment by itself, and what is wrong with it and with the objects of its own stack. name: as for
    `CheckedJob`."""

    name: str
    problems: tuple[Problem, ...]
    platform: RenderedPlatform | None = None
    """None where the file has problems, so that there are no objects."""

    @property
    def environment(self) -> str:
        """The environment's name."""
        return self.name if self.platform is None else self.platform.environment.name

    def or_raise(self) -> RenderedPlatform:
        """The environment with its objects; InputError with every problem where there is one."""
        if self.problems or self.platform is None:
            raise InputError(self.problems)
        return self.platform


def check_platform(environment: Environment | Given, root: Path | None = None) -> CheckedPlatform:
    """Check an environment and the objects of its own stack, without an experiment. Raises InputError where a name or
    path has no file."""
    loaded = check_environment(environment, root)
    name = name_of(environment, "environment") if loaded.model is None else loaded.model.name
    if loaded.model is None or loaded.problems:
        return CheckedPlatform(name, loaded.problems)
    platform = render_platform(loaded.model)
    return CheckedPlatform(name, tuple(map(loaded.source.locate, platform.problems)), platform)
