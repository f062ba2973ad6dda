"""The scheduler of Kubernetes, for pods that name no scheduler (JobSets, and jobs that Kueue admits): Volcano does not
place them."""

from __future__ import annotations

from collections.abc import Mapping

from trainform.sandbox.addons.model import AddOn
from trainform.sandbox.api import Api
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.sandbox.ports import LOOPBACK, is_open
from trainform.toolchain.addons import KUBE_SCHEDULER as PART

NAME = "kube-scheduler"


def _arguments(context: Context) -> list[str]:
    files, kubeconfig = context.certificates, context.layout.kubeconfig
    arguments = [f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}"]
    arguments += [f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--profiling=false"]
    arguments += [f"--bind-address={LOOPBACK}", f"--secure-port={context.ports[NAME]}"]
    return [*arguments, f"--tls-cert-file={files.server}", f"--tls-private-key-file={files.server_key}"]


def _ready(api: Api, ports: Mapping[str, int]) -> bool:
    return is_open(ports[NAME])


SCHEDULER = AddOn(
    name="kube-scheduler",
    part=PART,
    component=Component(NAME, "kube-scheduler", LAST_WAVE, _arguments, NAME),
    ports=(NAME,),
    ready=_ready,
)
