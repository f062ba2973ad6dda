"""What a cluster says as an environment: objects of its API to a file that passes `check`, whatever they hold."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainform.backends.job import job_problems
from trainform.catalog import defaults
from trainform.cluster.survey import Survey
from trainform.escaping import escaped
from trainform.plan.environment import environment_problems
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
def test_its_examples_are_right_too(text: str) -> None:
    full = read(uncommented(text))
    assert full.accelerators.keys() == {"a100"}
    assert full.storage_classes == {"fast": "cephfs-ssd"}
    assert full.rdma is not None
    assert full.limits.require_digest
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


def test_nodes_with_different_numbers() -> None:
    """A pod may have the most that one of them has; together they hold no more than there are."""
    text = from_survey("prod", survey(nodes=[node({"amd.com/gpu": "8"}), node({"amd.com/gpu": "8"}), node({"amd.com/gpu": "6"})]))  # fmt: skip
    kind = read(text).accelerators["gpu"]
    assert (kind.per_node, kind.nodes) == (8, 2)
    assert "   # 3 nodes with 6 to 8\n" in text


def test_the_taints_that_all_its_nodes_have_are_tolerated() -> None:
    own = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    passing = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    soft = {"key": "busy", "effect": "PreferNoSchedule"}
    bare = {"key": "team", "effect": "NoExecute"}
    nodes = [
        node({"nvidia.com/gpu": "8"}, None, [own, passing, soft, bare]),
        node({"nvidia.com/gpu": "8"}, None, [own, bare, passing, {"key": "mine", "effect": "NoSchedule"}]),
    ]
    tolerations = environment(nodes=nodes).accelerators["gpu"].tolerations
    assert [toleration.model_dump(exclude_defaults=True) for toleration in tolerations] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_what_is_no_accelerator_is_told() -> None:
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
def test_the_operator(operators: tuple[str, ...] | None, backend: str, admission: str) -> None:
    text = from_survey("prod", survey(operators=operators))
    found = read(text)
    assert (found.backend, found.admission) == (backend, admission)
    sure = {backend, admission} <= set(() if operators is None else operators)
    assert ("No operator with gangs was found" in text) is not sure


def test_volcanos_queues_can_be_named() -> None:
    queues = [
        *named("default", "root", "night"),
        {"metadata": {"name": "above"}, "spec": {"parent": "root"}},
        {"metadata": {"name": "below"}, "spec": {"parent": "above"}},
        {"metadata": {"name": "lost"}, "spec": {"parent": "gone"}},
        {"metadata": {"name": "own"}, "spec": {"parent": "own"}},
    ]
    found = environment(queues=queues, nodes=[node({"nvidia.com/gpu": "8"})])
    assert {name: queue.parent for name, queue in found.queues.items()} == {
        "below": "above", "lost": "root", "night": "root", "above": "root", "own": "root",
    }  # fmt: skip
    assert next(iter(found.queues)) == "below", "what `trainform new` takes must be a leaf"
    text = NewExperiment("bert", "prod", LauncherName.TORCHRUN, 1, ("gpu", 8), "below").text("a/b:c")
    assert job_problems(Experiment.model_validate(yaml.safe_load(text)), found) == []


def test_a_circle_of_queues_is_no_tree() -> None:
    queues = [{"metadata": {"name": name}, "spec": {"parent": parent}} for name, parent in (("a", "b"), ("b", "a"))]
    assert {queue.parent for queue in environment(queues=queues).queues.values()} == {"root"}


def test_kueues_queues_stand_in_a_comment() -> None:
    found = survey(operators=("jobset", "kueue"), local_queues=named("team-b", "team-a"), queues=named("night"))
    text = from_survey("prod", found)
    assert "# LocalQueues of the namespace, for `queue` of experiments: team-a, team-b\n" in text
    assert read(text).queues == {}


def test_storage_classes() -> None:
    found = environment(storage_classes=named("cephfs-ssd", "fast.example.com", "fast-example-com", "1e3"))
    assert found.storage_classes == {
        "1e3": "1e3", "cephfs-ssd": "cephfs-ssd", "fast-example-com": "fast-example-com", "fast-example-com-2": "fast.example.com",
    }  # fmt: skip


def test_what_could_not_be_read_leaves_examples() -> None:
    text = from_survey("prod", survey(operators=None, nodes=None, storage_classes=None, queues=None, local_queues=None))
    assert read(text).accelerators == {}
    assert read(uncommented(text)).accelerators.keys() == {"a100"}


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
                            "taints": st.lists(
                                st.fixed_dictionaries({"key": words, "value": words, "effect": words}), max_size=3
                            ),
                        }
                    ),
                ),
                "status": st.fixed_dictionaries({"allocatable": st.dictionaries(words, words, max_size=5)}),
            }
        ),
    ),
    max_size=5,
)


@given(nodes=objects, classes=objects, queues=objects, local=objects, kueue=st.booleans())
def test_whatever_a_cluster_says(nodes: Any, classes: Any, queues: Any, local: Any, kueue: bool) -> None:
    operators = ("jobset", "kueue") if kueue else ("volcano",)
    text = from_survey("prod", survey(nodes=nodes, storage_classes=classes, queues=queues, local_queues=local, operators=operators))  # fmt: skip
    assert all(line == escaped(line) and line.isascii() for line in text.splitlines())
    found = read(text)
    assert found.limits == Environment.model_validate({"name": "x", "namespace": {"name": "x"}}).limits
    assert all(matches(LABEL, kind) for kind in found.accelerators)
    assert all(matches(SUBDOMAIN, queue) for queue in found.queues)
