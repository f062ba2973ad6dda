"""The pod template of one role, with its volumes and mounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainform import defaults
from trainform.manifests.env import PodConventions, Variable, container_env, env_prefix, expand_own_refs, override_env
from trainform.manifests.manifest import mapping, without_empty
from trainform.manifests.pod_types import Container, ContainerPort, PodSpec, PodTemplate, VolumeMount
from trainform.plan.launch.prepare import KEY_MOUNT
from trainform.plan.model import Checkout, Group, Plan, RolePlan
from trainform.plan.variables import MASKED
from trainform.plan.volumes import Mount
from trainform.spec.layers import merge_patch, named_items
from trainform.spec.quantities import UNLIMITED
from trainform.spec.roles import NodeAffinity, Toleration

# SSH refuses a private key that the group of its owner may read. For a user other than root the kubelet makes the file
# readable for the pod's fsGroup, but its owner is still root, and SSH checks only files that the user owns
# (sshkey_perm_ok).
PRIVATE, EXECUTABLE = 0o400, 0o555


def volume_mounts(plan: Plan, role: RolePlan) -> list[VolumeMount]:
    """Return the mounts of each container of the role's pods."""
    mounts: list[VolumeMount] = [
        without_empty(
            VolumeMount(
                name=mount.volume,
                mountPath=mount.path,
                subPath=mount.sub_path,
                readOnly=True if mount.read_only else None,
            )
        )
        for mount in role.mounts
    ]
    # A file alone, so that those of the image in the same folder stay visible.
    mounts += [
        {"name": defaults.FILES_VOLUME, "mountPath": file.path, "subPath": file.key, "readOnly": True}
        for file in plan.mounted_files
    ]
    if role.shared_memory is not None:
        mounts.append({"name": defaults.SHARED_MEMORY_VOLUME, "mountPath": defaults.SHARED_MEMORY_MOUNT})
    mounts += [{"name": checkout.volume, "mountPath": checkout.git.path} for checkout in role.checkouts]
    if needs_files(role):
        mounts.append({"name": defaults.LAUNCH_VOLUME, "mountPath": defaults.LAUNCH_MOUNT, "readOnly": True})
    if needs_hostfile(plan, role):
        mounts.append({"name": defaults.HOSTFILE, "mountPath": defaults.DEEPSPEED_MOUNT, "readOnly": True})
    if role.ssh and plan.ssh is not None:
        mounts.append({"name": defaults.SSH_VOLUME, "mountPath": plan.ssh.folder, "readOnly": True})
    return mounts


def key_mounts(role: RolePlan) -> dict[str, list[VolumeMount]]:
    """Return the mounts of private keys for checkouts, by the name of the only init container that gets them: the one
    that makes the checkout."""
    mounts: dict[str, list[VolumeMount]] = {}
    for checkout in role.checkouts:
        if checkout.git.key is not None:
            mount: VolumeMount = {
                "name": _key_volume(checkout),
                "mountPath": f"{KEY_MOUNT}/{checkout.step}",
                "readOnly": True,
            }
            mounts.setdefault(checkout.step, []).append(mount)
    return mounts


def needs_files(role: RolePlan) -> bool:
    """Return True if the pods mount the launch files, since one of them starts the pods, keeps them running or runs in
    a step before."""
    return role.reports or bool(role.checkouts or role.in_first_pod)


def needs_hostfile(plan: Plan, role: RolePlan) -> bool:
    """Return True if the pods mount the hostfile at DeepSpeed's default path, so that its launcher, also in a user's
    shell, needs no option."""
    return plan.launcher == "deepspeed" and role.launched


def _key_volume(checkout: Checkout) -> str:
    return f"key-{checkout.volume}"  # no name of a step gives a checkout this volume name


def volumes(plan: Plan, role: RolePlan) -> list[dict[str, Any]]:
    """Return the volumes of the role's pods."""
    found: list[dict[str, Any]] = [{"name": mount.volume, **_source(mount)} for mount in role.mounts]
    if plan.mounted_files:
        found.append({"name": defaults.FILES_VOLUME, "configMap": {"name": plan.user_files, "defaultMode": EXECUTABLE}})
    if role.shared_memory is not None:
        size = None if role.shared_memory == UNLIMITED else role.shared_memory
        folder = without_empty({"medium": "Memory", "sizeLimit": size})
        found.append({"name": defaults.SHARED_MEMORY_VOLUME, "emptyDir": folder})
    found += [{"name": checkout.volume, "emptyDir": {}} for checkout in role.checkouts]
    found += [
        {"name": _key_volume(checkout), "secret": {"secretName": checkout.git.key.name, "defaultMode": PRIVATE}}
        for checkout in role.checkouts
        if checkout.git.key is not None
    ]
    if needs_files(role):
        files = {"name": plan.launch_files, "defaultMode": EXECUTABLE}
        found.append({"name": defaults.LAUNCH_VOLUME, "configMap": files})
        if needs_hostfile(plan, role):
            item = {"key": defaults.HOSTFILE, "path": defaults.HOSTFILE}
            found.append({"name": defaults.HOSTFILE, "configMap": {**files, "defaultMode": 0o444, "items": [item]}})
    if role.ssh and plan.ssh is not None:
        found.append({"name": defaults.SSH_VOLUME, "secret": {"secretName": plan.ssh.secret, "defaultMode": PRIVATE}})
    return found


_SOURCES = {
    "claim": ("persistentVolumeClaim", "claimName"),
    "host_path": ("hostPath", "path"),
    "scratch": ("emptyDir", "sizeLimit"),
    "config_map": ("configMap", "name"),
    "secret": ("secret", "secretName"),
}
"""The type of volume in Kubernetes for each kind of source, and the field of its name, path or size."""


def _source(mount: Mount) -> dict[str, Any]:
    volume_type, field = _SOURCES[mount.kind]
    return {volume_type: {field: mount.source}}


_LISTS_OF_PODS = ("initContainers", "volumes")
_LISTS_OF_CONTAINERS = ("env", "ports", "volumeMounts")
RESTART_POLICIES = {"never": "Never", "on-failure": "OnFailure"}


def pod_template(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> PodTemplate:
    """Return metadata and spec of the group's pods, with the user's merge patch, which `patch_rules` has checked."""
    template = user_template(plan, role, group, conventions)
    return _renamed(conventions.of(role), _with_masked_names(template) if role.reports else template)


def user_template(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> PodTemplate:
    """Return the same as users know it: the main container is called `main` on every operator."""
    conventions = conventions.of(role)
    template: PodTemplate = {
        "metadata": without_empty(
            {"labels": {**role.labels, **own_labels(plan, role, group)}, "annotations": role.annotations}
        ),
        "spec": _pod_spec(plan, role, group, conventions),
    }
    if role.overrides:
        template = _without_empty_lists(merge_patch(_with_empty_lists(template), role.overrides))
    return template


def _with_empty_lists(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template with the lists that it does not have, so that a patch can name what it adds to them."""
    spec = template["spec"]
    containers = [container | _missing(container, _LISTS_OF_CONTAINERS) for container in spec["containers"]]
    return {**template, "spec": {**spec, "containers": containers} | _missing(spec, _LISTS_OF_PODS)}


def _missing(holder: dict[str, Any], fields: Sequence[str]) -> dict[str, list[Any]]:
    return {field: [] for field in fields if field not in holder}


def _without_empty_lists(patched: Any) -> Any:
    """Return the patched template without those that are still empty. A patch may have made anything of it."""
    spec = mapping(mapping(patched).get("spec"))
    containers = spec.get("containers")
    if not isinstance(containers, list) or not named_items(containers):
        return patched
    kept = [_without_empty(container, _LISTS_OF_CONTAINERS) for container in containers]
    return {**patched, "spec": {**_without_empty(spec, _LISTS_OF_PODS), "containers": kept}}


def _without_empty(holder: dict[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in holder.items() if key not in fields or value != []}


def _with_masked_names(template: PodTemplate) -> PodTemplate:
    """Return the template with the names of the main container's variables from Secrets, also those of a patch."""
    main, *others = template["spec"]["containers"]
    env = main.get("env", [])
    names = [variable["name"] for variable in env if "secretKeyRef" in variable.get("valueFrom", ())]
    if not names:
        return template
    main = {**main, "env": [*env, {"name": MASKED, "value": " ".join(names)}]}
    return {**template, "spec": {**template["spec"], "containers": [main, *others]}}


def _renamed(conventions: PodConventions, template: PodTemplate) -> PodTemplate:
    """Return the template with the operator's own names for the main container and its ports."""
    if conventions.container == defaults.MAIN_CONTAINER:
        return template
    containers = [
        _main_container(conventions, container) if container["name"] == defaults.MAIN_CONTAINER else container
        for container in template["spec"]["containers"]
    ]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _main_container(conventions: PodConventions, container: Container) -> Container:
    """Return the main container, and its ports if it has any, under the operator's names."""
    names = conventions.ports
    ports: list[ContainerPort] = [
        {**port, "name": names[port["name"]]} if port.get("name") in names else port
        for port in container.get("ports", [])
    ]
    named: Container = {**container, "name": conventions.container}
    return {**named, "ports": ports} if ports else named


def pod_from_template(
    name: str,
    namespace: str,
    template: dict[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the pod that a controller makes from a template; the given labels and annotations replace those of the
    template."""
    own = template["metadata"]
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {**own.get("labels", {}), **labels},
        "annotations": {**own.get("annotations", {}), **({} if annotations is None else annotations)},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def own_labels(plan: Plan, role: RolePlan, group: Group) -> dict[str, str]:
    """Return labels by which Services select pods, and which distinguish roles and revisions."""
    return {
        **defaults.MANAGED_BY,
        defaults.NAME_LABEL: plan.experiment,
        defaults.ROLE_LABEL: role.name,
        defaults.REVISION_LABEL: plan.revision,
        **({} if group.index is None else {defaults.REPLICA_LABEL: str(group.index)}),
    }


def _pod_spec(plan: Plan, role: RolePlan, group: Group, conventions: PodConventions) -> PodSpec:
    env = container_env(role, group, conventions)
    names = [variable.name for variable in role.env]
    mounts, keys = volume_mounts(plan, role), key_mounts(role)
    return without_empty(
        PodSpec(
            subdomain=plan.rendezvous.service if plan.naming.own_service else None,
            restartPolicy=RESTART_POLICIES[role.restart],
            terminationGracePeriodSeconds=role.grace_seconds,
            activeDeadlineSeconds=None if conventions.job_deadline else plan.max_run_seconds,
            hostNetwork=True if plan.host_network else None,
            # Volcano would set this field, but Pulumi compares literally; pods on the host network need it to resolve
            # Services
            dnsPolicy="ClusterFirstWithHostNet" if plan.host_network else None,
            priorityClassName=plan.priority_class,
            serviceAccountName=plan.service_account,
            securityContext=_security(plan),
            imagePullSecrets=[{"name": name} for name in plan.image_pull_secrets],
            nodeSelector=role.node_selector,
            affinity={} if role.node_affinity is None else _affinity(role.node_affinity),
            tolerations=[_toleration(toleration) for toleration in role.tolerations],
            initContainers=[
                without_empty(
                    Container(
                        name=init.name,
                        image=role.image if init.image is None else init.image,
                        imagePullPolicy=plan.image_pull_policy,
                        command=[
                            *env_prefix([*names, *init.env], conventions),
                            *expand_own_refs(init.command, [*names, *init.env], conventions),
                        ],
                        env=override_env(env, init.env, conventions),
                        securityContext=_container_security(plan, ()),
                        volumeMounts=[*mounts, *keys.get(init.name, [])],
                    )
                )
                for init in role.init
            ],
            containers=[_container(plan, role, group, conventions, env, mounts)],
            volumes=volumes(plan, role),
        )
    )


def _security(plan: Plan) -> dict[str, Any]:
    """Return the security context of the pods. fsGroup makes mounted files readable for a user other than root. Root
    needs no fsGroup, and with one SSH would refuse root's private key, since a group could read it."""
    run_as, profile = plan.run_as, {"seccompProfile": {"type": "RuntimeDefault"}} if plan.restricted else {}
    if run_as is None:
        return profile
    group = run_as.user if run_as.group is None else run_as.group
    user = {"runAsUser": run_as.user, "runAsGroup": group}
    return user | ({} if run_as.user == 0 else {"runAsNonRoot": True, "fsGroup": group}) | profile


def _container_security(plan: Plan, capabilities: Sequence[str]) -> dict[str, Any]:
    """Return the security context of a container that gets these capabilities."""
    added = {"add": list(capabilities)} if capabilities else {}
    if plan.restricted:
        return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], **added}}
    return {"capabilities": added} if added else {}


def _container(
    plan: Plan,
    role: RolePlan,
    group: Group,
    conventions: PodConventions,
    env: list[Variable],
    mounts: list[VolumeMount],
) -> Container:
    names = [variable.name for variable in role.env]
    return without_empty(
        Container(
            name=defaults.MAIN_CONTAINER,
            image=role.image,
            imagePullPolicy=plan.image_pull_policy,
            command=[
                *env_prefix(names, conventions, role.launched),
                *expand_own_refs(role.command, names, conventions),
            ],
            args=expand_own_refs(role.args, names, conventions),
            workingDir=role.working_dir,
            env=env,
            ports=[
                without_empty(
                    ContainerPort(
                        name=port.name,
                        containerPort=port.number,
                        hostPort=port.number if port.host else None,
                        protocol="TCP",
                    )
                )
                for port in group.ports
            ],
            resources=without_empty({"requests": role.resources, "limits": role.limits}),
            securityContext=_container_security(plan, role.capabilities),
            volumeMounts=mounts,
            terminationMessagePolicy=None if role.reports else "FallbackToLogsOnError",
        )
    )


def _affinity(nodes: NodeAffinity) -> dict[str, Any]:
    """Return the affinity of pods to these nodes."""

    def expressions(operator: str, labels: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        return [{"key": key, "operator": operator, "values": values} for key, values in labels.items()]

    required = [*expressions("In", nodes.require), *expressions("NotIn", nodes.avoid)]
    preferred = expressions("In", nodes.prefer)
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": required
        and {"nodeSelectorTerms": [{"matchExpressions": required}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [each]}} for each in preferred
        ],
    }
    return without_empty({"nodeAffinity": without_empty(affinity)})


def _toleration(toleration: Toleration) -> dict[str, Any]:
    fields = toleration.model_dump(exclude={"toleration_seconds"}, exclude_none=True)
    return fields | without_empty({"tolerationSeconds": toleration.toleration_seconds})


PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HANDLERS = (*PROBES, "lifecycle.postStart", "lifecycle.preStop")
"""Probes and hooks, by their places in a container."""
ASKING = ("httpGet", "tcpSocket")
"""The ways to ask at a port."""
