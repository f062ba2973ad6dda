"""The SSH identity and the Services of single replicas."""

from __future__ import annotations

from trainform.plan.launch.launch import ssh_folder
from trainform.plan.layout import Layout, service_name
from trainform.plan.model import ReplicaService, SshPlan
from trainform.spec.ssh import Ssh


def plan_ssh(layout: Layout) -> SshPlan | None:
    """The identity that the job's pods share, None where no role has one."""
    experiment = layout.experiment
    roles = layout.ssh_roles
    if not roles:
        return None
    settings = Ssh() if experiment.ssh is None else experiment.ssh
    return SshPlan(
        secret=f"{experiment.name}-ssh" if settings.secret is None else settings.secret,
        made=settings.secret is None,
        rotation=settings.rotation,
        folder=ssh_folder(experiment),
        port=layout.ssh_port,
        ports=layout.ssh_ports(),
        roles=roles,
    )


def plan_services(layout: Layout) -> tuple[ReplicaService, ...]:
    """With `network.addresses: service` a Service for each ranked replica that listens on any port; otherwise none."""
    experiment = layout.experiment
    if experiment.network.addresses != "service":
        return ()
    return tuple(
        ReplicaService(f"{service_name(experiment.name, name)}-{index}", name, index, ports)
        for name, role in experiment.roles.items()
        if role.ranked
        for index in range(role.replicas)
        if (
            ports := tuple(
                (port.name, layout.peer_port(name, index, port.name), port.number)
                for port in layout.own_ports(name, index)
            )
        )
    )
