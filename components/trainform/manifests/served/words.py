"""The words of the tables of fields (`notation.py`): what a value of each is, in the words of JSON Schema, and what to write instead of one that is not.

Source: Kubernetes 1.34.4, `pkg/apis/core/validation`. `tests/engine/test_served.py` holds every field of pods against the real server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.spec.names import (
    ENTRY_KEY,
    LABEL,
    LABEL_MAX,
    MEANING,
    QUALIFIED,
    SUBDOMAIN,
    SUBDOMAIN_MAX,
)

# How Kubernetes spells a quantity, in the definitions of every operator.
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ADDRESS = rf"^({_BYTE}(\.{_BYTE}){{3}}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+)$"
_NAME_OR_NONE = f"^$|{SUBDOMAIN}"
_SEARCHED = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"^(\.?|{_SEARCHED}(\.{_SEARCHED})*\.?)$"  # validation.go, validatePodDNSConfig
_RELATIVE = r"^(?!/)(?!(.*/)?\.\.(/|$))"
_HEADER = r"^[-A-Za-z0-9]+$"
_PREFIX = r"^[ -<>-~]*$"
_PORT_NAME = r"^(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$"
_RESOURCE = r"^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$"
_SIGNALS = (
    *[
        "ABRT",
        "ALRM",
        "BUS",
        "CHLD",
        "CLD",
        "CONT",
        "FPE",
        "HUP",
        "ILL",
        "INT",
        "IO",
        "IOT",
        "KILL",
        "PIPE",
        "POLL",
        "PROF",
        "PWR",
        "QUIT",
        "SEGV",
        "STKFLT",
        "STOP",
        "SYS",
        "TERM",
    ],
    *["TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ"],
    *("RTMIN", *(f"RTMIN+{number}" for number in range(1, 16))),
    *("RTMAX", *(f"RTMAX-{number}" for number in range(1, 15))),
)

_TEXT = {"type": "string"}
_INT32 = {"type": "integer", "format": "int32"}
_INT64 = {"type": "integer", "format": "int64"}
_PORT = {"minimum": 1, "maximum": 65535}
_NUMBER_OR_TEXT = {"x-kubernetes-int-or-string": True}

WORDS: Mapping[str, Mapping[str, Any]] = {
    "anything": {},
    "mapping": {"type": "object"},
    "flag": {"type": "boolean"},
    # numbers
    "integer": {"type": "integer"},
    "int32": _INT32,
    "int64": _INT64,
    "id": {**_INT64, "minimum": 0, "maximum": 2**31 - 1},
    "mode": {**_INT32, "minimum": 0, "maximum": 0o777},
    "port": {**_INT32, **_PORT},
    # numbers and texts
    "number-or-text": _NUMBER_OR_TEXT,
    "port-or-name": {**_NUMBER_OR_TEXT, **_PORT, "pattern": _PORT_NAME},
    "quantity": {**_NUMBER_OR_TEXT, "pattern": QUANTITY},
    # texts
    "text": _TEXT,
    "base64": {**_TEXT, "format": "byte"},
    "time": {**_TEXT, "format": "date-time"},
    "label": {**_TEXT, "pattern": LABEL, "maxLength": LABEL_MAX},
    "object-name": {**_TEXT, "pattern": SUBDOMAIN, "maxLength": SUBDOMAIN_MAX},
    "object-name-or-none": {**_TEXT, "pattern": _NAME_OR_NONE, "maxLength": SUBDOMAIN_MAX},
    "qualified-name": {**_TEXT, "pattern": QUALIFIED, "maxLength": SUBDOMAIN_MAX + 1 + LABEL_MAX},
    "entry-key": {**_TEXT, "pattern": ENTRY_KEY, "maxLength": SUBDOMAIN_MAX},
    "port-name": {**_TEXT, "pattern": _PORT_NAME},
    "variable-name": {**_TEXT, "pattern": r"^[ -<>-~]+$"},
    "variable-prefix": {**_TEXT, "pattern": _PREFIX},
    "header-name": {**_TEXT, "pattern": _HEADER},
    "image": {**_TEXT, "pattern": r"^\S(.*\S)?$"},
    "address": {**_TEXT, "pattern": _ADDRESS},
    "search-domain": {**_TEXT, "pattern": _SEARCH, "maxLength": SUBDOMAIN_MAX},
    "absolute-path": {**_TEXT, "pattern": "^/"},
    "relative-path": {**_TEXT, "pattern": _RELATIVE},
    "mount-path": {**_TEXT, "pattern": "^[^:]+$"},
    "node-path": {**_TEXT, "pattern": r"^(?!(.*/)?\.\.(/|$))", "minLength": 1},
    "resource-path": {**_TEXT, "pattern": _RESOURCE},
    "signal": {**_TEXT, "enum": sorted(f"SIG{name}" for name in _SIGNALS)},
}

MEANINGS: Mapping[str, tuple[str, str]] = {
    QUANTITY: ("is not a quantity", "write it like 500m, 8 or 64Gi"),
    _ADDRESS: ("is not an IP address", "write it like 10.0.0.10"),
    _NAME_OR_NONE: MEANING[SUBDOMAIN],
    _SEARCH: ("is not a domain", "write it like training.svc.cluster.local"),
    _RELATIVE: ("is not a relative path", "write it like runs/first: no '/' at the start, no '..'"),
    _PORT_NAME: (
        "is not the name of a port",
        "write the number without quotes, or a name of at most 15 lower-case letters, digits and '-'",
    ),
    _HEADER: ("is not the name of a header", "write it of letters, digits and '-'"),
    _PREFIX: ("cannot begin the name of a variable", "write it of printable characters without '='"),
    _RESOURCE: ("is not a resource that a container can read", "write it like limits.memory or requests.cpu"),
}
"""Reason and fix for what does not have a pattern."""
