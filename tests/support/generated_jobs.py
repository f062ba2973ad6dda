"""Small jobs that run to their end on the sandbox's nodes, as hypothesis draws them: every launcher, extras, restarts
and policies.

What decides on which node a pod fits is left out: of that the scheduler alone knows, and `generators` has it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.generated_fields import ACTIONS, EVENTS, some

COMMAND = ["python", "/app/train.py"]
IMAGE = "registry.example.com/ai/training:latest"
Roles = dict[str, dict[str, Any]]
Draw = st.DrawFn

policies = st.lists(
    st.one_of(
        some({}, action=st.sampled_from(ACTIONS), event=st.sampled_from(EVENTS)),
        some({}, action=st.sampled_from(ACTIONS), exit_code=st.sampled_from([1, 137])),
    ),
    max_size=2,
    unique_by=lambda policy: (policy.get("event"), policy.get("exit_code")),
)
few = st.sampled_from([1, 1, 2, 3])
restarts = st.sampled_from(["never", "on-failure", "2 times", "all-when-evicted"])


def _one_role(draw: Draw) -> Roles:
    return {"worker": {"replicas": draw(few)}}


def _two_roles(draw: Draw) -> Roles:
    names = draw(st.sampled_from([("master", "worker"), ("node", "helper"), ("worker", "master")]))
    return {name: {"replicas": draw(st.just(1) if index == 0 else few)} for index, name in enumerate(names)}


def _ranked(draw: Draw) -> Roles:
    return (_one_role if draw(st.booleans()) else _two_roles)(draw)


def _static(draw: Draw) -> dict[str, Any]:
    every: list[dict[str, Any]] = [
        {"command": COMMAND},
        {"jax": {"command": COMMAND}},
        {"torchrun": {"script": "/app/train.py"}},
        {"entrypoint": ["--epochs", "3"]},
    ]
    launcher = draw(st.sampled_from(every))
    return {"launcher": launcher, "roles": (_one_role if "entrypoint" in launcher else _ranked)(draw)}


def _elastic(draw: Draw) -> dict[str, Any]:
    roles = _ranked(draw)
    nodes = sum(role["replicas"] for role in roles.values())
    bounds = {"min_nodes": draw(st.integers(1, nodes)), "max_nodes": nodes + draw(st.integers(0, 2))}
    return {"launcher": {"torchrun": {"script": "/app/train.py", "elastic": bounds}}, "roles": roles}


def _over_ssh(draw: Draw) -> dict[str, Any]:
    launchers: Roles = {"mpi": {"command": COMMAND}, "deepspeed": {"script": "/app/train.py"}}
    name, fields = draw(st.sampled_from([*launchers.items()]))
    worker: dict[str, Any] = {"replicas": draw(few)}
    if draw(st.booleans()):
        # training-operator counts the launcher as a node where it asks for one of these
        each: dict[str, Any] = {"accelerators": {"a800": 1}}
        return {"launcher": {name: fields}, "roles": {"launcher": {"replicas": 1, **each}, "worker": worker | each}}
    roles: Roles = {"launcher": {"replicas": 1, "ranked": False}, "worker": worker}
    return {"launcher": {name: {**fields, "role": "launcher"}}, "roles": dict(draw(st.permutations([*roles.items()])))}


def _tensorflow(draw: Draw) -> dict[str, Any]:
    kinds = ["worker", *draw(st.lists(st.sampled_from(["chief", "ps", "evaluator"]), unique=True, max_size=3))]
    order = draw(st.permutations(kinds).filter(lambda found: found[0] != "evaluator"))
    roles = {kind: {"replicas": 1 if kind in ("chief", "evaluator") else draw(few)} for kind in order}
    return {"launcher": {"tensorflow": {"command": COMMAND}}, "roles": roles}


_role: dict[str, st.SearchStrategy[Any]] = {
    "restart": restarts,
    "max_retry": st.sampled_from([1, 2, 5]),
    "policies": policies,
    "accelerators": st.just({"a800": 1}),
    "init": st.just([{"name": "first", "command": ["first"]}]),
}
_extra = st.builds(
    dict.__or__,
    some({**_role, "min_available": st.just(0)}, replicas=st.sampled_from([0, 1, 2]), ranked=st.just(False)),
    st.sampled_from([{"command": COMMAND}, {"args": ["--watch"]}]),
)
_job: dict[str, st.SearchStrategy[Any]] = {
    "restart": restarts,
    "max_retry": st.sampled_from([1, 2, 5]),
    "network": some({"wait": st.just("30s"), "topology": st.just({"mode": "soft", "highest_tier": 1})},
        host=st.booleans()),
    "storage": st.just({"runs": {"size": "1Gi", "class": "fast", "mount": "/mnt/runs"}}),
    "prepare": st.just([{"name": "fetch", "command": ["fetch"]}]),
    "ssh": st.just({}),
    "run_as": st.just({"user": 1000, "home": "/home/trainer"}),
}  # fmt: skip


def _connected(draw: Draw, data: dict[str, Any]) -> None:
    network = data.setdefault("network", {})
    if network.get("host") and draw(st.booleans()):
        network["ports"] = "per-replica"
    elif draw(st.integers(0, 3)) == 0:
        network["addresses"] = "service"


@st.composite
def small_jobs(draw: Draw) -> dict[str, Any]:
    """Return an experiment for any operator; each refuses some of it."""
    kind = draw(st.sampled_from([_static, _elastic, _over_ssh, _tensorflow]))
    data: dict[str, Any] = {"name": "life", "image": IMAGE, "shared_memory": "64Mi", **kind(draw)}
    for role in data["roles"].values():
        if draw(st.integers(0, 2)) == 0:
            role |= draw(some(_role))
    if draw(st.booleans()):
        data["roles"] = dict(draw(st.permutations([*data["roles"].items(), ("watcher", draw(_extra))])))
    if draw(st.booleans()):
        data |= draw(some(_job))
        _connected(draw, data)
    if draw(st.integers(0, 4)) == 0:
        data["policies"] = draw(policies)
    return data
