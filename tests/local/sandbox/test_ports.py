"""Free ports, and a port that another process takes first."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.local.sandbox.conftest import until
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.components import Context, commands
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.ports import pick_ports
from trainform.local.sandbox.processes import is_running, launch
from trainform.local.sandbox.start import all_programs
from trainform.local.sandbox.waiting import PortTakenError, check_alive
from trainform.local.toolchain.tools import Toolchain


def test_ports_are_all_different() -> None:
    names = [f"component-{index}" for index in range(50)]
    assert len(set(pick_ports(names, {}).values())) == 50


def test_the_preferred_port_is_picked_if_it_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]
        assert pick_ports(["a"], {"a": taken})["a"] != taken
    free = pick_ports(["a"], {})["a"]
    assert pick_ports(["a", "b"], {"a": free})["a"] == free


@pytest.mark.shows("a port that another process has")
def test_a_component_that_finds_its_port_in_use_raises_port_taken(tmp_path: Path, toolchain: Toolchain) -> None:
    layout = Layout(tmp_path / "sandbox")
    layout.make()
    certificates = Certificates(layout.pki)
    certificates.make()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        ports = {"etcd": busy.getsockname()[1], **pick_ports(["etcd-peer"], {})}
        context = Context(layout, certificates, ports, (), tmp_path / "none", tmp_path / "none")
        [etcd] = launch(
            commands(0, context, all_programs(toolchain.control_plane, ())), {"PATH": os.defpath}, lambda started: None
        )
        until(lambda: not is_running(etcd))
        with pytest.raises(PortTakenError, match="etcd ended"):
            check_alive([etcd])
