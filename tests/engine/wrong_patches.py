"""Patches of pods that are wrong in some way, by number; most of them the API server would refuse."""

from __future__ import annotations

from typing import Any


def in_main(**fields: Any) -> dict[str, Any]:
    return {"containers": {"main": fields}}


WRONG: list[dict[str, Any]] = [
    {"nodeSelecter": {"pool": "a"}},
    in_main(workingdir="/app"),
    in_main(gpus=8),
    {"ephemeralContainers": []},
    {"terminationGracePeriodSeconds": "soon"},
    {"terminationGracePeriodSeconds": -1},
    {"activeDeadlineSeconds": 2**31},
    {"hostIPC": "no"},
    in_main(env=[{"name": "A", "value": 1}]),
    in_main(ports=[{"containerPort": 70_000}]),
    in_main(resources={"limits": {"memory": "64 GB"}}),
    {"restartPolicy": "ExitCode"},
    {"dnsPolicy": "Foo"},
    {"dnsPolicy": "clusterfirst"},
    in_main(imagePullPolicy="always"),
    {"tolerations": [{"operator": "Exist"}]},
    {"dnsConfig": {"searches": ["1Gi"]}},
    {"serviceAccount": "1Gi"},
    {"containers": []},
    {"containers": {"main": None}},
    in_main(resources={"requests": {"cpu": "8"}, "limits": {"cpu": "4"}}),
    in_main(volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}]),
    {"volumes": {"data": {"emptyDir": {}}}},
    {"volumes": {"scratch": {"configMap": {}}}},
    in_main(livenessProbe={"periodSeconds": 5}),
    {"tolerations": [{"effect": "NoExecute"}]},
    {"nodeSelector": {"bad key": "x"}},
    {"tolerations": [{"key": "a b", "operator": "Exists"}]},
    {"containers": {"a.b": {"image": "a"}}},
    {"volumes": {"A_b": {"emptyDir": {}}}},
    in_main(resources={"limits": {"gpu": 1}}),
    in_main(resources={"limits": {"hugepages-2Mi": "1Gi"}}),
    in_main(resources={"limits": {"hugepages-2Mi": "1Gi", "cpu": 1}, "requests": {"hugepages-2Mi": "512Mi"}}),
    in_main(livenessProbe={"exec": {}}),
    in_main(livenessProbe={"exec": {"command": ["true"]}, "successThreshold": 2}),
    in_main(livenessProbe={"grpc": {"port": 0}}),
    in_main(livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}),
    in_main(readinessProbe={"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5}),
    in_main(lifecycle={"preStop": {"sleep": {"seconds": 100}}}),
    in_main(volumeMounts={"data": {"subPath": "a", "subPathExpr": "b"}}),
    in_main(volumeMounts={"data": {"subPathExpr": "../a"}}),
    in_main(volumeMounts={"data": {"mountPropagation": "Bidirectional"}}),
    in_main(volumeMounts={"data": {"recursiveReadOnly": "Enabled"}}),
    {"initContainers": [{"name": "a", "image": "a", "lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}]},
    {"containers": {"exporter": {"image": "a", "restartPolicy": "Always"}}},
    in_main(restartPolicy="OnFailure"),
    {"initContainers": [{"name": "a", "image": "a", "restartPolicy": "OnFailure"}]},
    in_main(lifecycle={"stopSignal": "SIGUSR1"}),
    {"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}},
    in_main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]),
    {"volumes": {"more": {"downwardAPI": {"items": [{"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}]}}}},
    {
        "volumes": {
            "more": {"downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {"resource": "limits.cpu"}}]}}
        }
    },
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
    {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "", "labelSelector": {}}]
            }
        }
    },
    {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "ScheduleAnyway"}]},
    {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "zone",
                        "labelSelector": {},
                        "matchLabelKeys": ["app"],
                        "mismatchLabelKeys": ["app"],
                    }
                ]
            }
        }
    },
    in_main(livenessProbe={"exec": {"command": []}}),
    in_main(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2),
    {"dnsConfig": {"nameservers": [f"10.0.0.{last}" for last in range(4)]}},
    {"hostAliases": [{"ip": "999.1.1.1", "hostnames": ["a"]}]},
    {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["A_b"]}]},
    {"securityContext": {"supplementalGroups": [-1]}},
    {"volumes": {"scratch": {"ephemeral": {}}}},
    {"os": {"name": "windows"}},
    {"resources": {"limits": {"cpu": 1}}} | in_main(resources={"requests": {"cpu": 2}}),
    {"preemptionPolicy": "Never"},
    {"overhead": {"cpu": 1}},
]

_EVERYWHERE = {3, 5, 63, 64, 65, 66}
ACCEPTED = {"volcano": _EVERYWHERE, "jobset": _EVERYWHERE | {44, 45, 46, 47}}
"""Those that each operator's server accepts. Volcano's webhook judges the restart policies of containers, too."""
