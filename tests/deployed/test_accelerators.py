"""Counts of accelerators in a record, which everybody who may edit ConfigMaps there can change."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.deployed.accelerators import accelerators_of_roles


def test_the_kinds_of_all_roles_are_added() -> None:
    roles = {
        "master": {"accelerators": {"a800": 8}},
        "worker": {"replicas": 3, "accelerators": {"a800": "8", "l40s": 1}},
    }
    assert accelerators_of_roles(roles) == {"a800": 32, "l40s": 3}


@pytest.mark.parametrize(
    "count",
    ["1e9999999", "9" * 5000, "-8", "NaN", "Infinity", 1e300, True, None, [], {"a": 1}],
    ids=lambda each: str(each)[:9],
)
def test_what_is_no_count_is_none_and_takes_no_time(count: Any) -> None:
    assert not accelerators_of_roles({"worker": {"replicas": count, "accelerators": {"a800": 8}}})
    assert not accelerators_of_roles({"worker": {"accelerators": {"a800": count}}})
