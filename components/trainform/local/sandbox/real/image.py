"""The image of real nodes: Debian with containerd, and the programs of the tool chain.

Docker builds it on Debian's official image. Where that cannot be pulled, mmdebstrap makes the base from the archive
that this machine's apt uses.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local.docker_daemon import docker_errors, one_line
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials
from trainform.local.toolchain.debian import source_line
from trainform.local.toolchain.running import run_logged

if TYPE_CHECKING:
    from docker import APIClient

SUITE = "trixie"
OFFICIAL = f"debian:{SUITE}-slim"
REPOSITORY = "trainform-node"
BASE = f"{REPOSITORY}-base"
# Python and busybox are for pods: the demo's job, and containers that operators add.
PACKAGES = (
    "containerd", "runc", "containernetworking-plugins", "nftables", "iproute2", "mount", "busybox-static", "tini",
    "python3-minimal", "python-is-python3",
)  # fmt: skip
HERE = Path(__file__).parent
# Place in the image -> file of this folder.
FILES = {
    "usr/lib/trainform/node": "node.sh",
    "usr/lib/trainform/runc": "runc.sh",
    "usr/lib/trainform/importer": "importer.sh",
    "usr/lib/trainform/pause": "pause.sh",
    "etc/containerd/config.toml": "containerd.toml",
    "usr/bin/nslookup": "nslookup.sh",
}
LINES = [
    "COPY root /",
    "RUN /usr/lib/trainform/pause",
    'ENTRYPOINT ["/usr/lib/trainform/node"]',
]
INSTALL = f"apt-get update && apt-get install --yes --no-install-recommends {' '.join(PACKAGES)}"


def image_name(programs: Mapping[str, Path]) -> str:
    """Return the image's name, with a hash of what makes it. programs: name -> file, whose folder has a hash too."""
    digest = hashlib.sha256(repr((SUITE, PACKAGES, LINES, sorted(map(str, programs.values())))).encode())
    for place, file in FILES.items():
        digest.update(place.encode() + b"\0" + (HERE / file).read_bytes())
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def ensure_image(client: APIClient, programs: Mapping[str, Path], progress: Progress) -> str:
    """Return the image's name; build it if Docker does not have it. SandboxError if it cannot be built."""
    name = image_name(programs)
    if not client.images(name):
        folder = cache_folder() / "node-image"
        with hold(folder / "lock", f"building {name}", progress):
            if not client.images(name):  # another process may have built it while this one waited
                remove_partials(folder)
                _build(client, name, programs, folder, progress)
    return name


def _build(client: APIClient, name: str, programs: Mapping[str, Path], folder: Path, progress: Progress) -> None:
    work = partial_folder(folder / "build")
    try:
        with progress.step("image of the real nodes: packages of Debian"):
            first = _base(client, work, folder / "build.log")
        with progress.step("image of the real nodes: programs"):
            _write_context(work / "context.tar", [*first, *LINES], programs)
            with (work / "context.tar").open("rb") as context:
                answers = client.build(fileobj=context, custom_context=True, tag=name, rm=True, decode=True)
                failed = [answer["error"] for answer in answers if "error" in answer]
        if failed:
            raise SandboxError(f"Docker cannot build the image of the real nodes: {failed[0]}", "read what it prints")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _base(client: APIClient, work: Path, log: Path) -> list[str]:
    """Return the first lines of the Dockerfile, which end with an image that has the packages."""
    base = f"{BASE}:{hashlib.sha256(repr((SUITE, PACKAGES)).encode()).hexdigest()[:12]}"
    if client.images(base):
        return [f"FROM {base}"]
    try:
        client.pull(OFFICIAL)
    except docker_errors() as error:
        source = source_line(SUITE)
        if source is None or shutil.which("mmdebstrap") is None:
            reason = f"the image of the real nodes is built on {OFFICIAL}, which cannot be pulled: {one_line(error)}"
            fix = "check the network; on Debian `apt-get install mmdebstrap` lets it be made from packages"
            raise SandboxError(reason, fix) from None
    else:
        return [f"FROM {OFFICIAL}", f"RUN {INSTALL} && rm -rf /var/lib/apt/lists/*"]
    archive = work / "base.tar"
    words = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(PACKAGES)}", SUITE, str(archive), source]
    run_logged(words, work, os.environ, log)
    client.import_image(src=str(archive), repository=BASE, tag=base.rpartition(":")[2])
    return [f"FROM {base}"]


def _write_context(file: Path, lines: list[str], programs: Mapping[str, Path]) -> None:
    """Write the archive that Docker builds from: the Dockerfile, and the folder `root` with the files to add."""
    with tarfile.open(file, "w") as archive:
        dockerfile = tarfile.TarInfo("Dockerfile")
        text = "\n".join(lines).encode()
        dockerfile.size = len(text)
        archive.addfile(dockerfile, io.BytesIO(text))
        added = {f"usr/local/bin/{name}": path for name, path in programs.items()}
        for place, path in (added | {place: HERE / name for place, name in FILES.items()}).items():
            info = archive.gettarinfo(path, f"root/{place}")
            info.mode, info.uid, info.gid, info.uname, info.gname = 0o755, 0, 0, "root", "root"
            with path.open("rb") as content:
                archive.addfile(info, content)
