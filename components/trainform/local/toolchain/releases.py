"""The table of official releases that are downloaded instead of built, in the versions of the pins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from trainform.errors import ToolchainError
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS, PLUGIN_VERSION, PULUMI_VERSION, Part

_FIX = "the pins do not fit this version of trainform: install it again"


class Module(Struct, frozen=True):
    """A Go module in the pins of `folder`. Its methods raise `ToolchainError` if the pins do not name it."""

    folder: str
    path: str

    def version(self, pins: Path) -> str:
        """Return the required version, without the `v`."""
        text = (pins / self.folder / "go.mod").read_text()
        # The whole line, since a row of `replace (…)` begins in the same way.
        row = rf"^\s*(?:require\s+)?{re.escape(self.path)} v(\S+)[ \t]*(?://.*)?$"
        found = re.search(row, text, re.MULTILINE)
        if found is None:
            raise ToolchainError(f"the pins of {self.folder} name no version of {self.path}", _FIX)
        return found[1]

    def hash(self, pins: Path) -> str:
        """Return the hash of all its files, as in go.sum (`h1:`)."""
        version = self.version(pins)
        text = (pins / self.folder / "go.sum").read_text()
        found = re.search(rf"^{re.escape(self.path)} v{re.escape(version)} (h1:\S+)$", text, re.MULTILINE)
        if found is None:
            raise ToolchainError(f"the pins of {self.folder} have no hash of {self.path} v{version}", _FIX)
        return found[1]

    @property
    def escaped(self) -> str:
        """Return the path as Go proxies write it: `!x` for a capital X."""
        return re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", self.path)


# The kinds of releases: a program; a .tar.gz; a container image, by its manifest; the .zip of a module on a Go proxy.
FILE, ARCHIVE, IMAGE, MODULE = "file", "archive", "image", "module"
LINUX, UNIX = ("linux",), ("linux", "darwin")
DOWNLOAD_GB = 0.4  # all together, without add-ons
# Where Pulumi looks for the plugin, with `home` as PULUMI_HOME.
PLUGIN_FOLDER = f"home/plugins/resource-kubernetes-v{PLUGIN_VERSION}"


class Release(Struct, frozen=True):
    """A file of a project's release, an image or a module: its kind, its URL, and which of its files are used.

    `wanted_files`: pattern of a file in it -> path in the finished folder; a path that ends with a slash keeps the
    file's name. `sums`: the URL of its SHA-256; images and modules have their own hashes. URLs and names may contain
    `{version}`, `{system}`, `{machine}`, `{pulumi_machine}` and `{proxy}`.
    """

    name: str
    kind: str
    version: str | Module
    url: str
    wanted_files: tuple[tuple[str, str], ...]
    sums: str | None = None
    systems: tuple[str, ...] = LINUX


def _archive(
    name: str, version: str | Module, folder: str, file: str, sums: str, take: tuple[str, str], systems: tuple[str, ...]
) -> Release:
    return Release(name, ARCHIVE, version, f"{folder}/{file}", (take,), f"{folder}/{sums}", systems)


def _kubernetes(name: str, systems: tuple[str, ...] = LINUX) -> Release:
    url = f"https://dl.k8s.io/release/v{{version}}/bin/linux/{{machine}}/{name}"
    version, take = Module("controlplane", "k8s.io/kubernetes"), ((name, f"bin/{name}"),)
    return Release(name, FILE, version, url, take, f"{url}.sha256", systems)


def _image(name: str, version: Module, repository: str, take: tuple[str, str]) -> Release:
    return Release(name, IMAGE, version, f"https://{repository}/manifests/v{{version}}", (take,))


def _volcano(name: str) -> Release:
    """Return the release of a daemon, which the project publishes only as an image."""
    repository = f"registry-1.docker.io/v2/volcanosh/vc-{name}"
    return _image(f"vc-{name}", Module("controlplane", "volcano.sh/volcano"), repository, (f"vc-{name}", f"bin/{name}"))


def _modules(part: Part) -> Iterator[Release]:
    """Yield the releases with the part's other files, CRDs and stages: one for each module."""
    for path in dict.fromkeys(files.module for files in part.shipped):
        module = Module(part.folder, path)
        wanted_files = tuple((files.pattern, f"{files.into}/") for files in part.shipped if files.module == path)
        url = f"{{proxy}}/{module.escaped}/@v/v{{version}}.zip"
        yield Release(f"files of {path}", MODULE, module, url, wanted_files, systems=UNIX)


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
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _volcano("controller-manager"),
        _volcano("scheduler"),
        _volcano("webhook-manager"),
    ),
    # From its image, which has digests: the project's release on GitHub has no checksums.
    "kwok": (
        _image(
            "kwok",
            Module("kwok", "sigs.k8s.io/kwok"),
            "registry.k8s.io/v2/kwok/kwok",
            ("usr/local/bin/kwok", "bin/kwok"),
        ),
    ),
}

# By the name of the need: `pulumi`, or the folder of a part.
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
            ("pulumi-resource-kubernetes", f"{PLUGIN_FOLDER}/"),
            UNIX,
        ),
    ),
    **{part.folder: (*_PROGRAMS[part.folder], *_modules(part)) for part in CONTROL_PLANE_PARTS},
    "kube-scheduler": (_kubernetes("kube-scheduler"),),
    # these run in containers, so they are for Linux also on a Mac
    "node": tuple(_kubernetes(name, UNIX) for name in ("kubelet", "kube-proxy")),
    "coredns": (
        _archive(
            "coredns",
            Module("coredns", "github.com/coredns/coredns"),
            "https://github.com/coredns/coredns/releases/download/v{version}",
            "coredns_{version}_linux_{machine}.tgz",
            "coredns_{version}_linux_{machine}.tgz.sha256",
            ("coredns", "bin/coredns"),
            UNIX,
        ),
    ),
}
