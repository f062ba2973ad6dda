"""The Pulumi program of a stack, from its config to its resources; `stacks/__main__.py` calls it."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
from typing import TYPE_CHECKING

import pulumi

from trainform import defaults

if TYPE_CHECKING:
    from trainform.resources.platform import Platform
    from trainform.resources.training_job import TrainingJob


def run() -> None:
    """Register the job of the config's experiment, or the environment's own objects if it names none.

    The engine interrupts the program of an update that fails; the program then ends without a traceback.
    """
    with contextlib.suppress(ValueError):  # in a thread, as the Automation API runs it, signals are the main program's
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # pydantic would search all installed packages for plugins, which no stack needs
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(defaults.NEW_OBJECTS)
    atexit.register(gc.freeze)  # otherwise Python searches everything for garbage at its end
    component = _component()
    for key in type(component).__annotations__:
        pulumi.export(key, getattr(component, key))


def _component() -> TrainingJob | Platform:
    """Import what makes the component, and register it."""
    from trainform.deployed.releases.evidence import check_gates
    from trainform.job.check import check_environment, check_stack
    from trainform.project import project_root
    from trainform.resources.apply import as_run_error
    from trainform.resources.platform import Platform
    from trainform.resources.training_job import TrainingJob
    from trainform.spec.stack import NAMESPACE, Stack, release_name, run_number, suspend_switch

    root = project_root()
    config = pulumi.Config(NAMESPACE)
    environment_name, experiment_name = config.require("environment"), config.get("experiment")
    if not experiment_name:
        with as_run_error():
            environment = check_environment(environment_name, root).or_raise()
        return Platform(environment.name, environment)
    with as_run_error():
        run, release = run_number(config.get("run")), release_name(config.get("release"))
        stack = Stack(experiment_name, environment_name, run, release, suspend_switch(config.get("suspend")))
        job = check_gates(check_stack(stack, root), pulumi.get_stack(), root).or_raise()
    return TrainingJob.from_rendered(job)
