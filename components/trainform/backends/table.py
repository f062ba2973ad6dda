"""The backends by name, from the table `defaults.BACKENDS`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from trainform import defaults
from trainform.backends.backend import Backend


class _Backends(Mapping[str, Backend]):
    """The backends by name. Each is imported when it is first used, since most commands need one of them."""

    def __init__(self) -> None:
        self._made: dict[str, Backend] = {}

    def __getitem__(self, name: str) -> Backend:
        row = defaults.BACKENDS[name]
        if row not in self._made:
            module, _, kind = row.partition(":")
            made = getattr(importlib.import_module(module), kind)()
            if not isinstance(made, Backend):
                raise TypeError(f"{row} is not a subclass of Backend")
            self._made[row] = made
        return self._made[row]

    def __iter__(self) -> Iterator[str]:
        return iter(defaults.BACKENDS)

    def __len__(self) -> int:
        return len(defaults.BACKENDS)


BACKENDS: Mapping[str, Backend] = _Backends()
