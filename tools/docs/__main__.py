"""`python -m tools.docs`: write what the documentation takes from the code."""

from __future__ import annotations

from tools.docs.generated import write

if __name__ == "__main__":
    write()
