"""A review that is posted, where, and a clock whose waits take no time."""

from __future__ import annotations

from tests.review.forms.samples import EMPTY, USUAL
from tests.support.github_api import (
    HEAD,
    TOKEN,
    GithubApi,
)
from trainform import defaults
from trainform.github.api import Clock
from trainform.github.marker import Marker, Run, scope_of
from trainform.github.post import post
from trainform.github.settings import PullRequest, Target
from trainform.review.model import Report, Review, Selection
from trainform.review.whole import review_of

PROJECT = "training"
CALM = USUAL.model_copy(
    update={
        "stack": EMPTY.stack,
        **{name: getattr(EMPTY, name) for name in ("headline", "outcome", "findings", "objects")},
    }
)
OTHER_HEAD = "9" * 40
GONE = Selection(since="origin/main", base="1" * 40, touched={}, removed=["mnist.dev"])


class Time:
    """A clock whose waits take no time. waited: seconds of each."""

    def __init__(self, patience: float = defaults.POST_SECONDS) -> None:
        self.seconds = 1_790_000_000.0
        self.waited: list[float] = []
        self.clock = Clock(patience, lambda: self.seconds, lambda: self.seconds, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.waited += [seconds] if seconds else []
        self.seconds += seconds


def review(*reports: Report, project: str = PROJECT) -> Review:
    return review_of(reports, project=project)


def target(api: GithubApi, run: int = 100, attempt: int = 1, commit: str = HEAD, token: str = TOKEN) -> Target:
    page = f"https://github.com/{api.repository}/actions/runs/{run}"
    return Target(api.url, api.repository, PullRequest(7, commit), run, attempt, page, token)


def put(
    api: GithubApi,
    made: Review,
    goal: Target | None = None,
    *,
    each: bool = False,
    whole: bool = False,
    time: Time | None = None,
) -> list[str]:
    clock = Time() if time is None else time
    return post(made, target(api) if goal is None else goal, each=each, whole=whole, clock=clock.clock)


def marked(
    stack: str | None = None, *, project: str = PROJECT, run: int = 90, time: str = "2026-11-20T10:00:00Z"
) -> str:
    scope = scope_of(project, stack)
    names = () if stack is None else (stack,)
    return f"{Marker(scope, project, names, OTHER_HEAD, Run(run, 1, time)).render()}\n## Review\n"
