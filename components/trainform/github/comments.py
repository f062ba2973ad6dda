"""The comments of a pull request that are ours: of the token's own author, and with a marker as their first line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.github.api import Api, PostError, RefusedError
from trainform.github.marker import Marker, read_marker
from trainform.github.settings import Target

PER_PAGE = 100  # the most that GitHub gives at once
MOST_PAGES = 1000
_BOT = "[bot]"
_OF_ACTIONS = f"github-actions{_BOT}"
_NOT_OF_USERS = (403, 404)


class Comment(Struct, frozen=True):
    """A comment of ours. body: with its marker, lines as we write them."""

    id: int
    body: str
    marker: Marker

    @property
    def order(self) -> tuple[Any, ...]:
        """Of two with the same scope the later one is larger."""
        return *self.marker.run.order, self.id


def author_of(api: Api, target: Target) -> str:
    """The name of whose token it is. That of an app may not ask for its user, but GraphQL says it; the one of Actions is known in any case."""
    try:
        return _login(_json(api.get("/user")))
    except RefusedError as error:
        if error.status not in _NOT_OF_USERS:
            raise
    root = target.api.removesuffix("/v3")
    try:
        answer = _json(api.again(lambda: api.once("POST", f"{root}/graphql", {"query": "{viewer{login}}"})))
        return _login(answer["data"]["viewer"])
    except (RefusedError, LookupError, TypeError):
        return _OF_ACTIONS


def own_comments(api: Api, target: Target, author: str) -> list[Comment]:
    """All of ours, from all pages. Whoever quotes a marker of ours is another author, or does not begin with it."""
    made = [_comment(data, author) for data in _all(api, target)]
    return [comment for comment in made if comment is not None]


def _all(api: Api, target: Target) -> Iterator[Any]:
    url = f"/repos/{target.repository}/issues/{target.pull.number}/comments?per_page={PER_PAGE}"
    for _ in range(MOST_PAGES):
        response = api.get(url)
        page = _json(response)
        if not isinstance(page, list):
            raise _unknown("no list of comments")
        yield from page
        following = response.links.get("next")
        if following is None:
            return
        url = following["url"]
    raise _unknown(f"more than {MOST_PAGES} pages of comments")


def _comment(data: Any, author: str) -> Comment | None:
    if not isinstance(data, dict) or not isinstance(data.get("body"), str) or type(data.get("id")) is not int:
        return None
    user = data.get("user")
    if not isinstance(user, dict) or not _is(author, user):
        return None
    body = data["body"].replace("\r\n", "\n")
    marker = read_marker(body)
    return None if marker is None else Comment(data["id"], body, marker)


def _is(author: str, user: dict[str, Any]) -> bool:
    """True if the user is the author; REST and GraphQL differ in whether the name of an app ends with `[bot]`, so the type counts too."""
    bot = author.endswith(_BOT)
    name = user.get("login")
    same = isinstance(name, str) and name.removesuffix(_BOT).casefold() == author.removesuffix(_BOT).casefold()
    return same and (user.get("type") == "Bot") == bot


def _login(user: Any) -> str:
    name = user.get("login") if isinstance(user, dict) else None
    if not isinstance(name, str) or not name:
        raise _unknown("no name of whose token it is")
    return name


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        raise _unknown("no JSON") from None


def head_of(api: Api, target: Target) -> str:
    """The commit that is the head of the pull request now."""
    try:
        return str(_json(api.get(f"/repos/{target.repository}/pulls/{target.pull.number}"))["head"]["sha"])
    except (LookupError, TypeError):
        raise _unknown("no head of the pull request") from None


def _unknown(what: str) -> PostError:
    return PostError(f"GitHub's answer is not understood: it has {what}", "check GITHUB_API_URL")
