"""The tool chain as a whole, and the environment in which it is used."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from trainform.progress import SILENT, Progress
from trainform.toolchain import pulumi
from trainform.toolchain.build import build_parts
from trainform.toolchain.cache import toolchain_folder
from trainform.toolchain.golang import COLLECT_AT
from trainform.toolchain.model import ControlPlane, PulumiTools, Toolchain
from trainform.toolchain.oserrors import toolchain_edge
from trainform.toolchain.parts import CONTROL_PLANE_PARTS


@toolchain_edge
def ensure(progress: Progress = SILENT) -> Toolchain:
    """Everything, made where it is missing. Takes a few milliseconds and no process when all is there."""
    return Toolchain(pulumi.ensure_pulumi(progress, CONTROL_PLANE_PARTS), ensure_control_plane(progress))


@toolchain_edge
def ensure_pulumi(progress: Progress = SILENT) -> PulumiTools:
    """Pulumi alone: all that a user with a cluster needs."""
    return pulumi.ensure_pulumi(progress)


@toolchain_edge
def ensure_control_plane(progress: Progress = SILENT) -> ControlPlane:
    """The sandbox's components; always built, since no system has exactly these."""
    pulumi.chosen_origins()  # a wrong TRAINFORM_TOOLCHAIN is told before ten minutes of building
    folder = toolchain_folder()
    build_parts(CONTROL_PLANE_PARTS, folder, progress)
    return control_plane_in(folder)


def control_plane_in(folder: Path) -> ControlPlane:
    """The finished parts of one tool chain's folder."""
    return ControlPlane(
        binaries={name: folder / part.folder / "bin" / name for part in CONTROL_PLANE_PARTS for name in part.binaries},
        crds=tuple(sorted(folder.glob("controlplane/crds/*.yaml"))),
        stages=tuple(sorted(folder.glob("kwok/stages/*.yaml"))),
    )


def environment(tools: PulumiTools) -> dict[str, str]:
    """The variables with which `pulumi` and what it starts find these tools, and no others."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("pulumi", path=path) != str(tools.bin / "pulumi"):
        path = f"{tools.bin}{os.pathsep}{path}"
    return {
        "PATH": path,
        "PULUMI_HOME": str(tools.home),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "GOGC": os.environ.get("GOGC", COLLECT_AT),
    }
