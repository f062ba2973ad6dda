"""Numbers as text for the report."""

from __future__ import annotations

from bench.samples import Ratio


def spell_seconds(seconds: float) -> str:
    """Return a time with three significant digits: `9.3 µs`, `0.42 ms`, `12.3 ms`, `350 ms`, `2.31 s`."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds < 1e-4:
        return f"{seconds * 1e6:.1f} µs"
    milliseconds = seconds * 1e3
    digits = 0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2
    return f"{milliseconds:.{digits}f} ms"


def spell_megabytes(megabytes: float | None) -> str:
    """Return an amount of memory, empty if it was not measured."""
    return "" if megabytes is None else f"{megabytes:.0f} MB"


def spell_medians(ratio: Ratio) -> str:
    """Return the times of both sides such as `1.47 s / 1.35 s`."""
    return " / ".join(map(spell_seconds, ratio.medians))


def spell_ratio(ratio: Ratio) -> str:
    """Return a ratio such as `1.04 (0.98 … 1.11)`."""
    return f"{ratio.median:.2f} ({ratio.low:.2f} … {ratio.high:.2f})"
