"""The table of parts: what is built, from which pins, with which flags.

The pins (`pins/<folder>/go.mod`, `go.sum`, and `main.go` for some) name every module by version and hash. They are five
modules, since the versions conflict: kwok 0.8 does not compile with Kubernetes 1.34, and the provider 4.25 does not
compile with the engine 3.259. The parts of the sandbox's add-ons are in `addons`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

PINS = Path(__file__).parent / "pins"
# To be raised when the layout of a finished folder changes, so that folders with the old layout are not used.
FORMAT = 1

PULUMI_VERSION = "3.259.0"
PLUGIN_VERSION = "4.25.0"
LANGUAGE_HOST_VERSION = "3.187.0"
KUBERNETES_VERSION = "1.34.4"

_PULUMI_TAGS = "osusergo,grpcnotrace"
_PULUMI_STAMP = "-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
_KUBERNETES_VERSION_FLAG = "-X k8s.io/component-base/version"
# Without the stamp the API server reports a version that clients cannot parse.
KUBERNETES_STAMP = (
    f"{_KUBERNETES_VERSION_FLAG}.gitVersion=v{KUBERNETES_VERSION} "
    f"{_KUBERNETES_VERSION_FLAG}.gitMajor=1 {_KUBERNETES_VERSION_FLAG}.gitMinor=34"
)

# Without debug information a build takes a sixth less processor time.
_QUICKLY = "-dwarf=false"
# For code that uses little processor time: its build takes a third less.
UNOPTIMISED = f"-N -l {_QUICKLY}"


class ModuleFiles(Struct, frozen=True):
    """Files of a downloaded module: those that match `pattern` go to the folder `into`."""

    module: str
    pattern: str
    into: str
    executable: bool = False


class Part(Struct, frozen=True):
    """Programs and files that are made from one Go module of pins.

    `pins`: the folder of the pins, if it is another part's. `target`: the arguments of `go build`: `tool` for the
    module's tool directives, `.` for its own main package, or packages of its modules.
    `embedded`: files that are copied next to main.go before the build. `shipped`: files that are copied next to `bin`
    after it. `gcflags`: the last one that matches a package is used. `minutes`: measured on two cores, in the order of
    the tables; `packages`: how many packages were compiled in that time, without those that earlier parts had compiled.
    `environment`: more variables for `go build`.
    """

    folder: str
    binaries: tuple[str, ...]
    minutes: float
    pins: str = ""
    target: str = "tool"
    ldflags: str = ""
    tags: str = ""
    gcflags: tuple[str, ...] = (f"all={_QUICKLY}",)
    embedded: tuple[ModuleFiles, ...] = ()
    shipped: tuple[ModuleFiles, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        """Return the folder of its pins."""
        return self.pins if self.pins else self.folder


CONTROL_PLANE_PARTS = (
    Part(
        folder="controlplane",
        binaries=(
            "server",
            "kube-apiserver",
            "kube-controller-manager",
            "controller-manager",
            "scheduler",
            "webhook-manager",
        ),
        minutes=5.5,
        ldflags=KUBERNETES_STAMP,
        shipped=(
            ModuleFiles("volcano.sh/volcano", "config/crd/volcano/bases/*.yaml", "crds"),
            # Volcano's controller also watches these kinds, and opens no queue if they are not served.
            ModuleFiles("volcano.sh/volcano", "config/crd/jobflow/bases/*.yaml", "crds"),
        ),
    ),
    Part(
        folder="kwok",
        binaries=("kwok",),
        minutes=1,
        shipped=(
            ModuleFiles("sigs.k8s.io/kwok", "kustomize/stage/node/fast/node-initialize.yaml", "stages"),
            ModuleFiles(
                "sigs.k8s.io/kwok", "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml", "stages"
            ),
            ModuleFiles("sigs.k8s.io/kwok", "kustomize/stage/pod/fast/pod-ready.yaml", "stages"),
            ModuleFiles("sigs.k8s.io/kwok", "kustomize/stage/pod/fast/pod-delete.yaml", "stages"),
        ),
    ),
)

_SDK = "github.com/pulumi/pulumi/sdk/v3"
# The clients of cloud storage and key services, a third of the CLI's code. They mostly wait for the network.
_CLOUD_CLIENTS = (
    "cloud.google.com/...",
    "github.com/Azure/...",
    "github.com/aws/...",
    "github.com/envoyproxy/...",
    "google.golang.org/api/...",
)

PULUMI_PARTS = (
    Part(
        folder="pulumi-cli",
        binaries=("pulumi",),
        minutes=2.5,
        tags=_PULUMI_TAGS,
        ldflags=f"{_PULUMI_STAMP}=v{PULUMI_VERSION}",
        gcflags=(f"all={_QUICKLY}", *(f"{packages}={UNOPTIMISED}" for packages in _CLOUD_CLIENTS)),
        # The language host runs the first, which must be in its folder; the second is for dynamic providers.
        shipped=(
            ModuleFiles(_SDK, "python/cmd/pulumi-language-python-exec", "bin", executable=True),
            ModuleFiles(_SDK, "python/dist/pulumi-resource-pulumi-python", "bin", executable=True),
        ),
    ),
    Part(
        folder="pulumi-kubernetes",
        binaries=("pulumi-resource-kubernetes",),
        minutes=2,
        target=".",
        tags=_PULUMI_TAGS,
        embedded=(
            ModuleFiles(
                "github.com/pulumi/pulumi-kubernetes/provider/v4", "cmd/pulumi-resource-kubernetes/schema.json", "."
            ),
        ),
    ),
    Part(
        folder="pulumi-python",
        binaries=("pulumi-language-python",),
        minutes=0.3,
        tags=_PULUMI_TAGS,
        ldflags=f"{_PULUMI_STAMP}=v{LANGUAGE_HOST_VERSION}",
    ),
)


@functools.cache
def fingerprint(pins: Path = PINS) -> str:
    """Return a hash of all pins, flags and versions that every sandbox needs, and of the system and processor."""
    parts = (*CONTROL_PLANE_PARTS, *PULUMI_PARTS)
    return digest(parts, [FORMAT, PULUMI_VERSION, PLUGIN_VERSION, platform.system(), platform.machine()], pins)


def digest(parts: Sequence[Part], versions: list[object], pins: Path) -> str:
    """Return a hash of these parts' rows and pins, and of the versions."""
    rows = msgspec.to_builtins([*parts])
    for row in rows:
        del row["minutes"], row["environment"]
    found = hashlib.sha256(json.dumps([versions, rows]).encode())
    for path in sorted(path for part in parts for path in pins.glob(f"{part.module}/**/*") if path.is_file()):
        found.update(str(path.relative_to(pins)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


def build_time(parts: Iterable[Part]) -> str:
    """Return a text with the time to build these parts one after the other."""
    minutes = round(sum(part.minutes for part in parts))
    return f"about {minutes} min on 2 cores" if minutes >= 1 else "less than a minute on 2 cores"
