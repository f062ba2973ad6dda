"""Experiments as hypothesis draws them: plain data as from YAML, over every field, up to the borders of Kubernetes'
validation.

`experiments` aims at data that `check` accepts; some of it is refused for good reason (a name too long for its pods, a
claim mounted twice). `wild_experiments` breaks such data at one place. `ENVIRONMENT` is where both are meant to run.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.support.generated_fields import (
    MAXIMUM,
    commands,
    entrypoints,
    experiment_fields,
    extra_roles,
    images,
    labels,
    launchers_over_ssh,
    launching_roles,
    names,
    not_of_volcano,
    ranked_roles,
    role_names,
    served_roles,
    some,
    ssh,
    static_launchers,
    steps,
    torchrun_fields,
    volumes,
    words,
)

ENVIRONMENT: dict[str, Any] = {
    "name": "rich",
    "namespace": {"name": "ai-namespace"},
    "queues": {
        "default": {"weight": 1},
        "night.vision": {"weight": 65535, "capability": {"a800": 512, "cpu": "4096", "memory": "64Ti"}, "priority": 7},
        "vision": {"reclaimable": False, "deserved": {"a800": 8}, "guarantee": {"a800": 4}},
    },
    "priority_classes": {"urgent": {"value": 1_000_000_000}, "idle": {"value": -10, "preempt": False}},
    "accelerators": {
        "a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 128},
        "l40s": {
            "resource": "nvidia.com/gpu",
            "per_node": 4,
            "nodes": 64,
            "node_selector": {"node.kubernetes.io/instance-type": "l40s"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        },
    },
    "rdma": {"resource": "rdma/hca", "count": 2, "capabilities": ["IPC_LOCK", "SYS_RESOURCE"]},
    "storage_classes": {"fast": "cephfs-ssd", "archive": "cephfs.hdd"},
    "ports": "1-65535",
    "image_pull_secrets": ["registry.cluster"],
    "node_selector": {"pool": ""},
    "tolerations": [{"key": "training", "value": "only"}],
    "limits": {
        "service_accounts": ["trainer"],
        "host_network": True,
        "host_paths": ["/mnt/disks"],
        "resources": ["smarter-devices.io/fuse", "x.y/Z_z.9", "d" * 60 + ".example.com/n"],
        "max_accelerators": 512,
        "waivable": {"TF-IMG-1": ["team-lead", "other-lead"], "TF-IMG-2": ["team-lead"]},
    },
}

Roles = dict[str, dict[str, Any]]


def _ordered(draw: st.DrawFn, ranked: Roles, others: Roles) -> Roles:
    """Return the roles of a job in any order."""
    return dict(draw(st.permutations(list(ranked.items()) + list(others.items()))))


def _extras(draw: st.DrawFn, taken: Roles, most: int = 2) -> Roles:
    return draw(st.dictionaries(role_names.filter(lambda name: name not in taken), extra_roles, max_size=most))


def _static(draw: st.DrawFn) -> dict[str, Any]:
    ranked = draw(st.dictionaries(role_names, ranked_roles, min_size=1, max_size=3))
    launcher = draw(static_launchers)
    if "accelerate" in launcher:
        for role in ranked.values():
            role["accelerators"] = {"a800": draw(st.sampled_from([1, 8]))}
    return {"launcher": launcher, "roles": _ordered(draw, ranked, _extras(draw, ranked))}


def _entrypoint(draw: st.DrawFn) -> dict[str, Any]:
    """The image's own program runs in the pods of one ranked role."""
    ranked = {draw(role_names): draw(served_roles)}
    return {"launcher": draw(entrypoints), "roles": _ordered(draw, ranked, _extras(draw, ranked))}


def _elastic(draw: st.DrawFn) -> dict[str, Any]:
    ranked = draw(st.dictionaries(role_names, ranked_roles, min_size=1, max_size=3))
    nodes = sum(role["replicas"] for role in ranked.values())
    bounds = {"min_nodes": draw(st.integers(1, nodes)), "max_nodes": draw(st.integers(nodes, 64))}
    launcher = {"torchrun": {**draw(some(torchrun_fields, script=words)), "elastic": bounds}}
    return {"launcher": launcher, "roles": _ordered(draw, ranked, _extras(draw, ranked))}


def _over_ssh(draw: st.DrawFn) -> dict[str, Any]:
    """The launching pod is the first node, or stands apart."""
    launcher = draw(launchers_over_ssh)
    ranked = draw(st.dictionaries(role_names, served_roles, min_size=1, max_size=3))
    if draw(st.booleans()):
        ranked[next(iter(ranked))]["replicas"] = 1
        first, *others = [*ranked.items(), *_extras(draw, ranked, 1).items()]
        return {"launcher": launcher, "roles": dict([first, *draw(st.permutations(others))])}
    launching = draw(st.sampled_from(["launcher", "start-all", "l"]).filter(lambda name: name not in ranked))
    next(iter(launcher.values()))["role"] = launching
    apart = {launching: draw(launching_roles)}
    return {"launcher": launcher, "roles": _ordered(draw, ranked, apart | _extras(draw, ranked | apart, 1))}


def _tensorflow(draw: st.DrawFn) -> dict[str, Any]:
    """Roles are called like their types, or are given one. The evaluator is not the first."""
    kinds = ["worker", *draw(st.lists(st.sampled_from(["chief", "ps", "evaluator"]), unique=True, max_size=3))]
    named = {kind: draw(st.sampled_from([kind, f"{kind}s", f"{kind}-group"])) for kind in kinds}
    ranked = {named[kind]: draw(ranked_roles) for kind in kinds}
    for kind in {"chief", "evaluator"} & named.keys():
        ranked[named[kind]]["replicas"] = 1
    types = {name: kind for kind, name in named.items() if name != kind}
    made = {"command": draw(commands), **({"task_types": types} if types else {})}
    return {"launcher": {"tensorflow": made}, "roles": ranked | _extras(draw, ranked, 1)}


_KINDS = {
    "static": _static,
    "elastic": _elastic,
    "over_ssh": _over_ssh,
    "tensorflow": _tensorflow,
    "entrypoint": _entrypoint,
}


def _connect(draw: st.DrawFn, data: dict[str, Any], kind: str) -> None:
    """How the pods reach each other, as far as the launcher lets them."""
    network = data.get("network", {})
    if kind != "entrypoint" and draw(st.integers(0, 2)) == 0:
        data["ssh"] = draw(ssh)
    if kind == "elastic":
        return
    per_replica = network.get("host", False) and draw(st.booleans())
    if per_replica:
        network["ports"] = "per-replica"
    if draw(st.booleans()) and not (kind in ("over_ssh", "entrypoint") and network.get("host", False)):
        data["network"] = {**network, "addresses": "service"}


def _prepare(draw: st.DrawFn, data: dict[str, Any]) -> None:
    found = draw(steps)
    taken = {init["name"] for role in data["roles"].values() for init in role.get("init", ())}
    for step in found:
        if draw(st.booleans()):
            step["roles"] = draw(st.lists(st.sampled_from(sorted(data["roles"])), unique=True))
        if "command" in step:
            step["on"] = draw(st.sampled_from([None, "each-pod", "first-pod"]))
    data["prepare"] = [step for step in found if step["name"] not in taken]


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Return an experiment that `check` accepts, more often than not."""
    data: dict[str, Any] = {"name": draw(names), "image": draw(images), **draw(some(experiment_fields))}
    kind = draw(st.sampled_from(["static", *_KINDS]))
    data |= _KINDS[kind](draw)
    _connect(draw, data, kind)
    policies = [found for found in (data, *data["roles"].values()) if "policies" in found]
    if kind != "elastic" and not policies and draw(st.integers(0, 4)) == 0:
        data["restart"] = "all-when-evicted"
    if draw(st.integers(0, 5)) == 0:
        data |= draw(some(not_of_volcano))
    for role in data["roles"].values():
        words = role.get("restart", data.get("restart"))
        if not str(words).endswith("times") and draw(st.booleans()):
            role["max_retry"] = draw(st.sampled_from([1, 3, MAXIMUM]))
    if draw(st.booleans()):
        _prepare(draw, data)
    storage = draw(st.dictionaries(labels(12), volumes, max_size=2))
    for volume in storage.values():
        if draw(st.booleans()):
            volume["roles"] = draw(st.lists(st.sampled_from(sorted(data["roles"])), unique=True))
    if storage:
        data["storage"] = storage
    return data


# What people write by mistake, and what no file should be able to do.
ODD: list[Any] = [
    None,
    "",
    0,
    -1,
    1.5,
    True,
    [],
    {},
    "x" * 300,
    "a\n",
    "..",
    "/",
    "kubernetes.io/batch-cpu",
    "100m",
    "-1Gi",
    2**70,
    float("inf"),
    float("nan"),
    [None],
    [[]],
    {"x": None},
    {"": ""},
    {"name": "x"},
    "\ud800",
    "\0",
    "0x10",
    {"spec": None},
    {"spec": {"containers": None}},
    {"spec": {"containers": "main"}},
    {"metadata": None},
    {"metadata": {"labels": None}},
    {"metadata": {"name": None}},
    {"spec": {"tasks": None}},
    {"spec": {"tasks": [1]}},
    {"spec": {"volumes": [1]}},
    {"spec": {"containers": {"main": {"resources": {"limits": {"nvidia.com/gpu": "many"}}}}}},
    {"spec": {"containers": {"main": {"env": {"A": {"name": 5}}}}}},
    {"kind": None},
    {"apiVersion": None},
    {"data": None},
]


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in entries for place in [(*path, key), *_places(value, (*path, key))]]


@st.composite
def wild_experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Return an experiment with something odd in one to three places, where a value stood or where no key should be."""
    data = copy.deepcopy(draw(experiments()))
    role = draw(st.sampled_from(sorted(data["roles"])))
    data["roles"][role].setdefault("pod_overrides", {})
    data.setdefault("manifest_overrides", {}).setdefault(draw(st.sampled_from(["job", "launch-script", "service"])), {})
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(_places(data)))
        parent: Any = data
        for part in place[:-1]:
            parent = parent[part]
        key = place[-1]
        if isinstance(parent, dict) and draw(st.integers(0, 5)) == 0:
            key = draw(
                st.sampled_from(["", "a\n", "UPPER", "x" * 300, "name", "spec", "requests.nvidia.com/gpu", "cpu"])
            )
        parent[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return data
