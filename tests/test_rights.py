"""The roles in docs/how-to/rights, against what the code asks of a cluster. `tests/engine/test_rights.py` works with
them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from tests.support.repository import ROOT
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.live_objects import KINDS
from trainform.local.doctor.cluster import VERBS, environment_kinds, experiment_kinds
from trainform.spec.environment import Environment

PAGE = ROOT / "docs" / "how-to" / "own-cluster.md"
RIGHTS = PAGE.parent / "rights"
READS = {"get", "list", "watch"}
ROLES: dict[str, dict[str, Any]] = {path.stem: yaml.safe_load(path.read_text()) for path in RIGHTS.glob("*.yaml")}
# What each person of the page has.
PEOPLE = {"researcher": ("researcher", "reader"), "reviewer": ("reviewer", "reader"), "platform": ("platform",)}


def rights(*roles: str) -> set[tuple[str, str, str]]:
    """Group, plural and verb of all that the roles allow."""
    rules = [rule for role in roles for rule in ROLES[role]["rules"]]
    return {
        (group, plural, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_researcher_may_do_what_doctor_asks_for(backend: str) -> None:
    assert needed(experiment_kinds(backend, defaults.VOLCANO)) <= rights("researcher")


def test_a_platform_engineer_may_do_what_doctor_asks_for() -> None:
    everything = {
        "name": "dev",
        "namespace": {"name": "ai-namespace", "create": True},
        "queues": {"night": {}},
        "claims": {"data": {"size": "1Gi"}},
        "priority_classes": {"urgent": {"value": 1}},
    }
    assert needed(environment_kinds(Environment.model_validate(everything))) <= rights("platform")


def needed(kinds: Iterable[str]) -> set[tuple[str, str, str]]:
    """Group, plural and verb of all that the doctor asks for."""
    names = [kind.partition(".") for kind in kinds]
    return {(group, plural, verb) for plural, _, group in names for verb in VERBS}


@pytest.mark.parametrize("person", ["researcher", "reviewer"])
def test_who_runs_a_preview_may_read_what_the_preflight_reads(person: str) -> None:
    """No Secret of a reviewer's: what an account may not read is left unchecked."""
    kinds = {(version.rpartition("/")[0], kind.plural) for (version, _), kind in KINDS.items()}
    kinds -= {("", "secrets")} if person == "reviewer" else set()
    assert {(group, plural, "get") for group, plural in kinds} <= rights(*PEOPLE[person])


def test_a_reviewer_reads_what_a_researcher_writes_and_changes_nothing() -> None:
    not_read = {("", plural) for plural in ("secrets", "pods/exec", "pods/portforward")}
    kinds = {(group, plural) for group, plural, _ in rights("researcher")} - not_read
    assert {(group, plural) for group, plural, _ in rights("reviewer")} == kinds
    writes = {right for right in rights("reviewer", "reader") if right[2] not in READS}
    assert writes == {("", "podtemplates", "create")}  # for dry runs


@pytest.mark.parametrize("role", ROLES)
def test_the_page_applies_and_binds_every_role(role: str) -> None:
    text = PAGE.read_text().replace("\\\n", "")
    kind, name = ROLES[role]["kind"].lower(), ROLES[role]["metadata"]["name"]
    assert f"({RIGHTS.name}/{role}.yaml)" in text
    (applied,) = (line for line in text.splitlines() if re.search(rf"kubectl apply .*/{role}\.yaml( |$)", line))
    in_namespace = " -n ai-namespace" if kind == "role" else ""
    assert applied.startswith(f"    kubectl apply{in_namespace} -f ")
    (bound,) = (line for line in text.splitlines() if f"--{kind} {name} " in line)
    assert bound.startswith(f"    kubectl create {kind}binding {name}{in_namespace} ")
    groups = {f"{person}s" if person != "platform" else person for person, roles in PEOPLE.items() if role in roles}
    assert set(re.findall(r"--group (\S+)", bound)) == groups
