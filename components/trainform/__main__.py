"""The command `trainform`, and `python -m trainform`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Entry point. Modules are loaded in it: an interrupt meanwhile is one like others."""
    try:
        from trainform.cli.main import main as run

        run()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would end the message
        from trainform.cli.failures import show_interrupt, wants_json

        sys.exit(show_interrupt(wants_json(sys.argv[1:])))


if __name__ == "__main__":
    main()
