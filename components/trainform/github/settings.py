"""What the variables of a run of GitHub Actions say: which pull request, which commit, which run, and the token."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from trainform.errors import InputError, Problem
from trainform.spec.files import read_text

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable
TOKENS = (TOKEN, "GH_TOKEN")
DETAILS = "--details"
LARGEST_EVENT = 32 << 20
LONGEST_URL = 2000
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SHORT_TOKEN = 8  # characters; what is shorter is no token, and would be found in any text
_ADDRESS = re.compile(r"[A-Za-z0-9._~:/?#@!$&*+,;=%-]+")
_ONLY_THERE = "run it in a job of GitHub Actions for a pull request, or set the variable as one has it"
_EVENT = "GITHUB_EVENT_PATH"


class PullRequest(Struct, frozen=True):
    """A pull request, and the commit that was its head when the run began."""

    number: int
    commit: str


@dataclasses.dataclass(frozen=True)
class Target:
    """Where the comments go, and which run writes them. page: the address of more than a comment holds."""

    api: str
    repository: str
    pull: PullRequest
    run: int
    attempt: int
    page: str
    token: str = dataclasses.field(repr=False)

    def without_token(self, text: str) -> str:
        """The text without the token: nothing that is shown or sent as text has it."""
        return text.replace(self.token, "[secret]")


def variables_with(token: str, environ: Mapping[str, str]) -> frozenset[str]:
    """The variables that hold the token, and those that are for one."""
    return frozenset({*TOKENS, *(name for name, value in environ.items() if token in value)})


def is_loopback(url: str) -> bool:
    """True if the address is on this machine, so that nobody reads along without https."""
    return urlsplit(url).hostname in _LOOPBACK


def target_of(environ: Mapping[str, str], details: str | None) -> Target:
    """The target that the variables name. InputError with every problem of them."""
    problems = list[Problem]()

    def read(name: str, check: Callable[[str, str], Any], default: str | None = None) -> Any:
        try:
            return check(name, environ[name] if environ.get(name) or default is None else default)
        except KeyError:
            problems.append(Problem(name, None, "the variable is not set", _FIXES.get(name, _ONLY_THERE)))
        except InputError as error:
            problems.extend(error.problems)
        return None

    token, api = read(TOKEN, _token), read("GITHUB_API_URL", _server, "https://api.github.com")
    repository, pull = read("GITHUB_REPOSITORY", _repository), read(_EVENT, _pull_request)
    run, attempt = read("GITHUB_RUN_ID", _number), read("GITHUB_RUN_ATTEMPT", _number, "1")
    server = read("GITHUB_SERVER_URL", _server, "https://github.com")
    page = f"{server}/{repository}/actions/runs/{run}"
    if details is not None:
        try:
            page = _address(DETAILS, details)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return Target(api, repository, pull, run, attempt, page, token)


def _refused(name: str, value: str | None, reason: str, fix: str) -> InputError:
    return InputError([Problem(name, value, reason, fix)])


def _token(name: str, text: str) -> str:
    if len(text) < _SHORT_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise _refused(name, None, "this is no token of GitHub", _FIXES[TOKEN])
    return text


def _server(name: str, text: str) -> str:
    """The address of a server, without a slash at its end."""
    address = _address(name, text)
    found = urlsplit(address)
    if found.query or found.fragment:
        raise _refused(name, text, "this is no address of a server", "write it as https://ghe.example.com/api/v3")
    return address.rstrip("/")


def _address(name: str, text: str) -> str:
    fix = "write it as https://example.com/page, with %28 and the like for other signs"
    try:
        found = urlsplit(text)
        host, _ = found.hostname, found.port
    except ValueError:
        raise _refused(name, text, "this is no address", fix) from None
    if not host or _ADDRESS.fullmatch(text.replace("[::1]", "")) is None or len(text) > LONGEST_URL:
        raise _refused(name, text, "this is no address", fix)
    if found.username is not None or found.password is not None:
        raise _refused(name, None, "the address has the name of a user in it", "leave it out")
    if found.scheme != "https" and not (found.scheme == "http" and host in _LOOPBACK):
        raise _refused(
            name, text, "the address does not begin with https://", "only this machine may be asked without it"
        )
    return text


def _repository(name: str, text: str) -> str:
    if _REPOSITORY.fullmatch(text) is None or set(text.split("/")) & {".", ".."}:
        raise _refused(name, text, "this is no name of a repository", "write it as OWNER/NAME")
    return text


def _number(name: str, text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise _refused(name, text, "this is no number from 1 on", _ONLY_THERE)
    return int(text)


def _pull_request(name: str, path: str) -> PullRequest:
    """The pull request of the event: its own, or that of a workflow that ran for it."""
    try:
        event = json.loads(read_text(Path(path), path, LARGEST_EVENT))
    except InputError as error:
        raise InputError([Problem(name, path, problem.reason, _ONLY_THERE) for problem in error.problems]) from None
    except (ValueError, RecursionError):
        raise _refused(name, path, "the file is not JSON", _ONLY_THERE) from None
    pulls = [_part(event, "pull_request")] if _part(event, "pull_request") else _of_workflow(event)
    if len(pulls) != 1:
        reason = "the event is not that of one pull request"
        raise _refused(name, path, reason, "run it on `pull_request` or `pull_request_target`, or without --post")
    number, commit = pulls[0].get("number"), _part(pulls[0], "head").get("sha")
    if type(number) is int and number > 0 and isinstance(commit, str) and _COMMIT.fullmatch(commit) is not None:
        return PullRequest(number, commit)
    raise _refused(name, path, "the event does not have the number and the head of its pull request", _ONLY_THERE)


def _of_workflow(event: Any) -> list[Mapping[str, Any]]:
    """The pull requests of the workflow whose end the event tells; of a fork's it tells none."""
    found = _part(event, "workflow_run").get("pull_requests")
    return [pull for pull in found if isinstance(pull, dict)] if isinstance(found, list) else []


def _part(data: Any, key: str) -> Mapping[str, Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


_FIXES = {
    TOKEN: "set `env: {GITHUB_TOKEN: ${{ github.token }}}` in the step, and `permissions: {pull-requests: write}` in the job"
}
