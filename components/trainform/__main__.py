"""The command `trainform`, and `python -m trainform`."""

from __future__ import annotations

import gc
import signal
import sys

# A collection begins when there are so many more objects than after the last one. Python's own number is 700, and the
# imports and a check make about 60,000, which all live to the end: collections find nothing. A command that runs for
# long has them all the same.
NEW_OBJECTS = 100_000


def main() -> None:
    """Run the command line. Modules are imported here, so that Ctrl-C during the imports is handled too."""
    gc.set_threshold(NEW_OBJECTS)
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
