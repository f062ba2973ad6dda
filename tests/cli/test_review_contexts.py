"""Several stacks of one review: which of them are deployed before each."""

from __future__ import annotations

from tests.review.jobs_of_previews import environment
from trainform.cli.review_reading import Read, contexts_of
from trainform.review.files import StackFiles
from trainform.review.preview import Preview


def read(stack: str, cluster: str, *, own: bool = False) -> Read:
    files = StackFiles(environment=environment(cluster={"context": cluster}), users=() if own else None)
    return Read(stack, Preview("stream", ()), files, None)


def test_the_stacks_of_environments_come_first_and_other_clusters_do_not_count() -> None:
    names = [read("bert.dev", "lab"), read("resnet.dev", "lab"), read("dev", "lab", own=True), read("bert.prod", "gpu")]
    contexts = contexts_of(names, [()] * 4, [None] * 4, None)
    assert {each.stack: [other.stack for other in each.earlier] for each in contexts} == {
        "bert.dev": ["dev"],
        "resnet.dev": ["dev", "bert.dev"],
        "dev": [],
        "bert.prod": [],
    }
    unread = Read("bert.dev", Preview("stream", ()), StackFiles(), None)
    assert [each.earlier for each in contexts_of([unread, unread], [()] * 2, [None] * 2, None)] == [(), ()]
    default = [Read(name, Preview("stream", ()), StackFiles(environment=environment()), None) for name in ("a", "b")]
    assert [len(each.earlier) for each in contexts_of(default, [()] * 2, [None] * 2, None)] == [0, 1]
