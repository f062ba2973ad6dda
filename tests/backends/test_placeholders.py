"""`$(NAME)` in commands and values: what Kubernetes puts in, and what it would leave as it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.samples import env, environment, experiment, plan, reasons
from trainform.backends.table import BACKENDS
from trainform.manifests.env import KEPT_PREFIX, in_order
from trainform.objects import job_manifests
from trainform.plan import Plan
from trainform.plan.references import expanded, references
from trainform.render import render_job

ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
PROGRAM = ["python", "/app/train.py"]


def notes(**parts: Any) -> list[str]:
    return [note for note in plan(**{"shared_memory": "1Gi", **parts}).notes if "$(" in note]


# --- variables are ordered


def test_a_value_refers_to_a_variable_wherever_it_is_defined() -> None:
    """The plan's variables come first, then the experiment's, then the role's: nobody can order them in a file."""
    made = plan(
        env={"OUT": "$(ROOT)/$(TRAINFORM_REPLICA_INDEX)", "MASTER_ADDR": "$(MEETS)", "MEETS": "10.0.0.7"},
        roles={"worker": {"replicas": 2, "env": {"ROOT": "/mnt"}}},
    )
    names = [*env(made, "worker")]
    assert names.index("ROOT") < names.index("OUT") > names.index("TRAINFORM_REPLICA_INDEX")
    assert names.index("MEETS") < names.index("MASTER_ADDR")


def test_an_init_container_brings_a_variable_to_which_another_refers() -> None:
    init = [{"name": "fetch", "command": ["fetch"], "env": {"DATA": "/fast"}}]
    made = plan(env={"DATA": "/slow", "INDEX": "$(DATA)/index"}, roles={"worker": {"init": init}})
    container = next(BACKENDS["volcano"].templates(made, job_manifests(made))[0].containers())[1]
    assert [entry["name"] for entry in container["env"]].index("DATA") < [
        entry["name"] for entry in container["env"]
    ].index("INDEX")


NAMES = [f"V{number}" for number in range(8)]


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)))
def test_the_order(variables: dict[str, list[str]]) -> None:
    """Each stands behind those that it refers to, but in a circle; without references nothing moves."""
    entries = [
        {"name": name, "value": "".join(f"$({other})" for other in others)} for name, others in variables.items()
    ]
    found = in_order(entries)
    assert sorted(map(str, found)) == sorted(map(str, entries))
    if not any(variables.values()):
        assert found == entries
    places = {entry["name"]: place for place, entry in enumerate(found)}
    reached = _reached(variables)
    for name, others in variables.items():
        for other in others:
            if other in places and name not in reached[other]:
                assert places[other] < places[name]


def _reached(variables: dict[str, list[str]]) -> dict[str, set[str]]:
    found = {name: set(variables.get(name, ())) for name in NAMES}
    for _ in NAMES:
        for name in NAMES:
            found[name] |= {far for near in found[name] for far in found[near]}
    return found


def test_a_long_chain_is_ordered() -> None:
    entries = [{"name": f"V{number}", "value": f"$(V{number + 1})"} for number in range(20_000)]
    assert in_order(entries) == entries[::-1]


# --- what would stay as it stands


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        ({"env": {"PATH": "/opt/bin:$(PATH)"}}, "env.PATH", "the variable's own name"),
        ({"env": {"A": "$(B)", "B": "$(A)"}}, "env.B", "A stands behind"),
        ({"roles": {"worker": {"env": {"A": "$(A)/x"}}}}, "roles.worker.env.A", "the variable's own name"),
        ({"env": {"HOSTS": "$(VC_WORKER_HOSTS)"}}, "env.HOSTS", "the operator adds"),
        ({"env": {"OUT": "/mnt/$(RANK)"}}, "env.OUT", "set by the launch script"),
        ({"launcher": {"command": [*PROGRAM, "$(RANK)"]}}, "launcher.command[2]", "set by the launch script"),
        ({"launcher": {"command": ["sh", "-c", "run $(RANK)"]}}, "launcher.command[2]", "set by the launch script"),
        (
            {"launcher": {"torchrun": {"script": "/a.py", "args": ["--out", "$(RANK)"]}}},
            "launcher.torchrun.args[1]",
            "set by the launch script",
        ),
        (
            {"launcher": {"torchrun": {"script": "/a.py", "launcher_args": ["--log-dir=$(RANK)"]}}},
            "launcher.torchrun.launcher_args[0]",
            "set by the launch script",
        ),
        (
            {"roles": {"worker": {"command": [*PROGRAM, "$(RANK)"]}}},
            "roles.worker.command[2]",
            "set by the launch script",
        ),
        (
            {
                "launcher": {"tensorflow": {"command": [*PROGRAM, "$(TF_CONFIG)"]}},
                "roles": {"chief": {}, "worker": {}},
            },
            "launcher.tensorflow.command[2]",
            "set by the launch script",
        ),
        (
            {"roles": {"worker": {"init": [{"name": "fetch", "command": ["fetch"], "env": {"A": "$(A)"}}]}}},
            "roles.worker.init[0].env.A",
            "the variable's own name",
        ),
        (
            {
                "roles": {
                    "worker": {
                        "pod_overrides": {
                            "spec": {
                                "containers": {
                                    "main": {"env": [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "1"}]}
                                }
                            }
                        }
                    }
                }
            },
            "roles.worker.pod_overrides.spec.containers.main.env.A",
            "B stands behind",
        ),
    ],
)
def test_a_variable_that_is_there_only_later_is_refused(parts: dict[str, Any], path: str, reason: str) -> None:
    found = reasons(**parts)
    assert list(found) == [path]
    assert reason in found[path]


@pytest.mark.parametrize(
    "parts",
    [
        {"launcher": {"command": ["sh", "-c", "echo $(hostname) $(date +%F) $$(RANK) $RANK"]}},
        {"launcher": {"command": [*PROGRAM, "$$(RANK)", "$(MASTER_ADDR):$(MASTER_PORT)", "$(WORLD_SIZE)"]}},
        {"launcher": {"command": [*PROGRAM, "$(VC_WORKER_HOSTS)", "$(KUBERNETES_SERVICE_HOST)"]}},
        {"env": {"RANK": "7"}, "launcher": {"command": [*PROGRAM, "$(RANK)"]}},
        {"env": {"HOST": {"field": "metadata.name"}, "OUT": "/mnt/$(HOST)"}},
        {
            "roles": {
                "worker": {
                    "pod_overrides": {
                        "spec": {"containers": {"main": {"envFrom": [{"configMapRef": {"name": "team"}}]}}}
                    }
                }
            },
            "env": {"OUT": "/mnt/$(TEAM)"},
        },
    ],
)
def test_what_kubernetes_or_a_shell_gives_a_meaning_is_not_told(parts: dict[str, Any]) -> None:
    assert reasons(**parts) == {}
    assert notes(**parts) == []


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"env": {"OUT": "/mnt/$(HOSTNAME)"}}, "env.OUT: `$(HOSTNAME)` stays as it stands"),
        ({"env": {"STORE": "redis:$(REDIS_PORT)"}}, "env.STORE: `$(REDIS_PORT)` stays as it stands"),
        ({"launcher": {"command": [*PROGRAM, "$(MASTER_ADR)"]}}, "(did you mean MASTER_ADDR?)"),
        ({"launcher": {"command": [*PROGRAM, "run-$(date +%F)"]}}, "launcher.command[2]: `$(…)` stays"),
        ({"launcher": {"command": ["bash", "-lc", "run $(HOSTNAME)"]}}, "the shell takes `$(HOSTNAME)` for a command"),
        (
            {
                "prepare": [
                    {
                        "name": "code",
                        "git": {
                            "repository": "https://ci:$(TOKEN)@git.example.com/a.git",
                            "commit": "1" * 40,
                            "path": "/code",
                        },
                    }
                ]
            },
            "prepare[0].git.repository: `$(TOKEN)`",
        ),
    ],
)
def test_a_variable_that_nothing_sets_is_told(parts: dict[str, Any], told: str) -> None:
    assert reasons(**parts) == {}
    [note] = notes(**parts)
    assert told in note


def of_main(**fields: Any) -> dict[str, Any]:
    """A job whose main containers are patched."""
    patch = {"spec": {"containers": {"main": fields}}}
    return {
        "env": {"MEETS": "$(MASTER_ADDR):$(MASTER_PORT)"},
        "roles": {"worker": {"replicas": 2, "pod_overrides": patch}},
    }


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        ({"lifecycle": {"preStop": {"exec": {"command": ["/bin/save", "$(MASTER_ADDR)"]}}}}, "into the command of a hook"),
        ({"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "save $(MASTER_ADDR)"]}}}}, "into the command of a hook"),
        ({"livenessProbe": {"exec": {"command": ["/bin/alive", "$(HOSTNAME)"]}}}, "only what the container's `env` has"),
        ({"readinessProbe": {"exec": {"command": ["/bin/alive", "$(TRAINFORM_REPLICA_INDEX)"]}}}, "becomes empty"),
        ({"startupProbe": {"exec": {"command": ["/bin/alive", "$(MEETS)"]}}}, "with its own `$(…)`"),
    ],
)  # fmt: skip
def test_commands_of_probes_and_hooks(handler: dict[str, Any], told: str) -> None:
    """Kubernetes puts less into them than into the container's own command."""
    [note] = notes(**of_main(**handler))
    assert note.startswith("roles.worker.pod_overrides.spec.containers.main.")
    assert ".exec.command[" in note
    assert told in note


@pytest.mark.parametrize(
    "handler",
    [
        {"livenessProbe": {"exec": {"command": ["/bin/alive", "$(MASTER_ADDR)", "$$(RANK)"]}}},
        {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "save $MASTER_ADDR $(hostname)"]}}}},
        {"lifecycle": {"preStop": {"exec": {"command": ["bash", "-euo", "pipefail", "-c", "save ${RANK}"]}}}},
        {"livenessProbe": {"httpGet": {"path": "/$(NAME)", "port": 80}}},
    ],
)
def test_commands_of_probes_and_hooks_that_get_what_they_name(handler: dict[str, Any]) -> None:
    assert dollars(**of_main(**handler)) == []


# --- `$NAME` without a shell


def dollars(**parts: Any) -> list[str]:
    return [note for note in plan(**{"shared_memory": "1Gi", **parts}).notes if "$" in note]


@pytest.mark.parametrize(
    ("parts", "path", "fix"),
    [
        ({"launcher": {"command": [*PROGRAM, "$MASTER_ADDR:${MASTER_PORT}"]}}, "launcher.command[2]", "`$(MASTER_ADDR)`"),
        ({"launcher": {"command": [*PROGRAM, "--out=/mnt/$RUN"]}, "env": {"RUN": "7"}}, "launcher.command[2]", "`$(RUN)`"),
        ({"launcher": {"command": [*PROGRAM, "--rank=$RANK"]}}, "launcher.command[2]", "`[sh, -c, '… $RANK …']`"),
        ({"launcher": {"command": [*PROGRAM, "$HOME/data"]}}, "launcher.command[2]", "`[sh, -c, '… $HOME …']`"),
        ({"launcher": {"torchrun": {"script": "/a.py", "args": ["--out", "${OUT}"]}}, "env": {"OUT": "/o"}}, "launcher.torchrun.args[1]", "`$(OUT)`"),
        ({"launcher": {"torchrun": {"script": "$CODE/a.py"}}}, "launcher.torchrun.script", "$CODE"),
        ({"roles": {"worker": {"command": [*PROGRAM, "$WORLD_SIZE"]}}}, "roles.worker.command[2]", "`$(WORLD_SIZE)`"),
        ({"env": {"PATH": "/opt/bin:$PATH"}}, "env.PATH", "the whole value"),
        ({"env": {"ROOT": "/mnt", "OUT": "$ROOT/out"}}, "env.OUT", "`$(ROOT)`"),
        ({"prepare": [{"name": "data", "command": ["fetch", "--to", "$DATA"], "env": {"DATA": "/mnt"}}]}, "prepare[0].command[2]", "`$(DATA)`"),
        (of_main(livenessProbe={"exec": {"command": ["test", "-e", "$HOME/alive"]}}), "roles.worker.pod_overrides.spec.containers.main.livenessProbe.exec.command[2]", "`[sh, -c, '… $HOME …']`"),
    ],
)  # fmt: skip
def test_a_shells_variable_where_no_shell_reads_it_is_told(parts: dict[str, Any], path: str, fix: str) -> None:
    assert reasons(**parts) == {}
    first = dollars(**parts)[0]
    assert first.startswith(f"{path}: `$")
    assert "stays as it stands: no shell reads it" in first
    assert fix in first


@pytest.mark.parametrize(
    "parts",
    [
        {"launcher": {"command": ["sh", "-c", "echo $RANK $HOME"]}},
        {"launcher": {"command": ["bash", "-lc", "run $RANK"]}},
        {"launcher": {"command": ["bash", "-ce", "run $RANK"]}},
        {"launcher": {"command": ["bash", "-c", "-e", "--", "$RANK"]}},
        {"launcher": {"command": ["bash", "-euo", "pipefail", "-c", "$RANK"]}},
        {"launcher": {"command": ["bash", "-c", "-o", "pipefail", "$RUN/x"]}},
        {"launcher": {"command": ["env", "A=1", "su", "trainer", "-c", "$RANK"]}},
        {"launcher": {"command": ["perl", "-e", "print $ENV{RANK} . $x"]}},
        {"launcher": {"command": [*PROGRAM, "$$RANK", "--re=^foo$", "a$b", "pa$WORD", "${oc.env:RANK}", "$1", "$"]}},
        {"env": {"TEXT": "say $RANK now", "MARK": "a$UNKNOWN", "KEY": "$ab"}},
        {"launcher": {"deepspeed": {"script": "/a.py", "args": ["--out=$MASTER_ADDR"]}}, "roles": ROLES},
    ],
)
def test_a_shells_variable_that_is_read_or_meant_is_not_told(parts: dict[str, Any]) -> None:
    assert dollars(**parts) == []


def test_many_shells_variables_are_not_all_told() -> None:
    found = dollars(launcher={"command": [*PROGRAM, *(f"$OUT_{number}" for number in range(30))]})
    assert (len(found), found[-1]) == (21, "10 more names behind a `$` stay as they stand")


def test_it_is_told_once_for_all_containers() -> None:
    init = [{"name": "fetch", "command": ["fetch"]}]
    roles = {"master": {"replicas": 1, "init": init}, "worker": {"replicas": 3, "init": init}}
    assert len(notes(env={"OUT": "/mnt/$(HOSTNAME)"}, roles=roles)) == 1


def test_beside_a_variable_from_elsewhere() -> None:
    variables = {"NODE": {"field": "spec.nodeName"}, "KEY": {"secret": {"name": "s3", "key": "key"}}}
    assert len(notes(env={**variables, "OUT": "/mnt/$(NODE)/$(HOSTNAME)"})) == 1
    assert reasons(env={**variables, "OUT": "/mnt/$(RANK)"}).keys() == {"env.OUT"}


def test_many_are_not_all_told() -> None:
    found = notes(env={f"OUT_{number}": "/mnt/$(HOSTNAME)" for number in range(300)})
    assert (len(found), found[-1]) == (21, "280 more names in `$(…)` stay as they stand")


def test_what_only_the_cluster_knows_is_not_told() -> None:
    parts = {"runtime": {"name": "shared"}, "launcher": {"torchrun": {"script": "/a.py", "args": ["$(OF_RUNTIME)"]}}}
    assert notes(backend="trainer", **parts) == []


# --- every operator

_WORD = st.sampled_from(
    ["A", "B", "C", "RANK", "MASTER_ADDR", "WORLD_SIZE", "TRAINFORM_REPLICA_INDEX", "JOB_COMPLETION_INDEX", "NOBODY"]
)
_TEXT = st.lists(_WORD, max_size=2).map(lambda names: "x" + "".join(f"/$({name})" for name in names))
_ENV = st.dictionaries(st.sampled_from(["A", "B", "C", "MASTER_ADDR"]), _TEXT, max_size=3)


@settings(max_examples=40)
@given(of_all=_ENV, of_role=_ENV, word=_TEXT)
def test_what_is_accepted_is_put_in(backend: str, of_all: dict[str, str], of_role: dict[str, str], word: str) -> None:
    """In the pods that the operator makes: all that is left as it stands is a name that nothing sets, and the plan has a note about it."""
    roles = {**ROLES, "worker": {"replicas": 2, "env": of_role}}
    asked = experiment(
        backend=backend, env=of_all, roles=roles, launcher={"command": [*PROGRAM, word]}, shared_memory="1Gi"
    )
    job = render_job(asked, environment())
    if job.problems:
        assert all("would stay as it stands" in problem.reason for problem in job.problems)
        return
    left = _left(backend, job.plan)
    assert left.isdisjoint({"RANK", "MASTER_ADDR", "WORLD_SIZE", "TRAINFORM_REPLICA_INDEX"})
    for name in left:
        assert any(f"`$({name})` stays as it stands" in note for note in job.plan.notes)
    assert bool(left) == any("stays as it stands" in note for note in job.plan.notes)


def _left(backend: str, made: Plan) -> set[str]:
    """The names that a kubelet would not put in, from pods as the operator's controller makes them."""
    pods, _ = BACKENDS[backend].pods(made, job_manifests(made))
    found: set[str] = set()
    for pod in pods:
        for container in pod["spec"]["containers"]:
            values: dict[str, str] = {}
            for entry in container.get("env", []):
                text = entry.get("value", "")
                found |= {name for name in references(text) if name not in values}
                values[entry["name"]] = expanded(text, values)
            for word in (*container.get("command", []), *container.get("args", [])):
                found |= {name for name in references(word) if name not in values}
    return {name.removeprefix(KEPT_PREFIX) for name in found}


def test_a_circle_of_variables_that_the_operator_overwrites_is_told_by_their_own_names() -> None:
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    asked = experiment(backend="kubeflow", roles=roles, env={"MASTER_ADDR": "$(HOST)", "HOST": "$(MASTER_ADDR)"})
    [problem] = render_job(asked, environment()).problems
    assert "TRAINFORM_KEPT" not in str(problem)
