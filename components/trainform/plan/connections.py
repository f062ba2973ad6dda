"""The SSH identity and the Services of single replicas."""

from __future__ import annotations

from trainform.plan.launch import ssh_folder
from trainform.plan.layout import Layout, service_name
from trainform.plan.model import ReplicaService, SshPlan
from trainform.spec.ssh import Ssh


def plan_ssh(layout: Layout) -> SshPlan | None:
    """The identity that the job's pods share, None where no role has one."""
    experiment = layout.experiment
    roles = layout.ssh_roles
    if not roles:
        return None
    said = Ssh() if experiment.ssh is None else experiment.ssh
    return SshPlan(
        secret=f"{experiment.name}-ssh" if said.secret is None else said.secret,
        made=said.secret is None,
        rotation=said.rotation,
        folder=ssh_folder(experiment),
        port=layout.ssh_port,
        ports=layout.ssh_ports(),
        roles=roles,
    )


def plan_services(layout: Layout) -> tuple[ReplicaService, ...]:
    """A Service for every ranked replica that listens on anything, where peers name each other so."""
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
                (port.name, layout.called_at(name, index, port.name), port.number)
                for port in layout.own_ports(name, index)
            )
        )
    )
