"""Amounts of resources beyond what the fields themselves refuse."""

from __future__ import annotations

import pytest

from tests.support.samples import reasons


@pytest.mark.parametrize(("amount", "size"), [(100, "100"), ("100k", "100,000")])
def test_bytes_whose_unit_is_missing(amount: object, size: str) -> None:
    reason = f"the value is {size} bytes, less than 1 MiB"
    roles = {"worker": {"replicas": 2, "resources": {"ephemeral-storage": amount}}}
    assert reasons(roles=roles)["roles.worker.resources.ephemeral-storage"] == reason
    assert reasons(queue={"capability": {"memory": amount}})["queue.capability.memory"] == reason


def test_pieces_have_no_unit() -> None:
    assert reasons(queue={"capability": {"cpu": 4, "a800": 8}}) == {}
