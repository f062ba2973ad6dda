"""`python -m tools.docs`: write what the documentation takes from the code."""

from __future__ import annotations

import sys

from tools.debian import NotHereError
from tools.docs.generated import DOCS, write
from tools.docs.review_page import write_screenshot
from trainform.cli.progress import display

if __name__ == "__main__":
    write()
    try:
        write_screenshot(DOCS / "figures" / "review.png", display())
    except NotHereError as error:
        print(f"the screenshot of the page stays as it is: {error}", file=sys.stderr)
