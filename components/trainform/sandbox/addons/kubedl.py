"""KubeDL (training.kubedl.io/v1alpha1): its jobs, with Volcano's gangs. It has no webhooks."""

from __future__ import annotations

from collections.abc import Mapping

from trainform.sandbox.addons.model import AddOn
from trainform.sandbox.api import Api
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.sandbox.ports import LOOPBACK, is_open
from trainform.toolchain.addons import KUBEDL as PART

NAME = "kubedl"


def _arguments(context: Context) -> list[str]:
    # Every kind that the API server knows. With all of them it waits for one of OpenKruise, and ends after two minutes (0.5).
    arguments = ["--enable-leader-election=false", "--workloads=auto", "--gang-scheduler-name=volcano"]
    # Its job queue ends the process: the API server refuses the status of a waiting job (a map that is null), and the job's first
    # change then finds nobody to tell (0.5).
    arguments += ["--feature-gates=JobCoordinator=false"]
    arguments += [f"--controller-metrics-addr={LOOPBACK}:{context.ports[NAME]}"]
    # Its second server for the same numbers listens on every interface; with no port it says so in the log and goes on (0.5).
    return [*arguments, "--metrics-addr=-1"]


def _environment(context: Context) -> dict[str, str]:
    # It asks the API server before it reads its options.
    return {"KUBECONFIG": str(context.layout.kubeconfig)}


def _ready(api: Api, ports: Mapping[str, int]) -> bool:
    return is_open(ports[NAME])


KUBEDL = AddOn(
    name="kubedl",
    part=PART,
    component=Component(NAME, "kubedl", LAST_WAVE, _arguments, NAME, _environment),
    ports=(NAME,),
    ready=_ready,
)
