"""The part of GitHub's REST API that the workflow of docs/how-to/ci uses, on a real socket, and the `gh` that asks it.

`gh` is the one on PATH. Where there is none, a script with `jq` and `curl` stands in: it understands the options that
the workflow uses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.workflows import GITHUB, environment_of, read_as_texts, step

ACTIONS = "github-actions[bot]"
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - it opens nothing but this server
HEAD = "4f1c0d2e9b7a6583c1d0e2f3a4b5c6d7e8f90123"
REPOSITORY, NUMBER = "ml/training", 7
DETAILS = "https://github.com/ml/training/actions/runs/100/artifacts/2101"
STAND_IN = r"""#!/usr/bin/env bash
set -euo pipefail
method='' data='' filter=. silent=''
shift # the word `api`
while [ $# -gt 0 ]; do
  case $1 in
    --paginate) ;;
    --silent) silent=1 ;;
    --method) method=$2; shift ;;
    --jq) filter=$2; shift ;;
    -F) data=$(jq --raw-input --slurp '{body: .}' "${2#body=@}"); shift ;;
    *) url="http://api.github.localhost/$1" ;;
  esac
  shift
done
while [ -n "$url" ]; do
  answer=$(curl --silent --show-error --fail --dump-header headers.txt -H "Authorization: token $GH_TOKEN" \
    --request "${method:-$([ -n "$data" ] && echo POST || echo GET)}" ${data:+--data "$data"} "$url")
  [ -n "$silent" ] || jq --raw-output "$filter" <<< "$answer"
  url=$(sed -n 's/^Link: <\(.*\)>; rel="next".*/\1/p' headers.txt)
done
"""


@dataclasses.dataclass
class Comment:
    """A comment on the pull request."""

    id: int
    author: str
    body: str


class GithubApi:
    """The server of one pull request. `requests`: method, path and data of each request."""

    def __init__(self) -> None:
        self.comments: list[Comment] = []
        self.head = HEAD
        self.requests: list[tuple[str, str, Any]] = []

    def comment(self, author: str, body: str) -> Comment:
        """Add a comment."""
        self.comments.append(Comment(901 + len(self.comments), author, body))
        return self.comments[-1]

    def answer(self, method: str, url: str, data: Any) -> tuple[int, Any, str]:
        """Return the status, the answer, and the header `Link`."""
        self.requests.append((method, url, data))
        found, root = urlsplit(url), f"/repos/{REPOSITORY}"
        if (method, found.path) == ("GET", f"{root}/pulls/{NUMBER}"):
            return 200, {"head": {"sha": self.head}}, ""
        if (method, found.path) == ("POST", f"{root}/issues/{NUMBER}/comments"):
            return 201, dataclasses.asdict(self.comment(ACTIONS, data["body"])), ""
        if (method, found.path) == ("GET", f"{root}/issues/{NUMBER}/comments"):
            return self._page(found.path, parse_qs(found.query))
        one = re.fullmatch(rf"{root}/issues/comments/(\d+)", found.path)
        for comment in self.comments:
            if method == "PATCH" and one is not None and comment.id == int(one[1]):
                comment.body = data["body"]
                return 200, dataclasses.asdict(comment), ""
        return 404, {"message": "Not Found"}, ""

    def _page(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any, str]:
        count, page = int(query["per_page"][0]), int(query.get("page", ["1"])[0])
        shown = [
            {"id": comment.id, "body": comment.body, "user": {"login": comment.author}}
            for comment in self.comments[(page - 1) * count : page * count]
        ]
        following = f"http://api.github.localhost{path}?per_page={count}&page={page + 1}"
        return 200, shown, f'<{following}>; rel="next"' if page * count < len(self.comments) else ""


def _handler(api: GithubApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            allowed = self.headers.get("Authorization") == f"token {TOKEN}"
            path = self.path.removeprefix("http://api.github.localhost")  # it is the client's proxy
            status, data, link = 401, {"message": "Bad credentials"}, ""
            if allowed:
                status, data, link = api.answer(self.command, path, json.loads(text) if text else None)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if link:
                self.send_header("Link", link)
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

        do_POST = do_PATCH = do_GET  # noqa: N815 - the names of the base class

        def log_message(self, *arguments: object) -> None:
            """Print nothing on standard error."""

    return Handler


def gh_folder(folder: Path) -> Path:
    """Return the folder of `gh`, which is a new one with the stand-in where there is none. The test is skipped without
    `jq` and `curl`."""
    found = shutil.which("gh")
    if found is not None:
        return Path(found).parent
    if shutil.which("jq") is None or shutil.which("curl") is None:
        pytest.skip("neither gh nor jq and curl are on this machine")
    script = folder / "stand-in" / "gh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(STAND_IN)
    script.chmod(0o755)
    return script.parent


@contextlib.contextmanager
def served(api: GithubApi) -> Iterator[str]:
    """Serve the API inside the block, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def comment(api: GithubApi, folder: Path, report: Path, commit: str) -> subprocess.CompletedProcess[str]:
    """Run the step that writes the comment, for the review of a commit, in an empty folder with nothing but the
    report."""
    found = step(read_as_texts(GITHUB.read_text()), "comment", "Comment")
    workspace = Path(tempfile.mkdtemp(dir=folder))
    (workspace / "report").mkdir()
    shutil.copy(report, workspace / "report" / "review.json")
    (workspace / ".venv").symlink_to(sys.prefix)
    context = {
        "github.token": TOKEN,
        "needs.review.outputs.details": DETAILS,
        "github.event.pull_request.head.sha": commit,
        "github.event.pull_request.number": str(NUMBER),
    }
    with served(api) as address:
        environ = {
            "PATH": f"{gh_folder(folder)}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(workspace),
            "GITHUB_REPOSITORY": REPOSITORY,
            # `gh` asks this host without TLS, and the server is the proxy to it
            "GH_HOST": "github.localhost",
            "http_proxy": address,
            **environment_of(found, context),
        }
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", found["run"]]
        return subprocess.run(words, cwd=workspace, env=environ, capture_output=True, text=True, check=False)
