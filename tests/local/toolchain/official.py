"""Official releases on the simulated internet: with the layouts and URLs of the real ones, but with small programs."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.local.toolchain.internet import Answer, Internet, Registry, archive, module, redirect, sha256

SDK = "https://get.pulumi.com/releases/sdk"
SDK_ARCHIVE = f"{SDK}/pulumi-v3.259.0-linux-x64.tar.gz"
SDK_SUMS = f"{SDK}/pulumi-3.259.0-checksums.txt"
PLUGIN = "https://github.com/pulumi/pulumi-kubernetes/releases/download/v4.25.0"
PLUGIN_ARCHIVE = f"{PLUGIN}/pulumi-resource-kubernetes-v4.25.0-linux-amd64.tar.gz"
PLUGIN_SUMS = f"{PLUGIN}/pulumi-kubernetes_4.25.0_checksums.txt"
ETCD = "https://github.com/etcd-io/etcd/releases/download/v3.6.4"
ETCD_ARCHIVE = f"{ETCD}/etcd-v3.6.4-linux-amd64.tar.gz"
ETCD_SUMS = f"{ETCD}/SHA256SUMS"
KUBERNETES = "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64"
GITHUB_STORAGE = "https://release-assets.githubusercontent.com"
DOCKER_STORAGE = "production.cloudflare.docker.com"
VOLCANO_ZIP = "https://modules.example.org/volcano.sh/volcano/@v/v1.14.1.zip"
# URLs of the files themselves, after redirects.
FINAL = {
    "sdk": SDK_ARCHIVE,
    "plugin": f"{GITHUB_STORAGE}/{sha256(PLUGIN_ARCHIVE.encode())}?sig=x",
    "etcd": f"{GITHUB_STORAGE}/{sha256(ETCD_ARCHIVE.encode())}?sig=x",
    "kube-apiserver": f"{KUBERNETES}/kube-apiserver".replace("dl.", "cdn.dl."),
    "volcano": VOLCANO_ZIP,
}
VOLCANO_FILES = {
    "config/crd/volcano/bases/batch.volcano.sh_jobs.yaml": b"jobs\n",
    "config/crd/volcano/bases/README.md": b"no CRD\n",
    "config/crd/volcano/bases/deeper/no.yaml": b"no CRD\n",
    "config/crd/jobflow/bases/flow.volcano.sh_jobflows.yaml": b"jobflows\n",
    "LICENSE": b"",
}
_STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-delete",
)
KWOK_FILES = {f"kustomize/stage/{name}.yaml": name.encode() for name in (*_STAGES, "pod/fast/pod-complete")}
PLATFORMS = (("linux", "amd64"), ("linux", "arm64"))


def program(name: str) -> bytes:
    """Return a program that prints its name. It is longer than a buffer, so that a download can be cut."""
    return f"#!/bin/sh\necho {name}\nexit\n".encode() + b"# filling\n" * 500


def publish(internet: Internet, pins: Path) -> None:
    """Publish all releases, for amd64; the hashes of the modules are written into this copy of the pins."""
    sdk = {
        "pulumi/pulumi": program("pulumi"),
        "pulumi/pulumi-language-python": program("host"),
        "pulumi/pulumi-language-python-exec": b"#",
    }
    put_archive(internet, SDK_ARCHIVE, SDK_SUMS, archive(sdk))
    plugin = {"pulumi-resource-kubernetes": program("plugin"), "LICENSE": b"", "README.md": b""}
    put_archive(internet, PLUGIN_ARCHIVE, PLUGIN_SUMS, archive(plugin), GITHUB_STORAGE)
    etcd = {"etcd-v3.6.4-linux-amd64/": b"", "etcd-v3.6.4-linux-amd64/Documentation/": b""}
    etcd |= {f"etcd-v3.6.4-linux-amd64/{name}": program(name) for name in ("README.md", "etcdctl", "etcd", "etcdutl")}
    put_archive(internet, ETCD_ARCHIVE, ETCD_SUMS, archive(etcd), GITHUB_STORAGE)
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        put_file(internet, f"{KUBERNETES}/{name}", program(name))
    for name in ("controller-manager", "scheduler", "webhook-manager"):
        publish_image(internet, f"volcanosh/vc-{name}", "v1.14.1", volcano_layers(name))
    kwok = [
        archive({"bin/sh": b"alpine"}),
        archive({"usr/": b"", "usr/local/": b"", "usr/local/bin/": b"", "usr/local/bin/kwok": program("kwok")}),
    ]
    publish_image(internet, "kwok/kwok", "v0.8.0", kwok, "registry.k8s.io")
    put_module(internet, pins, "controlplane", "volcano.sh/volcano", "1.14.1", VOLCANO_FILES)
    put_module(internet, pins, "kwok", "sigs.k8s.io/kwok", "0.8.0", KWOK_FILES)


def volcano_layers(name: str) -> list[bytes]:
    """Return the layers of a daemon's image: Alpine, the daemon, and for one of them a script."""
    layers = [archive({"bin/sh": b"alpine"}), archive({f"vc-{name}": program(f"vc-{name}")})]
    return [*layers, archive({"gen-admission-secret.sh": b"#!/bin/sh\n"})] if name == "webhook-manager" else layers


def publish_image(
    internet: Internet,
    repository: str,
    tag: str,
    layers: Sequence[bytes],
    host: str = "registry-1.docker.io",
    platforms: Sequence[tuple[str, str]] = PLATFORMS,
) -> list[str]:
    return Registry(internet, host, "auth.docker.io", DOCKER_STORAGE).publish(repository, tag, layers, platforms)


def put_file(internet: Internet, url: str, content: bytes) -> None:
    """Publish a file and its hash as Kubernetes does: the file is redirected to another host."""
    internet.sites[url] = redirect(url.replace("dl.k8s.io", "cdn.dl.k8s.io"))
    internet.sites[url.replace("dl.k8s.io", "cdn.dl.k8s.io")] = Answer(content)
    internet.sites[f"{url}.sha256"] = Answer(sha256(content).encode())


def put_archive(internet: Internet, url: str, sums: str, content: bytes, storage: str | None = None) -> None:
    """Publish an archive and a list of hashes; GitHub redirects both to another host."""
    name = url.rpartition("/")[2]
    rows = f"{sha256(b'other')}  {name}.sig\n{sha256(content)}  {name}\n{sha256(b'')}  other-{name}\n"
    for address, answer in ((url, Answer(content)), (sums, Answer(rows.encode()))):
        if storage is not None:
            internet.sites[f"{storage}/{sha256(address.encode())}?sig=x"] = answer
            answer = redirect(f"{storage}/{sha256(address.encode())}?sig=x")
        internet.sites[address] = answer


def put_module(
    internet: Internet, pins: Path, folder: str, path: str, version: str, files: Mapping[str, bytes]
) -> None:
    """Publish a module on the proxy, and write its hash into the pins."""
    content, found = module(path, version, files)
    internet.sites[f"https://modules.example.org/{path}/@v/v{version}.zip"] = Answer(content)
    file = pins / folder / "go.sum"
    text, count = re.subn(
        rf"^{re.escape(path)} v{re.escape(version)} h1:\S+$",
        f"{path} v{version} {found}",
        file.read_text(),
        flags=re.MULTILINE,
    )
    assert count == 1
    file.write_text(text)


def output_of(binary: Path) -> str:
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout.strip()


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def change_file(internet: Internet, url: str, change: Callable[[bytes], bytes]) -> None:
    answer = internet.sites[url]
    assert isinstance(answer, Answer)
    internet.sites[url] = dataclasses.replace(answer, body=change(answer.body))
