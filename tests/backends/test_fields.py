"""Fields of a run as every operator gets them, and their refusal where the operator cannot do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import JOB, environment, experiment, fitting, job, plan, reasons
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse

ROLES: dict[str, Any] = {"master": {"replicas": 1}, "worker": {"replicas": 3}}
FIRST: dict[str, Any] = {"roles": ROLES}
several_roles = pytest.mark.parametrize("backend", [name for name, each in BACKENDS.items() if not each.ONE_ROLE])


def template(made: Plan, role: str) -> Template:
    """Return the pod template of a role."""
    found = BACKENDS[made.backend].templates(made, job_manifests(made))
    return next(each for each in found if each.role == role)


def main(made: Plan, role: str) -> dict[str, Any]:
    """Return the container of a role that trains."""
    container: dict[str, Any] = template(made, role).spec["containers"][0]
    return container


def leaves(value: Any, name: str) -> Iterator[Any]:
    """Yield the values of a field at any depth outside of pod templates."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == name:
            yield item
        elif not (isinstance(item, dict) and "containers" in item):
            yield from leaves(item, name)


def test_jax(backend: str) -> None:
    made = plan(
        backend=backend, launcher={"jax": {"command": ["python", "/app/train.py"]}}, roles=fitting(backend, ROLES)
    )
    container = main(made, "worker")
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert env["JAX_NUM_PROCESSES"] == "4"
    assert container["command"][-1] == f"{defaults.LAUNCH_MOUNT}/{defaults.LAUNCH_SCRIPT}"
    assert container["args"] == ["python", "/app/train.py"]
    assert 'export JAX_PROCESS_ID="${JAX_PROCESS_ID-$RANK}"' in made.files[defaults.LAUNCH_SCRIPT]


@several_roles
def test_working_dir_and_grace_period(backend: str) -> None:
    """Both are of the role's pods; the folder is of the training container alone."""
    made = plan(
        backend=backend,
        roles={
            "master": {"replicas": 1, "grace_period": "0s"},
            "worker": {"replicas": 3, "working_dir": "/workspace/src", "grace_period": "5m"},
        },
        prepare=[{"name": "fetch", "command": ["fetch"]}],
    )
    master, worker = template(made, "master").spec, template(made, "worker").spec
    assert [spec["terminationGracePeriodSeconds"] for spec in (master, worker)] == [0, 300]
    assert [each.get("workingDir") for each in worker["containers"]] == ["/workspace/src"]
    assert "workingDir" not in {**master["containers"][0], **worker["initContainers"][0]}
    plain = template(plan(backend=backend, **FIRST), "worker").spec
    assert "terminationGracePeriodSeconds" not in plain


@pytest.mark.parametrize("pods", ["none", "running", "all"])
@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_clean_pods(backend: str, pods: str) -> None:
    spec = job(plan(backend=backend, clean_pods=pods, **FIRST))["spec"]
    assert spec.get("runPolicy", spec)["cleanPodPolicy"] == pods.capitalize()


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubernetes"])
def test_pods_that_an_operator_always_deletes(backend: str) -> None:
    """All of them accept `running`, which every operator does."""
    roles = fitting(backend, ROLES)
    assert reasons(backend=backend, clean_pods="running", roles=roles) == {}
    found = reasons(backend=backend, clean_pods="all", roles=roles)
    assert set(found) == {"clean_pods"}
    assert "deletes the pods that still run, and has no field for another choice" in found["clean_pods"]


def test_max_run_time(backend: str) -> None:
    """The pods have a deadline only where the job has none."""
    made = plan(backend=backend, max_run_time="72h", roles=fitting(backend, ROLES))
    pods = [template(made, role.name).spec.get("activeDeadlineSeconds") for role in made.roles]
    of_job = {*leaves(job(made)["spec"], "activeDeadlineSeconds")}
    assert of_job == (set() if backend in ("volcano", "appwrapper") else {72 * 3600})
    assert pods == [None if of_job else 72 * 3600] * len(pods)


def test_a_run_of_no_time_is_refused() -> None:
    parsed = parse(Experiment, {**JOB, "max_run_time": "0s"})
    assert [(problem.path, problem.reason) for problem in parsed.problems] == [
        ("max_run_time", "the time must be more than 0")
    ]


def test_a_jobset_that_restarts_ends_at_its_deadline() -> None:
    policy = job(plan(backend="jobset", max_run_time="72h", restart="all-when-evicted"))["spec"]["failurePolicy"]
    assert policy["rules"] == [
        {"name": "deadline", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}
    ]


@several_roles
def test_node_affinity(backend: str) -> None:
    """A merge patch of another affinity is added to it."""
    zone, pool = "topology.kubernetes.io/zone", "example.com/pool"
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    made = plan(
        backend=backend,
        roles={
            "master": {"replicas": 1, "node_affinity": {"prefer": {zone: ["a"], pool: ["new"]}}},
            "worker": {
                "replicas": 3,
                "node_affinity": {"require": {zone: ["a", "b"]}, "avoid": {pool: ["old", ""]}},
                "pod_overrides": {"spec": {"affinity": {"podAntiAffinity": apart}}},
            },
        },
    )
    assert template(made, "master").spec["affinity"] == {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
                for key, value in ((zone, "a"), (pool, "new"))
            ]
        }
    }
    expressions = [
        {"key": zone, "operator": "In", "values": ["a", "b"]},
        {"key": pool, "operator": "NotIn", "values": ["old", ""]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    assert template(made, "worker").spec["affinity"] == {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
        "podAntiAffinity": apart,
    }
    nothing = plan(backend=backend, roles={"master": {"node_affinity": {"prefer": {}}}, "worker": {"replicas": 3}})
    assert "affinity" not in template(nothing, "master").spec


ENTRYPOINT: dict[str, Any] = {"launcher": {"entrypoint": ["--model", "7b"]}, "roles": {"worker": {"replicas": 3}}}


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubeflow"])
def test_the_entrypoint_of_the_image(backend: str) -> None:
    """No launch script: the rank is the index, which the operator gives as a field."""
    made = plan(backend=backend, env={"NCCL_DEBUG": "INFO"}, **ENTRYPOINT)
    container = main(made, "worker")
    assert "command" not in container
    assert container["args"] == ["--model", "7b"]
    env = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}
    assert env["RANK"] == "$(TRAINFORM_REPLICA_INDEX)"
    assert (
        env["TRAINFORM_REPLICA_INDEX"]["fieldRef"]["fieldPath"] == f"metadata.labels['{BACKENDS[backend].INDEX_LABEL}']"
    )
    names = [entry["name"] for entry in container["env"]]
    assert names.index("TRAINFORM_REPLICA_INDEX") < names.index("RANK")
    assert (env["WORLD_SIZE"], env["MASTER_PORT"], env["NCCL_DEBUG"]) == ("3", "29500", "INFO")
    assert not [name for name in env if name.startswith(("TRAINFORM_KEPT", "TRAINFORM_WAIT"))]
    assert not [note for note in made.notes if "replaces the plan" in note], "the user sets none of them"
    assert all(manifest.key != "launch-script" for manifest in job_manifests(made))
    assert plan(backend=backend, **{**ENTRYPOINT, "launcher": {"entrypoint": []}}).roles[0].args == ()


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_the_entrypoint_of_a_master(backend: str) -> None:
    """The operator appends the same values, and those of the user would be lost."""
    alone = {**ENTRYPOINT, "roles": {"master": {"replicas": 1, "accelerators": {"a800": 8}}}}
    made = plan(backend=backend, **alone)
    assert "nprocPerNode" not in job(made)["spec"], "WORLD_SIZE would count processes"
    (pod,) = BACKENDS[backend].pods(made, job_manifests(made))[0]
    env = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
    planned = {variable.name: variable.value for variable in made.roles[0].env}
    assert (env["WORLD_SIZE"], env["RANK"], env["MASTER_PORT"]) == ("1", "0", planned["MASTER_PORT"])
    assert env["MASTER_ADDR"] in (planned["MASTER_ADDR"], "localhost")
    found = reasons(backend=backend, env={"WORLD_SIZE": "9"}, **alone)
    assert found == {
        "env.WORLD_SIZE": "the operator sets the variable itself, and its value wins: no launch script restores yours"
    }


def test_the_entrypoint_of_several_pods_on_kubedl() -> None:
    """A second role for them would be refused too."""
    (problem,) = job_problems(experiment(backend="kubedl", **ENTRYPOINT), environment())
    assert problem.path == "roles.worker.replicas"
    assert problem.fix.startswith("use the backend volcano, jobset, trainer")


def test_the_entrypoint_of_an_extra() -> None:
    roles: dict[str, Any] = {"worker": {"replicas": 2}, "board": {"ranked": False, "args": ["--logdir", "/runs"]}}
    made = plan(roles=roles)
    board = main(made, "board")
    assert ("command" not in board, board["args"]) == (True, ["--logdir", "/runs"])
    assert "volumeMounts" not in board
    lost = {**roles, "board": {**roles["board"], "env": {"VC_WORKER_HOSTS": "a"}}}
    assert set(reasons(roles=lost)) == {"roles.board.env.VC_WORKER_HOSTS"}
    network = {"host": True, "ports": "per-replica"}
    tensorflow = {"tensorflow": {"command": ["train"]}}
    assert set(reasons(roles=roles, launcher=tensorflow, network=network)) == {"roles.board.args"}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"roles": {"a": {}, "b": {"replicas": 2}}}, "roles.b"),
        ({"roles": {"worker": {"command": ["python"]}}}, "roles.worker.command"),
        ({"roles": {"worker": {"args": ["--fast"]}}}, "roles.worker.args"),
        ({"roles": {"worker": {}, "board": {"ranked": False, "args": [], "command": ["x"]}}}, "roles.board.args"),
        ({"roles": {"worker": {}, "board": {"ranked": False}}}, "roles.board.command"),
        ({"ssh": {}}, "ssh"),
        ({"network": {"host": True, "addresses": "service"}}, "network.addresses"),
    ],
)
def test_what_needs_a_launch_script(parts: dict[str, Any], path: str) -> None:
    assert list(reasons(**{**ENTRYPOINT, **parts})) == [path]


def test_arguments_under_a_launcher_over_ssh_belong_to_its_own_program() -> None:
    mpi = experiment(launcher={"mpi": {"command": ["train"]}}, roles={"worker": {"replicas": 2, "args": ["--fast"]}})
    [problem] = job_problems(mpi, environment())
    assert problem.path == "roles.worker.args"
    assert problem.fix == "remove it; write the words in `launcher.mpi.command`"


EVERY_ROLE: dict[str, Any] = {
    "volcano": {"exit_codes": [42, 137]},
    "jobset": {"exit_codes": [42, 137], "ignore": "disruption"},
    "trainer": {"exit_codes": [42, 137], "ignore": "disruption"},
    "kubeflow": {"exit_codes": ["128-255"]},
    "kubedl": {"exit_codes": [143, 130, "137-138"]},
}


@pytest.mark.parametrize("backend", EVERY_ROLE)
def test_restarts_by_exit_code_are_made_of_new_pods(backend: str) -> None:
    """The kubelet restarts nothing, since it would restart upon any code."""
    made = plan(backend=backend, restart=EVERY_ROLE[backend], **FIRST)
    pods, _ = BACKENDS[backend].pods(made, job_manifests(made))
    assert {pod["spec"]["restartPolicy"] for pod in pods} == {"Never"}


def test_exit_codes_on_volcano() -> None:
    """The policies of a user come first, and replace those of the same code."""
    abort = {"action": "AbortJob", "exitCode": 42}
    tasks = job(plan(restart={"exit_codes": [42, 137]}, policies=[{"action": "AbortJob", "exit_code": 42}], **FIRST))
    again, ends = {"action": "RestartPod", "exitCode": 137}, {"action": "TerminateJob", "event": "PodFailed"}
    assert [task["policies"] for task in tasks["spec"]["tasks"]] == [[abort, again, ends]] * 2
    roles = {"worker": {"replicas": 2}, "board": {"ranked": False, "command": ["x"], "restart": {"exit_codes": [7]}}}
    found = job(plan(roles=roles))["spec"]["tasks"]
    assert found[1]["policies"] == [{"action": "RestartPod", "exitCode": 7}]


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_exit_codes_of_replica_specs(backend: str) -> None:
    spec = job(plan(backend=backend, restart=EVERY_ROLE[backend], **FIRST))["spec"]
    assert {each["restartPolicy"] for each in spec["pytorchReplicaSpecs"].values()} == {"ExitCode"}
    assert not [*leaves(spec, "backoffLimit")]


@pytest.mark.parametrize(
    ("restart", "backoff", "rules"),
    [
        ({"exit_codes": [42]}, 2, ["FailJob"]),
        ({"when": "3 times", "exit_codes": [42]}, 3, ["FailJob"]),
        ({"ignore": "disruption"}, 2, ["Ignore"]),
        ({"when": "never", "ignore": "disruption"}, 0, ["Ignore"]),
        ({"when": "1 times", "exit_codes": [42], "ignore": "disruption"}, 1, ["Ignore", "FailJob"]),
        ("3 times", 4, []),
    ],
)
def test_rules_of_a_jobset(restart: Any, backoff: int, rules: list[str]) -> None:
    made = plan(backend="jobset", restart=restart)
    spec = job(made)["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert spec["backoffLimit"] == backoff
    found = spec.get("podFailurePolicy", {}).get("rules", [])
    assert [rule["action"] for rule in found] == rules
    for rule in found:
        if rule["action"] == "FailJob":
            assert rule["onExitCodes"] == {"containerName": "main", "operator": "NotIn", "values": [42]}


@pytest.mark.parametrize(
    ("backend", "restart", "path", "fix"),
    [
        ("volcano", {"exit_codes": ["128-255"]}, "restart.exit_codes", "use the backend jobset or trainer"),
        ("volcano", {"ignore": "disruption"}, "restart.ignore", "remove it, or use the backend jobset or trainer"),
        (
            "volcano",
            {"when": "3 times", "exit_codes": [7]},
            "restart.when",
            "remove it, or use the backend jobset or tr",
        ),
        ("kubeflow", {"exit_codes": [137]}, "restart.exit_codes", "write `exit_codes: [128-255]`, or use the backend "),
        (
            "kubedl",
            {"exit_codes": [137]},
            "restart.exit_codes",
            "write `exit_codes: [130, 137, 138, 143]`, or use the ",
        ),
    ],
)
def test_rules_that_an_operator_does_not_have(backend: str, restart: Any, path: str, fix: str) -> None:
    """Each problem once for a restart of the experiment, and at the role for its own."""
    for parts, where in (
        ({"restart": restart, **FIRST}, path),
        ({"roles": {**FIRST["roles"], "worker": {"replicas": 3, "restart": restart}}}, f"roles.worker.{path}"),
    ):
        problems = {*job_problems(experiment(backend=backend, **parts), environment())}
        assert {(problem.path, problem.fix[: len(fix)]) for problem in problems} == {(where, fix)}


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_an_mpijob_has_no_exit_codes(version: str) -> None:
    roles = {"launcher": {"ranked": False}, "worker": {"replicas": 2}}
    launcher = {"mpi": {"command": ["train"], "role": "launcher"}}
    rule = {"exit_codes": ["128-255"]}
    found = reasons(environment(mpi_job=version), backend="kubeflow", restart=rule, launcher=launcher, roles=roles)
    assert found == {"restart": "the operator has no exit codes for an MPIJob"}


@pytest.mark.parametrize(
    ("restart", "reason"),
    [
        ({"exit_codes": [256]}, "the exit codes are not between 1 and 255"),
        ({"exit_codes": ["9-3"]}, "the exit codes are not between 1 and 255, in order"),
        ({"exit_codes": [0]}, "is not an exit code"),
        ({"exit_codes": [42], "when": "never"}, "`exit_codes` and `when: never` exclude each other"),
        ({"ignore": "disruption", "when": "all-when-evicted"}, "`ignore` and `when: all-when-evicted` exclude each"),
        ({"when": "3 times"}, "the mapping has neither `exit_codes` nor `ignore`"),
    ],
)
def test_rules_that_contradict_themselves(restart: Any, reason: str) -> None:
    for parts in ({"restart": restart}, {"roles": {"worker": {"restart": restart}}}):
        parsed = parse(Experiment, {**JOB, **parts})
        assert [reason in problem.reason for problem in parsed.problems] == [True]
