"""The command `trainform`, and `python -m trainform`."""

from __future__ import annotations

import gc
import signal
import sys

from trainform import defaults


def main() -> None:
    """Run the command line. Modules are imported here, so that Ctrl-C during the imports is handled too."""
    gc.set_threshold(defaults.NEW_OBJECTS)
    try:
        from trainform.cli.main import main as run

        run()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the message
        from trainform.cli.main import show_interrupt, wants_json

        sys.exit(show_interrupt(wants_json(sys.argv[1:])))
    finally:
        gc.freeze()  # otherwise Python searches everything for garbage at its end: an eighth of a check's time


if __name__ == "__main__":
    main()
