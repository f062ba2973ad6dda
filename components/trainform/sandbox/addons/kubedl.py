"""KubeDL (training.kubedl.io/v1alpha1): jobs with gang scheduling by Volcano. It has no webhooks."""

from __future__ import annotations

from collections.abc import Mapping

from trainform.sandbox.addons.model import AddOn
from trainform.sandbox.api import Api
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.sandbox.ports import LOOPBACK, is_open
from trainform.toolchain.addons import KUBEDL as PART

NAME = "kubedl"


def _arguments(context: Context) -> list[str]:
    # auto: every kind that the API server serves. With all kinds KubeDL (0.5) waits for a CRD of OpenKruise, and ends
    # after two minutes.
    arguments = ["--enable-leader-election=false", "--workloads=auto", "--gang-scheduler-name=volcano"]
    # KubeDL's job queue makes the process crash (0.5): the API server refuses the status of a waiting job (a map that
    # is null), and the first change of the job then has no receiver.
    arguments += ["--feature-gates=JobCoordinator=false"]
    arguments += [f"--controller-metrics-addr={LOOPBACK}:{context.ports[NAME]}"]
    # A second server for the same metrics would listen on all interfaces; without a port KubeDL (0.5) logs an error and
    # continues.
    return [*arguments, "--metrics-addr=-1"]


def _environment(context: Context) -> dict[str, str]:
    # KubeDL connects to the API server before it reads its options.
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
