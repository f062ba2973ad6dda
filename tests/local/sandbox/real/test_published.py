"""A node whose kubelet is reached through a port of this machine, as where Docker runs in another machine (macOS).

Linux shows the half that leads from the API server to the kubelet, and the node's address of this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.sandbox.conftest import until
from tests.local.sandbox.real.streams import execute
from tests.local.sandbox.real.test_pods import FUNCTIONS, PODS, SHELL, SLEEP, _log, _pod, _status
from tests.support.sandboxes import REAL_POOL
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.ports import is_open
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("a sandbox with nodes as on macOS")

BIN = {"volumes": [{"name": "bin", "emptyDir": {}}], "volumeMounts": [{"name": "bin", "mountPath": "/bin"}]}


@pytest.fixture(scope="module")
def folder(real_nodes: None, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start the sandbox, and return its folder."""
    folder = tmp_path_factory.mktemp("sandbox") / "published"
    try:
        up(SandboxSettings(folder, (REAL_POOL,), real=1, published=True), toolchain)
        yield folder
    finally:
        down(folder)


@pytest.fixture
def port(api: Api) -> int:
    """Return the port of the kubelet."""
    endpoints = api.get("/api/v1/nodes/cpu-real-0")["status"]["daemonEndpoints"]
    return int(endpoints["kubeletEndpoint"]["Port"])


def test_the_api_server_calls_the_kubelet_at_a_port_of_this_machine(api: Api, port: int) -> None:
    """It prefers the first kind; host network pods have the second one."""
    addresses = {each["type"]: each["address"] for each in api.get("/api/v1/nodes/cpu-real-0")["status"]["addresses"]}
    assert not ipaddress.ip_address(addresses.pop("InternalIP")).is_loopback
    assert addresses == {"ExternalDNS": "localhost", "Hostname": "cpu-real-0"}
    assert is_open(port)


def test_logs_and_exec_go_through_the_port(api: Api, folder: Path) -> None:
    api.create(PODS, _pod("talks", f"echo hello; {SLEEP}"))
    until(lambda: _status(api, "talks").get("phase") == "Running")
    until(lambda: _log(api, "talks") == ["hello"])
    output, errors, status = execute(folder, "talks", *SHELL, "echo out; exit 4")
    assert (output, errors, status["reason"]) == ("out\n", "", "NonZeroExitCode")


def test_a_pod_reaches_the_api_server_with_its_account(api: Api) -> None:
    account = "review | grep -o 'system:serviceaccount:[a-z:]*' | head -n1"
    api.create(PODS, _pod("asks", FUNCTIONS + account, **BIN))
    until(lambda: _status(api, "asks").get("phase") == "Succeeded")
    assert _log(api, "asks") == ["system:serviceaccount:default:default"]
