"""The rules of Kubernetes for names, and the types that hold them.

Source: RFC 1123 and RFC 1035 labels as `k8s.io/apimachinery/pkg/util/validation` checks them.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

# A Service and a Volcano Job that gets one must start with a letter (RFC 1035); other labels may start with a digit.
SERVICE_LABEL = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUALIFIED = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
ENV_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
# Kubernetes knows three own resources besides extended ones, which always have a domain.
RESOURCE = r"^(cpu|memory|ephemeral-storage|hugepages-[0-9A-Za-z]+|([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$"
ABSOLUTE_PATH = r"^/[^\s:]*$"
IMAGE = r"^[a-zA-Z0-9][-a-zA-Z0-9._:/]*(@sha256:[0-9a-f]{64})?$"

ServiceLabel = Annotated[str, Field(pattern=SERVICE_LABEL, max_length=LABEL_MAX)]
Label = Annotated[str, Field(pattern=LABEL, max_length=LABEL_MAX)]
Subdomain = Annotated[str, Field(pattern=SUBDOMAIN, max_length=SUBDOMAIN_MAX)]
LabelKey = Annotated[str, Field(pattern=QUALIFIED, max_length=SUBDOMAIN_MAX + 1 + LABEL_MAX)]
LabelValue = Annotated[str, Field(pattern=LABEL_VALUE, max_length=LABEL_MAX)]
EnvName = Annotated[str, Field(pattern=ENV_NAME)]
ResourceName = Annotated[str, Field(pattern=RESOURCE)]
AbsolutePath = Annotated[str, Field(pattern=ABSOLUTE_PATH)]
Image = Annotated[str, Field(pattern=IMAGE)]

# What a pattern means, for the message; the pattern itself helps nobody at 2 a.m.
MEANING = {
    SERVICE_LABEL: ("is not a DNS label that starts with a letter", "use lower-case letters, digits and '-'; start with a letter, end with a letter or digit"),
    LABEL: ("is not a DNS label", "use lower-case letters, digits and '-'; start and end with a letter or digit"),
    SUBDOMAIN: ("is not a Kubernetes object name", "use lower-case letters, digits, '-' and '.'; start and end with a letter or digit"),
    QUALIFIED: ("is not a label or annotation key", "write name or domain/name, such as example.com/team"),
    LABEL_VALUE: ("is not a label value", "use at most 63 letters, digits, '-', '_' and '.'; start and end with a letter or digit"),
    ENV_NAME: ("is not the name of an environment variable", "use letters, digits and '_'; do not start with a digit"),
    RESOURCE: ("is not a resource name", "write cpu, memory, ephemeral-storage or domain/name, such as nvidia.com/gpu"),
    ABSOLUTE_PATH: ("is not an absolute path", "start with '/'; no spaces, no ':'"),
    IMAGE: ("is not an image reference", "write registry/path:tag or registry/path@sha256:<64 hex digits>"),
}  # fmt: skip


def is_label(text: str) -> bool:
    """Whether the text can be a DNS label (RFC 1123)."""
    return len(text) <= LABEL_MAX and re.match(LABEL, text) is not None
