"""All that a report is made from, read already: the parts of the review are pure functions of it.

Each is equal to itself alone (`eq=False`), so that what is worked out of it can be kept.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from fractions import Fraction

from msgspec import Struct

from trainform.cluster.facts import LiveFacts
from trainform.deployed.releases.evidence import Lack
from trainform.job.render import RenderedJob
from trainform.plan.record import Record
from trainform.review.model import Origin, Place
from trainform.review.preview import Preview, Step
from trainform.spec.environment import Environment


@dataclasses.dataclass(frozen=True, eq=False)
class JobReview:
    """One training job of a preview: a component `TrainingJob`, or a job object alone."""

    name: str
    component: Step | None  # None for a job object of another program
    job: Step | None  # the step of the job object
    before: Record | None  # of what is deployed; None if nothing is, or if it was deployed without a record
    after: Record | None
    steps: tuple[Step, ...]  # of its objects and parts, without its own component
    not_checked: tuple[str, ...] = ()  # why its records cannot be read, as sentences


Use = tuple[str, str]  # the kind and the name of an object that a job needs of its environment


class User(Struct, frozen=True):
    """An experiment in the environment whose own stack is reviewed."""

    stack: str
    experiment: str
    uses: frozenset[Use] = frozenset()
    """What it needs of the environment."""
    unread: str = ""
    """Why that is unknown; empty if it is known."""
    job: RenderedJob | None = None
    """As rendered in the environment's file; None if it cannot be read."""
    lacks: tuple[Lack, ...] = ()
    """What its stack lacks by the gates of the environment."""


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """The preview of one stack, with its files and its cluster."""

    stack: str
    preview: Preview
    jobs: tuple[JobReview, ...]
    environment: Environment | None = None
    """The environment as its file is now; None if it cannot be read."""
    live: LiveFacts | None = None
    """None if the cluster was not read or did not answer."""
    locate: Callable[[str], Place] = lambda path: Place(path=path)
    """File and line of a path of the experiment, or of the environment if the path begins with `environment.`."""
    today: datetime.date = datetime.date(1970, 1, 1)
    """The day for the ages of prices."""
    hours: Fraction | None = None
    """The run's length from `--duration`; None: the experiment's, or unknown."""
    users: tuple[User, ...] | None = None
    """The experiments of the environment whose own stack this is; None for another stack."""
    lacks: tuple[Lack, ...] = ()
    """What the stack lacks by the gates of its environment."""
    missing: tuple[str, ...] = ()
    """What the pods need and the cluster does not have: `the Secret hf`."""
    earlier: tuple[Context, ...] = ()
    """Other stacks on this cluster that the same review deploys before this one."""
    origin: Origin | None = None
    """Where the release of the stack comes from; None: the stack follows no release."""
