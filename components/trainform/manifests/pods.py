"""The pod template of one role."""

from __future__ import annotations

from typing import Any

from trainform.catalog import defaults
from trainform.manifests.manifest import without_empty
from trainform.manifests.merge_patch import merge_patch
from trainform.plan.env import REPLICA_INDEX
from trainform.plan.model import EnvVar, Plan, RolePlan
from trainform.spec.roles import EnvSource, Toleration

RESTART_POLICIES = {"never": "Never", "on-failure": "OnFailure"}


def pod_template(plan: Plan, role: RolePlan, index_field: str) -> dict[str, Any]:
    """Metadata and spec of the role's pods, the user's merge patch applied.

    `index_field`: where the downward API finds a pod's index in its role; each operator has its own label for it.
    """
    template = {
        "metadata": without_empty({"labels": pod_labels(plan, role), "annotations": role.annotations}),
        "spec": _pod_spec(plan, role, index_field),
    }
    patched: dict[str, Any] = merge_patch(template, role.overrides)
    return patched


def pod_labels(plan: Plan, role: RolePlan) -> dict[str, str]:
    """The user's labels and ours."""
    return {**role.labels, **role_labels(plan, role)}


def role_labels(plan: Plan, role: RolePlan) -> dict[str, str]:
    """Labels that Services select by, and that tell roles and revisions apart."""
    return {
        **defaults.MANAGED_BY,
        defaults.NAME_LABEL: plan.experiment,
        defaults.ROLE_LABEL: role.name,
        defaults.REVISION_LABEL: plan.revision,
    }


def _pod_spec(plan: Plan, role: RolePlan, index_field: str) -> dict[str, Any]:
    env = [*map(env_entry, role.env), *_index_env(role, index_field)]
    mounts = _volume_mounts(role)
    return without_empty(
        {
            "subdomain": plan.rendezvous.service,
            "restartPolicy": RESTART_POLICIES[role.restart],
            "hostNetwork": True if plan.host_network else None,
            # said although Volcano would fill it in: Pulumi compares literally, and pods on the host network must find Services
            "dnsPolicy": "ClusterFirstWithHostNet" if plan.host_network else None,
            "priorityClassName": plan.priority_class,
            "serviceAccountName": plan.service_account,
            "imagePullSecrets": [{"name": name} for name in plan.image_pull_secrets],
            "nodeSelector": role.node_selector,
            "tolerations": [_toleration(toleration) for toleration in role.tolerations],
            "initContainers": [
                without_empty(
                    {
                        "name": init.name,
                        "image": role.image if init.image is None else init.image,
                        "imagePullPolicy": plan.image_pull_policy,
                        "command": init.command,
                        "env": _override_env(env, init.env),
                        "volumeMounts": mounts,
                    }
                )
                for init in role.init
            ],
            "containers": [_container(plan, role, env, mounts)],
            "volumes": _volumes(plan, role),
        }
    )


def _container(plan: Plan, role: RolePlan, env: list[dict[str, Any]], mounts: list[dict[str, Any]]) -> dict[str, Any]:
    resources = {"requests": role.resources, "limits": role.resources} if role.resources else {}
    security = {"capabilities": {"add": list(role.capabilities)}} if role.capabilities else {}
    return without_empty(
        {
            "name": defaults.MAIN_CONTAINER,
            "image": role.image,
            "imagePullPolicy": plan.image_pull_policy,
            "command": list(role.command),
            "args": list(role.args),
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
                for port in role.ports
            ],
            "resources": resources,
            "securityContext": security,
            "volumeMounts": mounts,
        }
    )


def env_entry(variable: EnvVar) -> dict[str, Any]:
    """One entry of a container's `env`."""
    return {"name": variable.name, **_env_value(variable.value)}


def _env_value(value: str | EnvSource) -> dict[str, Any]:
    if isinstance(value, str):
        # the API server leaves an empty value out, and Pulumi would see a change at every preview
        return {"value": value} if value else {}
    if value.secret is not None:
        return {"valueFrom": {"secretKeyRef": {"name": value.secret.name, "key": value.secret.key}}}
    if value.config_map is not None:
        return {"valueFrom": {"configMapKeyRef": {"name": value.config_map.name, "key": value.config_map.key}}}
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": value.field}}}


def _index_env(role: RolePlan, index_field: str) -> list[dict[str, Any]]:
    if not role.ranked:
        return []
    return [{"name": REPLICA_INDEX, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": index_field}}}]


def _override_env(env: list[dict[str, Any]], further: dict[str, str | EnvSource]) -> list[dict[str, Any]]:
    """The container's env for an init container, with its own variables in place of those of the same name."""
    return [
        *(entry for entry in env if entry["name"] not in further),
        *({"name": name, **_env_value(value)} for name, value in further.items()),
    ]


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


def _volume_mounts(role: RolePlan) -> list[dict[str, Any]]:
    mounts = [
        without_empty(
            {
                "name": mount.volume,
                "mountPath": mount.path,
                "subPath": mount.sub_path,
                "readOnly": True if mount.read_only else None,
            }
        )
        for mount in role.mounts
    ]
    if role.shared_memory is not None:
        mounts.append({"name": defaults.SHARED_MEMORY_VOLUME, "mountPath": defaults.SHARED_MEMORY_MOUNT})
    if role.ranked:
        mounts.append({"name": defaults.LAUNCH_VOLUME, "mountPath": defaults.LAUNCH_MOUNT, "readOnly": True})
    return mounts


def _volumes(plan: Plan, role: RolePlan) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [
        {"name": mount.volume, "persistentVolumeClaim": {"claimName": mount.claim}} for mount in role.mounts
    ]
    if role.shared_memory is not None:
        volumes.append(
            {"name": defaults.SHARED_MEMORY_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": role.shared_memory}}
        )
    if role.ranked:
        volumes.append(
            {"name": defaults.LAUNCH_VOLUME, "configMap": {"name": plan.launch_script, "defaultMode": 0o555}}
        )
    return volumes
