"""Types of a pod template, with the fields that trainform sets."""

from __future__ import annotations

from typing import Any, Required, TypedDict

from trainform.manifests.env import Variable


class VolumeMount(TypedDict, total=False):
    """A mount of a container; None leaves a field out."""

    name: Required[str]
    mountPath: Required[str]
    subPath: str | None
    readOnly: bool | None


class ContainerPort(TypedDict, total=False):
    """A port that a container listens on."""

    name: Required[str]
    containerPort: Required[int]
    hostPort: int | None
    protocol: str


class Container(TypedDict, total=False):
    """A container with the fields that trainform sets. Others come from merge patches and operators."""

    name: Required[str]
    image: str
    imagePullPolicy: str
    command: list[str]
    args: list[str]
    workingDir: str | None
    env: list[Variable]
    ports: list[ContainerPort]
    resources: dict[str, dict[str, str]]
    securityContext: dict[str, Any]
    volumeMounts: list[VolumeMount]
    terminationMessagePolicy: str | None


class PodSpec(TypedDict, total=False):
    """The spec of a pod with the fields that trainform sets; None leaves a field out."""

    containers: Required[list[Container]]
    initContainers: list[Container]
    volumes: list[dict[str, Any]]
    subdomain: str | None
    restartPolicy: str
    terminationGracePeriodSeconds: int | None
    activeDeadlineSeconds: int | None
    hostNetwork: bool | None
    dnsPolicy: str | None
    schedulerName: str
    priorityClassName: str | None
    serviceAccountName: str | None
    securityContext: dict[str, Any]
    imagePullSecrets: list[dict[str, str]]
    nodeSelector: dict[str, str]
    affinity: dict[str, Any]
    tolerations: list[dict[str, Any]]


class PodTemplate(TypedDict):
    """Metadata and spec of the pods of a group."""

    metadata: dict[str, Any]
    spec: PodSpec
