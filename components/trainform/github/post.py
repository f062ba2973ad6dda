"""Puts a review on its pull request: makes comments, updates those that are there, and leaves alone what a later run has written."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from trainform import defaults
from trainform.github.api import Api, Clock, RefusedError
from trainform.github.comments import Comment, author_of, head_of, own_comments
from trainform.github.marker import TIME, Marker, Run, project_scope, scope_of
from trainform.github.settings import Target
from trainform.review.effects import NOTHING
from trainform.review.forms import comment as form
from trainform.review.model import Outcome, Report, Review
from trainform.review.whole import review_of

_GONE = (404, 410)
_SHORT = 12  # digits of a commit in a message


class Wanted(Struct, frozen=True):
    """A comment as it shall be. quiet: it is not made if there is none, since it says that nothing changes."""

    marker: Marker
    text: str
    quiet: bool

    @property
    def body(self) -> str:
        return f"{self.marker.render()}\n{self.text}"


class _Posting(Struct, frozen=True):
    """The requests of one posting. whole: whether the review has every stack that the pull request touches."""

    api: Api
    target: Target
    author: str
    run: Run
    wanted: Sequence[Wanted]
    project: str
    whole: bool


def post(review: Review, target: Target, *, each: bool, whole: bool, clock: Clock | None = None) -> list[str]:
    """Post the review; what was done, in sentences. each: a comment for each stack. whole: the review has every stack that the pull request
    touches, so that comments on others are out of date. PostError if it cannot be done."""
    used = Clock() if clock is None else clock
    now = datetime.datetime.fromtimestamp(used.today(), datetime.UTC).strftime(TIME)
    run = Run(target.run, target.attempt, now)
    wanted = [*_wanted(review, target, run, each=each)]

    def attempt() -> list[str]:
        """The head is looked at each time: it may have moved while a limit was waited for."""
        head = head_of(api, target)
        if head != target.pull.commit:
            return [_moved(target, head)]
        posting = _Posting(api, target, author_of(api, target), run, wanted, review.project, whole and each)
        try:
            return [*_settled(posting)]
        except RefusedError as error:
            if error.status not in _GONE:
                raise
            return [*_settled(posting)]  # another run may have removed the comment after it was found here

    with Api(target, used) as api:
        return api.again(attempt)


def _moved(target: Target, head: str) -> str:
    commit = target.pull.commit[:_SHORT]
    return f"nothing is posted: this run is of the commit {commit}, and the pull request is at {head[:_SHORT]}"


# --- what is wanted


def _wanted(review: Review, target: Target, run: Run, *, each: bool) -> Iterator[Wanted]:
    """The comments: one with all stacks, or one for each, which is about its stack alone."""
    if each:
        for report in review.stacks:
            yield _one(review_of([report], project=review.project), scope_of(review.project, report.stack), target, run)
        for stack in _removed(review):
            marker = Marker(
                scope_of(review.project, stack),
                target.without_token(review.project),
                (target.without_token(stack),),
                target.pull.commit,
                run,
            )
            yield Wanted(
                marker, target.without_token(form.removed(stack, target.page, target.pull.commit)), quiet=False
            )
    else:
        yield _one(review, project_scope(review.project), target, run)


def _one(review: Review, scope: str, target: Target, run: Run) -> Wanted:
    stacks = tuple(target.without_token(report.stack) for report in review.stacks)
    marker = Marker(scope, target.without_token(review.project), stacks, target.pull.commit, run)
    room = defaults.LONGEST_COMMENT - form.size(f"{marker.render()}\n")
    text = form.render(review, target.page, target.pull.commit, room)
    return Wanted(marker, target.without_token(text), all(map(_says_nothing, review.stacks)) and not _removed(review))


def _removed(review: Review) -> Sequence[str]:
    """The stacks whose file of config is gone, while their resources stay."""
    return () if review.selection is None else review.selection.removed


def _says_nothing(report: Report) -> bool:
    quiet = report.outcome in (Outcome.clean, Outcome.incomplete)
    return quiet and report.headline == NOTHING and not report.objects and not report.findings


# --- what is done


def _settled(posting: _Posting) -> Iterator[str]:
    """Make what is there what is wanted. It is done again from its beginning after an answer that was lost: a comment that was made all the same is
    found then."""
    found = _by_scope(own_comments(posting.api, posting.target, posting.author))
    made = False
    for wanted in posting.wanted:
        there = found.get(wanted.marker.scope, [])
        if there:
            yield _updated(posting, wanted, there)
        elif wanted.quiet:
            yield f"{_nothing(wanted.marker)}, and there is no comment that says otherwise: none is made"
        else:
            posting.api.post(f"{_issue(posting.target)}/{posting.target.pull.number}/comments", {"body": wanted.body})
            made = True
            yield f"{_comment(wanted.marker)} is made"
    yield from _out_of_date(posting, found)
    if made:  # another first run may have made one in the same moment
        found = _by_scope(own_comments(posting.api, posting.target, posting.author))
        for wanted in posting.wanted:
            _remove(posting, found.get(wanted.marker.scope, [])[:-1])


def _by_scope(comments: Iterable[Comment]) -> Mapping[str, list[Comment]]:
    """The comments on each scope, the newest last."""
    found = defaultdict[str, list[Comment]](list)
    for comment in sorted(comments, key=lambda comment: comment.order):
        found[comment.marker.scope].append(comment)
    return found


def _updated(posting: _Posting, wanted: Wanted, there: Sequence[Comment]) -> str:
    *others, newest = there
    comment = _comment(wanted.marker)
    if newest.marker.run.order > posting.run.order:
        return f"{comment} is of a later run ({newest.marker.run.number}), and stays as it is"
    if _is_written(newest, wanted):
        done = f"{comment} has this already"
    else:
        posting.api.patch(f"{_issue(posting.target)}/comments/{newest.id}", {"body": wanted.body})
        done = f"{comment} is updated"
    _remove(posting, others)
    return done


def _is_written(comment: Comment, wanted: Wanted) -> bool:
    """True if the same attempt of the same run has written the same."""
    marker = structs.replace(comment.marker, run=structs.replace(comment.marker.run, time=wanted.marker.run.time))
    same = (marker.run, marker.commit) == (wanted.marker.run, wanted.marker.commit)
    return same and comment.body.partition("\n")[2].strip() == wanted.text.strip()


def _out_of_date(posting: _Posting, found: Mapping[str, list[Comment]]) -> Iterator[str]:
    """Say on the comments of this project's other stacks that they are not touched any more."""
    scopes = {wanted.marker.scope for wanted in posting.wanted}
    for scope, there in found.items():
        marker = there[-1].marker
        own = any(scope_of(posting.project, stack) == scope for stack in marker.stacks)
        if not posting.whole or scope in scopes or not own:
            continue
        text = form.untouched(marker.stacks[0], posting.target.page, posting.target.pull.commit)
        now = structs.replace(marker, commit=posting.target.pull.commit, run=posting.run)
        yield _updated(posting, Wanted(now, text, quiet=True), there)


def _remove(posting: _Posting, comments: Iterable[Comment]) -> None:
    """Remove comments that a newer one says over again."""
    for comment in comments:
        try:
            posting.api.delete(f"{_issue(posting.target)}/comments/{comment.id}")
        except RefusedError as error:
            if error.status not in _GONE:
                raise


def _issue(target: Target) -> str:
    return f"/repos/{target.repository}/issues"


def _comment(marker: Marker) -> str:
    return f"the comment on {_about(marker)}" if marker.stacks else "the comment"


def _nothing(marker: Marker) -> str:
    return f"nothing changes in {_about(marker)}" if marker.stacks else "no stack is touched"


def _about(marker: Marker) -> str:
    return f"the stack {marker.stacks[0]}" if len(marker.stacks) == 1 else f"{len(marker.stacks)} stacks"
