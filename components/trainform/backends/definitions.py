"""The fields of Volcano's queues and gangs, which jobs of several backends have, as `manifests/served/notation.py` writes them. Source: Volcano 1.14.1."""

from __future__ import annotations

from trainform.manifests.served.notation import Table

KINDS: Table = {
    "scheduling.volcano.sh/v1beta1/Queue": {"spec": "Queue"},
    "scheduling.volcano.sh/v1beta1/PodGroup": {"spec": "PodGroup"},
}
TYPES: Table = {
    "Queue": {
        "affinity": "QueueAffinity",
        "capability": "{quantity}",
        "dequeueStrategy": "fifo | traverse",
        "deserved": "{quantity}",
        "extendClusters": "[Cluster]",
        "guarantee": "Guarantee",
        "parent": "object-name",
        "priority": "int32 >= 0",
        "reclaimable": "flag",
        "type": "text <= 253",
        "weight": "int32 1..65535",
    },
    "QueueAffinity": {"nodeGroupAffinity": "NodeGroups", "nodeGroupAntiAffinity": "NodeGroups"},
    "NodeGroups": {
        "preferredDuringSchedulingIgnoredDuringExecution": "[text]",
        "requiredDuringSchedulingIgnoredDuringExecution": "[text]",
    },
    "Cluster": {"capacity": "{quantity}", "name": "text", "weight": "int32"},
    "Guarantee": {"resource": "{quantity}"},
    "PodGroup": {
        "minMember": "int32 >= 0",
        "minResources": "{quantity}",
        "minTaskMember": "{int32}",
        "networkTopology": "NetworkTopology",
        "priorityClassName": "text <= 253",
        "queue": "object-name",
        "subGroupPolicy": "[SubGroup]",
    },
    "SubGroup": {
        "labelSelector": "LabelSelector",
        "matchLabelKeys": "[text]",
        "minSubGroups": "int32 >= 0",
        "name": "text <= 253",
        "networkTopology": "NetworkTopology",
        "subGroupSize": "int32 >= 1",
    },
    "NetworkTopology": {"highestTierAllowed": "integer >= 0", "highestTierName": "text <= 253", "mode": "hard | soft"},
}
