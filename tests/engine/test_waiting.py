"""Why a job waits, with the real API server, scheduler and controllers: each reason is produced, and then found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.refusing import LABEL, REASON, refusing
from tests.engine.test_capacity import GPU, KEEPS_OUT, OPEN, nodes, pods, quota
from tests.engine.test_reviews import SAMPLE
from tests.engine.test_rights import kubeconfig, post
from trainform.job.render import RenderedJob
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.start import SCHEDULER
from trainform.running import waiting
from trainform.running.facts import Facts, read_facts
from trainform.running.model import Reason
from trainform.running.read import read, read_around
from trainform.running.snapshot import Snapshot, Target
from trainform.running.waiting import preemption
from trainform.spec.layers import merge_patch

pytestmark = pytest.mark.proof("every reason for which a job waits, as real controllers cause it")

PATIENCE = 30.0
QUEUES = "scheduling.volcano.sh/v1beta1"


class Queue:
    """Jobs of one project, made as `pulumi up` makes them, and why they wait."""

    plural = "jobs"

    def __init__(self, project: Project, live: Live) -> None:
        self.project, self.live, self.made, self.running = project, live, list[RenderedJob](), 0

    def submit(self, name: str, replicas: int, **parts: Any) -> RenderedJob:
        """Make the objects of an experiment of so many nodes."""
        self.project.experiment(name, merge_patch(SAMPLE, {"storage": None, **pods(replicas), **parts}))
        made = self.project.rendered(name)
        for manifest in made.manifests:
            self.live.make(manifest.body)
        self.made.append(made)
        return made

    def holds(self, name: str, replicas: int, **parts: Any) -> str:
        """Make a job, and return NAMESPACE/NAME once all its pods run."""
        made, self.running = self.submit(name, replicas, **parts), self.running + replicas
        self.live.running_pods(self.project.namespace, self.running)
        return f"{self.project.namespace}/{made.plan.job}"

    def look(self, made: RenderedJob) -> tuple[Snapshot, Facts]:
        """Read the job and the facts about it."""
        snapshot = read_around(read(Target(made.experiment.name, made.environment), PATIENCE), PATIENCE)
        return snapshot, read_facts(snapshot, PATIENCE)

    def why(self, made: RenderedJob, code: str) -> Reason:
        """Return the first reason, once it is this one."""

        def first() -> Reason | None:
            found = waiting.reasons(*self.look(made))
            seen[:] = [reason.code for reason in found]
            return found[0] if found and found[0].code == code else None

        seen: list[str] = []
        try:
            return until(first, f"the reason {code}", PATIENCE)
        except AssertionError:
            raise AssertionError(f"{code} expected, found {seen}") from None

    def clear(self) -> None:
        """Delete the jobs, and wait for their pods to be gone."""
        for made in self.made:
            self.live.delete(self.plural, made.plan.job, self.project.namespace)
        until(lambda: not self.live.find_all("pods", self.project.namespace), "the pods to be gone")
        self.running = 0


@pytest.fixture
def queue(project: Project, live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    project.environment(limits={"severity": {"TF-RES-6": "off"}})
    live.wait_for_free_nodes()
    found = Queue(project, live)
    yield found
    found.clear()


def test_nodes_that_another_job_holds(queue: Queue) -> None:
    hog = queue.holds("hog", 6)
    short = queue.why(queue.submit("wide", 4), "gang-short")
    assert (short.needed, short.free, short.largest) == ("32", "16", "8")
    assert [(holder.job, holder.amount, holder.queue) for holder in short.holders] == [(hog, "48", "default")]
    queue.holds("rest", 2)
    full = queue.why(queue.submit("narrow", 1), "nodes-full")
    assert (full.needed, full.free, full.largest, full.holders[0].job) == ("8", "0", "0", hog)


@pytest.mark.parametrize(
    ("prepare", "patch", "code"),
    [
        (nodes({"unschedulable": None}), pods(9), "never-fits"),
        (nodes(KEEPS_OUT), pods(3), "never-fits"),
        (nodes(KEEPS_OUT), {**pods(3), "node_selector": {"pool": "night"}}, "no-node"),
        (quota, pods(3), "never-fits"),
    ],
)
def test_pods_that_never_fit(prepare: Callable[[Live, str], None], patch: Any, code: str, queue: Queue) -> None:
    try:
        prepare(queue.live, queue.project.namespace)
        replicas = patch["roles"]["worker"]["replicas"]
        assert queue.why(queue.submit("large", replicas, **patch), code).never
    finally:
        nodes(OPEN)(queue.live, queue.project.namespace)


def test_nodes_that_are_cordoned_may_come_back(queue: Queue) -> None:
    try:
        nodes({"unschedulable": True})(queue.live, queue.project.namespace)
        waits = queue.why(queue.submit("drained", 3), "gang-short")
        assert (waits.never, "cordoned nodes not counted: " in waits.text) == (False, True), waits.text
    finally:
        nodes(OPEN)(queue.live, queue.project.namespace)


def test_a_queue_that_is_full_then_closed_then_gone(queue: Queue) -> None:
    live, namespace = queue.live, queue.project.namespace
    name = f"{namespace}-night"
    queue.project.environment(queues={name: {"weight": 1}}, limits={"severity": {"TF-RES-6": "off"}})
    spec = {"weight": 1, "capability": {GPU: "16"}}
    live.make({"apiVersion": QUEUES, "kind": "Queue", "metadata": {"name": name}, "spec": spec})
    until(lambda: live.get("queues", name).get("status", {}).get("state") == "Open", "the queue to be open")
    hog = queue.holds("hog", 1, queue=name)
    never = queue.why(queue.submit("large", 3, queue=name), "never-fits")
    assert never.object == f"Queue/{name}"
    waits = queue.submit("waits", 2, queue=name)
    full = queue.why(waits, "queue-full")
    assert (full.needed, full.free) == ("16", "8")
    assert [(holder.job, holder.amount, holder.queue) for holder in full.holders] == [(hog, "8", name)]
    uid = live.get("queues", name)["metadata"]["uid"]
    target = {"apiVersion": QUEUES, "kind": "Queue", "name": name, "uid": uid, "controller": True}
    metadata = {"name": "close", "namespace": namespace}
    command = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": metadata}
    live.make({**command, "action": "CloseQueue", "target": target})
    assert queue.why(waits, "queue-closed").object == f"Queue/{name}"
    live.delete("queues", name)
    assert queue.why(waits, "queue-missing").object == f"Queue/{name}"


def test_pods_that_a_policy_or_a_quota_refuses(queue: Queue) -> None:
    live, namespace = queue.live, queue.project.namespace
    with refusing(live, namespace):
        labelled = {"pod_overrides": {"metadata": {"labels": LABEL}}}
        refused = queue.submit("refused", 1, roles={"worker": {"replicas": 1, "accelerators": {"a800": 8}, **labelled}})
        assert REASON in queue.why(refused, "denied").text
    quota(live, namespace)
    queue.clear()
    hog = queue.holds("hog", 1)
    left = queue.why(queue.submit("wide", 2), "quota")
    assert (left.object, left.needed, left.free, left.holders[0].job) == ("ResourceQuota/team", "16", "8", hog)


def test_what_the_sums_do_not_have_is_the_schedulers(queue: Queue) -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["elsewhere"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    overrides = {"spec": {"affinity": {"nodeAffinity": required}}}
    roles = {"worker": {"replicas": 1, "accelerators": {"a800": 8}, "pod_overrides": overrides}}
    reason = queue.why(queue.submit("elsewhere", 1, roles=roles), "scheduler")
    assert "affinity" in reason.text


def test_a_controller_that_does_nothing(
    queue: Queue, volcano_controller: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SILENT", waiting.SILENT / 10)
    volcano_controller.suspend()
    try:
        silent = queue.submit("silent", 1)
        assert queue.why(silent, "silent").object == "Deployment/volcano-controllers"
    finally:
        volcano_controller.resume()
    queue.live.running_pods(queue.project.namespace, 1)
    assert waiting.reasons(*queue.look(silent)) == ()


def test_an_account_that_may_only_view_the_namespace(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    project, live, namespace = queue.project, queue.live, queue.project.namespace
    queue.holds("hog", 7)
    waits = queue.submit("waits", 2)
    queue.why(waits, "gang-short")
    accounts, rbac = f"/api/v1/namespaces/{namespace}/serviceaccounts", "rbac.authorization.k8s.io"
    post(live, accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}})
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": {"name": "reader"},
               "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
               "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}]}  # fmt: skip
    post(live, f"/apis/{rbac}/v1/namespaces/{namespace}/rolebindings", binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = post(live, f"{accounts}/reader/token", request)["status"]["token"]
    monkeypatch.setenv("KUBECONFIG", kubeconfig(project, token, "reader"))
    snapshot, facts = queue.look(waits)
    assert facts.live.nodes is None
    assert {"nodes", "queues"} <= facts.live.not_read.keys()
    assert "no permission to list nodes" in facts.live.not_read["nodes"]
    assert {"job", "gang"} <= snapshot.not_read.keys()
    (reason,) = until(lambda: waiting.reasons(*queue.look(waits)) or None, "the scheduler's event", PATIENCE)
    assert reason.code == "scheduler"
    assert "overused" in reason.text


@contextmanager
def preempting(sandbox: Sandbox) -> Iterator[None]:
    """Let the scheduler preempt, which its default configuration does not: it reads its file again. A job that waits
    may not be larger than what is free, by two of its plugins."""
    file = Layout(sandbox.folder).config / "scheduler.yaml"
    preempt = re.sub("  - name: (overcommit|proportion)\n", "", SCHEDULER.replace("allocate,", "allocate, preempt,"))
    for text in (preempt, SCHEDULER):
        new = file.with_suffix(".new")
        new.write_text(text)
        new.replace(file)  # at once: the scheduler reads the file when it changes
        if text != SCHEDULER:
            yield


def test_a_job_that_the_scheduler_preempts(queue: Queue, sandbox: Sandbox) -> None:
    live, namespace = queue.live, queue.project.namespace
    low, high = (f"{namespace}-{name}" for name in ("low", "high"))
    values = {low: 10, high: 1000}
    queue.project.environment(
        limits={"severity": {"TF-RES-6": "off"}}, priority_classes={name: {"value": of} for name, of in values.items()}
    )
    bodies = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": of}
              for name, of in values.items()]  # fmt: skip
    try:
        for body in bodies:
            live.make(body)
        victim = queue.submit("victim", 8, priority_class=low)
        live.running_pods(namespace, 8)
        with preempting(sandbox):
            urgent = queue.submit("urgent", 1, priority_class=high)
            until(lambda: preemption(*queue.look(victim)) or None, "the preemption", 60.0)
            until(lambda: waiting.reasons(*queue.look(urgent)) == (), "the urgent job to run", 60.0)
            assert f"its nodes now run {namespace}/{urgent.plan.job}" in preemption(*queue.look(victim))
            assert queue.why(victim, "gang-short").holders[0].priority == values[high]
    finally:
        queue.clear()
        for body in bodies:
            live.remove(body)
