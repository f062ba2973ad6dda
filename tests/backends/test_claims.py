"""Claims for one node, of pods that need several, are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import plan

DATA: dict[str, Any] = {"size": "1Ti", "class": "fast", "mount": "/data", "access_modes": ["ReadWriteOnce"]}
APART = {"master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}}
SMALL = {"worker": {"replicas": 4, "accelerators": {"a800": 2}}}


def notes(**parts: Any) -> list[str]:
    return [note for note in plan(**{"shared_memory": "1Gi", **parts}).notes if note.startswith("storage.")]


@pytest.mark.parametrize(
    ("volume", "parts", "why"),
    [
        ({}, {"roles": APART}, "its pods need 32 a800, of which a node has 8"),
        ({"roles": ["worker"]}, {"roles": APART}, "its pods need 24 a800, of which a node has 8"),
        ({"roles": ["master"]}, {"roles": APART}, None),
        ({}, {"roles": SMALL}, None),
        (
            {},
            {"roles": SMALL, "network": {"host": True}},
            "each of the 4 pods of the role worker needs a node of its own for its port",
        ),
        ({}, {"roles": {"worker": {"replicas": 4}}}, None),
        ({"access_modes": ["ReadWriteMany"]}, {"roles": APART}, None),
        ({"access_modes": ["ReadWriteOnce", "ReadOnlyMany"]}, {"roles": APART}, None),
    ],
)
@pytest.mark.parametrize("backend", ["volcano", "kubeflow"])
def test_claims_of_one_node(volume: dict[str, Any], parts: dict[str, Any], why: str | None, backend: str) -> None:
    told = (
        f"storage.data.access_modes: the pods of one node mount a claim with ReadWriteOnce, and {why}: those of other nodes may wait for it for ever; "
        "write `[ReadWriteMany]`, or limit the volume by `roles`"
    )
    launcher = {"torchrun": {"script": "/t.py"}}
    found = notes(storage={"data": {**DATA, **volume}}, backend=backend, launcher=launcher, **parts)
    assert found == ([] if why is None else [told])


def test_a_claim_that_exists_says_nothing() -> None:
    assert notes(storage={"data": {"claim": "data", "mount": "/data"}}, roles=APART) == []
