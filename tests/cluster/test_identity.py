"""Which cluster answers, against real servers: the UID of the namespace kube-system."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from lightkube.config.models import Context

from tests.cluster.test_client import connected
from tests.support.samples import CLUSTER
from trainform import defaults
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import refuse_another, refuse_another_if_reached, unbound_note
from trainform.errors import ClusterError, InputError
from trainform.spec.environment import Environment
from trainform.spec.load import parse

UID = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90"
OTHER = "0b7a3c11-26cd-4a8f-8e0a-7d5f9a1c4e02"
PLENTY = 30.0  # on a busy machine
Connected = Any


def answer(uid: str) -> Any:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}
    return (200, "application/json", json.dumps(body).encode())


FORBIDDEN = (403, "application/json", json.dumps({"kind": "Status", "message": "forbidden", "code": 403}).encode())


def environment(uid: str | None) -> Environment:
    return Environment.model_validate({**CLUSTER, "cluster": {} if uid is None else {"uid": uid}})


@pytest.fixture(name="connected")
def connected_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connected:
    return functools.partial(connected, tmp_path, monkeypatch)


def test_the_cluster_to_which_the_environment_is_bound_is_taken(connected: Connected) -> None:
    with connected(answer(UID)) as cluster:
        assert cluster.uid() == UID
        refuse_another(cluster, environment(UID))


def test_another_cluster_is_refused_with_all_that_tells_the_two_apart(connected: Connected, tmp_path: Path) -> None:
    with connected(answer(OTHER)) as cluster, pytest.raises(InputError) as caught:
        refuse_another(cluster, environment(UID))
    (problem,) = caught.value.problems
    assert (problem.path, problem.value, caught.value.exit_code) == ("cluster.uid", UID, 2)
    assert "the environment dev is bound to this cluster" in problem.reason
    assert (
        f"the context {cluster.config.context_name} of {tmp_path / 'kubeconfig'} (http://127.0.0.1:" in problem.reason
    )
    assert problem.reason.endswith(f"leads to another one, whose UID is {OTHER}")
    assert "set KUBECONFIG" in problem.fix
    assert "write the UID of the new one" in problem.fix


def test_a_bound_environment_is_refused_where_nobody_can_say_which_cluster_it_is(connected: Connected) -> None:
    with connected(FORBIDDEN) as cluster, pytest.raises(InputError) as caught:
        refuse_another(cluster, environment(UID))
    assert "this account may not read which one" in caught.value.problems[0].reason
    assert "`get` of the namespace kube-system" in caught.value.problems[0].fix


def test_an_environment_without_a_uid_asks_nothing(connected: Connected) -> None:
    asked = list[str]()

    def answering(path: str) -> Any:
        asked.append(path)
        return answer(OTHER)

    with connected(answering) as cluster:
        refuse_another(cluster, environment(None))
        assert "`trainform doctor -e dev` shows the line to write" in unbound_note(cluster, environment(None))
        assert unbound_note(cluster, environment(UID)) == ""
    assert asked == []


def test_a_sandbox_has_words_of_its_own(connected: Connected, tmp_path: Path) -> None:
    with connected(answer(OTHER)) as cluster:
        context = Context(cluster=defaults.SANDBOX_CONTEXT)
        cluster.config = cluster.config._replace(context=context)
        assert unbound_note(cluster, environment(None)) == ""
        with pytest.raises(InputError) as caught:
            refuse_another(cluster, environment(UID))
    assert "an earlier sandbox" in caught.value.problems[0].fix
    assert "pulumi refresh" in caught.value.problems[0].fix


def test_what_cannot_be_reached_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(ClusterError):
        ClusterApi(None, PLENTY)
    refuse_another_if_reached(environment(UID), PLENTY)


@pytest.mark.parametrize("given", ["prod", UID.upper(), f"{UID}0", 7])
def test_a_uid_is_one(given: Any) -> None:
    (problem,) = parse(Environment, {**CLUSTER, "cluster": {"uid": given}}).problems
    assert problem.path == "cluster.uid"
