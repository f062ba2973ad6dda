"""The pod template of one role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.catalog import defaults
from trainform.manifests.env import Operator, container_env, kept_words, override_env, own_words
from trainform.manifests.manifest import without_empty
from trainform.manifests.merge_patch import merge_patch
from trainform.manifests.shape import intact
from trainform.manifests.volumes import key_mounts, volume_mounts, volumes
from trainform.plan.model import Group, Plan, RolePlan
from trainform.spec.roles import Toleration

RESTART_POLICIES = {"never": "Never", "on-failure": "OnFailure"}


def pod_template(plan: Plan, role: RolePlan, group: Group, operator: Operator) -> dict[str, Any]:
    """Metadata and spec of the group's pods, the user's merge patch applied. To the patch the main container is called as everywhere."""
    template = {
        "metadata": without_empty({"labels": pod_labels(plan, role, group), "annotations": role.annotations}),
        "spec": _pod_spec(plan, role, group, operator),
    }
    patched: dict[str, Any] = merge_patch(template, role.overrides)
    return _in_words_of(operator, patched) if is_valid(role, patched) else patched


def is_valid(role: RolePlan, template: dict[str, Any]) -> bool:
    """False if the user's merge patch has left no pod template; the check reports that once, and whoever works on it leaves it as it is."""
    return not role.overrides or intact(template)


def _in_words_of(operator: Operator, template: dict[str, Any]) -> dict[str, Any]:
    """The template with the operator's own names for the main container and its ports."""
    if operator.container == defaults.MAIN_CONTAINER:
        return template
    containers = [
        _called(operator, container) if container["name"] == defaults.MAIN_CONTAINER else container
        for container in template["spec"]["containers"]
    ]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _called(operator: Operator, container: dict[str, Any]) -> dict[str, Any]:
    """The main container; its ports where it has any."""
    ports = [
        {**port, "name": operator.ports.get(port.get("name", ""), port.get("name"))}
        for port in container.get("ports", [])
    ]
    return {**container, "name": operator.container, **({"ports": ports} if ports else {})}


def made_pod(
    name: str,
    namespace: str,
    template: dict[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The pod that a controller makes of a template, whose labels and annotations its own go over."""
    said = template["metadata"]
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {**said.get("labels", {}), **labels},
        "annotations": {**said.get("annotations", {}), **({} if annotations is None else annotations)},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def pod_labels(plan: Plan, role: RolePlan, group: Group) -> dict[str, str]:
    """The user's labels and ours."""
    return {**role.labels, **own_labels(plan, role, group)}


def own_labels(plan: Plan, role: RolePlan, group: Group) -> dict[str, str]:
    """Labels that Services select by, and that tell roles and revisions apart."""
    return {
        **defaults.MANAGED_BY,
        defaults.NAME_LABEL: plan.experiment,
        defaults.ROLE_LABEL: role.name,
        defaults.REVISION_LABEL: plan.revision,
        **({} if group.index is None else {defaults.REPLICA_LABEL: str(group.index)}),
    }


def _pod_spec(plan: Plan, role: RolePlan, group: Group, operator: Operator) -> dict[str, Any]:
    env = container_env(role, group, operator)
    said = [variable.name for variable in role.env]
    mounts, keys = volume_mounts(plan, role), key_mounts(role)
    return without_empty(
        {
            "subdomain": plan.rendezvous.service if plan.naming.own_service else None,
            "restartPolicy": RESTART_POLICIES[role.restart],
            "hostNetwork": True if plan.host_network else None,
            # said although Volcano would fill it in: Pulumi compares literally, and pods on the host network must find Services
            "dnsPolicy": "ClusterFirstWithHostNet" if plan.host_network else None,
            "priorityClassName": plan.priority_class,
            "serviceAccountName": plan.service_account,
            "securityContext": _security(plan),
            "imagePullSecrets": [{"name": name} for name in plan.image_pull_secrets],
            "nodeSelector": role.node_selector,
            "tolerations": [_toleration(toleration) for toleration in role.tolerations],
            "initContainers": [
                without_empty(
                    {
                        "name": init.name,
                        "image": role.image if init.image is None else init.image,
                        "imagePullPolicy": plan.image_pull_policy,
                        "command": [
                            *kept_words([*said, *init.env], operator),
                            *own_words(init.command, [*said, *init.env], operator),
                        ],
                        "env": override_env(env, init.env, operator),
                        "volumeMounts": [*mounts, *keys.get(init.name, [])],
                    }
                )
                for init in role.init
            ],
            "containers": [_container(plan, role, group, operator, env, mounts)],
            "volumes": volumes(plan, role),
        }
    )


def _security(plan: Plan) -> dict[str, Any]:
    """The user of all containers. Files of mounted volumes get the group; root needs none, and SSH refuses its key to anybody but root
    where a group may read it."""
    run_as = plan.run_as
    if run_as is None:
        return {}
    group = run_as.user if run_as.group is None else run_as.group
    root = run_as.user == 0
    return {"runAsUser": run_as.user, "runAsGroup": group} | ({} if root else {"runAsNonRoot": True, "fsGroup": group})


def _container(
    plan: Plan,
    role: RolePlan,
    group: Group,
    operator: Operator,
    env: list[dict[str, Any]],
    mounts: list[dict[str, Any]],
) -> dict[str, Any]:
    resources = {"requests": role.resources, "limits": role.resources} if role.resources else {}
    security = {"capabilities": {"add": list(role.capabilities)}} if role.capabilities else {}
    said = [variable.name for variable in role.env]
    return without_empty(
        {
            "name": defaults.MAIN_CONTAINER,
            "image": role.image,
            "imagePullPolicy": plan.image_pull_policy,
            "command": [*kept_words(said, operator, role.launched), *own_words(role.command, said, operator)],
            "args": own_words(role.args, said, operator),
            "env": env,
            "ports": [
                without_empty(
                    {
                        "name": port.name,
                        "containerPort": port.number,
                        "hostPort": port.number if port.host else None,
                        "protocol": "TCP",
                    }
                )
                for port in group.ports
            ],
            "resources": resources,
            "securityContext": security,
            "volumeMounts": mounts,
        }
    )


def _toleration(toleration: Toleration) -> dict[str, Any]:
    return without_empty(
        {
            "key": toleration.key,
            "operator": toleration.operator,
            "value": toleration.value,
            "effect": toleration.effect,
            "tolerationSeconds": toleration.toleration_seconds,
        }
    )
