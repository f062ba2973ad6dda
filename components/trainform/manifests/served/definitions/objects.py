"""The fields of Kubernetes' own kinds that a job has beside its pods. Source: Kubernetes 1.34.4."""

from __future__ import annotations

from trainform.manifests.served.notation import Table

KINDS: Table = {
    "v1/ConfigMap": {"binaryData": "{entry-key: base64}", "data": "{entry-key: text}", "immutable": "flag"},
    "v1/PersistentVolumeClaim": {"spec": "PersistentVolumeClaimSpec"},
    "v1/Secret": {
        "data": "{entry-key: base64}",
        "immutable": "flag",
        "stringData": "{entry-key: text}",
        "type": "text",
    },
    "v1/Service": {"spec": "ServiceSpec"},
}
# Whatever else there is belongs to the server.
METADATA: Table = {
    "ObjectMeta": {"annotations": "{text}", "labels": "{text}", "name": "text", "namespace": "text"},
    "TemplateMeta": {"annotations": "{text}", "labels": "{text}"},
}
SERVICES: Table = {
    "ServiceSpec": {
        "allocateLoadBalancerNodePorts": "flag",
        "clusterIP": "text",
        "clusterIPs": "[text]",
        "externalIPs": "[text]",
        "externalName": "text",
        "externalTrafficPolicy": "Cluster | Local",
        "healthCheckNodePort": "int32",
        "internalTrafficPolicy": "Cluster | Local",
        "ipFamilies": "['' | IPv4 | IPv6] <= 2",
        "ipFamilyPolicy": "PreferDualStack | RequireDualStack | SingleStack",
        "loadBalancerClass": "text",
        "loadBalancerIP": "text",
        "loadBalancerSourceRanges": "[text]",
        "ports": "[ServicePort] by port, protocol",
        "publishNotReadyAddresses": "flag",
        "selector": "{text}",
        "sessionAffinity": "ClientIP | None",
        "sessionAffinityConfig": "SessionAffinityConfig",
        "trafficDistribution": "PreferClose | PreferSameNode | PreferSameZone",
        "type": "ClusterIP | ExternalName | LoadBalancer | NodePort",
    },
    "ServicePort": {
        "appProtocol": "qualified-name",
        "name": "label",
        "nodePort": "int32",
        "port!": "port",
        "protocol": "SCTP | TCP | UDP",
        "targetPort": "port-or-name",
    },
    "SessionAffinityConfig": {"clientIP": "ClientIPConfig"},
    "ClientIPConfig": {"timeoutSeconds": "int32 1..86400"},
}
