"""Waivers: one finding each, by those whom the environment names, until their last day."""

from __future__ import annotations

import copy
import datetime
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.running import run
from tests.support.samples import CLUSTER, JOB, environment
from trainform.errors import Problem
from trainform.job.check import check_environment
from trainform.job.render import RenderedJob, render_job
from trainform.rules.limits.table import RULES
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

TODAY = datetime.date(2026, 3, 31)
ROLES = ("master", "worker", "helper")
FIXED = [rule.code for rule in RULES if rule.fixed]


def strict(**limits: Any) -> Environment:
    """An environment whose only registry none of the images below comes from."""
    return environment(limits={"registries": ["registry.example.com/ai"], "waivable": {"TF-IMG-1": ["lead"]}, **limits})


def experiment(*waivers: dict[str, Any], **changes: Any) -> Experiment:
    """Three roles, each with an image of its own that the environment refuses."""
    roles = {name: {"replicas": 1, "image": f"elsewhere.example.com/{name}:1"} for name in ROLES}
    data = {**JOB, "image": "registry.example.com/ai/train:1", "roles": roles, "waivers": list(waivers), **changes}
    return Experiment.model_validate(data)


def rendered(*waivers: dict[str, Any], today: datetime.date | None = TODAY, **changes: Any) -> RenderedJob:
    return render_job(experiment(*waivers, **changes), strict(longest_waiver="9000d"), today=today)


def waiver(problem: Problem, **changes: Any) -> dict[str, Any]:
    written = {"rule": problem.code, "finding": problem.fingerprint, "reason": "a mirror is on its way"}
    return {**written, "owner": "lead", "until": TODAY, **changes}


LATER = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=30)
FOUND = {problem.path: problem for problem in rendered().problems}
ONE = FOUND["roles.worker.image"]


def fingerprints(problems: Iterable[Problem]) -> set[str]:
    return {problem.fingerprint for problem in problems if problem.code}


def fingerprints_of(code: str, where: Environment, **changes: Any) -> set[str]:
    problems = render_job(experiment(**changes), where, today=TODAY).problems
    return {problem.fingerprint for problem in problems if problem.code == code}


def test_each_finding_has_a_fingerprint_of_its_own() -> None:
    assert list(FOUND) == [f"roles.{name}.image" for name in ROLES]
    assert len(fingerprints(FOUND.values())) == len(ROLES)


@given(st.sets(st.sampled_from(ROLES)))
def test_exactly_the_named_findings_are_waived(names: set[str]) -> None:
    job = rendered(*(waiver(FOUND[f"roles.{name}.image"]) for name in sorted(names)))
    assert {problem.path for problem in job.problems} == {f"roles.{name}.image" for name in ROLES if name not in names}
    if names == set(ROLES):
        assert len(job.warnings) == len(ROLES)
        assert set(job.warnings) <= set(job.plan.notes)


@given(st.integers(-800, 800))
def test_a_waiver_holds_to_the_end_of_its_last_day(days: int) -> None:
    problems = rendered(waiver(ONE), today=TODAY + datetime.timedelta(days=days)).problems
    assert (ONE.fingerprint in fingerprints(problems)) == (days > 0)


def test_a_finding_whose_waiver_has_expired_says_so() -> None:
    late = rendered(waiver(ONE), today=TODAY + datetime.timedelta(days=1))
    (problem,) = [problem for problem in late.problems if problem.fingerprint == ONE.fingerprint]
    assert problem.reason == f"{ONE.reason}; its waiver expired on 2026-03-31"
    assert problem.fix.endswith("; or, if lead agrees, set a later day in waivers[0].until")


@pytest.mark.parametrize(
    ("longest", "days", "holds"),
    [(None, 90, True), (None, 91, False), ("7d", 7, True), ("7d", 8, False), ("12h", 0, True), ("12h", 1, False)],
)
def test_a_waiver_ends_within_the_longest_time(longest: str | None, days: int, holds: bool) -> None:
    where = strict() if longest is None else strict(longest_waiver=longest)
    until = TODAY + datetime.timedelta(days=days)
    problems = render_job(experiment(waiver(ONE, until=until)), where, today=TODAY).problems
    assert (ONE.fingerprint in fingerprints(problems)) is not holds
    told = {problem.path: problem for problem in problems if problem.path == "waivers[0].until"}
    assert (told == {}) is holds
    for problem in told.values():
        last = TODAY + datetime.timedelta(days=7 if longest == "7d" else 90 if longest is None else 0)
        assert problem.reason.endswith(f"allows ({'90d' if longest is None else longest} from today)")
        assert problem.fix == f"write {last} or an earlier day"


@pytest.mark.parametrize("finding", ["0" * 16, "f" * 16])
def test_a_waiver_without_a_finding_is_a_note(finding: str) -> None:
    every = [waiver(problem) for problem in FOUND.values()]
    job = rendered(*every, waiver(ONE, finding=finding))
    assert job.problems == ()
    assert f"waivers[3]: TF-IMG-1 has no finding {finding} here: remove the waiver" in job.warnings


@pytest.mark.parametrize(
    ("changes", "path", "reason", "fix"),
    [
        ({"owner": "me"}, "waivers[0].owner", "does not allow waivers of TF-IMG-1 with this owner", "of lead"),
        ({"rule": "TF-IMG-2"}, "waivers[0].rule", "does not allow waivers of this rule", "limits.waivable.TF-IMG-2"),
        ({"rule": "TF-IMG-11"}, "waivers[0].rule", "no rule has this code", "did you mean TF-IMG-1?"),
        ({"rule": "TF-IMG-3"}, "waivers[0].rule", "the rule holds in every environment", "remove the waiver"),
    ],
)
def test_a_waiver_that_is_not_allowed_is_refused(changes: dict[str, Any], path: str, reason: str, fix: str) -> None:
    problems = rendered(waiver(ONE, **changes)).problems
    (wrong,) = [problem for problem in problems if problem.path == path]
    assert reason in wrong.reason
    assert fix in wrong.fix
    assert ONE.fingerprint in fingerprints(problems)


def test_a_reason_is_required() -> None:
    for reason in ("", " ", "…", "...", "\u200b ", "\n\t.", "\u00a0\u2060", "\u3164"):
        with pytest.raises(ValueError, match="reason"):
            experiment(waiver(ONE, reason=reason))


@pytest.mark.parametrize(
    "changes",
    [
        {"env": {"A": "1"}},
        {"labels": {"team": "vision"}},
        {"launcher": {"command": ["python", "other.py"]}},
        {"roles": {name: {"replicas": 1, "image": f"elsewhere.example.com/{name}:1"} for name in reversed(ROLES)}},
        {"manifest_overrides": {"service": {"metadata": {"labels": {"team": "vision"}}}}},
    ],
    ids=["variable", "label", "command", "order", "patch"],
)
def test_other_changes_leave_the_fingerprint(changes: dict[str, Any]) -> None:
    job = rendered(**changes)
    assert fingerprints(job.problems) == fingerprints(FOUND.values())


def test_another_value_place_or_name_makes_another_fingerprint() -> None:
    changed = copy.deepcopy(experiment().model_dump(mode="json", exclude_defaults=True, by_alias=True)["roles"])
    changed["worker"]["image"] = "elsewhere.example.com/worker:2"
    assert ONE.fingerprint not in fingerprints(rendered(roles=changed).problems)
    renamed = {("other" if name == "worker" else name): role for name, role in changed.items()}
    assert ONE.fingerprint not in fingerprints(rendered(roles=renamed).problems)
    assert not fingerprints(rendered(name="other").problems) & fingerprints(FOUND.values())


def test_a_waiver_changes_no_object_and_no_revision() -> None:
    """But what is recorded of the experiment."""
    every = [waiver(problem) for problem in FOUND.values()]
    free = render_job(experiment(), environment(), today=TODAY)
    job = rendered(*every)
    assert (free.problems, job.problems) == ((), ())
    assert [manifest.body["metadata"]["name"] for manifest in job.manifests] == [
        manifest.body["metadata"]["name"] for manifest in free.manifests
    ]
    assert job.plan.revision == free.plan.revision


@pytest.mark.parametrize("field", ["severity", "waivable"])
@pytest.mark.parametrize("code", [*FIXED, "TF-IMG-11"])
def test_an_environment_lowers_no_rule_that_always_holds(field: str, code: str) -> None:
    value = "off" if field == "severity" else ["lead"]
    target = Environment.model_validate({**CLUSTER, "limits": {field: {code: value}}})
    (problem,) = check_environment(target).problems
    assert problem.path == f"limits.{field}.{code}"
    assert problem.fix == ("remove it" if code in FIXED else "did you mean TF-IMG-1?")


@pytest.mark.parametrize(
    ("field", "code", "fix"),
    [
        ("waivable", "TR-RESTART-1", None),
        ("waivable", "TR-RESTART-9", "did you mean TR-RESTART-7?"),
        ("waivable", "TR-SECURITY-9", "did you mean TR-SECURITY-8?"),
        ("waivable", "TR-CONTRACT-4", "remove the entry"),
        ("severity", "TR-RESTART-1", ""),
    ],
)
def test_codes_of_reviews_can_be_waived_and_have_no_severity(field: str, code: str, fix: str | None) -> None:
    value = "off" if field == "severity" else ["lead"]
    problems = check_environment(Environment.model_validate({**CLUSTER, "limits": {field: {code: value}}})).problems
    assert [problem.path for problem in problems] == ([] if fix is None else [f"limits.{field}.{code}"])
    assert all(fix is not None and fix in problem.fix for problem in problems)


def test_a_waiver_of_a_review_is_no_note_of_the_check() -> None:
    where = environment(limits={"waivable": {"TR-RESTART-1": ["lead"]}})
    restart = {"rule": "TR-RESTART-1", "finding": "0" * 16, "reason": "agreed", "owner": "lead", "until": TODAY}
    job = render_job(experiment(restart), where, today=TODAY)
    assert (job.problems, job.warnings) == ((), ())
    (refused,) = render_job(experiment({**restart, "owner": "me"}), where, today=TODAY).problems
    assert (refused.path, refused.fix) == ("waivers[0].owner", "name the one who answers for it, of lead")


# --- as the command line shows it

FILE = """\
name: example
image: docker.io/library/python:3.12
launcher: {command: [python, train.py]}
roles: {worker: {replicas: 1}}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """An experiment and an environment that lets its finding be waived."""
    offered = {
        **CLUSTER,
        "limits": {"registries": ["registry.example.com"], "waivable": {"TF-IMG-1": ["O'Neil: lead"]}},
    }
    written, target = tmp_path / "example.yaml", tmp_path / "strict.yaml"
    written.write_text(FILE)
    target.write_text(json.dumps(offered))
    return written, target


def test_the_offered_waiver_is_ready_to_copy(files: tuple[Path, Path]) -> None:
    written, target = files
    words = ("check", str(written), "-e", str(target))
    code, _, err = run(*words)
    assert code == 2
    assert re.search(r"^  rule: TF-IMG-1, finding [0-9a-f]{16}$", err, re.MULTILINE)
    offered = err.partition("complete this under `waivers`: ")[2].splitlines()[0]
    written.write_text(f"{FILE}waivers:\n{offered}\n")
    code, _, err = run(*words)
    assert (code, "the waiver gives no reason" in err, "must be a date" in err) == (2, True, True)
    completed = offered.replace("…", "a mirror is on its way").replace("YYYY-MM-DD", str(LATER))
    written.write_text(f"{FILE}waivers:\n{completed}\n")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    found = yaml.safe_load(completed)[0]["finding"]
    assert (
        "  note: image = docker.io/library/python:3.12: the image is not from a registry that the environment "
        f"allows (registry.example.com). O'Neil: lead waives this until {LATER}: a mirror is on its way (TF-IMG-1, "
        f"finding {found})"
    ) in out.splitlines()
    assert json.loads(run(*words, "--output", "json")[1])["experiments"][0]["notes"]


@pytest.mark.parametrize("severity", ["off", "warning", "error"])
def test_each_severity_of_one_rule(files: tuple[Path, Path], severity: str) -> None:
    written, target = files
    target.write_text(json.dumps({**CLUSTER, "limits": {"severity": {"TF-IMG-2": severity}}}))
    text = "image = docker.io/library/python:3.12"
    for verb in ("check", "plan"):
        code, out, err = run(verb, str(written), "-e", str(target))
        assert code == (2 if severity == "error" else 0)
        assert (text in err) == (severity == "error")
        joined = " ".join(out.split())
        assert (f"{text}: the image is not pinned by digest" in joined) == (severity == "warning")
        assert ("a warning of the rule TF-IMG-2" in joined) == (severity == "warning")


def _inits(**contexts: dict[str, Any]) -> dict[str, Any]:
    """Init containers of a worker, each with its security context."""
    image = "registry.example.com/ai/train:1"
    inits = [{"name": name, "image": image, "securityContext": context} for name, context in contexts.items()]
    return {"spec": {"initContainers": inits}}


PRIVILEGED = {"privileged": True}
NET, SYS, BOTH = ({"capabilities": {"add": add}} for add in (["NET_ADMIN"], ["SYS_ADMIN"], ["NET_ADMIN", "SYS_ADMIN"]))


def _tolerating(**toleration: Any) -> dict[str, Any]:
    return {"spec": {"tolerations": [toleration]}}


def _claiming(name: str) -> dict[str, Any]:
    return {"spec": {"resourceClaims": [{"name": "devices", "resourceClaimName": name}]}}


@pytest.mark.parametrize(
    ("code", "agreed", "wanted"),
    [
        ("TF-POD-1", _inits(a=PRIVILEGED, b=PRIVILEGED), _inits(a=PRIVILEGED, c=PRIVILEGED)),
        ("TF-POD-1", _inits(a=NET, b=SYS), _inits(a=BOTH)),
        ("TF-PLC-5", _tolerating(key="own", operator="Equal", value="a"), _tolerating(key="own", operator="Exists")),
        ("TF-PLC-5", _tolerating(operator="Exists", effect="NoSchedule"), _tolerating(operator="Exists")),
        ("TF-RES-3", _claiming("one"), _claiming("all")),
    ],
)  # fmt: skip
def test_a_waiver_does_not_hold_for_more_than_was_agreed(
    code: str, agreed: dict[str, Any], wanted: dict[str, Any]
) -> None:
    def found(patch: dict[str, Any]) -> set[str]:
        roles = {"worker": {"replicas": 1, "image": "registry.example.com/ai/train:1", "pod_overrides": patch}}
        return fingerprints_of(code, strict(tolerations=[]), roles=roles)

    assert found(agreed) and found(wanted)
    assert not found(agreed) & found(wanted)


def test_a_waiver_of_an_own_queue_is_of_its_fields() -> None:
    def found(queue: dict[str, Any]) -> set[str]:
        return fingerprints_of("TF-QUE-2", environment(limits={"own_queues": False}), queue=queue)

    small = found({"weight": 1})
    assert len(small) == 1 and small == found({"weight": 1})
    for larger in ({"weight": 9}, {"weight": 1, "guarantee": {"cpu": 8}}, {"weight": 1, "priority": 5}):
        assert not small & found(larger)


def test_a_waiver_of_a_queue_does_not_hold_for_a_larger_gang() -> None:
    small = environment(queues={"small": {"weight": 1, "capability": {"a800": 1}}})

    def found(replicas: int) -> set[str]:
        roles = {"worker": {"replicas": replicas, "accelerators": {"a800": 8}, "cpu": 1, "memory": "1Gi"}}
        return fingerprints_of("TF-QUE-3", small, roles=roles, queue="small")

    assert found(1) and not found(1) & found(2)
