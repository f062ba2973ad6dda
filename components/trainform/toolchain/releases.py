"""What is downloaded instead of built: the one table of official releases, in the versions of the pins."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from trainform.toolchain.parts import CONTROL_PLANE_PARTS, PLUGIN_VERSION, PULUMI_VERSION, Part
from trainform.toolchain.pinned import Module

# The kinds: a program as it is; a .tar.gz; an image of a registry, by its manifest; a module's .zip on a Go proxy.
FILE, ARCHIVE, IMAGE, MODULE = "file", "archive", "image", "module"
LINUX, UNIX = ("linux",), ("linux", "darwin")
DOWNLOAD_GB = 0.4  # all of them together, add-ons left out


@dataclasses.dataclass(frozen=True)
class Release:
    """A file of a project's release, an image or a module: what it is, where it lies, and what of it is wanted.

    `takes` says which file of it goes where in the finished folder; a target that ends with a slash keeps the file's name.
    `sums` is the address of the file with its SHA-256; images and modules carry their hashes. Addresses and names in `takes` may hold
    `{version}`, `{system}`, `{machine}`, `{pulumi_machine}` and `{proxy}`.
    """

    name: str
    kind: str
    version: str | Module
    url: str
    takes: tuple[tuple[str, str], ...]
    sums: str | None = None
    systems: tuple[str, ...] = LINUX


def _archive(
    name: str, version: str | Module, folder: str, file: str, sums: str, take: tuple[str, str], systems: tuple[str, ...]
) -> Release:
    return Release(name, ARCHIVE, version, f"{folder}/{file}", (take,), f"{folder}/{sums}", systems)


def _kubernetes(name: str, pins: str) -> Release:
    url = f"https://dl.k8s.io/release/v{{version}}/bin/{{system}}/{{machine}}/{name}"
    return Release(name, FILE, Module(pins, "k8s.io/kubernetes"), url, ((name, f"bin/{name}"),), f"{url}.sha256")


def _image(name: str, version: Module, repository: str, take: tuple[str, str]) -> Release:
    return Release(name, IMAGE, version, f"https://{repository}/manifests/v{{version}}", (take,))


def _volcano(name: str) -> Release:
    """One of the daemons, which the project publishes as images alone."""
    repository = f"registry-1.docker.io/v2/volcanosh/vc-{name}"
    return _image(f"vc-{name}", Module("controlplane", "volcano.sh/volcano"), repository, (f"vc-{name}", f"bin/{name}"))


def _modules(part: Part) -> tuple[Release, ...]:
    """What the part ships of its modules beside the programs: CRDs, stages."""
    return tuple(_module(part, path) for path in dict.fromkeys(files.module for files in part.shipped))


def _module(part: Part, path: str) -> Release:
    module = Module(part.folder, path)
    takes = tuple((files.pattern, f"{files.into}/") for files in part.shipped if files.module == path)
    url = f"{{proxy}}/{module.escaped}/@v/v{{version}}.zip"
    return Release(f"files of {path}", MODULE, module, url, takes, systems=UNIX)


_PROGRAMS: Mapping[str, tuple[Release, ...]] = {
    "controlplane": (
        _archive(
            "etcd",
            Module("controlplane", "go.etcd.io/etcd/server/v3"),
            "https://github.com/etcd-io/etcd/releases/download/v{version}",
            "etcd-v{version}-{system}-{machine}.tar.gz",
            "SHA256SUMS",
            ("etcd-v{version}-{system}-{machine}/etcd", "bin/server"),
            LINUX,
        ),
        _kubernetes("kube-apiserver", "controlplane"),
        _kubernetes("kube-controller-manager", "controlplane"),
        _volcano("controller-manager"),
        _volcano("scheduler"),
        _volcano("webhook-manager"),
    ),
    # The program in the project's release on GitHub has no checksum beside it; its image has digests.
    "kwok": (
        _image(
            "kwok",
            Module("kwok", "sigs.k8s.io/kwok"),
            "registry.k8s.io/v2/kwok/kwok",
            ("usr/local/bin/kwok", "bin/kwok"),
        ),
    ),
}

# By the name of what is made of them: `pulumi`, or a part's folder.
RELEASES: Mapping[str, tuple[Release, ...]] = {
    "pulumi": (
        _archive(
            "pulumi",
            PULUMI_VERSION,
            "https://get.pulumi.com/releases/sdk",
            "pulumi-v{version}-{system}-{pulumi_machine}.tar.gz",
            "pulumi-{version}-checksums.txt",
            ("pulumi/*", "bin/"),
            UNIX,
        ),
        _archive(
            "pulumi-kubernetes",
            PLUGIN_VERSION,
            "https://github.com/pulumi/pulumi-kubernetes/releases/download/v{version}",
            "pulumi-resource-kubernetes-v{version}-{system}-{machine}.tar.gz",
            "pulumi-kubernetes_{version}_checksums.txt",
            ("pulumi-resource-kubernetes", "plugin/"),
            UNIX,
        ),
    ),
    **{part.folder: (*_PROGRAMS[part.folder], *_modules(part)) for part in CONTROL_PLANE_PARTS},
    "kube-scheduler": (_kubernetes("kube-scheduler", "kube-scheduler"),),
}
