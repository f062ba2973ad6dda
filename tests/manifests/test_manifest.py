"""Manifests as YAML: people can read it, and a parser reads exactly the same objects back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.generated_fields import texts
from tests.support.samples import plan
from trainform.job.render import job_manifests
from trainform.manifests.manifest import Manifest, to_yaml

bodies = st.dictionaries(
    st.sampled_from(["metadata", "spec", "on", "1", "a: b"]),
    st.recursive(
        texts | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
        max_leaves=10,
    ),
)


@given(st.lists(bodies, max_size=3))
def test_the_yaml_reads_back_to_the_same_objects(bodies: list[dict[str, Any]]) -> None:
    text = to_yaml(Manifest(str(index), body) for index, body in enumerate(bodies))
    assert list(yaml.safe_load_all(text)) == bodies


def test_scripts_are_literal_blocks_and_there_are_no_aliases() -> None:
    made = plan(roles={"worker": {"cpu": 8, "memory": "64Gi"}})
    text = to_yaml(job_manifests(made))
    assert "  launch.sh: |\n    #!/bin/sh\n" in text
    assert "&id001" not in text
    assert text.startswith("---\napiVersion: v1\nkind: Service\n")


@pytest.mark.parametrize("text", ["493e05", "1e3", "12.", ".5", "+7", "0o17", "-1.5E-3"])
def test_text_that_is_a_number_for_kubectl_is_quoted(text: str) -> None:
    """PyYAML writes the revision 493e05 without quotes, and kubectl reads a number."""
    assert f"revision: '{text}'\n" in to_yaml([Manifest("job", {"revision": text})])
