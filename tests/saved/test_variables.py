"""Which variables of a shell count between a review and its apply."""

from __future__ import annotations

import pytest

from trainform.saved.program import provider_variables


@pytest.mark.parametrize(
    "name",
    [
        "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
        "PULUMI_K8S_ENABLE_PATCH_FORCE",
        "PULUMI_K8S_DELETE_UNREACHABLE",
        "PULUMI_KUBERNETES_MANAGED_BY_LABEL",
    ],
)
def test_what_changes_how_objects_are_written_or_deleted(name: str) -> None:
    assert provider_variables({name: "true", "PATH": "/bin"}) == {name: "true"}


@pytest.mark.parametrize(
    "name",
    ["PULUMI_K8S_CLIENT_QPS", "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS", "PULUMI_K8S_HELM_DRIVER", "KUBECONFIG"],
)
def test_what_changes_no_object_does_not(name: str) -> None:
    assert provider_variables({name: "1"}) == {}
