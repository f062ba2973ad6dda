"""Patches of pods that the API server would refuse: each with its place, and how the fix begins."""

from __future__ import annotations

from typing import Any


def in_main(**fields: Any) -> dict[str, Any]:
    return {"containers": {"main": fields}}


WRONG: list[tuple[dict[str, Any], str, str]] = [
    # fields that do not exist
    ({"nodeSelecter": {"pool": "a"}}, "nodeSelecter", "write nodeSelector, or remove it"),
    (in_main(workingdir="/app"), "containers.main.workingdir", "write workingDir, or remove it"),
    (in_main(gpus=8), "containers.main.gpus", "remove it; there are args, command"),
    ({"ephemeralContainers": []}, "ephemeralContainers", "write containers, or remove it"),
    # wrong types
    ({"terminationGracePeriodSeconds": "soon"}, "terminationGracePeriodSeconds", "write a whole number"),
    ({"terminationGracePeriodSeconds": -1}, "terminationGracePeriodSeconds", "write 0 or more"),
    ({"activeDeadlineSeconds": 2**31}, "activeDeadlineSeconds", "write 2147483647 or less"),
    ({"hostIPC": "no"}, "hostIPC", "write true or false"),
    (in_main(env=[{"name": "A", "value": 1}]), "containers.main.env.A.value", "write it in quotes"),
    (in_main(ports=[{"containerPort": 70_000}]), "containers.main.ports[0].containerPort", "write 65535 or less"),
    (in_main(resources={"limits": {"memory": "64 GB"}}), "containers.main.resources.limits.memory", ""),
    # words
    ({"restartPolicy": "ExitCode"}, "restartPolicy", "write one of Always, Never, OnFailure"),
    ({"dnsPolicy": "Foo"}, "dnsPolicy", "write one of ClusterFirst, "),
    ({"dnsPolicy": "clusterfirst"}, "dnsPolicy", "write ClusterFirst"),
    (in_main(imagePullPolicy="always"), "containers.main.imagePullPolicy", "write Always"),
    ({"tolerations": [{"operator": "Exist"}]}, "tolerations[0].operator", "write Exists"),
    ({"dnsConfig": {"searches": ["1Gi"]}}, "dnsConfig.searches[0]", "write it like training.svc.cluster.local"),
    ({"serviceAccount": "1Gi"}, "serviceAccount", "use lower-case letters"),
    # what belongs together
    ({"containers": []}, "containers.main", "patch a container by its name"),
    ({"containers": {"main": None}}, "containers.main", "patch a container by its name"),
    (in_main(resources={"requests": {"cpu": "8"}, "limits": {"cpu": "4"}}), "containers.main.resources.requests.cpu", "write the limit or less"),
    (in_main(volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}]), "containers.main.volumeMounts.scratch", "add it to `volumes`"),
    ({"volumes": {"data": {"emptyDir": {}}}}, "volumes.data.emptyDir", "keep one of them"),
    ({"volumes": {"scratch": {"configMap": {}}}}, "volumes.scratch.configMap.name", "add it"),
    (in_main(livenessProbe={"periodSeconds": 5}), "containers.main.livenessProbe", "add one of exec, grpc, httpGet, tcpSocket"),
    ({"tolerations": [{"effect": "NoExecute"}]}, "tolerations[0].operator", "add `key`, or write `operator: Exists`"),
    ({"nodeSelector": {"bad key": "x"}}, "nodeSelector.bad key", "write name or domain/name"),
    ({"tolerations": [{"key": "a b", "operator": "Exists"}]}, "tolerations[0].key", "write name or domain/name"),
    ({"containers": {"a.b": {"image": "a"}}}, "containers.a.b.name", ""),
    ({"volumes": {"A_b": {"emptyDir": {}}}}, "volumes.A_b.name", ""),
    (in_main(resources={"limits": {"gpu": 1}}), "containers.main.resources.limits.gpu", "write its whole name"),
    (in_main(resources={"limits": {"hugepages-2Mi": "1Gi"}}), "containers.main.resources.limits.hugepages-2Mi", "add `memory`"),
    (in_main(resources={"limits": {"hugepages-2Mi": "1Gi", "cpu": 1}, "requests": {"hugepages-2Mi": "512Mi"}}), "containers.main.resources.requests.hugepages-2Mi", "write the same amount"),
    (in_main(livenessProbe={"exec": {}}), "containers.main.livenessProbe.exec.command", "add it"),
    (in_main(livenessProbe={"exec": {"command": ["true"]}, "successThreshold": 2}), "containers.main.livenessProbe.successThreshold", "write 1"),
    (in_main(livenessProbe={"grpc": {"port": 0}}), "containers.main.livenessProbe.grpc.port", "write 1 or more"),
    (in_main(livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}), "containers.main.livenessProbe.httpGet.httpHeaders.a b.name", ""),
    (in_main(readinessProbe={"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5}), "containers.main.readinessProbe.terminationGracePeriodSeconds", "remove it"),
    (in_main(lifecycle={"preStop": {"sleep": {"seconds": 100}}}), "containers.main.lifecycle.preStop.sleep.seconds", "write 30 or less"),
    (in_main(volumeMounts={"data": {"subPath": "a", "subPathExpr": "b"}}), "containers.main.volumeMounts.data.subPathExpr", "keep one"),
    (in_main(volumeMounts={"data": {"subPathExpr": "../a"}}), "containers.main.volumeMounts.data.subPathExpr", ""),
    (in_main(volumeMounts={"data": {"mountPropagation": "Bidirectional"}}), "containers.main.volumeMounts.data.mountPropagation", "remove it, or write HostToContainer"),
    (in_main(volumeMounts={"data": {"recursiveReadOnly": "Enabled"}}), "containers.main.volumeMounts.data.recursiveReadOnly", "add `readOnly: true`"),
    ({"initContainers": [{"name": "a", "image": "a", "lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}]}, "initContainers.a.lifecycle", "remove it"),
    ({"containers": {"exporter": {"image": "a", "restartPolicy": "Always"}}}, "containers.exporter.restartPolicy", "remove it; a sidecar that ends with the others stands in `initContainers`"),
    (in_main(restartPolicy="OnFailure"), "containers.main.restartPolicy", "remove it; a sidecar"),
    ({"initContainers": [{"name": "a", "image": "a", "restartPolicy": "OnFailure"}]}, "initContainers.a.restartPolicy", "write Always, or remove it"),
    (in_main(lifecycle={"stopSignal": "SIGUSR1"}), "containers.main.lifecycle.stopSignal", "add `os: {name: linux}` to the pod"),
    ({"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}}, "securityContext.sysctls[0].name", "remove it, and have the nodes set it"),
    (in_main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]), "containers.main.env.A.valueFrom.fieldRef.fieldPath", "write one of metadata.name, "),
    ({"volumes": {"more": {"downwardAPI": {"items": [{"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}]}}}}, "volumes.more.downwardAPI.items[0].fieldRef.fieldPath", "write one of metadata.name, "),
    ({"volumes": {"more": {"downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {"resource": "limits.cpu"}}]}}}}, "volumes.more.downwardAPI.items[0].resourceFieldRef", "add `containerName: main`"),
    ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
     "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "add a term"),
    ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "", "labelSelector": {}}]}}},
     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", ""),
    ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "ScheduleAnyway"}]}, "topologySpreadConstraints[0].topologyKey", ""),
    ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["app"]}]}}},
     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]", "remove one of them"),
    (in_main(livenessProbe={"exec": {"command": []}}), "containers.main.livenessProbe.exec.command", "write 1 item or more"),
    (in_main(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2), "containers.main.resizePolicy[1]", "remove one of them"),
    ({"dnsConfig": {"nameservers": [f"10.0.0.{last}" for last in range(4)]}}, "dnsConfig.nameservers", "write 3 items or less"),
    ({"hostAliases": [{"ip": "999.1.1.1", "hostnames": ["a"]}]}, "hostAliases[0].ip", "write it like"),
    ({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["A_b"]}]}, "hostAliases[0].hostnames[0]", ""),
    ({"securityContext": {"supplementalGroups": [-1]}}, "securityContext.supplementalGroups[0]", "write 0 or more"),
    ({"volumes": {"scratch": {"ephemeral": {}}}}, "volumes.scratch.ephemeral.volumeClaimTemplate", "add it"),
    ({"os": {"name": "windows"}}, "os.name", "remove it"),
    ({"resources": {"limits": {"cpu": 1}}} | in_main(resources={"requests": {"cpu": 2}}), "resources.limits.cpu", "write 2 or more"),
    ({"preemptionPolicy": "Never"}, "preemptionPolicy", "remove it, and set a priority class"),
    ({"overhead": {"cpu": 1}}, "overhead", "remove it, and set runtimeClassName"),
]  # fmt: skip
