"""What a cluster says as an environment: objects of its API to a file that passes `check`, whatever they hold."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.rendering import job_problems
from trainform import defaults
from trainform.cluster.survey import Survey
from trainform.escaping import escaped
from trainform.rules.environment import environment_problems
from trainform.scaffold.environment import from_survey, skeleton
from trainform.scaffold.experiment import LauncherName, NewExperiment
from trainform.spec import Environment, Experiment
from trainform.spec.load import parse
from trainform.spec.names import LABEL, SUBDOMAIN, matches
from trainform.spec.read import parse_mapping

PRODUCT = "nvidia.com/gpu.product"


def node(
    resources: dict[str, str], labels: dict[str, str] | None = None, taints: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    allocatable = {"cpu": "95500m", "memory": "1056957440Ki", "pods": "110", "ephemeral-storage": "1Ti", **resources}
    return {
        "metadata": {"name": "n", "labels": {} if labels is None else labels},
        "spec": {"taints": [] if taints is None else taints},
        "status": {"allocatable": allocatable},
    }


def named(*names: str) -> list[dict[str, Any]]:
    return [{"metadata": {"name": name}} for name in names]


def queue(name: str, parent: str | None = None, state: str | None = "Open") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {} if parent is None else {"parent": parent},
        "status": {} if state is None else {"state": state},
    }


def survey(**parts: Any) -> Survey:
    nothing: dict[str, Any] = {"nodes": [], "storage_classes": [], "queues": [], "local_queues": []}
    given: dict[str, Any] = {"context": "prod-cluster", "namespace": "team-a", "operators": ("volcano",)}
    return Survey(**(given | nothing | parts))


def read(text: str) -> Environment:
    parsed = parse(Environment, parse_mapping(text, "prod.yaml").data)
    assert parsed.problems == []
    assert parsed.model is not None
    assert environment_problems(parsed.model) == []
    return parsed.model


def environment(**parts: Any) -> Environment:
    return read(from_survey("prod", survey(**parts)))


def uncommented(text: str) -> str:
    """The file with its examples taken in: comments that begin with a key, and the lines of a mapping below one."""
    return "\n".join(re.sub(r"^# (?=[a-z_]+:|  )", "", line) for line in text.splitlines())


# --- the skeleton


@pytest.mark.parametrize("name", ["prod", "50", "no"])
def test_the_skeleton(name: str) -> None:
    assert read(skeleton(name)) == Environment.model_validate(
        {"name": name, "namespace": {"name": name, "create": True}}
    )


@pytest.mark.parametrize("text", [skeleton("prod"), from_survey("prod", survey(operators=()))])
def test_the_examples_of_the_skeleton_are_valid(text: str) -> None:
    full = read(uncommented(text))
    assert full.accelerators.keys() == {"a100"}
    assert full.storage_classes == {"fast": "cephfs-ssd"}
    assert full.rdma is not None
    assert full.limits.severity == {"TF-IMG-2": "error"}
    price = re.search(r"price_per_hour: \{.*\}", text)
    assert price is not None
    priced = uncommented(text).replace("memory: 1000Gi}", f"memory: 1000Gi, {price[0]}}}")
    assert read(priced).accelerators["a100"].price_per_hour is not None


# --- accelerators and the fabric


def test_one_kind_needs_no_label() -> None:
    nodes = [node({"nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "63"}) for _ in range(4)] + [node({})]
    found = environment(nodes=nodes)
    assert found.accelerators["gpu"].model_dump(exclude_defaults=True) == {
        "resource": "nvidia.com/gpu", "per_node": 8, "nodes": 4, "cpu": "95", "memory": "1007Gi",
    }  # fmt: skip
    assert found.rdma is not None
    assert (found.rdma.resource, found.rdma.count, found.rdma.per_node) == ("rdma/hca_shared_devices_a", 1, 63)


def test_products_tell_kinds_of_one_resource_apart() -> None:
    nodes = [
        node({"nvidia.com/gpu": "8"}, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}),
        node({"nvidia.com/gpu": "8"}, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}),
        node({"nvidia.com/gpu": "4"}, {PRODUCT: "Tesla-T4"}),
        node({"baidu.com/a800_80g_cgpu": "8", "baidu.com/a800_80g_cgpu_memory": "640"}),
    ]
    kinds = environment(nodes=nodes).accelerators
    assert {name: (kind.resource, kind.per_node, kind.nodes) for name, kind in kinds.items()} == {
        "a100-sxm4-80gb": ("nvidia.com/gpu", 8, 2),
        "t4": ("nvidia.com/gpu", 4, 1),
        "a800-80g-cgpu": ("baidu.com/a800_80g_cgpu", 8, 1),
    }
    assert kinds["a100-sxm4-80gb"].node_selector == {PRODUCT: "NVIDIA-A100-SXM4-80GB"}
    assert kinds["a800-80g-cgpu"].node_selector == {}


def test_parts_of_a_card_beside_whole_ones() -> None:
    labels = {PRODUCT: "NVIDIA-A100"}
    kinds = environment(nodes=[node({"nvidia.com/gpu": "4", "nvidia.com/mig-1g.5gb": "28"}, labels)]).accelerators
    assert {name: kind.resource for name, kind in kinds.items()} == {
        "a100-gpu": "nvidia.com/gpu",
        "a100-mig-1g-5gb": "nvidia.com/mig-1g.5gb",
    }


def kinds_of(nodes: list[dict[str, Any]]) -> tuple[dict[str, tuple[int, int, dict[str, str], int]], list[str]]:
    """Of each kind: accelerators of a node, nodes, labels, tolerations; and the notes."""
    text = from_survey("prod", survey(nodes=nodes))
    kinds = read(text).accelerators.items()
    return (
        {name: (kind.per_node, kind.nodes, kind.node_selector, len(kind.tolerations)) for name, kind in kinds},
        [line[2:] for line in text.splitlines() if "not counted" in line or "left out" in line],
    )


def test_nodes_with_different_numbers() -> None:
    """Each number of nodes is one that a scheduler can serve: a pod with all accelerators of a node finds that many."""
    nodes = [node({"amd.com/gpu": count}) for count in ("8", "8", "4", "4")]
    assert kinds_of(nodes) == (
        {"gpu": (8, 2, {}, 0)},
        ["2 nodes with 4 amd.com/gpu are left out: no label distinguishes them"],
    )


def test_labels_tell_numbers_apart() -> None:
    large = {PRODUCT: "A100", "kubernetes.io/hostname": "a", "node.kubernetes.io/instance-type": "p4d.24xlarge"}
    small = {PRODUCT: "A100", "topology.kubernetes.io/zone": "b", "pool": "small", "kubernetes.io/hostname": "b"}
    nodes = [node({"nvidia.com/gpu": "8"}, large), *[node({"nvidia.com/gpu": "4"}, small)] * 2]
    found = {
        "a100": (8, 1, {"node.kubernetes.io/instance-type": "p4d.24xlarge"}, 0),
        "a100-small": (4, 2, {"pool": "small"}, 0),
    }
    assert kinds_of(nodes) == (found, [])
    beside = {name: (*kind[:2], {PRODUCT: "A100", **kind[2]}, 0) for name, kind in found.items()}
    nodes.append(node({"nvidia.com/gpu": "2"}, {PRODUCT: "T4"}))
    assert kinds_of(nodes) == ({**beside, "t4": (2, 1, {PRODUCT: "T4"}, 0)}, [])


@pytest.mark.parametrize("label", ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "alpha.eksctl.io/instance-id"])  # fmt: skip
def test_labels_of_single_nodes_and_places_are_none_of_a_kind(label: str) -> None:
    nodes = [node({"amd.com/gpu": "8"}), node({"amd.com/gpu": "4"}, {label: "a"})]
    assert kinds_of(nodes) == ({"gpu": (8, 1, {}, 0)}, ["1 node with 4 amd.com/gpu is left out: no label distinguishes them"])  # fmt: skip


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}
SILENT = {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "Unknown"}]}
READY = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]}


def test_unusable_nodes_are_not_counted() -> None:
    pool = {"pool": "a"}
    carrying = node({"amd.com/gpu": "8", "rdma/hca": "9"}, pool)
    cordoned = {**carrying, "spec": {"unschedulable": True}}
    nodes = [{**carrying, "status": {**carrying["status"], **state}} for state in (READY, NOT_READY, SILENT)]
    taints = [{"key": f"k{number}", "effect": "NoSchedule"} for number in range(21)]
    nodes += [cordoned, node({"amd.com/gpu": "16"}, pool, taints)]
    notes = ["4 nodes with accelerators are not counted: cordoned, not ready, or with more than 20 taints"]
    assert kinds_of(nodes) == ({"gpu": (8, 1, {}, 0)}, notes)
    # a label tells a kind apart whether or not all its nodes are there today
    assert kinds_of([*nodes[:4], node({"amd.com/gpu": "4"})])[0] == {"gpu": (8, 1, {"pool": "a"}, 0)}
    assert kinds_of([cordoned]) == ({}, [notes[0].replace("4 nodes", "1 node").replace(" are ", " is ")])


def test_a_taint_on_half_of_the_nodes() -> None:
    own = {"key": "dedicated", "value": "infer", "effect": "NoSchedule"}
    bare, tainted = [node({"amd.com/gpu": "8"})] * 2, [node({"amd.com/gpu": "8"}, None, [own])] * 3
    note = (
        "3 nodes with 8 amd.com/gpu and the taint dedicated=infer:NoSchedule are left out: no label distinguishes them"
    )
    assert kinds_of([*tainted, *bare]) == ({"gpu": (8, 2, {}, 0)}, [note])
    tainted = [node({"amd.com/gpu": "8"}, {"node-role.kubernetes.io/infer": ""}, [own])] * 3
    assert kinds_of([*tainted, *bare]) == (
        {"gpu": (8, 2, {}, 0), "gpu-infer": (8, 3, {"node-role.kubernetes.io/infer": ""}, 1)},
        [],
    )


def test_nodes_without_a_product_beside_others() -> None:
    """A kind without labels would be for the nodes of all the others too."""
    labelled = node({"nvidia.com/gpu": "8"}, {PRODUCT: "A100"})
    nodes = [labelled, *[node({"nvidia.com/gpu": "8"})] * 2]
    assert kinds_of(nodes) == (
        {"a100": (8, 1, {PRODUCT: "A100"}, 0)},
        ["2 nodes with 8 nvidia.com/gpu without a label of a product are left out: no label distinguishes them"],
    )
    nodes = [labelled, node({"nvidia.com/gpu": "8"}, {"pool": "old"})]
    assert kinds_of(nodes)[0] == {"a100": (8, 1, {PRODUCT: "A100"}, 0), "gpu": (8, 1, {"pool": "old"}, 0)}


def test_the_taints_that_its_nodes_have_are_tolerated() -> None:
    own = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    passing = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    soft = {"key": "busy", "effect": "PreferNoSchedule"}
    bare = {"key": "team", "effect": "NoExecute"}
    nodes = [node({"nvidia.com/gpu": "8"}, None, [own, passing, soft, bare]), node({"nvidia.com/gpu": "8"}, None, [bare, own])]  # fmt: skip
    kind = environment(nodes=nodes).accelerators["gpu"]
    assert kind.nodes == 2
    assert [toleration.model_dump(exclude_defaults=True) for toleration in kind.tolerations] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_other_resources_are_listed_in_a_comment() -> None:
    text = from_survey("prod", survey(nodes=[node({"smarter-devices/fuse": "20", "hugepages-2Mi": "0", "x.io/gpu": "0"})]))  # fmt: skip
    assert "# No accelerators were found on its nodes.\n" in text
    assert "# Further resources of its nodes: smarter-devices/fuse\n" in text
    assert read(text).accelerators == {}


# --- operator, queues, classes


@pytest.mark.parametrize(
    ("operators", "backend", "admission"),
    [
        (("volcano", "jobset", "kueue", "kubeflow"), "volcano", "volcano"),
        (("kueue", "trainer", "kubeflow"), "trainer", "kueue"),
        (("jobset", "kueue"), "jobset", "kueue"),
        # without what would hold the pods of a job together
        (("kubeflow",), defaults.BACKEND, "volcano"),
        (("kueue",), defaults.BACKEND, "volcano"),
        (None, defaults.BACKEND, "volcano"),
    ],
)
def test_the_first_operator_with_its_queue_system_is_chosen(
    operators: tuple[str, ...] | None, backend: str, admission: str
) -> None:
    text = from_survey("prod", survey(operators=operators))
    found = read(text)
    assert (found.backend, found.admission) == (backend, admission)
    sure = {backend, admission} <= set(() if operators is None else operators)
    assert ("No operator with gangs was found" in text) is not sure


def test_volcanos_queues_can_be_named() -> None:
    queues = [
        *map(queue, ("default", "root", "night")),
        queue("above", "root"),
        queue("below", "above"),
        queue("lost", "gone"),
        queue("own", "own"),
    ]
    found = environment(queues=queues, nodes=[node({"nvidia.com/gpu": "8"})])
    assert {name: queue.parent for name, queue in found.queues.items()} == {
        "below": "above", "lost": "root", "night": "root", "above": "root", "own": "root",
    }  # fmt: skip
    assert next(iter(found.queues)) == "below", "what `trainform new` takes must be a leaf"
    text = NewExperiment("bert", "prod", LauncherName.TORCHRUN, 1, ("gpu", 8), "below").text("a/b:c")
    assert job_problems(Experiment.model_validate(yaml.safe_load(text)), found) == []


def test_cycles_of_queues_are_left_out() -> None:
    queues = [queue("a", "b"), queue("b", "a"), queue("c", "a")]
    found = environment(queues=queues).queues
    assert {name: request.parent for name, request in found.items()} == {"a": "root", "b": "root", "c": "root"}


def test_queues_that_are_not_open_are_left_out() -> None:
    """And those above them that would look as if they took jobs."""
    queues = [
        queue("a-day", state="Closed"),
        queue("team", "root"),
        queue("team-night", "team", "Closing"),
        queue("fresh", state=None),
        queue("odd", state="x}: {y"),
        queue("zoo"),
        queue("zoo-bird", "zoo"),
        queue("zoo-cat", "zoo", "Closed"),
        queue("default", state="Closed"),
    ]
    text = from_survey("prod", survey(queues=queues))
    assert list(read(text).queues) == ["zoo-bird", "zoo"]
    assert (
        "# Not open, and left out: a-day (Closed), default (Closed), fresh (no state), odd (no state), team-night (Closing), "
        "zoo-cat (Closed)\n"
    ) in text


def test_local_queues_are_listed_in_a_comment() -> None:
    found = survey(operators=("jobset", "kueue"), local_queues=named("team-b", "team-a"), queues=named("night"))
    text = from_survey("prod", found)
    assert "# LocalQueues of the namespace, for `queue` of experiments: team-a, team-b\n" in text
    assert read(text).queues == {}


def test_storage_classes() -> None:
    found = environment(storage_classes=named("cephfs-ssd", "fast.example.com", "fast-example-com", "1e3"))
    assert found.storage_classes == {
        "1e3": "1e3", "cephfs-ssd": "cephfs-ssd", "fast-example-com": "fast-example-com", "fast-example-com-2": "fast.example.com",
    }  # fmt: skip


def test_unread_data_is_replaced_by_examples() -> None:
    text = from_survey("prod", survey(operators=None, nodes=None, storage_classes=None, queues=None, local_queues=None))
    assert read(text).accelerators == {}
    assert read(uncommented(text)).accelerators.keys() == {"a100"}


# --- large and hostile clusters


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


# --- hostile clusters

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
