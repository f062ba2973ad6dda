"""Turn a preview into a report once, in a fresh process after the imports: `python -m bench.probe_review FILE` prints
seconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from trainform.review.context import Context
from trainform.review.forms import text
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview
from trainform.review.report import build_report
from trainform.review.whole import review_of


def main(file: Path) -> float:
    """Everything from the file on but the stack's own files, as `trainform review --preview-json` does it; return the
    seconds."""
    begin = time.perf_counter()
    preview = read_preview(file.read_text(), file.name)
    text.markdown(review_of([build_report(Context("allreduce.dev", preview, jobs_of(preview)))]))
    return time.perf_counter() - begin


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
