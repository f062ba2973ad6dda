"""What the API server says of a dry run, as problems at the fields of an experiment. The statuses are those of
Kubernetes 1.34 and Volcano 1.14."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.samples import environment
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import Answer
from trainform.cluster.dry_run import FORCE, DryRun, drop_repeats, dry_run_of, dry_runs, judge
from trainform.cluster.live_objects import key_of
from trainform.cluster.outcome import Outcome, StackContext
from trainform.errors import ClusterError
from trainform.job.render import draft_plan, job_manifests
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.spec.experiment import Experiment

STACK = StackContext("bert.dev")
MAIN = "roles.worker.pod_overrides.spec.containers.main"
RBAC = (
    'podtemplates is forbidden: User "ana" cannot create resource "podtemplates" in API group "" in the namespace "ai"'
)
DENIED = 'admission webhook "validatejob.volcano.sh" denied the request: '
DOWN = 'Internal error occurred: failed calling webhook "validatejob.volcano.sh": connection refused'
UNDECODED = 'PodTemplate in version "v1" cannot be handled as a PodTemplate: '


def drafted(backend: str = "volcano", patch: dict[str, Any] | None = None, **parts: Any) -> tuple[Plan, list[DryRun]]:
    """The plan of a job with these patches, and its dry runs: of the pods of `worker`, then of the job."""
    worker = {"replicas": 2, **({} if patch is None else {"pod_overrides": {"spec": patch}})}
    data = {"name": "bert", "image": "a:1", "launcher": {"command": ["true"]}, "backend": backend, **parts}
    plan = draft_plan(Experiment.model_validate({**data, "roles": {"worker": worker}}), environment())
    manifests = job_manifests(plan)
    return plan, dry_runs(plan, manifests, BACKENDS[backend].templates(plan, manifests), STACK)


def status(message: str, code: int = 422, *causes: tuple[str, str]) -> Answer:
    details = {"causes": [{"field": field, "message": told} for field, told in causes]}
    return Answer(code, {"kind": "Status", "message": message, "details": details})


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubeflow"])
def test_a_patch_of_the_main_container_under_any_name(backend: str) -> None:
    plan, (pods, _) = drafted(backend, {"containers": {"main": {"resources": {"limits": {"gpu": 1}}}}})
    cause = ("template.spec.containers[0].resources.limits[gpu]", 'Invalid value: "gpu": must be fully qualified')
    (problem,) = judge(pods, status("invalid", 422, cause), STACK, plan).problems
    assert problem.path == f"{MAIN}.resources.limits.gpu"
    assert problem.reason == "the API server refuses the pods of worker: Invalid value: must be fully qualified"


@pytest.mark.parametrize(
    ("patch", "answer", "path"),
    [
        (
            {"tolerations": [{"key": "a b"}]},
            status("", 422, ("template.spec.tolerations[0].key", "Invalid value")),
            "roles.worker.pod_overrides.spec.tolerations[0].key",
        ),
        (
            {"volumes": {"A_b": {"emptyDir": {}}}},
            status("", 422, ("template.spec.volumes[1].name", "Invalid value")),
            "roles.worker.pod_overrides.spec.volumes.A_b",
        ),
        (
            {"hostIPC": "no"},
            status(
                f"{UNDECODED}json: cannot unmarshal string into Go struct field PodSpec.template.spec.hostIPC of "
                "type bool",
                400,
            ),
            "roles.worker.pod_overrides.spec.hostIPC",
        ),
        (
            {"nodeSelecter": {}},
            status(f'{UNDECODED}strict decoding error: unknown field "template.spec.nodeSelecter"', 400),
            "roles.worker.pod_overrides.spec.nodeSelecter",
        ),
        ({"hostIPC": "no"}, status(f"{UNDECODED}quantities must match the regular expression", 400), "roles.worker"),
    ],
)
def test_where_the_mistake_is(patch: dict[str, Any], answer: Answer, path: str) -> None:
    plan, (pods, _) = drafted(patch=patch)
    (problem,) = judge(pods, answer, STACK, plan).problems
    assert problem.path == path


def test_without_a_field_the_role_and_what_its_patches_set() -> None:
    plan, (pods, _) = drafted(patch={"hostIPC": True, "dnsConfig": {"searches": ["a"]}})
    (problem,) = judge(pods, status("no naked pods", 403), STACK, plan).problems
    assert problem.path == "roles.worker"
    assert problem.fix.endswith(
        "roles.worker.pod_overrides.spec.hostIPC, roles.worker.pod_overrides.spec.dnsConfig.searches"
    )


def test_a_field_that_the_server_drops() -> None:
    """Kubernetes 1.30 knows `successPolicy` and has not enabled it."""
    plan, (_, job) = drafted("kubernetes", launcher={"mpi": {"command": ["/app/train"]}})
    body = copy.deepcopy(job.request.body)
    assert isinstance(body, dict)
    assert judge(job, Answer(200, body), STACK, plan).problems == []
    del body["spec"]["successPolicy"]
    (problem,) = judge(job, Answer(200, body), STACK, plan).problems
    assert problem.reason.startswith(f"the API server ignores spec.successPolicy of Job {plan.job}: it is too old")


def test_the_job_object() -> None:
    patch = {"job": {"spec": {"tasks": {"worker": {"policies": [{"event": "Foo"}]}}, "minSuccess": "one"}}}
    plan, (_, job) = drafted(patch={"hostIPC": "no"}, manifest_overrides=patch)
    typed = (
        "failed to create typed patch object (ai/bert; batch.volcano.sh/v1alpha1, Kind=Job): errors:\n"
        '  .spec.tasks[name="worker"].template.spec.hostIPC: expected boolean, got &{no}\n'
        "  .spec.minSuccess: expected numeric (int or float), got &{one}"
    )
    problems = judge(job, status(typed, 500), STACK, plan).problems
    assert [(problem.path, problem.reason.rpartition(": ")[2]) for problem in problems] == [
        ("roles.worker.pod_overrides.spec.hostIPC", "expected boolean"),
        ("manifest_overrides.job.spec.minSuccess", "expected numeric (int or float)"),
    ]
    denied = status(f"{DENIED}spec.task[0].policies[0].event: Invalid value: Foo: unknown event", 400)
    (problem,) = judge(job, denied, STACK, plan).problems
    assert problem.path == "manifest_overrides.job.spec.tasks.worker.policies[0].event"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(RBAC, 403), "this account has no permission for a dry run (verb create of podtemplates)"),
        (status(DOWN, 500), DOWN),
        (status("exceeded quota: jobs, requested: count/jobs=1", 403), "exceeded quota: jobs, requested: count/jobs=1"),
        (status('namespaces "ai" not found', 404), 'namespaces "ai" not found'),
        (ClusterError("no answer"), "no answer"),
    ],
)
def test_what_the_server_did_not_judge(answer: Answer | ClusterError, reason: str) -> None:
    plan, (pods, _) = drafted()
    assert judge(pods, answer, STACK, plan) == Outcome(not_checked=[("the pods of worker", reason)])


def test_a_quota_without_room_for_another_kind_of_job() -> None:
    """`up` would delete the running job of the other operator, and could not create this one."""
    plan, (_, job) = drafted()
    full = status("exceeded quota: jobs, requested: count/jobs.batch.volcano.sh=1", 403)
    assert len(judge(job, full, STACK, plan).problems) == 1
    same = StackContext("resnet.dev", applied={("batch.volcano.sh/v1alpha1", "Job", "ai", "resnet-0a1b2c"): {}})
    assert judge(job, full, same, plan).problems == []


def test_a_job_that_waits_for_an_object_of_the_same_update() -> None:
    plan, (_, job) = drafted()
    found = judge(job, status(f"{DENIED}unable to find job queue: queue bert", 400), STACK, plan)
    assert [what for what, _ in found.not_checked] == ["Job bert-000000"]
    assert not found.problems


def test_all_that_the_server_refuses_in_one_template() -> None:
    plan, (pods, _) = drafted(patch={"volumes": {"data": {"hostPath": {"path": "/a"}, "emptyDir": {}}}})
    causes = (("template.spec.containers[0].a", "Forbidden: one"), ("template.spec.containers[0].b", "Forbidden: two"))
    assert len(drop_repeats([judge(pods, status("", 422, *causes), STACK, plan).problems])) == 2


def test_a_refusal_that_no_patch_causes() -> None:
    plan, (pods, _) = drafted()
    for told in ("images must be signed", RBAC):
        assert judge(pods, status(DENIED + told, 403), STACK, plan).problems
    (problem,) = judge(pods, status(f"{DENIED}images must be signed", 403), STACK, plan).problems
    assert (problem.path, "ask the platform team" in problem.fix) == ("roles.worker", True)


def test_only_warnings_of_pod_security_are_shown() -> None:
    plan, (pods, _) = drafted()
    warned = Answer(201, {}, ("unknown field", 'would violate PodSecurity "restricted:latest": runAsNonRoot != true'))
    assert judge(pods, warned, STACK, plan).warnings == [
        'the pods of worker: would violate PodSecurity "restricted:latest": runAsNonRoot != true'
    ]


def test_the_same_mistake_in_the_template_and_in_the_job_is_one_problem() -> None:
    plan, (pods, job) = drafted(patch={"terminationGracePeriodSeconds": "soon", "hostIPC": True})
    undecoded = judge(pods, status(f"{UNDECODED}quantities must match", 400), STACK, plan).problems
    typed = (
        "failed to create typed patch object (x): .spec.tasks[0].template.spec.terminationGracePeriodSeconds: "
        "expected numeric"
    )
    located = judge(job, status(typed, 500), STACK, plan).problems
    assert drop_repeats([undecoded, located]) == located
    assert drop_repeats([located, located]) == located


def test_no_value_and_no_secret_is_repeated() -> None:
    plan, (pods, job) = drafted(patch={"containers": {"main": {"env": {"DB_PASSWORD": {"value": 4711}}}}})
    texts = [
        '.spec.x: Invalid value: "hunter2\\" x": no',
        "failed to create typed patch object (x): .spec.x: expected string, got &value{hunter2}",
        'spec.x: Invalid value: {"a": "hunter2: b"}: no',
        "Unauthorized: Bearer hunter2",
    ]
    for text in texts:
        for run in (pods, job):
            assert "hunter2" not in repr(judge(run, status(text, 400), STACK, plan))


def test_templates_that_are_alike_are_sent_once() -> None:
    plan, runs = drafted("volcano")
    assert [(run.request.method, run.request.path.rpartition("/")[2]) for run in runs] == [
        ("POST", "podtemplates"),
        ("PATCH", plan.job),
    ]
    assert all(run.request.parameters["dryRun"] == "All" for run in runs)


# --- existing objects that change

CONFLICT = "FieldManagerConflict"


def owned_by(manager: str, field: str) -> Answer:
    cause = {"reason": CONFLICT, "message": f'conflict with "{manager}" using v1', "field": field}
    return Answer(409, {"kind": "Status", "message": "Apply failed", "details": {"causes": [cause]}})


def own(kind: str) -> Manifest:
    claims = {"datasets": {"size": "2Ti", "keep": True}}
    made = environment(claims=claims, priority_classes={"urgent": {"value": 2000}}, queues={"night": {"weight": 4}})
    return next(each for each in platform_manifests(made) if each.body["kind"] == kind)


def run_of(manifest: Manifest, stack: StackContext = STACK, plan: Plan | None = None) -> DryRun:
    return dry_run_of(manifest, "/api/v1/a", stack, plan)


def test_a_claim_that_the_server_does_not_grow() -> None:
    told = 'persistentvolumeclaims "datasets" is forbidden: only dynamically provisioned pvc can be resized'
    (problem,) = judge(run_of(own("PersistentVolumeClaim")), status(told, 403), STACK).problems
    assert (problem.path, told in problem.reason) == ("claims.datasets.size", True)
    plan, _ = drafted(storage={"runs": {"size": "2Gi", "mount": "/runs"}})
    manifest = next(each for each in job_manifests(plan) if each.key == "claim-runs")
    assert judge(run_of(manifest, plan=plan), status(told, 403), STACK, plan).problems[0].path == "storage.runs.size"
    told = 'persistentvolumeclaims "datasets" is forbidden: User "ana" cannot patch resource "persistentvolumeclaims"'
    found = judge(run_of(own("PersistentVolumeClaim")), status(told, 403), STACK)
    assert found.not_checked[0][1].endswith("(verb patch of persistentvolumeclaims)")


def test_a_priority_class_is_replaced_in_two_steps() -> None:
    manifest = own("PriorityClass")
    applied = StackContext("dev", applied={key_of(manifest.body): {}})
    answer = status("", 422, ("value", "Forbidden: may not be changed in an update."))
    for stack, command in ((applied, "pulumi destroy --target '**::dev-priority-class-urgent' -s dev"),
                           (StackContext("dev"), "kubectl delete priorityclass urgent")):  # fmt: skip
        (problem,) = judge(run_of(manifest, stack), answer, stack).problems
        assert (problem.path, f"{command} && pulumi up -s dev" in problem.fix) == ("priority_classes.urgent", True)


def test_a_field_of_another_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = own("Queue")
    known: dict[Any, Any] = {key_of(manifest.body): {}}
    preview, up = (StackContext("dev", applied=known, preview=preview) for preview in (True, False))
    for stack in (STACK, preview):
        (problem,) = judge(run_of(manifest, stack), owned_by("kubectl-edit", ".spec.weight"), stack).problems
        assert problem.reason == (
            "another manager owns spec.weight of Queue night, and Pulumi does not overwrite it: "
            'conflict with "kubectl-edit" using v1'
        )
        assert problem.fix.endswith(f"{FORCE}=true pulumi up -s {stack.name}")
    assert judge(run_of(manifest, up), owned_by("kubectl-edit", ".spec.weight"), up) == Outcome(), "taken over"
    assert judge(run_of(manifest, up), owned_by("autoscaler", ".spec.weight"), up).problems
    assert run_of(manifest).request.parameters["force"] == "false"
    monkeypatch.setenv(FORCE, "true")
    assert run_of(manifest).request.parameters["force"] == "true"


def test_a_job_that_has_not_changed_is_not_sent() -> None:
    plan, (*_, job) = drafted()
    body: Any = job.request.body
    stack = StackContext(applied={key_of(body): body})
    manifests = job_manifests(plan)
    runs = dry_runs(plan, manifests, BACKENDS["volcano"].templates(plan, manifests), stack)
    assert [run.role for run in runs] == ["worker"]
