"""States of stacks in a store like S3, in place of a folder: what reads them works the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.applying import apply, refused, reviewed_and_applied, save
from tests.engine.live import Live
from tests.engine.project import Project
from tests.support.s3 import ACCOUNT, make_bucket, s3

pytestmark = pytest.mark.proof("states that are not in a folder")


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with s3() as address:
        yield address


def test_reviews_are_saved_and_applied_and_stacks_destroyed(project: Project, live: Live, store: str) -> None:
    project.environ |= {"PULUMI_BACKEND_URL": make_bucket(store, "states"), **ACCOUNT}
    project.secrets.add(ACCOUNT["AWS_SECRET_ACCESS_KEY"])
    project.copied("allreduce")
    stack = project.stack("allreduce")
    project.ssh_secret(stack)
    reviewed_and_applied(project, stack)
    live.running_pods(project.namespace, 3)  # a job that starts after a review has moved
    project.copied("allreduce", lambda data: data.setdefault("env", {}).update(LETTER="B"))
    file = save(project, stack)
    refused(apply(project, file, PULUMI_BACKEND_URL=make_bucket(store, "others")), ("backend", "backend"))
    assert apply(project, file).code == 0
    refused(apply(project, file), ("state", "written"))
    project.trainform("destroy", stack, "--", "--yes").succeeded()
    assert live.names("jobs", project.namespace) == set()
