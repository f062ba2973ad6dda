"""Every fix is tried: what follows from it is an accepted file or another problem, never the same one."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml

from tests.spec.advice_cases import CASES, Case
from tests.support.advice import (
    DIGITS,
    IMAGE,
    SECRET,
    Follow,
    Keys,
    all_of,
    at,
    beside,
    change,
    drop,
    key,
    keys_of,
    lines,
    lines_beside,
    put,
    top,
    value,
    without,
    written,
)  # fmt: skip
from trainform.check import check_experiment
from trainform.errors import Problem
from trainform.spec.load import Text

HOST_KEY = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdJUDi9e2QxqcCe8gu3BYGqa2ip8hCTf8rH27zH5OHD"
WORD = "(?:choose|write|use) another"


def first(text: str) -> str:
    """The first of the words that a fix knows."""
    return text.split(",")[0].split(" and ")[0]


def known(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write a name that is known in the place of the value."""
    put(data, keys, first(match.group(1)))


def known_key(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """The same in the place of the key."""
    key(first(match.group(1)))(data, keys, match)


def quoted(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    written(data, keys, match)


def quoted_key(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    key(yaml.safe_load(match.group(1)))(data, keys, match)


OF_ENVIRONMENT = {
    "have `ports` of the environment widened",
    "write another `service_account`, or ask the platform team for limits.service_accounts",
}
OF_KEYS: dict[Follow, Follow] = {known: known_key, quoted: quoted_key}


def moved(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write it in another place: of the user's own names the first one."""
    held = at(data, keys)
    drop(data, keys)
    place: Keys = []
    for part in match.group(1).split("."):
        place.append(next(iter(at(data, place))) if part == "NAME" else part)
    put(data, place, held)


def patched(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write it as a patch of a role."""
    held = at(data, keys)
    drop(data, keys)
    role = keys[1] if keys[0] == "roles" and len(keys) > 1 else next(iter(data["roles"]))
    written_out = match.group(1).replace("…", yaml.safe_dump(held, default_flow_style=True).split("\n")[0])
    put(data, ["roles", role, "pod_overrides"], yaml.safe_load(written_out)["pod_overrides"])


def held_in_patch(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write what is in a pod template as the patch of the role."""
    held = at(data, keys)
    drop(data, keys)
    put(data, [*keys[:2], "pod_overrides"], held)


def as_mapping(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write the items of a list under their names."""
    place = keys[: keys.index(match.group(1)) + 1]
    put(data, place, {item.pop("name"): item for item in at(data, place)})


def partitions(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write the policy as a patch of the first role."""
    policies = data.pop("policies")
    of_role = {"partitionPolicy": {"totalPartitions": 2, "partitionSize": 1}, "policies": policies}
    put(data, ["manifest_overrides", "job", "spec", "tasks", next(iter(data["roles"]))], of_role)


def every_role(**fields: Any) -> Follow:
    def follow(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
        for role in data["roles"].values():
            role.update(fields)

    return follow


def in_its_field(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write the field of the role that the fix names, in the place of a resource."""
    drop(data, keys)
    put(data, [*keys[:2], *filter(None, match.groups())], 1 if match.group(2) else "2Gi")


def shorter(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    held = at(data, keys)
    most = int(match.group(1))
    put(data, keys, held[:most].strip("-") if isinstance(held, str) else dict([*held.items()][:most]))


def swapped(data: dict[str, Any], keys: Keys, _: Any) -> None:
    bounds = at(data, keys)
    bounds.update(min_nodes=bounds["max_nodes"], max_nodes=bounds["min_nodes"])


def secret(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write the reference in the place, and the variable beside the command."""
    put(data, keys, match.group(1))
    put(data, ["env", match.group(1).strip("$()")], SECRET)


def split(data: dict[str, Any], _: Keys, match: re.Match[str]) -> None:
    """The first pod of a role as a role of its own."""
    one, name = match.groups()
    role = data["roles"][name]
    rest = {**role, "replicas": role["replicas"] - 1}
    data.update(roles={one: {**role, "replicas": 1}, **data["roles"], name: rest})


def last(data: dict[str, Any], keys: Keys, _: Any) -> None:
    data["roles"][keys[-1]] = data["roles"].pop(keys[-1])


# How each fix is followed: where it leaves a choice, the first one. The pattern is that of the whole fix.
FOLLOWED: tuple[tuple[str, Follow], ...] = (
    (r"add `claim: NAME` .*", value("data", "claim")),
    (r"add `command: \[…\]`", value(["python", "watch.py"])),
    (r"add `command:` - .*", value(["python", "watch.py"])),
    (r"add `image:` - .*", value(IMAGE)),
    (r"add `launcher:` - .*", value({"torchrun": {"script": "/app/train.py"}})),
    (r"add `roles:` - .*", value({"worker": {"replicas": 1}})),
    (r"add `mount:` - .*", value("/mnt/data")),
    (r"add `script:` - .*", value("/app/train.py")),
    (r"add `memory:` to the role (.*)", lambda data, keys, match: put(data, ["roles", match.group(1), "memory"], "8Gi")),
    (r"add `key`, or write `operator: Exists`", lambda data, keys, _: put(data, [*(keys if isinstance(keys[-1], int) else keys[:-1]), "operator"], "Exists")),
    (r"add `memory`", beside("memory", "1Gi")),
    (r"add `readOnly: true`, or remove it", beside("readOnly", True)),
    (r"add it to `volumes`, or remove the mount", lambda data, keys, _: put(data, [*keys[: keys.index("containers")], "volumes"], {keys[-1]: {"emptyDir": {}}})),
    (r"add one of exec, .*", value({"command": ["true"]}, "exec")),
    (r"add `(containerName: .*)`", lines),
    (r"add `(os: .*)` to the pod", lambda data, keys, match: lines(data, keys[:4], match)),
    (r"add a term", value([{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}])),
    (r"keep one of them", drop),
    (r"write the limit or less, or raise `limits` too", value(1)),
    (r"write the same amount in `requests` and `limits`", lambda data, keys, _: put(data, keys, at(data, [*keys[:-2], "limits", keys[-1]]))),
    (r"write its whole name, like (\S+)", lambda data, keys, match: key(match.group(1))(data, keys, match)),
    (r"write it of letters, digits and '-'", value("mine")),
    (r"write 1 item or more", value(["true"])),
    (r"write 1 character or more", value("zone")),
    (r"write (\d+) items or less", lambda data, keys, match: put(data, keys, at(data, keys)[: int(match.group(1))])),
    (r"write it like (500m), .*|write it like (10\.0\.0\.10)", lambda data, keys, match: put(data, keys, match.group(1) or match.group(2))),
    (r"write one of (?!the two)(.*)", known),
    (r"write (\w+), or remove it", known_key),
    (r"write (ClusterFirst|Always|Exists)", known),
    (r"add `timeout: 10m`", value("10m", "timeout")),
    (r"add the line that `ssh-keyscan HOST` prints and that you have verified",
     value([HOST_KEY], "known_hosts")),
    (r"add them, or leave `roles` out", without()),
    (r"ask for `accelerators` of the environment, or .*", all_of(drop, lambda data, keys, _: put(data, [*keys[:2], "accelerators"], {"a800": 1}))),
    (r"ask for at most (\d+) on each pod .*", written),
    (r"ask for fewer replicas or accelerators|ask for fewer replicas, or set min_available", every_role(replicas=1)),
    (r"call it .*, or write `(task_types: .*)`", lambda data, keys, match: put(data, ["launcher", "tensorflow", "task_types"], yaml.safe_load(match.group(1))["task_types"])),
    (r"change replicas or the bounds", every_role(replicas=1)),
    (r"choose a folder of your own, such as (.*)", written),
    (rf"{WORD} (key|name)|rename it", key("another")),
    (rf"{WORD} path(, or limit one to other roles)?", value("/mnt/another")),
    (r"choose one from 1024 on", value(2022)),
    (r"choose one inside, or leave it out", drop),
    (r"did you mean ([^ ?]+)\??( .*)?", known),
    (r"known(?: here)?: (.*)", known),
    (r"give at least 1", value({"worker": {"replicas": 1}})),
    (r"split it: `(\w+): \{replicas: 1\}` with all else that (\w+) has, before .*", split),
    (r"keep `\*` alone, or name each event", change(lambda policies: [policy for policy in policies if policy.get("event") == "*"])),
    (r"keep `claim` for one that exists, .*", without("size")),
    (r"keep at most (\d+)", shorter),
    (r"keep one of the two", change(lambda held: held[:1] if isinstance(held, list) else None)),
    (r"keep one policy per (event|exit code)", lambda data, keys, _: drop(data, keys[:2])),
    (r"leave `ranked` out, or set it true, on one role", lambda data, *_: next(iter(data["roles"].values())).pop("ranked")),
    (r"make them equal, or use torchrun", top({"torchrun": {"script": "/app/train.py"}}, "launcher")),
    (r"mount it once, at a folder above both paths", drop),
    (r"push it to (\S+) and use that name", lambda data, keys, match: put(data, keys, f"{match.group(1)}/mine:1")),
    (r"put it in quotes", change(lambda held: str(held))),
    (r'put it in quotes(?: if it is text)?: (".*")', quoted),
    (r"put it last", last),
    (r"remove `rotation`, or `secret`", without("rotation")),
    (r"remove `value`, or write `operator: Equal`", without("value")),
    (r"remove it here; write `(\w+)(?:\.(\w+))?`", in_its_field),
    (r"remove it; change min_nodes", drop),
    (r"remove it, or let the world grow: `launcher: \{torchrun: .*`", all_of(drop, lambda data, *_: put(data, ["launcher", "torchrun", "elastic"], {"min_nodes": 1, "max_nodes": 2}))),
    (r"remove it(?:[,;] .*)?", drop),
    (r"write 'shared' or 'per-replica'; a number is written as `([\w.]+)`", moved),
    (r"remove keep, class: .*", all_of(without("keep"), without("class"))),
    (r"rename one of the two roles", key("another")),
    (r"round it to a multiple of (.*)", written),
    (r"set the experiment's own field instead", drop),
    (r"shorten it to (\d+) characters", shorter),
    (r"shorten the experiment's or the role's name by \d+", key("watch")),
    (r"swap the two", swapped),
    (r"use `(event: .*)`", all_of(without("exit_code"), lines)),
    (r"use a claim, or ask .*", lambda data, keys, _: data["roles"][keys[1]].pop("pod_overrides")),
    (r"use another queue, or ask for less", value("default")),
    (r"patch only what differs|write .* there, or patch only what differs", lambda data, keys, _: drop(data, keys[:4])),
    (r"keep one", drop),
    (r"give one of the two kinds a node_selector, .*", beside("node_selector", {"pool": "spare"})),
    (r"correct one of the two", value("rdma/other")),
    (r"raise its deserved, or lower theirs", value(16, "deserved", "a800")),
    (r"add it to the environment", lambda data, *_: data.update(storage_classes={"fast": "ceph"})),
    (r"use at most 63 letters.*|use letters, digits.*|use lower-case letters, .*", lambda data, keys, match: key("another")(data, keys, match) if isinstance(at(data, keys), dict) or keys[0] == "env" else put(data, keys, "another")),
    (r"use the field that replaced it, by `pod_overrides`", drop),
    (r"use torchrun: write `launcher: .*`", top({"torchrun": {"script": "/app/train.py"}}, "launcher")),
    (r"write (\d+)(?: or more| or less)?(?:, .*)?", written),
    (r"write (\w+) or more, or less in its containers", written),
    (r"write \[\{…\}\]", change(lambda held: [held])),
    (r"write (\[.*\])", written),
    (r"write `\$\(ADDRESS\)` in its place, .*", all_of(value("$(ADDRESS)"), beside("address", None), without())),
    (r"write `(\$\(\w+\))` in its place, and .*", secret),
    (r"write `(\w+: \{secret: .*?\}\})`.*", lines_beside),
    (r"write `(capability: .*|deserved: .*)` or more", lambda data, keys, match: lines(data, keys[:-2], match)),
    (r"write `effect: NoExecute`, or remove it", value("NoExecute", "effect")),
    (r"write `queue: (\w+)` to use it, .*", top("night", "queue")),
    (r"write `valueFrom: .*` for (\w+); .*", lambda data, keys, _: put(data, keys[:-1], {"valueFrom": {"secretKeyRef": {"name": "tokens", "key": "token"}}})),
    (r"write a number with a unit: (\S+),.*", written),
    (r"write a number with an optional suffix: (\S+),.*", written),
    (r"write a whole number", value(1)),
    (r"write cpu, memory, ephemeral-storage or domain/name, such as (.*)", known),
    (r"write either `event` or `exit_code`", all_of(without("exit_code"), value("PodFailed", "event"))),
    (r"write exactly one of torchrun, .*", value({"torchrun": {"script": "/app/train.py"}})),
    (r"write first-last with .*", value("20000-30000")),
    (r"write how much is needed, such as (.*)", written),
    (r"write https://HOST/PATH, .*", value("https://git.example.com/ai/code.git")),
    (r"write it like (/mnt/data): .*", written),
    (r"write it like (512Mi) or .*", written),
    (r"write it like (runs/first): .*", written),
    (r"write it like (\{.*\})", written),
    (r"write it under the first `environments`", drop),
    (r"write its 40 \(or 64\) hex digits, .*", value(DIGITS)),
    (r"write its home folder in the image: `home: .*`", value("/home/ada")),
    (r"write less, or raise .*", value(1)),
    (r"write name or domain/name, such as (.*)", known),
    (r"write never, on-failure, .*", value("3 times")),
    (r"write on-failure, or remove it", value("on-failure")),
    (r"write one of the two", all_of(without("git"), value(["python", "fetch.py"], "command"))),
    (r"write root, or leave it out", value("root")),
    (r"write registry/path:tag or .*", value(IMAGE)),
    (r"write the image that holds your training code", value(IMAGE)),
    (r"write true or false, without quotes", value(True)),
    (r"write it as `([\w.]+)`.*", moved),
    (r"write `(\w+)` at the top of the file", moved),
    (r"write it as a patch of the role: `(.*)`", patched),
    (r"copy the whole line .*|use one of ecdsa-.*|use @.*|write git\.example\.com or .*|write HOST KEYTYPE KEY, .*|write each line as an item of its own|write lines of public keys, .*", value(HOST_KEY)),
    (r"remove one of (?:the two|them)", drop),
    (r"write one text in its place.*", value("night")),
    (r"write a finite number, or text in quotes", lambda data, keys, _: put(data, [*keys, "spec", "x"], 1)),
    (r"write the program first", value(["python"])),
    (r"shorten it|shorten it, or the path in .*", value(IMAGE)),
    (r"write exactly one of the two", without("highest_tier")),
    (r"round it to three digits, or use the suffix m", value("0.001")),
    (r"write less than 8Ei", value("64Gi")),
    (r"write a shorter time, or leave it out", drop),
    (r"write the unit that is meant, such as (\S+) or .*", written),
    (r"write exactly one of secret, config_map, field", without("field")),
    (r"write why the finding is accepted", value("the path is read only")),
    (r"write it as a patch, with its partitions: `(.*)`", partitions),
    (r"write a kind of the environment, by the short name .*", key("a800")),
    (r"write `(accelerators): \{KIND: 8\}` of the role, .*", all_of(drop, beside("accelerators", {"a800": 8}))),
    (r"write `cpu`, `memory`, .* of the role: .*", all_of(drop, beside("cpu", 4))),
    (r"write `storage` of the experiment; .*", all_of(drop, top({"data": {"claim": "data", "mount": "/mnt/data"}}, "storage"))),
    (r"write `network: \{host: true\}` of the experiment", all_of(drop, top({"host": True}, "network"))),
    (r"write `replicas` of the role", all_of(drop, beside("replicas", 2))),
    (r"write `processes_per_node` of the launcher", all_of(drop, top(8, "launcher", "torchrun", "processes_per_node"))),
    (r"write \[default\], or leave it out to allow any", value(["default"])),
    (r"write all prices in one currency", value("EUR")),
    (r"write first-last, such as (.*)", written),
    (r"write (\d{4}-\d\d-\d\d), without quotes", written),
    (r"fill it in", value("/app/train.py")),
    (r"leave min_available out on one role", lambda data, *_: next(iter(data["roles"].values())).pop("min_available")),
    (r"shorten one of the names by (\d+)", key("data")),
    (r"add a role `worker`", lambda data, keys, _: put(data, ["roles", "worker"], {"replicas": 1})),
    (r"make the two one role", all_of(drop, top({}, "launcher", "tensorflow", "task_types"))),
    (r"put it first in `roles`, .*", lambda data, *_: data.update(roles={"master": data["roles"].pop("master"), **data["roles"]})),
    (r"write `role: (\w+)` in `launcher\.(\w+)`, or .*", lambda data, _, match: put(data, ["launcher", match.group(2), "role"], match.group(1))),
    (r"change `policies`, or write never or on-failure here", value("never")),
    (r"put large values into a ConfigMap", value({})),
    (r"write it like (training\.svc\.cluster\.local)", lambda data, keys, match: put(data, keys, match.group(1))),
    (r"choose another one for one of the two|choose another one, or leave it out|choose one further away, or leave it out", drop),
    (r"have `ports` of the environment widened", top("20000-30000", "ports")),
    (r"write another `service_account`, or ask .*", top(None, "limits", "service_accounts")),
    (r"use one of jobset, trainer", top("jobset", "backend")),
    (r"remove the waiver, .*|remove the role, or .*", drop),
    (r"write `(schedulerName): (\w+)`", lambda data, keys, match: put(data, keys, match.group(2))),
    (r"name the key of one taint", value("example.com/spot", "key")),
    (r"use another one, or ask the platform team for limits.priority_classes", value("usual")),
    (r"write the same number in `requests` and `limits`, or `limits` alone", without()),
    (r"write under `(roles\.\w+)`: `(pod_overrides: .*)`, or less", lambda data, _, match: put(data, [*match.group(1).split("."), "pod_overrides"], yaml.safe_load(match.group(2))["pod_overrides"])),
    (r"begin with a role of one replica, .*", lambda data, *_: data.update(roles={"master": {"replicas": 1}, "worker": {"replicas": 1}})),
    (r"give them the same accelerators, or write .*", every_role(accelerators={"a800": 8})),
    (r"launch from a role of its own: .*", all_of(top({"ranked": False}, "roles", "launcher"), top("launcher", "launcher", "mpi", "role"))),
    (r"remove it: the plan decides this; .*", drop),
    (r"remove it: all pods start together; .*", drop),
    (r"make it a step of `prepare`, which can have `on`", lambda data, keys, _: data.update(prepare=data["roles"]["worker"].pop("init"))),
    (r"write it below `spec`: .*", lambda data, keys, _: put(data, [*keys[:2], "spec"], {keys[2]: at(data, keys[:2]).pop(keys[2])})),
    (r"write what it holds as a patch of the role: .*", held_in_patch),
    (r"write it below the key of an object: `manifest_overrides: \{job: \{spec: …\}\}`; .*", lambda data, *_: put(data, ["manifest_overrides"], {"job": data["manifest_overrides"]})),
    (r"write a mapping of names there, such as `([\w-]+): \{([\w-]+): …\}`: .*", as_mapping),
    (r"write a list", value([])),
    (r"write it in quotes", value("text")),
    (r"write true or false", value(True)),
    (r"add it", value("registry.example.com/ai/training:1.0")),
    (r"patch (?:the|a) container by its name.*", lambda data, keys, _: put(data, [*keys[:4], "containers"], {"main": {"tty": True}})),
    (r"write `shared_memory: (\S+)` or less", written),
    (r"remove it: `storage` holds claims; .*", lambda data, keys, _: drop(data, keys[:-1])),
    (r"use `ports: shared`", value("shared")),
    (r"remove them, or write `admission: volcano`", drop),
    (r"write `main`, as .*", key("main")),
    (r"did you mean (\S+)\? put it in quotes if it is text.*", written),
)  # fmt: skip


def problems(case: Case) -> tuple[Problem, ...]:
    texts = [yaml.safe_dump(data, sort_keys=False) for data in (case.experiment, case.environment)]
    return check_experiment(Text("experiment", texts[0]), Text("environment", texts[1])).problems


def follow(case: Case, problem: Problem) -> Case | None:
    """The two files when the fix was followed; None where nobody has said how."""
    for pattern, step in FOLLOWED:
        match = re.fullmatch(pattern, problem.fix)
        if match is not None:
            made = Case(*copy.deepcopy((case.experiment, case.environment)))
            of_environment = problem.source == "environment" or problem.fix in OF_ENVIRONMENT
            data = made.environment if of_environment else made.experiment
            keys = keys_of(data, problem.path)
            of_key = "the key " in problem.reason or (step is known and problem.value in (None, keys[-1]))
            (OF_KEYS.get(step, step) if of_key else step)(data, keys, match)
            return made
    return None


@pytest.mark.parametrize("name", CASES)
def test_the_same_problem_never_follows_from_its_fix(name: str) -> None:
    case = CASES[name]()
    found = problems(case)
    assert found, "the case is wrong in some way"
    for problem in found:
        followed = follow(case, problem)
        assert followed is not None, f"say in FOLLOWED how to follow: {problem.fix}"
        assert repr(followed) != repr(case), f"nothing was changed at {problem.path} by: {problem.fix}"
        left = {(other.path, other.reason) for other in problems(followed)}
        assert (problem.path, problem.reason) not in left, str(problem)
