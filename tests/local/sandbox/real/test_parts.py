"""The pure parts of real nodes: which nodes there are, their files, the names of images, and the command's option."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from tests.local.toolchain.recording import Recording
from trainform.cli.sandbox import MOST_REAL_NODES, REAL_NODES, _real
from trainform.errors import InputError
from trainform.local.sandbox.certificates import Authority, Certificates
from trainform.local.sandbox.control import _merge
from trainform.local.sandbox.folder import Layout, encoded
from trainform.local.sandbox.real import image
from trainform.local.sandbox.real.load import NodeImage, full_name, node_image, references
from trainform.local.sandbox.real.node_files import (
    DNS_USER,
    PROXY_USER,
    addresses,
    chosen_nodes,
    node_files,
    node_object,
    peers,
)
from trainform.local.sandbox.settings import NodePool, SandboxSettings, Taint
from trainform.local.sandbox.state import State, write_state
from trainform.local.toolchain.debian import main_archive
from trainform.local.toolchain.tools import PulumiTools

GPU = NodePool(
    "gpu", 1, {"cpu": "96", "memory": "800Gi", "nvidia.com/gpu": "8"}, {"a": "b"}, (Taint("t", "", "NoSchedule"),)
)
CPU = NodePool("cpu", 3, {"cpu": "4", "memory": "16Gi"})


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ["gpu-real-0"]),
        (2, ["gpu-real-0", "cpu-real-0"]),
        (3, ["gpu-real-0", "cpu-real-0", "cpu-real-1"]),
        (9, ["gpu-real-0", "cpu-real-0", "cpu-real-1", "cpu-real-2"]),
    ],
)
def test_real_nodes_are_spread_over_the_pools_and_share_the_memory(count: int, expected: list[str]) -> None:
    chosen = chosen_nodes((GPU, CPU), count, memory=12_000)
    assert [node.name for node in chosen] == expected
    assert [node.pods for node in chosen] == [f"10.126.{index}.0/24" for index in range(len(expected))]
    assert {node.memory for node in chosen} == {12_000 // len(expected)}


def test_a_real_node_has_no_more_memory_than_its_pool_says() -> None:
    assert [node.memory for node in chosen_nodes((CPU,), 2, memory=1 << 40)] == [16 << 30, 16 << 30]


def test_a_node_object_has_what_the_environment_says_and_its_real_memory() -> None:
    node = node_object(chosen_nodes((GPU,), 1, 5_000)[0])
    assert node["metadata"]["labels"].items() >= {"a": "b", "trainform.dev/nodes": "real"}.items()
    assert node["metadata"]["annotations"] == {"sandbox.trainform.dev/memory": "5000"}
    assert node["spec"]["taints"] == [{"key": "t", "value": "", "effect": "NoSchedule"}]
    assert node["status"]["allocatable"] == node["status"]["capacity"] == GPU.resources


def test_peers_name_the_addresses_of_the_other_nodes() -> None:
    first, second = chosen_nodes((CPU,), 2, 1)
    started = [(first, "172.18.0.2"), (second, "172.18.0.3")]
    assert peers(started, first) == b"here 10.126.0.0/24\n172.18.0.3 10.126.1.0/24\n"
    assert peers(started, second) == b"172.18.0.2 10.126.0.0/24\nhere 10.126.1.0/24\n"


@pytest.mark.parametrize(("port", "name"), [(None, {}), (20250, {"ExternalDNS": "localhost"})])
def test_the_api_server_finds_a_published_port_by_a_name_of_this_machine(
    port: int | None, name: dict[str, str]
) -> None:
    (node,) = chosen_nodes((GPU,), 1, 1)
    found = {each["type"]: each["address"] for each in addresses(structs.replace(node, port=port), "172.18.0.2")}
    assert found == {"InternalIP": "172.18.0.2", "Hostname": "gpu-real-0", **name}


def test_a_node_has_its_own_certificate_and_no_other_key(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    certificates.make()
    (node,) = chosen_nodes((GPU,), 1, 1)
    signed = {user: tmp_path / f"{index}.crt" for index, user in enumerate((node.name, PROXY_USER, DNS_USER))}
    authority = Authority.stored(certificates.authority, certificates.authority_key)
    for user, path in signed.items():
        authority.sign(f"CN={user}", (user,), path, path.with_suffix(".key"))
    files = node_files(node, "https://172.18.0.1:6443", certificates, signed)
    assert files["size"] == b"96 838860800\n"
    assert files["kubelet.crt"] == signed[node.name].read_bytes()
    for program in ("kubelet", "kube-proxy", "coredns"):
        (cluster,) = json.loads(files[f"{program}.kubeconfig"])["clusters"]
        assert cluster["cluster"]["server"] == "https://172.18.0.1:6443"
        assert cluster["cluster"]["tls-server-name"] == "localhost"
    content = b"".join(files.values())
    for path in (certificates.authority_key, certificates.client_key, certificates.server_key):
        assert path.read_bytes() not in content
        assert encoded(path).encode() not in content


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("torch", "docker.io/library/torch:latest"),
        ("torch:2", "docker.io/library/torch:2"),
        ("team/torch", "docker.io/team/torch:latest"),
        ("localhost/torch", "localhost/torch:latest"),
        ("registry.example.com/team/torch:2", "registry.example.com/team/torch:2"),
        ("registry:5000/torch", "registry:5000/torch:latest"),
        ("registry.example.com/torch@sha256:1", "registry.example.com/torch@sha256:1"),
    ],
)
def test_names_of_images_are_completed_as_containerd_does(name: str, full: str) -> None:
    assert full_name(name) == full


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", ["torch", "torch@sha256:1"]),
        ("r:5000/torch", ["r:5000/torch", "r:5000/torch@sha256:1"]),
        ("r:5000/torch:2", ["r:5000/torch:2", "r:5000/torch@sha256:1"]),
        ("r/torch@sha256:1", ["r/torch@sha256:1", "r/torch@sha256:1"]),
    ],
)
def test_the_digests_of_an_image_are_names_too(name: str, expected: list[str]) -> None:
    assert references(name, ["other/name@sha256:1"]) == expected
    found = {"RepoDigests": ["other/name@sha256:1"], "Id": "sha256:0123456789abcdef", "RepoTags": ["other/name:2"]}
    names = tuple(dict.fromkeys(map(full_name, expected)))
    assert node_image(found, name) == NodeImage("sha256:0123456789abcdef", names, has_tag=True)


def test_the_name_of_the_node_image_follows_its_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {"kubelet": Path("/cache/addon-node-1/node/bin/kubelet")}
    names = [image.image_name(programs)]
    assert image.image_name(dict(programs)) == names[0]
    names.append(image.image_name({"kubelet": Path("/cache/addon-node-2/node/bin/kubelet")}))
    monkeypatch.setattr(image, "HERE", shutil.copytree(image.HERE, tmp_path / "real"))
    assert image.image_name(programs) == names[0]
    for file in image.FILES.values():
        with (image.HERE / file).open("a") as changed:
            changed.write("\n")
        names.append(image.image_name(programs))
    monkeypatch.setattr(image, "PACKAGES", (*image.PACKAGES, "strace"))
    names.append(image.image_name(programs))
    assert len(set(names)) == len(names) == 3 + len(image.FILES)


@pytest.mark.parametrize(
    ("targets", "address"),
    [
        ("", None),
        ("http://d.example.org/debian-security bookworm-security main\n", None),
        (
            "http://d.example.org/debian bookworm contrib\nhttp://d.example.org/debian bookworm main\n",
            "http://d.example.org/debian",
        ),
        ("one two\nhttps://m.example.org/debian trixie main\n", "https://m.example.org/debian"),
    ],
)
def test_the_archive_of_debian_is_that_of_apt(targets: str, address: str | None) -> None:
    assert main_archive(targets) == address


@pytest.mark.parametrize(
    ("text", "count"),
    [("simulated", 0), ("real", REAL_NODES), ("real=1", 1), (f"real={MOST_REAL_NODES}", MOST_REAL_NODES)],
)
def test_the_option_says_how_many_real_nodes(text: str, count: int) -> None:
    assert _real(text) == count


@pytest.mark.parametrize(
    "text", ["", "real=", "real=0", "real=-1", "real=2.5", f"real={MOST_REAL_NODES + 1}", "reel", "simulated=1"]
)
def test_another_text_is_an_error_with_what_to_write(text: str) -> None:
    with pytest.raises(InputError) as caught:
        _real(text)
    assert "real=N" in caught.value.problems[0].fix


@pytest.mark.parametrize(("asked", "count", "notes"), [(None, None, 0), (0, 0, 0), (4, 4, 0), (5, 4, 1)])
def test_there_are_at_most_as_many_real_nodes_as_the_environment_has(
    asked: int | None, count: int | None, notes: int
) -> None:
    progress = Recording()
    settings = SandboxSettings(Path("/none"), (GPU, CPU), real=asked)
    assert _merge(settings, None, progress).real == count
    assert len(progress.lines) == notes


def test_a_sandbox_without_real_nodes_ends_without_docker(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "sandbox")
    layout.make()
    write_state(layout, State(SandboxSettings(layout.root, (CPU,)), PulumiTools(tmp_path, tmp_path, "build"), {}))
    program = "import sys; from pathlib import Path; from trainform.local.sandbox.control import down"
    program += "; assert down(Path(sys.argv[1]), purge=True); assert 'docker' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, layout.root], check=True)
    assert not layout.root.exists()
