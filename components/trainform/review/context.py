"""Everything that the report is made from, read already: the parts of the review are pure functions of it.

Each is equal to itself alone (`eq=False`), so that what is worked out of it can be kept.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec import Struct

from trainform.cluster.facts import LiveFacts
from trainform.plan.record import Record
from trainform.releases.evidence import Lack
from trainform.render import RenderedJob
from trainform.review.model import Place
from trainform.review.preview import Preview, Step
from trainform.spec.environment import Environment


@dataclasses.dataclass(frozen=True, eq=False)
class JobReview:
    """One training job of a preview (a component `TrainingJob`, or a job object alone).

    component: its step; None for a job object of another program. job: the step of the job object; None if the preview
    has none. before: the record of what is deployed, from the old side of the ConfigMap; None: nothing is, or it was
    deployed without a record. after: what will be deployed. steps: of its objects and parts, its own component left
    out. not_checked: what its records do not say, as whole sentences.
    """

    name: str
    component: Step | None
    job: Step | None
    before: Record | None
    after: Record | None
    steps: tuple[Step, ...]
    not_checked: tuple[str, ...] = ()
    sides: dict[bool, Any] = dataclasses.field(default_factory=dict, init=False, compare=False, repr=False)
    """What `wanted` has found for the old side and for the new one."""


Use = tuple[str, str]
"""The kind and the name of an object that a job needs of its environment."""


class User(Struct, frozen=True):
    """An experiment in the environment whose own stack is reviewed. uses: what it needs of the environment. unread: why
    nobody knows that; empty: it is known. job: as rendered in the environment's file; None: it cannot be read. lacks:
    what the release of its stack lacks."""

    stack: str
    experiment: str
    uses: frozenset[Use] = frozenset()
    unread: str = ""
    job: RenderedJob | None = None
    lacks: tuple[Lack, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """preview: as read. environment: the environment's model as its file is now; None where it cannot be read. live:
    None where the cluster was not asked or did not answer. locate: the file and line of a path of the experiment, or of
    the environment if the path begins with `environment.`. today: the day for ages of prices. hours: the run's length
    from `--duration`; None: the experiment's, or unknown. users: the experiments of the environment whose own stack it
    is; None for another stack. lacks: what the release lacks that the stack names."""

    stack: str
    preview: Preview
    jobs: tuple[JobReview, ...]
    environment: Environment | None = None
    live: LiveFacts | None = None
    locate: Callable[[str], Place] = lambda path: Place(path=path)
    today: datetime.date = datetime.date(1970, 1, 1)
    hours: Fraction | None = None
    users: tuple[User, ...] | None = None
    lacks: tuple[Lack, ...] = ()
    fates: dict[int, tuple[JobReview, Any]] = dataclasses.field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """What `fate.fate` has found for each job: it is asked for by most parts of the report."""
