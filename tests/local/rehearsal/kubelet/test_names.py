"""Host names and DNS, as pods see them; with real containers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.workloads import (
    NAMESPACE,
    SERVICE,
    Recorded,
    full_name,
    own_state_folder,
    pod,
    run_to_success,
    wait_until,
    workload,
)
from trainform.local.rehearsal.run.rehearse import Options, rehearsal

pytestmark = [pytest.mark.usefixtures("docker_daemon"), pytest.mark.proof("addresses and Services of pods")]
state = pytest.fixture(autouse=True)(own_state_folder)
LONG = f"{full_name('worker-1')}.{SERVICE}.{NAMESPACE}.svc.cluster.local"


def resolved(name: str) -> str:
    """Shell words that print the address of a name, or `none`."""
    return f"echo {name} $(getent hosts {name} || echo none) | cut -d' ' -f1,2"


def serving(port: int) -> str:
    return f"python3 -m http.server {port} >/dev/null 2>&1 &"


def connecting(host: str, port: int) -> str:
    """Shell words that wait until somebody listens there."""
    program = f"import socket; socket.create_connection(('{host}', {port}), 2).close()"
    return (
        f'for try in $(seq 100); do python3 -c "{program}" 2>/dev/null && break; sleep 0.1; done; python3 -c '
        f'"{program}"'
    )


@pytest.mark.shows("names of pods in a rehearsal")
def test_names_of_pods(image: str) -> None:
    ask = "; ".join(
        resolved(name)
        for name in (
            f"{full_name('worker-1')}.{SERVICE}",
            LONG,
            f"{full_name('worker-1')}.{SERVICE}.{NAMESPACE}",
            full_name("worker-1"),
        )
    )
    bare = (
        f"python3 -c \"import socket; socket.getaddrinfo('{full_name('worker-1')}', 80)\" 2>&1 | tail -1 | cut -d: -f1"
    )
    own = "hostname; hostname -f; getent hosts $(hostname) | tr -s ' ' | cut -d' ' -f1"
    env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    asks = pod(
        "worker-0", f"{ask}; {bare}; {own}; echo $IP; getent ahostsv4 {SERVICE} | grep -c STREAM", main={"env": env}
    )
    # the other pod has not started: names are in DNS before pods are ready
    late = pod("worker-1", initContainers=[{"name": "wait", "image": "x", "command": ["sleep", "3"]}])
    lines = run_to_success(workload(asks, late), image).of(full_name("worker-0"))
    short, long, middle, bare_name = (line.split() for line in lines[:4])
    assert short[1] == long[1] == middle[1]
    assert short[1].count(".") == 3
    assert bare_name == [full_name("worker-1"), "none"]  # Kubernetes does not know it either
    assert lines[4] == "socket.gaierror"
    hostname, long_hostname, address, status_address, all_pods = lines[5:]
    assert hostname == full_name("worker-0")
    assert long_hostname == LONG.replace("worker-1", "worker-0")
    assert address == status_address != short[1]
    assert all_pods == "2"


def on_host(name: str, port: int, script: str) -> dict[str, Any]:
    ports = [{"containerPort": port, "hostPort": port}]
    env = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    return pod(name, script, hostNetwork=True, main={"ports": ports, "env": env})


@pytest.mark.shows("the host network in a rehearsal")
def test_host_network(image: str) -> None:
    """Each pod has a node, on which its port is free, and is found under its own name."""
    ps = on_host("ps-0", 20001, f"{serving(20001)} echo $NODE $(hostname); sleep 600")
    meets = connecting(f"{full_name('ps-0')}.{SERVICE}", 20001)
    worker = on_host("worker-0", 20001, f"{serving(20001)} {meets}; echo $NODE $(hostname); sleep 600")
    display = Recorded()
    with rehearsal(workload(ps, worker), Options(image=image, timeout=600), display) as running:
        wait_until(running, lambda: all(display.of(full_name(name)) for name in ("ps-0", "worker-0")))
    assert [display.of(full_name(name)) for name in ("ps-0", "worker-0")] == [["node-0 node-0"], ["node-1 node-1"]]


def service(name: str, **ports: Any) -> dict[str, Any]:
    selector = {"app.kubernetes.io/component": "ps"}
    return {"metadata": {"name": name}, "spec": {"clusterIP": "10.96.0.7", "selector": selector, "ports": [ports]}}


def test_services_with_ports_of_their_own(image: str) -> None:
    """`ps:2222` and the long name lead to a port of another number and name."""
    program = (
        "import socket; listener = socket.create_server(('', 20001))\n"
        "while True:\n"
        "  peer, _ = listener.accept(); lines = peer.makefile('rb').read(); peer.sendall(lines.upper()); peer.close()"
    )
    ports = [{"name": "grpc", "containerPort": 20001}]
    serves = pod("ps-0", main={"command": ["python3", "-c", program], "ports": ports})
    ask = (
        "import socket, sys, time\nwhile True:\n  try:\n    peer = socket.create_connection((sys.argv[1], 2222), 5); "
        "peer.sendall(b'hello ' * 20000); peer.shutdown(1)\n    lines = peer.makefile('rb').read(); assert lines == "
        "b'HELLO ' * 20000; break\n  except (OSError, AssertionError): time.sleep(0.1)\nprint('answered', flush=True)"
    )
    script = f'python3 -c "$ASK" ps; python3 -c "$ASK" ps.{NAMESPACE}.svc.cluster.local; sleep 600'
    asks = pod("worker-0", script, main={"env": [{"name": "ASK", "value": ask}]})
    asked = workload(serves, asks, services=(service("ps", port=2222, targetPort="grpc"),))
    display = Recorded()
    with rehearsal(asked, Options(image=image, timeout=600), display) as running:
        wait_until(running, lambda: len(display.of(full_name("worker-0"))) == 2)
    assert set(display.of(full_name("worker-0"))) == {"answered"}
