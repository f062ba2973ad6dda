"""Whatever `check` accepts, the real admission accepts; and what we rendered comes back as we said it.

The second half matters as much as the first: a field that the server rewrites would show as a change at every preview, and on a
Volcano Job every later update would be denied.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.live import Live
from tests.generators import environments_data, experiments_data
from trainform.backends import job_manifests, plan_job
from trainform.backends.job import job_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
