"""Large and hostile clusters: the file is valid whatever their objects hold, and never too long."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scaffold.surveys import PRODUCT, READY, named, node, queue, read, survey
from trainform import defaults
from trainform.cluster.survey import Survey
from trainform.escaping import escaped
from trainform.scaffold.environment import from_survey
from trainform.spec import Environment
from trainform.spec.names import LABEL, SUBDOMAIN, matches


def long_name(number: int, length: int = 63) -> str:
    return f"{number:06}".ljust(length, "x")


def hostile_nodes(count: int) -> list[dict[str, Any]]:
    """Each with a product and taints of its own, with names as long as Kubernetes takes them."""
    domain = ".".join(["d" * 62] * 4)
    taints = [
        {"key": f"{domain}/{long_name(number)}", "value": "v" * 63, "effect": "NoSchedule"} for number in range(20)
    ]
    resources = {f"gpu.{domain[:240]}/{long_name(number)}": "8" for number in range(60)}
    return [node(resources, {PRODUCT: long_name(number)}, taints) for number in range(count)]


def test_the_file_is_never_too_long_to_be_read() -> None:
    """Where everything is as long as Kubernetes takes it."""
    queues = [queue(long_name(number)) for number in range(1500)]
    text = from_survey(
        "prod", survey(queues=queues, nodes=hostile_nodes(60), storage_classes=named(*(long_name(number, 253) for number in range(300))))
    )  # fmt: skip
    found = read(text)
    assert len(text) < defaults.LARGEST_FILE
    assert (len(found.queues), len(found.accelerators), len(found.storage_classes)) == (1000, 50, 100)
    for note in ("# 500 further queues are left out.", "# 200 further storage classes are left out."):
        assert f"{note}\n" in text
    assert re.search(r"^# [0-9]+ further groups of nodes are left out.$", text, re.MULTILINE)
    queues = [queue(long_name(number), long_name(number + 1)) for number in range(1500)]
    assert len(read(from_survey("prod", survey(queues=queues))).queues) == 1000


def steps(work: Callable[[], object]) -> int:
    """Lines of scaffold that run: what the work costs, whatever else the machine does."""
    count = 0

    def each_line(frame: Any, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return each_line if "/scaffold/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(each_line)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def many(count: int, what: str) -> Survey:
    sizes = [node({"nvidia.com/gpu": str(number + 1)}, {"pool": f"p{number}"}) for number in range(count)]
    return {
        "a chain": lambda: survey(queues=[queue(long_name(n), long_name(n + 1)) for n in range(count)]),
        "a circle": lambda: survey(queues=[queue(long_name(n), long_name((n + 1) % count)) for n in range(count)]),
        "products": lambda: survey(nodes=[node({"a.io/gpu": "8"}, {PRODUCT: f"p{n}"}) for n in range(count)]),
        "sizes": lambda: survey(nodes=sizes),
    }[what]()


@pytest.mark.parametrize("what", ["a chain", "a circle", "products", "sizes"])
def test_work_grows_with_the_cluster_and_no_faster(what: str) -> None:
    """Twice as many objects: about twice the work, where it was four times."""
    small, large = many(2000, what), many(4000, what)
    assert steps(lambda: from_survey("prod", large)) < 2.5 * steps(lambda: from_survey("prod", small))


words = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "nvidia.com/gpu", "rdma/hca", "x}: {y", "a\nlimits: {privileged: true}", "\x1b[2J", "\u202e", "'", '"', "# ", "no", "1", "8", "80",
            "-1", "9" * 400, "1.5", "NaN", "Infinity", "1e9", "metadata", "labels", "name", "spec", "status", "allocatable", "taints", "parent", "key", "value", "effect", PRODUCT, "NoSchedule", "\ud800",
        ]
    ),
)  # fmt: skip
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)),
    max_leaves=20,
)
objects = st.lists(
    st.one_of(
        anything,
        st.fixed_dictionaries(
            {
                "metadata": st.one_of(
                    anything,
                    st.fixed_dictionaries(
                        {
                            "name": st.one_of(words, st.sampled_from(["default", "night", "a.b", "a-b"])),
                            "labels": st.dictionaries(st.just(PRODUCT), words),
                        }
                    ),
                ),
                "spec": st.one_of(
                    anything,
                    st.fixed_dictionaries(
                        {
                            "parent": st.sampled_from(["a.b", "a-b", "night", "root"]),
                            "unschedulable": st.one_of(st.booleans(), words),
                            "taints": st.lists(
                                st.fixed_dictionaries({"key": words, "value": words, "effect": words}), max_size=3
                            ),
                        }
                    ),
                ),
                "status": st.fixed_dictionaries(
                    {
                        "allocatable": st.dictionaries(words, words, max_size=5),
                        "conditions": st.one_of(anything, st.just(READY["conditions"])),
                        "state": st.one_of(anything, st.just("Open")),
                    }
                ),
            }
        ),
    ),
    max_size=5,
)


@given(nodes=objects, classes=objects, queues=objects, local=objects, kueue=st.booleans())
def test_any_data_of_a_cluster_makes_a_valid_file(
    nodes: Any, classes: Any, queues: Any, local: Any, kueue: bool
) -> None:
    operators = ("jobset", "kueue") if kueue else ("volcano",)
    text = from_survey("prod", survey(nodes=nodes, storage_classes=classes, queues=queues, local_queues=local, operators=operators))  # fmt: skip
    assert all(line == escaped(line) and line.isascii() for line in text.splitlines())
    found = read(text)
    assert found.limits == Environment.model_validate({"name": "x", "namespace": {"name": "x"}}).limits
    assert all(matches(LABEL, kind) for kind in found.accelerators)
    assert all(matches(SUBDOMAIN, queue) for queue in found.queues)
