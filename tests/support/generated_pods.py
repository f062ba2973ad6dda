"""Pods for the Pod Security Standards: good ones, with fields changed to values from inside and outside the lists, null
or absent.

What the server's validation refuses for other reasons than the standards is mostly avoided: such a pod would prove
nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Pod = dict[str, Any]

PROFILES = [
    None,
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "profiles/own.json"},
    {"type": "Unconfined"},
]
SELINUX = [
    None, {}, {"type": ""}, {"type": None}, {"type": "container_t"}, {"type": "container_init_t"},
    {"type": "container_kvm_t"},
    {"type": "container_engine_t"}, {"type": "spc_t"}, {"type": "Container_t"}, {"user": "system_u"}, {"user": ""},
    {"role": "system_r"},
    {"role": None, "level": "s0:c123,c456"}, {"user": "system_u", "role": "system_r", "type": "spc_t"},
]  # fmt: skip
CAPABILITIES: list[Any] = [
    None, {}, {"add": None}, {"add": []}, {"add": ["NET_BIND_SERVICE"]}, {"add": ["CHOWN", "KILL"]},
    {"add": ["SYS_CHROOT"]}, {"add": ["NET_RAW"]},
    {"add": ["IPC_LOCK"]}, {"add": ["NET_BIND_SERVICE", "SYS_ADMIN"]}, {"add": ["SYS_ADMIN", "CHOWN"]},
    {"add": ["chown"]}, {"add": ["CAP_CHOWN"]},
    {"add": ["ALL"]}, {"drop": None}, {"drop": ["ALL"]}, {"drop": ["all"]}, {"drop": ["NET_RAW"]},
    {"drop": ["NET_RAW", "ALL"]},
    {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, {"drop": ["ALL"], "add": ["CHOWN"]},
    {"drop": ["ALL"], "add": ["IPC_LOCK"]},
]  # fmt: skip
HOST_PROCESS = [None, {}, {"hostProcess": None}, {"hostProcess": False}, {"hostProcess": True}]
YES_NO = [None, False, True]
USERS = [None, 0, 1, 1000]
SYSCTLS = [
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem", "kernel.msgmax",
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog", "fs.mqueue.msg_max", "net.ipv4.conf.all.forwarding", "net/ipv4/tcp_rmem",
]  # fmt: skip
ACTIONS = [
    {"httpGet": {"port": 80}}, {"httpGet": {"port": 80, "host": ""}}, {"httpGet": {"port": 80, "host": None}},
    {"httpGet": {"port": 80, "host": "10.0.0.1"}},
    {"tcpSocket": {"port": 80}}, {"tcpSocket": {"port": 80, "host": "metadata.internal"}},
    {"exec": {"command": ["true"]}},
]  # fmt: skip
VOLUMES: list[Any] = [
    {}, {"emptyDir": {}}, {"emptyDir": None}, {"emptyDir": {"medium": "Memory"}}, {"configMap": {"name": "one"}},
    {"secret": {"secretName": "one"}},
    {"downwardAPI": {}}, {"projected": {"sources": []}}, {"persistentVolumeClaim": {"claimName": "one"}},
    {"csi": {"driver": "csi.example.com"}},
    {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}}}}}},
    {"image": {"reference": "registry.example.com/data:1"}}, {"hostPath": {"path": "/data"}},
    {"hostPath": {"path": "/", "type": "Directory"}},
    {"hostPath": None}, {"nfs": {"server": "nfs.example.com", "path": "/data"}}, {"nfs": None},
    {"gcePersistentDisk": {"pdName": "one"}},
    {"awsElasticBlockStore": {"volumeID": "vol-1"}}, {"gitRepo": {"repository": "https://git.example.com/a.git"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}},
    {"glusterfs": {"endpoints": "one", "path": "/v"}},
    {"rbd": {"monitors": ["10.0.0.1:6789"], "image": "one"}}, {"flexVolume": {"driver": "example.com/driver"}},
    {"cinder": {"volumeID": "one"}},
    {"cephfs": {"monitors": ["10.0.0.1:6789"]}}, {"flocker": {"datasetName": "one"}},
    {"fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0}},
    {"azureFile": {"secretName": "one", "shareName": "one"}},
    {"azureDisk": {"diskName": "one", "diskURI": "https://example.com/one.vhd"}},
    {"vsphereVolume": {"volumePath": "[store] one.vmdk"}}, {"quobyte": {"registry": "10.0.0.1:7861", "volume": "one"}},
    {"portworxVolume": {"volumeID": "one"}}, {"photonPersistentDisk": {"pdID": "one"}},
    {"storageos": {"volumeName": "one", "volumeNamespace": "one"}},
    {"scaleIO": {"gateway": "https://10.0.0.1", "system": "one", "secretRef": {"name": "one"}, "volumeName": "one"}},
]  # fmt: skip
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

# Values of fields, by the path in the pod's spec and in a container. `...`: the field is removed.
OF_BOTH: dict[str, list[Any]] = {
    "securityContext.appArmorProfile": PROFILES,
    "securityContext.seLinuxOptions": SELINUX,
    "securityContext.seccompProfile": [*PROFILES, ...],
    "securityContext.runAsNonRoot": [*YES_NO, ...],
    "securityContext.runAsUser": USERS,
    "securityContext.windowsOptions": HOST_PROCESS,
}
OF_POD: dict[str, list[Any]] = {
    "hostNetwork": YES_NO,
    "hostPID": YES_NO,
    "hostIPC": YES_NO,
    "os": [None, {"name": "linux"}],
    "volumes": [None, [], *([{"name": "data", **source}] for source in VOLUMES)],
    "securityContext": [None, {}, ...],
    **OF_BOTH,
    "securityContext.sysctls": [None, [], *([{"name": name, "value": "1"}] for name in SYSCTLS)],
}
OF_SECURITY: dict[str, list[Any]] = {
    "securityContext": [None, {}, ...],
    "securityContext.privileged": YES_NO,
    "securityContext.allowPrivilegeEscalation": [*YES_NO, ...],
    "securityContext.capabilities": [*CAPABILITIES, ...],
    "securityContext.procMount": [None, "Default", "Unmasked"],
    **OF_BOTH,
}
OF_CONTAINER: dict[str, list[Any]] = {
    **OF_SECURITY,
    "ports": [None, [], [{"containerPort": 80}], [{"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80, "hostPort": 0}],
              [{"containerPort": 80, "hostPort": None}, {"containerPort": 81, "hostPort": 81}]],
    **{f"{probe}Probe": [None, *ACTIONS] for probe in ("liveness", "readiness", "startup")},
    "lifecycle": [None, *({handler: action} for handler in ("postStart", "preStop") for action in [None, *ACTIONS])],
}  # fmt: skip

HARDENED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
OF_LEVEL = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def container(name: str, **security: Any) -> dict[str, Any]:
    """Return a container that the level `restricted` allows, if its pod sets `OF_LEVEL` or it does itself."""
    return {
        "name": name,
        "image": "registry.example.com/app:1",
        "securityContext": {**copy.deepcopy(HARDENED), **security},
    }


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at the path; `...` removes it."""
    *above, last = path.split(".")
    for key in above:
        if not isinstance(data.get(key), dict):
            data[key] = {}
        data = data[key]
    data.pop(last, None) if value is ... else data.update({last: copy.deepcopy(value)})


def _repair(spec: dict[str, Any], every: list[dict[str, Any]]) -> None:
    """What the server's validation wants of fields together."""
    contexts = [security for each in every if isinstance(security := each.get("securityContext"), dict)]
    if any(security.get("procMount") == "Unmasked" for security in contexts):
        spec["hostUsers"] = False
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            spec.pop(field, None)
    for security in contexts:
        if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
            del security["allowPrivilegeEscalation"]
    of_pod = spec.get("securityContext")
    holders = [*contexts, *([of_pod] if isinstance(of_pod, dict) else [])]
    if any((security.get("windowsOptions") or {}).get("hostProcess") for security in holders):
        for security in contexts:
            security.pop("windowsOptions", None)
        put(spec, "securityContext.windowsOptions", {"hostProcess": True})
        spec["hostNetwork"] = True
        if (spec.get("os") or {}).get("name") == "linux":
            del spec["os"]
    elif (spec.get("os") or {}).get("name") == "linux":
        for security in holders:
            security.pop("windowsOptions", None)
    if spec.get("hostNetwork") and isinstance(of_pod, dict):
        of_pod.pop("sysctls", None)
    for port, each in enumerate(every):  # no two containers have a port of the node
        for number, item in enumerate(each.get("ports") or []):
            item["containerPort"] = 80 + 10 * port + number
            if item.get("hostPort"):
                item["hostPort"] = item["containerPort"]


def single_changes() -> Iterator[Pod]:
    """Yield a pod for every value of every field, with which it differs from a good one."""
    for of_pod, fields in ((True, OF_POD), (False, OF_CONTAINER)):
        for path, values in fields.items():
            for value in values:
                spec: dict[str, Any] = {"containers": [container("main")], "securityContext": copy.deepcopy(OF_LEVEL)}
                put(spec if of_pod else spec["containers"][0], path, value)
                _repair(spec, spec["containers"])
                yield {"metadata": {}, "spec": spec}
