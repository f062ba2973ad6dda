"""What the API server or a kubelet refuses in pods as a whole: each rule at its place, and what is right beside it."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.manifests.served.validation import POD_TEMPLATE, mistakes, values

A, B = {"name": "a", "containerPort": 9090}, {"name": "a", "containerPort": 9091}
SLEEP = {"preStop": {"sleep": {"seconds": 120}}}
NODES = {"key": "metadata.name", "operator": "In", "values": ["node-1", "node-2"]}
SELECTS = {"labelSelector": {"matchLabels": {"app": "bert"}}, "matchLabelKeys": ["app"]}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
VOLUMES = [
    {"name": "data", "emptyDir": {}},
    {"name": "more", "emptyDir": {}},
    {"name": "files", "configMap": {"name": "files"}},
]
PORTS = {"name": "net.ipv4.ip_local_port_range", "value": "32768 60999"}
DATA = {"name": "data", "mountPath": "/mnt/data"}


def main(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "python:3.12-slim", **fields}]}


def first(**fields: Any) -> dict[str, Any]:
    return {**main(), "initContainers": [{"name": "first", "image": "python:3.12-slim", **fields}]}


SIDE: dict[str, Any] = {"containerPort": 80}
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 -- not listened on


def with_sidecar(port: dict[str, Any]) -> dict[str, Any]:
    """Two containers, of which the first declares port 80, and the second this one."""
    aside = {"name": "aside", "image": "python:3.12-slim", "ports": [port]}
    return {"containers": [*main(ports=[SIDE])["containers"], aside]}


def kept(**fields: Any) -> dict[str, Any]:
    """A container of the start that runs on beside the others."""
    return {"initContainers": first(restartPolicy="Always", **fields)["initContainers"]}


def whole(resources: dict[str, Any]) -> dict[str, Any]:
    """A pod with these resources as a whole, whose containers ask for 3 cores and 8 GiB together, and have at most 4 cores each."""
    spec = main(resources={"requests": {"cpu": 1}, "limits": {"cpu": 4, "memory": "8Gi"}})
    beside = {
        "name": "beside",
        "image": "python:3.12-slim",
        "restartPolicy": "Always",
        "resources": {"limits": {"cpu": 2}},
    }
    return {**spec, "initContainers": [beside], "resources": resources}


def reads(path: str) -> dict[str, Any]:
    """A variable with this field of the pod."""
    return main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}])


def file(**source: Any) -> dict[str, Any]:
    """A file with what the source says of the pod."""
    sources = [{"downwardAPI": {"items": [{"path": "a", **source}]}}]
    return {"volumes": [*VOLUMES, {"name": "pod", "projected": {"sources": sources}}]}


def node_affinity(terms: list[Any]) -> dict[str, Any]:
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


def pod_affinity(**term: Any) -> dict[str, Any]:
    terms = [{"topologyKey": "zone", **term}]
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def places(spec: dict[str, Any]) -> list[str]:
    template = {"spec": {"volumes": VOLUMES, **main(), **spec}}
    schema = {"$ref": POD_TEMPLATE}
    return [mistake.where for find in (mistakes, values) for mistake in find(template, schema)]


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        (main(ports=[A, B]), "containers.main.ports[1].name"),
        (main(livenessProbe={"exec": {"command": ["true"]}, "successThreshold": 2}), "containers.main.livenessProbe.successThreshold"),
        (main(readinessProbe={"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5}), "containers.main.readinessProbe.terminationGracePeriodSeconds"),
        (main(volumeMounts=[{**DATA, "subPath": "a", "subPathExpr": "b"}]), "containers.main.volumeMounts.data.subPathExpr"),
        (main(volumeMounts=[{**DATA, "mountPropagation": "Bidirectional"}]), "containers.main.volumeMounts.data.mountPropagation"),
        (main(volumeMounts=[{**DATA, "recursiveReadOnly": "Enabled"}]), "containers.main.volumeMounts.data.recursiveReadOnly"),
        (main(volumeMounts=[DATA], volumeDevices=[{"name": "data", "devicePath": "/dev/xvda"}]), "containers.main.volumeDevices"),
        (main(securityContext={"privileged": True, "allowPrivilegeEscalation": False}), "containers.main.securityContext.allowPrivilegeEscalation"),
        (main(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": False}), "containers.main.securityContext.allowPrivilegeEscalation"),
        (main(securityContext={"procMount": "Unmasked"}), "containers.main.securityContext.procMount"),
        ({"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}] * 2}}, "securityContext.sysctls[1].name"),
        ({"hostNetwork": True, "securityContext": {"sysctls": [PORTS]}}, "securityContext.sysctls[0].name"),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{**PORTS, "name": "net/ipv4/tcp_rmem"}]}}, "securityContext.sysctls[0].name"),
        *(({"hostIPC": True, "securityContext": {"sysctls": [{"name": name, "value": "1"}]}}, "securityContext.sysctls[0].name") for name in ("kernel.shm_rmid_forced", "kernel.sem", "fs.mqueue.msg_max")),
        *((whole(given), f"resources.{where}") for given, where in (
            ({"limits": {"cpu": 2}}, "limits.cpu"),  # of a limit alone it is the request too
            ({"requests": {"cpu": "2500m"}, "limits": {"cpu": 4}}, "requests.cpu"),
            ({"requests": {"cpu": 3}, "limits": {"cpu": "3500m"}}, "limits.cpu"),
            ({"limits": {"memory": "8191Mi"}}, "limits.memory"),
        )),
        (reads("metadata.annotations"), "containers.main.env.A.valueFrom.fieldRef.fieldPath"),
        (reads("status.phase"), "containers.main.env.A.valueFrom.fieldRef.fieldPath"),
        (file(fieldRef={"fieldPath": "spec.nodeName"}), "volumes.pod.projected.sources[0].downwardAPI.items[0].fieldRef.fieldPath"),
        (file(resourceFieldRef={"resource": "limits.cpu"}), "volumes.pod.projected.sources[0].downwardAPI.items[0].resourceFieldRef"),
        (main(resources={"limits": {"gpus": 1}}), "containers.main.resources.limits.gpus"),
        (main(resources={"limits": {"nvidia.com/gpu": "500m"}}), "containers.main.resources.limits.nvidia.com/gpu"),
        (main(resources={"limits": {"hugepages-2Mi": "1Gi"}}), "containers.main.resources.limits.hugepages-2Mi"),
        (node_affinity([]), "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"),
        (node_affinity([{"matchFields": [NODES]}]), "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values"),
        ({"topologySpreadConstraints": [{**SPREAD, **SELECTS}]}, "topologySpreadConstraints[0].matchLabelKeys[0]"),
        (pod_affinity(labelSelector={}, matchLabelKeys=["team"], mismatchLabelKeys=["team"]), "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]"),
        (main(lifecycle={"preStop": {"exec": {"command": []}}}), "containers.main.lifecycle.preStop.exec.command"),
        (main(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2), "containers.main.resizePolicy[1]"),
        (first(livenessProbe={"exec": {"command": ["true"]}}), "initContainers.first.livenessProbe"),
        (first(lifecycle={"preStop": {"exec": {"command": ["true"]}}}), "initContainers.first.lifecycle"),
        (main(lifecycle={"stopSignal": "SIGUSR1"}), "containers.main.lifecycle.stopSignal"),
        (first(restartPolicy="Always", lifecycle={"stopSignal": "SIGUSR1"}), "initContainers.first.lifecycle.stopSignal"),
        (main(lifecycle=SLEEP), "containers.main.lifecycle.preStop.sleep.seconds"),
        ({"shareProcessNamespace": True, "hostPID": True}, "shareProcessNamespace"),
        ({"hostUsers": False, "hostIPC": True}, "hostUsers"),
        ({**main(resizePolicy=[{"resourceName": "memory", "restartPolicy": "RestartContainer"}]), "restartPolicy": "Never"}, "containers.main.resizePolicy[0].restartPolicy"),
        ({"preemptionPolicy": "Never"}, "preemptionPolicy"),
        (main(ports=[{"containerPort": 80, "hostPort": 90}, {"containerPort": 81, "hostPort": 90}]), "containers.main.ports[1]"),
        ({**with_sidecar(SIDE), "hostNetwork": True}, "containers.aside.ports[0]"),
        ({**with_sidecar({**SIDE, "hostIP": ANY_ADDRESS}), "hostNetwork": True}, "containers.aside.ports[0]"),
        ({**with_sidecar({**SIDE, "hostPort": 80}), "hostNetwork": True}, "containers.aside.ports[0]"),
        ({**main(ports=[SIDE]), **kept(ports=[SIDE]), "hostNetwork": True}, "containers.main.ports[0]"),
        ({"dnsConfig": {"nameservers": ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]}}, "dnsConfig.nameservers"),
        ({"dnsConfig": {"searches": [f"zone-{number}.example.com" for number in range(33)]}}, "dnsConfig.searches"),
        ({"volumes": [{"name": "data", "emptyDir": {"medium": "memory"}}]}, "volumes.data.emptyDir.medium"),
        *((main(volumeMounts=[{**DATA, "mountPath": path}]), "containers.main.volumeMounts.data.mountPath") for path in ("/", "/usr", "//etc/", "/mnt/../bin", "/proc/data")),
        (main(volumeMounts=[DATA, {"name": "more", "mountPath": "/mnt/data/"}]), "containers.main.volumeMounts.more.mountPath"),
        (main(volumeMounts=[{**DATA, "mountPath": "/files/data"}, {"name": "files", "mountPath": "/files"}]), "containers.main.volumeMounts.data.mountPath"),
        (main(workingDir="app"), "containers.main.workingDir"),
        (main(livenessProbe={"tcpSocket": {"port": "nope"}}), "containers.main.livenessProbe.tcpSocket.port"),
        (main(ports=[{"name": "http", "containerPort": 80}], startupProbe={"httpGet": {"port": "https"}}), "containers.main.startupProbe.httpGet.port"),
        (main(lifecycle={"postStart": {"httpGet": {"port": "nope"}}}), "containers.main.lifecycle.postStart.httpGet.port"),
        ({"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}, "securityContext.runAsNonRoot"),
        ({**first(securityContext={"runAsUser": 1000}), **main(securityContext={"runAsUser": 0}), "securityContext": {"runAsNonRoot": True}}, "securityContext.runAsNonRoot"),
        ({**main(securityContext={"runAsNonRoot": True}), "securityContext": {"runAsUser": 0}}, "containers.main.securityContext.runAsNonRoot"),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_belong_together(spec: dict[str, Any], where: str) -> None:
    assert places(spec) == [f"spec.{where}"]


@pytest.mark.parametrize(
    "spec",
    [
        main(ports=[A, {"containerPort": 80}, {"containerPort": 81}]),
        main(readinessProbe={"exec": {"command": ["true"]}, "successThreshold": 2}),
        main(volumeMounts=[{**DATA, "mountPropagation": "Bidirectional"}], securityContext={"privileged": True}),
        main(volumeMounts=[{**DATA, "recursiveReadOnly": "IfPossible", "readOnly": True}]),
        main(securityContext={"capabilities": {"add": ["IPC_LOCK"]}, "allowPrivilegeEscalation": False}),
        {"hostIPC": True, "securityContext": {"sysctls": [PORTS]}},
        whole({"requests": {"cpu": 3}, "limits": {"cpu": 4, "memory": "8Gi"}}),
        whole({"requests": {"cpu": 3}}),
        *(reads(path) for path in ("status.hostIPs", "metadata.annotations['example.com/a']", "metadata.uid")),
        *(file(fieldRef={"fieldPath": path}) for path in ("metadata.labels", "metadata.labels['a']", "metadata.uid")),
        file(resourceFieldRef={"resource": "limits.cpu", "containerName": "main"}),
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}},
        main(resources={"limits": {"hugepages-2Mi": "1Gi", "memory": "8Gi", "ephemeral-storage": "1Gi", "rdma/hca": "1"}}),
        node_affinity([{"matchFields": [{**NODES, "values": ["node-1"]}]}]),
        first(restartPolicy="Always", startupProbe={"exec": {"command": ["true"]}}),
        {**main(lifecycle={"stopSignal": "SIGUSR1"}), "os": {"name": "linux"}},
        {**main(lifecycle=SLEEP), "terminationGracePeriodSeconds": 120},
        with_sidecar(SIDE),
        {**with_sidecar({**SIDE, "protocol": "UDP"}), "hostNetwork": True},
        {**with_sidecar({**SIDE, "hostIP": "10.0.0.1"}), "hostNetwork": True},
        {**main(ports=[SIDE]), **first(ports=[SIDE]), "containers": main(ports=[SIDE])["containers"], "hostNetwork": True},
        {"hostUsers": False, "shareProcessNamespace": True, **main(securityContext={"procMount": "Unmasked"})},
        {"topologySpreadConstraints": [{**SPREAD, **SELECTS, "matchLabelKeys": ["team"]}]},
        pod_affinity(labelSelector={"matchLabels": {"app": "bert"}}, matchLabelKeys=["team"], mismatchLabelKeys=["app"]),
        main(resizePolicy=[{"resourceName": name, "restartPolicy": "NotRequired"} for name in ("cpu", "memory")]),
        *({"volumes": [{"name": "data", "emptyDir": {"medium": medium}}]} for medium in ("", "Memory", "HugePages-2Mi")),
        main(workingDir="/app"),
        main(ports=[{"name": "http", "containerPort": 80}], readinessProbe={"httpGet": {"port": "http"}}),
        main(livenessProbe={"tcpSocket": {"port": 8080}}),
        main(volumeMounts=[DATA, {"name": "files", "mountPath": "/mnt/data/files"}, {"name": "more", "mountPath": "/etc/data"}]),
        {**main(securityContext={"runAsNonRoot": False}), "securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
        {**main(securityContext={"runAsUser": 1000}), "securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
    ],
    ids=str,
)  # fmt: skip
def test_what_belongs_together(spec: dict[str, Any]) -> None:
    assert places(spec) == []
