"""The kubeconfigs of two sandboxes in one variable, as of two clusters that a person works with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from trainform.cluster.connection import choose_config
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.kubeconfig import server_url, write_kubeconfig

DEV, PROD = 6443, 7443


def written(folder: Path, port: int, aliases: Sequence[str]) -> Path:
    layout = Layout(folder)
    layout.make()
    certificates = Certificates(layout.pki)
    for path in (certificates.authority, certificates.client, certificates.client_key):
        path.write_text(f"{path.name} of {folder.name}")
    write_kubeconfig(layout.kubeconfig, port, certificates, aliases)
    return layout.kubeconfig


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Write the kubeconfigs of a sandbox for `dev` and of one for `prod`."""
    files = [written(tmp_path / "dev", DEV, ["dev-cluster"]), written(tmp_path / "prod", PROD, ["prod-cluster"])]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    return files


def test_each_environment_has_its_own_cluster(both: list[Path]) -> None:
    assert choose_config("dev-cluster").cluster.server == server_url(DEV)
    assert choose_config("prod-cluster").cluster.server == server_url(PROD)


def test_no_name_of_the_one_hides_the_others_cluster_or_account(both: list[Path]) -> None:
    """kubectl and Pulumi put the files together: of two entries with one name they take the first."""
    dev, prod = (yaml.safe_load(file.read_text()) for file in both)
    for part in ("clusters", "users"):
        assert {each["name"] for each in dev[part]} & {each["name"] for each in prod[part]} == set()
