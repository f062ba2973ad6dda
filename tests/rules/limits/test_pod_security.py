"""The Pod Security Standards; `tests/engine/test_pod_security.py` compares the verdicts with those of an API server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.generated_pods import HARDENED
from tests.support.generators import ENVIRONMENT, experiments
from tests.support.pod_security import CASES, changed_pod, judged_by_us, level_environment
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, job, plan, pod, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import render_job
from trainform.manifests.templates import Template
from trainform.rules.limits.pod_security import CONTROLS, Openings, below_a_folder, violated
from trainform.rules.limits.rule import Finding, Judged
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse


@pytest.mark.parametrize("name", CASES)
def test_each_control_at_each_level(name: str) -> None:
    pod, allowed = CASES[name]
    assert judged_by_us(pod, level_environment("privileged", host_network=True)) == []
    for level in ("baseline", "restricted"):
        assert (judged_by_us(pod, level_environment(level)) == []) == (level in allowed)


def test_every_control_is_broken_by_a_case() -> None:
    nothing = Openings(False, (), ())
    broken = {
        control.name
        for pod, _ in CASES.values()
        for level in ("baseline", "restricted")
        for control, _ in violated(level, pod, nothing)
    }
    assert broken == {control.name for control in CONTROLS}


def found_by(code: str, pod: dict[str, Any], cluster: Environment) -> list[Finding]:
    judged = Judged({}, (Template(1, 1, pod),))
    rule = BY_CODE[code]
    return [] if rule.severity_in(cluster) == "off" else list(rule.find(judged, cluster))


def test_a_finding_has_the_place_and_the_value() -> None:
    pod, _ = CASES["SELinux type"]
    (found,) = judged_by_us(pod, level_environment("baseline"))
    assert (found.where, found.value) == ("spec.containers.main.securityContext.seLinuxOptions.type", "spc_t")
    assert found.reason == (
        "the SELinux type is not one of those for containers "
        "(spec.containers.main.securityContext.seLinuxOptions.type), which the environment dev forbids (Pod Security "
        "level baseline)"
    )
    assert found.fix == "remove it, or ask the platform team for another limits.pod_security"


def test_one_finding_names_every_place_of_a_control() -> None:
    """A waiver of it holds for these places and no further one."""
    adds = {
        "main.securityContext.capabilities.add": ["SYS_ADMIN", "CHOWN"],
        "before.securityContext.capabilities.add": ["NET_RAW"],
    }
    (found,) = judged_by_us(changed_pod(adds), level_environment("baseline"))
    assert found.value == ["NET_RAW", "SYS_ADMIN"]
    assert "before.securityContext.capabilities.add = NET_RAW, spec.containers.main" in found.reason
    (less,) = judged_by_us(changed_pod(dict([*adds.items()][:1])), level_environment("baseline"))
    assert (less.value, less.reason) != (found.value, found.reason)


def test_openings_of_the_environment() -> None:
    network = environment(limits={"host_network": True}, rdma=None)
    for name in ("host network", "port of the node", "probe of another host", "handler that calls another host"):
        assert judged_by_us(CASES[name][0], network) == [], name
        assert judged_by_us(CASES[name][0], level_environment("baseline")) != [], name
    assert judged_by_us(CASES["host processes"][0], network) != []
    for level in ("baseline", "restricted"):
        limits = {"pod_security": level, "host_paths": ["/data"]}
        assert judged_by_us(CASES["path of the node"][0], environment(limits=limits)) == []
        assert judged_by_us(CASES["path of the node"][0], environment(limits={**limits, "host_paths": ["/dat"]})) != []
        adds = changed_pod({"main.securityContext.capabilities.add": ["IPC_LOCK"]})
        assert judged_by_us(adds, level_environment(level)) != []
        rdma = {"resource": "rdma/hca", "capabilities": ["IPC_LOCK"]}
        assert judged_by_us(adds, environment(limits={"pod_security": level}, rdma=rdma)) == []


FOLDERS = ("/data", "/mnt/fast/")
BELOW = ("/data", "/data/", "/data/a/b", "//data/./a", "/mnt/fast/x", "/mnt/fast")
ELSEWHERE: tuple[object, ...] = (
    "/",
    "",
    "/database",
    "/data/..",
    "/data/../etc",
    "data",
    "/mnt",
    "/mnt/fas",
    None,
    5,
    {},
    ["/data"],
)


def test_paths_of_the_node() -> None:
    assert [path for path in (*BELOW, *ELSEWHERE) if below_a_folder(path, FOLDERS)] == [*BELOW]
    assert not any(below_a_folder(path, ()) for path in BELOW)


def test_what_has_no_known_shape_is_not_allowed() -> None:
    for changes in (
        {"main.securityContext.privileged": "true"},
        {"main.securityContext.capabilities.add": "SYS_ADMIN"},
        {"main.securityContext.capabilities.drop": "ALL"},
        {"spec.hostPID": "yes"},
        {"spec.volumes": {"name": "data", "hostPath": "/data"}},
        {"spec.volumes": [{"hostPath": {"path": "/data"}}, {"emptyDir": {}}]},
    ):
        assert judged_by_us(changed_pod(changes), level_environment("restricted")) != [], changes


def patched(spec: dict[str, Any], cluster: Environment) -> dict[str, str]:
    return reasons(cluster, roles={"worker": {"replicas": 2, "pod_overrides": {"spec": spec}}})


AROUND: list[tuple[dict[str, Any], str]] = [
    ({"containers": {"main": {"securityContext": {"privileged": True}}}},
        "a container is privileged (spec.containers.main."),
    ({"containers": {"log": {"image": "log", "securityContext": {"privileged": True}}}},
        "a container is privileged (spec.containers.log."),
    ({"initContainers": [{"name": "sysctl", "image": "busybox", "securityContext": {"privileged": True}}]},
     "a container is privileged (spec.initContainers.sysctl."),
    ({"volumes": {"tmp": {"hostPath": {"path": "/data"}}}},
        "a volume is a path of the node (spec.volumes.tmp.hostPath.path)"),
    ({"volumes": {"tmp": {"hostPath": {"path": "/"}}}},
        "a volume is a path of the node (spec.volumes.tmp.hostPath.path)"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "reason"), AROUND)
def test_patches_do_not_get_around_it(spec: dict[str, Any], reason: str) -> None:
    cluster, open_ = environment(), environment(limits={"pod_security": "privileged", "host_paths": ["/data"]})
    (told,) = patched(spec, cluster).values()
    assert told.startswith(reason)
    patch = {"job": {"spec": {"tasks": {"worker": {"template": {"spec": spec}}}}}}
    found = reasons(cluster, manifest_overrides=patch)
    assert any(why.startswith(reason) for why in found.values()), found
    if "/'" not in str(spec):
        assert patched(spec, open_) == {}


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        ({}, "a volume is a path of the node"),
        ({"host_paths": ["/mnt/disks"]}, ""),
        ({"host_paths": ["/mnt/disks/1"]}, "a volume is a path of the node"),
        ({"host_paths": ["/mnt/disks"], "pod_security": "privileged"}, ""),
        ({"pod_security": "privileged"}, "a volume is a path of the node"),
    ],
)
def test_a_host_path_is_within_those_of_the_environment(limits: dict[str, Any], refused: str) -> None:
    volume = {"host_path": "/mnt/disks/0", "mount": "/disk"}
    found = reasons(environment(limits=limits), storage={"disk": volume})
    assert {path: why[: len(refused)] for path, why in found.items()} == ({"storage.disk": refused} if refused else {})


def test_the_capability_that_rdma_needs_is_allowed() -> None:
    assert reasons(network={"rdma": True}) == {}
    spec = {"containers": {"main": {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}}}
    assert patched(spec, environment()) == {}


def test_types_of_volumes() -> None:
    csi = {"volumes": {"data": {"csi": {"driver": "csi.example.com"}}}}
    (reason,) = patched(csi, environment()).values()
    assert reason == "the type of a volume is csi (spec.volumes.data.csi), which the environment dev does not allow"
    assert patched(csi, environment(limits={"volume_types": ["configMap", "csi"]})) == {}
    image = {"volumes": {"data": {"image": {"reference": "registry.example.com/data:1"}}}}
    assert patched(image, environment()) == {}
    assert patched(image, environment(limits={"volume_types": ["emptyDir"]})) != {}
    patch = {"job": {"spec": {"tasks": {"worker": {"template": {"spec": csi}}}}}}
    assert len(reasons(environment(), manifest_overrides=patch)) == 1


def test_an_annotation_is_reported_where_it_is_written() -> None:
    (key,) = CASES["unconfined AppArmor by annotation"][0]["metadata"]["annotations"]
    role = {"replicas": 2, "annotations": {key: "unconfined"}}
    found = job_problems(experiment(roles={"worker": role}), environment())
    assert {problem.path for problem in found if problem.code == "TF-POD-1"} == {f"roles.worker.annotations.{key}"}


def test_paths_of_the_node_need_an_opening_at_every_level() -> None:
    pod = CASES["path of the node"][0]
    for level, code in (("privileged", "TF-POD-2"), ("baseline", "TF-POD-1"), ("restricted", "TF-POD-1")):
        cluster = environment(limits={"pod_security": level})
        (found,) = [*found_by("TF-POD-1", pod, cluster), *found_by("TF-POD-2", pod, cluster)]
        assert (found.where, found.value) == ("spec.volumes.data.hostPath.path", "/data")
        assert found_by(code, pod, cluster) == [found]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, None),
        ({"pod.runAsNonRoot": None}, "spec.securityContext.runAsNonRoot"),
        ({"pod.runAsNonRoot": False}, "spec.securityContext.runAsNonRoot"),
        ({"pod.runAsNonRoot": None, "pod.runAsUser": 1000}, None),
        ({"pod.runAsUser": 0}, "spec.securityContext.runAsUser"),
        ({"pod.runAsUser": 0, "main.securityContext.runAsUser": 1, "before.securityContext.runAsUser": 1}, None),
        ({"pod.runAsUser": 1, "main.securityContext.runAsUser": 0}, "spec.containers.main.securityContext.runAsUser"),
        ({"main.securityContext.runAsNonRoot": False}, "spec.containers.main.securityContext.runAsNonRoot"),
        (
            {
                "pod.runAsNonRoot": None,
                "main.securityContext.runAsNonRoot": True,
                "before.securityContext.runAsNonRoot": True,
            },
            None,
        ),
    ],
)
def test_containers_that_may_run_as_root(changes: dict[str, Any], where: str | None) -> None:
    cluster = environment(limits={"pod_security": "privileged", "severity": {"TF-POD-3": "error"}})
    assert [found.where for found in found_by("TF-POD-3", changed_pod(changes), cluster)] == (
        [] if where is None else [where]
    )
    assert found_by("TF-POD-3", changed_pod(changes), environment()) == [], "off by default"


def test_run_as_answers_the_rule_on_root() -> None:
    cluster = environment(limits={"severity": {"TF-POD-3": "error"}})
    assert reasons(cluster).keys() == {"run_as"}
    assert reasons(cluster, run_as={"user": 0}).keys() == {"run_as.user"}
    assert reasons(cluster, run_as={"user": 1000}) == {}
    root = {"containers": {"main": {"securityContext": {"runAsUser": 0}}}}
    role = {"replicas": 2, "pod_overrides": {"spec": root}}
    assert reasons(cluster, run_as={"user": 1000}, roles={"worker": role}).keys() == {
        "roles.worker.pod_overrides.spec.containers.main.securityContext.runAsUser"
    }


NON_ROOT = {"user": 1000, "home": "/home/trainer"}
STEPS = [{"name": "fetch", "command": ["fetch"]}]


def restricted(**limits: Any) -> Environment:
    return environment(limits={"pod_security": "restricted", "host_network": True, **limits})


def test_the_level_restricted_is_rendered_in_every_container() -> None:
    made = plan(cluster=restricted(), run_as=NON_ROOT, network={"rdma": True}, prepare=STEPS)
    spec = pod(made, "worker")["spec"]
    assert spec["securityContext"] == {
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "runAsNonRoot": True,
        "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    hardened = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert [step["securityContext"] for step in spec["initContainers"]] == [hardened]
    with_rdma = {**hardened, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}
    assert [main["securityContext"] for main in spec["containers"]] == [with_rdma]


@pytest.mark.parametrize("level", ["privileged", "baseline"])
def test_the_other_levels_render_nothing(level: str) -> None:
    made = plan(cluster=environment(limits={"pod_security": level}), prepare=STEPS)
    spec = pod(made, "worker")["spec"]
    assert "securityContext" not in spec
    assert not any("securityContext" in one for one in (*spec["containers"], *spec["initContainers"]))
    assert job(made) == job(plan(cluster=environment(limits={}), prepare=STEPS))


def test_restricted_needs_a_user_who_is_not_root() -> None:
    (reason,) = reasons(restricted()).values()
    assert reasons(restricted()).keys() == {"run_as"}
    assert reason.startswith("a container may run as root (spec.securityContext.runAsNonRoot), which the environment")
    assert reasons(restricted(), run_as={"user": 0}).keys() == {"run_as", "run_as.user"}
    assert reasons(restricted(), run_as={"user": 1000}) == {}
    assert reasons(environment(limits={"pod_security": "baseline"})) == {}


def test_a_container_of_a_patch_gets_nothing_by_itself() -> None:
    log = {"containers": {"log": {"image": "registry.example.com/log:1"}}}
    place = "roles.worker.pod_overrides.spec.containers.log.securityContext"
    role = {"replicas": 2, "pod_overrides": {"spec": log}}
    found = job_problems(experiment(run_as=NON_ROOT, roles={"worker": role}), restricted())
    assert {(problem.path, problem.fix) for problem in found} == {
        (f"{place}.allowPrivilegeEscalation", "set `allowPrivilegeEscalation: false` there"),
        (f"{place}.capabilities.drop", "set `capabilities: {drop: [ALL]}` there"),
    }
    log["containers"]["log"]["securityContext"] = {**HARDENED}  # type: ignore[assignment]
    assert reasons(restricted(), run_as=NON_ROOT, roles={"worker": role}) == {}


def test_experiments_of_a_user_meet_restricted_on_every_backend() -> None:
    """Whatever is set, launchers over SSH and steps included, as long as no merge patch changes the pods."""
    seen: Counter[str] = Counter()
    limits = {**ENVIRONMENT["limits"], "pod_security": "restricted"}
    cluster = Environment.model_validate({**ENVIRONMENT, "limits": limits})

    @settings(max_examples=60)
    @given(experiments(), st.sampled_from(list(BACKENDS)))
    def check(data: dict[str, Any], backend: str) -> None:
        for part in (data, *data["roles"].values()):
            part.pop("pod_overrides", None)
        data.pop("manifest_overrides", None)
        model = parse(Experiment, {**data, "backend": backend, "run_as": NON_ROOT}).model
        assert model is not None
        made = render_job(model, cluster)
        assert [problem for problem in made.problems if problem.code.startswith("TF-POD")] == []
        seen[made.plan.launcher] += 1

    check()
    assert len(seen) >= 3, seen  # MPI jobs are rare
