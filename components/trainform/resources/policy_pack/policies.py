"""The policy pack: a policy for each rule of the table, at the level that the environment of the stack gives it."""

from __future__ import annotations

import datetime
import io
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from pulumi.runtime.config import get_config_env
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from pulumi_policy import policy as sdk
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from trainform import defaults
from trainform.console.lines import escaped
from trainform.errors import CommandLineError, TrainformError
from trainform.job.check import check_environment
from trainform.project import project_root
from trainform.resources.policy_pack.judgement import (
    CLUSTERS,
    Resource,
    Verdict,
    cluster_verdict,
    environment_verdict,
    kubernetes_object,
    plain,
    verdict,
)
from trainform.rules.limits.object_rules import queues_in
from trainform.rules.limits.rule import Judged, Rule
from trainform.rules.limits.table import RULES
from trainform.spec.names import LABEL
from trainform.spec.stack import NAMESPACE

CONFIG = f"{NAMESPACE}:environment"
VARIABLE = "TRAINFORM_ENVIRONMENT"
LEVELS = {"error": EnforcementLevel.MANDATORY, "warning": EnforcementLevel.ADVISORY, "off": EnforcementLevel.DISABLED}
STACK = "pulumi:pulumi:Stack"
ENVIRONMENT = "environment"
ENVIRONMENT_TITLE = "All objects of a stack belong to its environment."
"""Name and title of the policy that is not in the table of rules."""
Judge = Callable[[ResourceValidationArgs], Verdict]


class NotCheckedError(UnknownValueError):
    """A policy cannot judge a resource in a preview. The SDK reports it as advisory at any level."""

    def __init__(self, message: str) -> None:
        super().__init__(UNKNOWN_STRING_VALUE, [])
        self.message = message


def serve(program: str) -> None:
    """Serve the policies to the engine; see `program.run`."""
    root = project_root(Path(program).resolve().parent)
    served = policies(root, get_config_env())

    # The SDK keeps only the tags of a stack. Its class is private; the release is locked.
    class Servicer(sdk._PolicyAnalyzerServicer):
        def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name in the protocol
            """Ignore `--policy-pack-config`, with which the user of a preview could choose the levels of the rules."""
            return super().Configure(type(request)(), context)  # type: ignore[no-untyped-call]

        def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name in the protocol
            served[:] = policies(root, request.config, dry_run=request.dry_run)
            return super().ConfigureStack(request, context)

    sys.stdout = _unbuffered(sys.stdout)
    setattr(sdk, "_PolicyAnalyzerServicer", Servicer)  # noqa: B010 - the type checker refuses an assignment to a class
    PolicyPack(defaults.POLICY_PACK, policies=served)


def _unbuffered(stream: TextIO) -> TextIO:
    """Return the stream without a buffer. The engine waits for the port, which the SDK prints and never flushes."""
    return io.TextIOWrapper(io.FileIO(stream.fileno(), "wb", closefd=False), stream.encoding, write_through=True)


def policies(root: Path, config: Mapping[str, Any], *, dry_run: bool = False) -> list[Policy]:
    """Return the policies of a stack with this config. Without a valid environment there is one policy, which no stack
    passes. dry_run: True in a preview, where values may be unknown."""
    try:
        environment = check_environment(environment_name(config), root).or_raise()
    except TrainformError as error:
        return [_failing_policy("\n".join(error.lines()))]
    today = datetime.datetime.now(datetime.UTC).date()
    queues: set[str] = set()

    def judge_environment(args: ResourceValidationArgs) -> Verdict:
        if args.resource_type == CLUSTERS:
            return cluster_verdict(plain(args.props), environment)
        resource = _resource(args)
        if resource is None:
            return Verdict()
        # the engine shows a queue before the jobs that wait for it
        queues.update(name for _, name, _ in queues_in(Judged({resource.key: resource.body}, ())))
        return environment_verdict(resource, environment)

    def judge_rule(rule: Rule, args: ResourceValidationArgs) -> Verdict:
        resource = _resource(args)
        return Verdict() if resource is None else verdict(rule, resource, environment, today, frozenset(queues))

    own = _policy(ENVIRONMENT, ENVIRONMENT_TITLE, judge_environment, EnforcementLevel.MANDATORY, dry_run)
    levels = {rule: LEVELS[rule.severity_in(environment)] for rule in RULES}
    rule_policies = [_policy(rule.code, rule.title, partial(judge_rule, rule), levels[rule], dry_run) for rule in RULES]
    return [own, *rule_policies]


def environment_name(config: Mapping[str, Any]) -> str:
    """Return the environment of the stack: the config `trainform:environment`, or else TRAINFORM_ENVIRONMENT.

    The variable pins the environment: a stack of another one does not pass. CommandLineError for two environments, for
    none, and for the path of a file.
    """
    chosen, pinned = (str(name) if name else None for name in (config.get(CONFIG), os.environ.get(VARIABLE)))
    for name in filter(None, (chosen, pinned)):
        if not re.fullmatch(LABEL, name):
            raise CommandLineError(
                "a stack is judged by an environment of the project that has the policy pack, not by any file",
                f"write the name of a file in stacks/environments as {CONFIG} or {VARIABLE}, without its folder and "
                "its ending",
            )
    if chosen and pinned and chosen != pinned:
        raise CommandLineError(
            f"the stack has {CONFIG}: {chosen}, and {VARIABLE} holds all stacks to the environment {pinned} here",
            f"use a stack of {pinned}, or judge this one where {VARIABLE} is {chosen} or not set",
        )
    if chosen or pinned:
        return str(chosen or pinned)
    raise CommandLineError(
        "no environment is set for this stack",
        f"pulumi config set {CONFIG} NAME, or set {VARIABLE}; NAME is a file in stacks/environments, next to "
        "the policy pack",
    )


def _failing_policy(problems: str) -> Policy:
    """Return a policy that no stack passes."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type == STACK:
            report(problems, None)

    title = "A stack belongs to an environment, by whose limits it is judged."
    return ResourceValidationPolicy(ENVIRONMENT, title, validate, EnforcementLevel.MANDATORY)


def _resource(args: ResourceValidationArgs) -> Resource | None:
    """Return the resource as an object of Kubernetes; None if it is not one."""
    body = kubernetes_object(args.resource_type, args.props)
    return None if body is None else Resource(args.name, body, "" if args.opts.parent is None else args.opts.parent)


def _policy(name: str, title: str, judge: Judge, level: EnforcementLevel, dry_run: bool) -> Policy:
    """Return the policy that reports the findings of the judge. Outside a preview an unknown value is a violation."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        result = judge(args)
        unknown = ", ".join(result.not_known)
        not_checked = escaped(f"{args.name} is not checked in full: known only at `pulumi up`: {unknown}")
        for message in result.messages:
            report(escaped(message), None)
        if unknown and dry_run:
            raise NotCheckedError(not_checked)
        if unknown:
            report(not_checked, None)

    return ResourceValidationPolicy(name, title, validate, level)
