"""The components alone, in a Pulumi program of a user's own."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import SSH_SECRET, Project
from trainform.manifests.ssh_files import Names, identity_files

pytestmark = pytest.mark.proof("the parts of a job alone; a whole job is in `make test`")

PROGRAM = """\
import pulumi

from trainform import (
    Environment,
    Experiment,
    Rendezvous,
    RoleGroup,
    SharedStorage,
    SshIdentity,
    TrainingJob,
    TrainingQueue,
)
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.storage import ClaimRequest

environment = Environment.model_validate(
    {{
        "name": "dev",
        "cluster": {{"context": "dev-cluster"}},
        "namespace": {{"name": "{namespace}"}},
        "accelerators": {{"a800": {{"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 8}}}},
    }}
)
queue = TrainingQueue("team-nlp", QueueRequest(weight=2, capability={{"a800": 16}}), environment)
storage = SharedStorage("corpora", {{"wiki": ClaimRequest(size="500Gi")}}, environment)
rendezvous = Rendezvous("bert-peers", {{"app": "bert"}}, environment)
identity = SshIdentity("bert-keys", "bert-peers", environment, rotation={rotation}, port=2222, \
folder="/home/trainer/.ssh")
experiment = Experiment.model_validate(
    {{
        "name": "bert",
        "image": "registry.example.com/ai/bert:1.0",
        "launcher": {{"torchrun": {{"script": "/app/pretrain.py"}}}},
        "roles": {{"node": {{"replicas": 2, "accelerators": {{"a800": 8}}}}}},
        "files": {{"/etc/nccl.conf": {{"text": "NCCL_DEBUG=INFO"}}}},
    }}
)
role = RoleGroup("bert-node", experiment, environment, "node")
elsewhere = {{
    backend: RoleGroup(f"bert-{{backend}}", experiment.model_copy(update={{"backend": backend}}), environment, "node")
    for backend in ("jobset", "trainer", "kubeflow")
}}
job = TrainingJob("bert", experiment, environment)
pulumi.export("queue", queue.queue)
pulumi.export("claim", storage.claims["wiki"])
pulumi.export("service", rendezvous.service)
pulumi.export("secret", identity.secret)
pulumi.export("files", role.template["spec"]["volumes"][0]["configMap"]["name"])
pulumi.export("script", role.template["spec"]["volumes"][1]["configMap"]["name"])
pulumi.export("image", role.template["spec"]["containers"][0]["image"])
pulumi.export("replicas", role.replicas)
pulumi.export("containers", {{backend: group.template["spec"]["containers"][0]["name"] for backend, group in \
elsewhere.items()}})
pulumi.export("job", job.job)
pulumi.export("processes", job.processes)
"""


def test_each_component_works_by_itself(project: Project, live: Live, tmp_path: Path) -> None:
    definition = {"name": "own-program", "runtime": {"name": "python", "options": {"virtualenv": sys.prefix}}}
    (project.folder / "Pulumi.yaml").write_text(yaml.safe_dump(definition))
    program = project.folder / "__main__.py"
    program.write_text(PROGRAM.format(namespace=project.namespace, rotation=1))
    # The current context leads nowhere: every component must go to the environment's.
    kubeconfig = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())
    kubeconfig["clusters"].append({"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}})
    user = kubeconfig["contexts"][0]["context"]["user"]
    kubeconfig["contexts"].append({"name": "nowhere", "context": {"cluster": "nowhere", "user": user}})
    kubeconfig["current-context"] = "nowhere"
    project.environ["KUBECONFIG"] = str(project.folder / "kubeconfig")
    (project.folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    project.pulumi("stack", "init", "own").succeeded()
    project.ssh_secret("own").succeeded()
    project.up("own")
    outputs = yaml.safe_load(project.pulumi("stack", "output", "--json", "-s", "own").succeeded())
    job = outputs.pop("job")
    for mounted in ("files", "script"):
        assert live.find("configmaps", outputs.pop(mounted), project.namespace) is not None
    assert outputs == {
        "queue": "team-nlp",
        "claim": "wiki",
        "service": "bert-peers",
        "secret": "bert-keys",
        "image": "registry.example.com/ai/bert:1.0",
        "replicas": 2,
        "containers": {"jobset": "main", "trainer": "node", "kubeflow": "pytorch"},
        "processes": 16,
    }
    assert live.get("queues", "team-nlp")["spec"]["weight"] == 2
    assert live.names("persistentvolumeclaims", project.namespace) == {"wiki"}
    assert live.only_job(project.namespace)["metadata"]["name"] == job
    assert {"bert", "bert-peers"} <= live.names("services", project.namespace)
    live.running_pods(project.namespace, 2)
    names = Names("bert-peers", project.namespace, "bert-peers", "/home/trainer/.ssh", 2222)
    assert _files(live, project.namespace) == identity_files(names, SSH_SECRET, 1)
    program.write_text(PROGRAM.format(namespace=project.namespace, rotation=2))
    # and nothing else, so that nothing else had anything to change
    assert [(step.op, step.kind) for step in project.applied("own")] == [("update", "Secret")]
    assert _files(live, project.namespace) == identity_files(names, SSH_SECRET, 2)
    project.destroy("own")
    assert live.find("secrets", "bert-keys", project.namespace) is None
    assert live.find("queues", "team-nlp") is None


def _files(live: Live, namespace: str) -> dict[str, str]:
    data = live.get("secrets", "bert-keys", namespace)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


# One program for all of them: what each of them tells ends the program, as it would do alone.
WRONG = """\
import pulumi

from trainform import Experiment, Rendezvous, RoleGroup, SharedStorage, SshIdentity, TrainingQueue
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.storage import ClaimRequest

told = []
for component in (
    {lines},
):
    try:
        component()
    except pulumi.RunError as error:
        told.append(str(error))
raise pulumi.RunError("".join(told))
"""
EXPERIMENT = {
    "name": "paused",
    "image": "registry.example.com/ai/train:1.0",
    "launcher": {"torchrun": {"script": "train.py"}},
    "roles": {"node": {"replicas": 2}, "watcher": {"replicas": 0, "ranked": False, "command": ["watch"]}},
}
PAUSED = {**EXPERIMENT, "backend": "trainer"}
STAYING = {
    **EXPERIMENT,
    "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
    "network": {"host": True, "ports": "per-replica"},
}
STAYING["roles"] = {"ps": {"replicas": 1}, "worker": {"replicas": 2}}
SPREAD = {**EXPERIMENT, "network": {"host": True, "ports": "per-replica"}}
MESSAGES = {
    f'RoleGroup("watcher", Experiment.model_validate({PAUSED}), "dev", "watcher")': (
        "the role has no replicas, and a job of the backend trainer"
    ),
    f'RoleGroup("node", Experiment.model_validate({SPREAD}), "dev", "node")': (
        "the role has a template for each of its replicas"
    ),
    f'RoleGroup("ps", Experiment.model_validate({STAYING}), "dev", "ps")': (
        "the role's pods keep running after a success"
    ),
    'TrainingQueue("team-nlp", QueueRequest(capability={"a8000": 8}), "dev")': "did you mean a800?",
    'SharedStorage("corpora", {"wiki": ClaimRequest(size="1Ti", storage_class="fastt")}, "dev")': "did you mean fast?",
    'RoleGroup("hello", "hello", "dev", "master")': "the experiment hello has no role of this name",
    'SshIdentity("no-rotation", "hello", "dev", rotation=0)': "rotation = 0",
    'SshIdentity("no-port", "hello", "dev", port=70000)': "port = 70000",
    'SshIdentity("line", "hello\\n", "dev")': 'service = "hello\\n"',
    'SshIdentity("words", "hello", "dev", folder="/root/my ssh")': "folder = /root/my ssh",
    'Rendezvous("up.down", {"app": "bert"}, "dev")': "name = up.down",
    'Rendezvous("peers", {"app": "a bert"}, "dev")': "selector.app = a bert",
    'Rendezvous("nobody", {}, "dev")': "the value has too few entries",
    'SshIdentity("no-secret", "hello", "dev")': (
        "the stack's secret is not set, and the SSH keys of the job are derived from it"
    ),
}


def test_components_tell_what_is_wrong(project: Project) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    lines = ",\n    ".join(f"lambda: {line}" for line in MESSAGES)
    (project.folder / "stacks" / "__main__.py").write_text(WRONG.format(lines=lines))
    output = project.pulumi("preview", "-s", stack).failed()
    assert [message for message in MESSAGES.values() if message not in output] == []


def test_a_missing_and_a_wrong_experiment_are_told_without_a_traceback(project: Project) -> None:
    stack = project.stack("hello")
    assert "experiment = hello" in project.pulumi("preview", "-s", stack).failed()
    project.copied("hello", lambda data: data["roles"]["worker"].update(accelerators={"a800": 16}))
    output = project.pulumi("preview", "-s", stack).failed()
    assert "stacks/experiments/hello.yaml:" in output
    assert "roles.worker.accelerators.a800 = 16" in output
    assert "the number is more than a node has (8 a800)" in output


def test_a_wrong_model_is_one_error_without_a_traceback(project: Project) -> None:
    """The program fails where it builds the model, outside of every component."""
    stack = project.stack("hello")
    wrong = {**EXPERIMENT, "name": "bert", "image": 5}
    program = f"from trainform import Experiment, TrainingJob\nTrainingJob('bert', Experiment(**{wrong}), 'dev')\n"
    (project.folder / "stacks" / "__main__.py").write_text(program)
    output = project.pulumi("preview", "-s", stack).failed()
    assert "1 problem:\n    Experiment bert: image = 5\n      why: the value must be text\n" in output
    assert "Traceback" not in output
    assert "pydantic" not in output


@pytest.mark.shows("secrets stay out of previews and state")
def test_secrets_of_the_user_never_reach_preview_state_or_render(project: Project, live: Live) -> None:
    token = "hf_Zk3vQmT8sLw"  # noqa: S105 - it must look like one
    project.copied("hello", lambda data: data.update(env={"HF_TOKEN": token}))
    stack = project.stack("hello")
    refusals = [
        project.pulumi("preview", "-s", stack, "--diff").failed(),
        *(project.trainform(verb, "hello", "-e", "dev").failed() for verb in ("check", "plan", "render")),
    ]
    assert all("looks like a secret" in output for output in refusals)
    state = project.pulumi("stack", "export", "--show-secrets", "-s", stack).succeeded()
    assert all(token not in output for output in [*refusals, state])

    reference = {"HF_TOKEN": {"secret": {"name": "hub", "key": "token"}}}
    project.copied("hello", lambda data: data.update(env=reference))
    assert "Secret hub, key token" in project.trainform("plan", "hello", "-e", "dev").succeeded()
    live.create("secrets", {"metadata": {"name": "hub"}, "stringData": {"token": token}}, project.namespace)
    assert token not in project.pulumi("preview", "-s", stack).succeeded()
