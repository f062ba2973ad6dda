"""The image for the pods of rehearsals: the real launchers, from packages of Debian and PyPI only.

`python -m tools.rehearsal_image` prints its name and builds it if it is missing (3 minutes, 2.3 GB). The name contains
a hash of all inputs, so other inputs make another image; after a build the images of other inputs are removed. It also
gets the tag `latest`.

Two Debian releases are involved: this machine's apt knows where packages are, and the image gets those of `SUITE`, with
the versions of torch, Open MPI and Python that training images have today. The host's pip chooses the packages from
PyPI for the image's Python, so containers need no network. Each file in images/rehearsal says what it is for.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors

from tools import docker_daemon
from tools.debian import NotHereError, environment, require
from trainform.cli.progress import display
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials
from trainform.local.toolchain.debian import source_line
from trainform.local.toolchain.running import run_logged

INPUTS = Path(__file__).parent.parent / "images" / "rehearsal"
REPOSITORY = "trainform-rehearsal"
TAG = re.compile(r"[0-9a-f]{12}")  # tags of this script; other tags are not removed
SUITE, PYTHON = "trixie", "3.13"
MACHINE = "x86_64"  # the only one for which the lock files have tensorflow-cpu and openmpi
PROGRAMS = {"mmdebstrap": "mmdebstrap"}
SETTINGS = ["ENV LANG=C.UTF-8", 'CMD ["sleep", "infinity"]']
IMPORT_SECONDS = 900

SITE = f"usr/local/lib/python{PYTHON}/dist-packages"  # Debian's Python searches it before its own packages
OPENMPI_4 = "opt/openmpi4"
# Files that no rehearsal needs: headers, manuals, libraries for another Python, torch's own tests.
LEFT_OUT = (f"{SITE}/tensorflow/include", f"{OPENMPI_4}/include", f"{OPENMPI_4}/lib/python*")
EXCLUDED = (
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/lib/libtorch-test/*",
)
# Lines that are added to a file of a package; each says why.
ADDED = {
    "torch_distributed.add": "usr/lib/python3/dist-packages/torch/distributed/__init__.py",
    "deepspeed_ops.add": f"{SITE}/deepspeed/ops/__init__.py",
}


def image_name(inputs: Path = INPUTS) -> str:
    """Return `trainform-rehearsal:` and a hash of the files and commands that make the image."""
    digest = hashlib.sha256()
    place = Path("/")  # the hash must not depend on where the checkout and the cache are
    commands = [*pip_commands(place, place), debian_command(place, place, ["SUITE"], "SOURCE")]
    digest.update(repr((SUITE, PYTHON, SETTINGS, LEFT_OUT, commands)).encode())
    for path in sorted(inputs.iterdir()):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def pip_commands(inputs: Path, work: Path) -> list[list[str]]:
    """Return the arguments of pip, in order: build tools for DeepSpeed, packages of the image's Python, Open MPI 4.

    pip resolves nothing: the lock files are complete and have hashes.
    """
    always = ["install", "--quiet", "--no-deps", "--require-hashes", "--no-compile", "--disable-pip-version-check"]
    tree = work / "tree"
    return [
        [*always, "--target", str(work / "build"), "-r", str(inputs / "build.txt")],
        [
            *always, "--no-build-isolation", "--target", str(tree / SITE), "--implementation", "cp",
            "--python-version", PYTHON, "-r", str(inputs / "python.txt"),
        ],
        [*always, "--ignore-installed", "--prefix", str(tree / OPENMPI_4), "-r", str(inputs / "openmpi.txt")],
    ]  # fmt: skip


def debian_command(inputs: Path, work: Path, packages: list[str], source: str) -> list[str]:
    """Return the arguments of mmdebstrap: packages, then the tree of files, the additions, and customize.sh, which
    fills /run."""
    hooks = [
        f'sync-in "{work}/tree" /',
        *(f'cat "{inputs}/{name}" >> "$1/{place}"' for name, place in ADDED.items()),
        f'chroot "$1" sh -eu < "{inputs}/customize.sh"',
    ]
    return [
        "mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/run", f"--include={','.join(packages)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED),
        *(f"--customize-hook={hook}" for hook in hooks),
        SUITE, f"{work}/image.tar", source,
    ]  # fmt: skip


def words(path: Path) -> list[str]:
    """Return the lines of a file without comments."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def ensure(progress: Progress) -> str:
    """Return the image's name; build it if Docker does not have it. Needs a daemon that answers."""
    name = image_name()
    if not is_there(name):
        folder = cache_folder() / "rehearsal-image"
        with hold(folder / "lock", f"building {name}", progress):
            if not is_there(name):  # another process built it while this one waited
                remove_partials(folder)
                build(name, folder, progress)
                remove_others(name, progress)
    name_for_people(name)
    return name


@contextlib.contextmanager
def engine() -> Iterator[docker.DockerClient]:
    """Yield a connection to Docker, whose errors become `TrainformError`."""
    fix = "`python -m tools.docker_daemon` starts a daemon"
    if docker_daemon.version() is None:
        raise TrainformError("no Docker daemon answers", fix)
    try:
        with contextlib.closing(docker.from_env(timeout=IMPORT_SECONDS)) as client:
            yield client
    except (docker.errors.DockerException, OSError) as error:
        raise TrainformError(f"Docker: {error}", fix) from None


def is_there(name: str) -> bool:
    """Return True if Docker has the image."""
    with engine() as client:
        try:
            client.images.get(name)
        except docker.errors.ImageNotFound:
            return False
    return True


def build(name: str, folder: Path, progress: Progress) -> None:
    """Make the tree of files, and at the end one image of it: an interrupted build leaves no image."""
    if platform.machine() != MACHINE:
        raise NotHereError(
            f"the image's packages are for {MACHINE}, this machine is {platform.machine()}", "use another machine"
        )
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    require(PROGRAMS, log, progress)
    source = source_line(SUITE)
    if source is None:
        raise NotHereError(
            "the image is made of Debian's packages, but this is not Debian", "run it on Debian 12 or later"
        )
    work = partial_folder(folder / "build")
    try:
        with progress.step("[1/3] rehearsal image: packages of PyPI"):
            for command in pip_commands(INPUTS, work):
                # without torch DeepSpeed compiles no operators, for which it would need CUDA
                variables = {**environment(), "PYTHONPATH": str(work / "build"), "DS_BUILD_OPS": "0"}
                run_logged([sys.executable, "-m", "pip", *command], work, variables, log)
            arrange(work / "tree")
        with progress.step("[2/3] rehearsal image: packages of Debian"):
            run_logged(debian_command(INPUTS, work, words(INPUTS / "debian.txt"), source), work, environment(), log)
        with progress.step("[3/3] rehearsal image: into Docker"):
            bring_in(work / "image.tar", name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def arrange(tree: Path) -> None:
    """Move commands to a folder on PATH, make them use the image's Python, and remove what is left out."""
    commands = tree / "usr" / "local" / "bin"
    (tree / SITE / "bin").replace(commands)
    for path in commands.iterdir():
        content = path.read_bytes()
        first, newline, rest = content.partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:
            path.write_bytes(b"#!/usr/bin/python3" + newline + rest)
    for pattern in LEFT_OUT:
        for path in tree.glob(pattern):
            shutil.rmtree(path)


def bring_in(archive: Path, name: str) -> None:
    """Import the tree as one layer. The image has its name only when the import is complete."""
    repository, tag = name.split(":")
    with engine() as client:
        client.api.import_image(src=str(archive), repository=repository, tag=tag, changes=SETTINGS)
    if not is_there(name):
        raise TrainformError(f"Docker did not import {name}", "read the daemon's log; is its disk full?")


def name_for_people(name: str) -> None:
    """Tag the image `latest`, so that `--image trainform-rehearsal` is this image."""
    repository, _ = name.split(":")
    with engine() as client:
        client.images.get(name).tag(repository, "latest")


def remove_others(name: str, progress: Progress) -> None:
    """Remove images of other inputs; those that a container still uses stay."""
    with engine() as client:
        for image in client.images.list(REPOSITORY):
            for other in image.tags:
                if other == name or not TAG.fullmatch(other.removeprefix(f"{REPOSITORY}:")):
                    continue
                try:
                    client.images.remove(other)
                except docker.errors.APIError as error:
                    progress.note(f"{other} stays: {error.explanation}")


def main() -> None:
    """Build the image if it is missing, and print its name."""
    try:
        docker_daemon.ensure(display())
        print(ensure(display()))
    except TrainformError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")


if __name__ == "__main__":
    main()
