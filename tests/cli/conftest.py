"""For tests of the command line: no report that they make may hold a secret."""

from __future__ import annotations

from tests.cli.making_files import project, whole_project
from tests.cli.reviewing import preview
from tests.support.leaks import leaked

__all__ = ["leaked", "preview", "project", "whole_project"]
