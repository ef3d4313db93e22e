"""Compare runs as the plugin does, for several verbs."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pytest_devperf.cli.find import find_baseline
from pytest_devperf.compare.compare import compare, metrics_judged
from pytest_devperf.compare.history import Baseline, index
from pytest_devperf.compare.policy import Policy, parse_tolerance
from pytest_devperf.errors import UsageError
from pytest_devperf.record.caution import CAUTIONS
from pytest_devperf.record.record import DeviceRecord, Record, Run
from pytest_devperf.store.store import Store


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add the options that determine the verdicts, named like the plugin's."""
    parser.add_argument(
        "--tolerance", metavar="[METRIC=]X%", action="append", default=[], type=_tolerance, help="repeatable"
    )
    parser.add_argument(
        "--rule",
        choices=("proven", "iqr"),
        default="proven",
        help="rule of the verdict: proven, or the plain IQR rule (default: proven)",
    )
    parser.add_argument(
        "--iqr",
        choices=("undisturbed", "within", "pooled"),
        default="undisturbed",
        help="which IQR of a run counts: of the undisturbed part of its rounds, of whole rounds, or pooled over all "
        "rounds (default: undisturbed)",
    )
    parser.add_argument("--no-anchor", action="store_true", help="do not use the anchor kernel")
    parser.add_argument(
        "--accept",
        metavar="CAUTION,...",
        action="append",
        default=[],
        help="cautions to accept that would otherwise refuse comparison",
    )
    parser.add_argument(
        "--strict-context", action="store_true", help="let every refusing caution refuse on the host too"
    )


def policy_of(arguments: argparse.Namespace) -> Policy:
    """Read the policy of the comparison from the arguments.

    Raises:
        UsageError: An accepted caution does not refuse comparison.
    """
    accepted = frozenset(name.strip() for names in arguments.accept for name in names.split(",") if name.strip())
    refusing = sorted(slug for slug, caution in CAUTIONS.items() if caution.refuses)
    for name in sorted(accepted.difference(refusing)):
        raise UsageError(f"--accept: no caution named {name!r} refuses comparison", f"use one of {', '.join(refusing)}")
    return Policy(
        tolerance=dict(arguments.tolerance),
        rule=arguments.rule,
        iqr=arguments.iqr,
        confirm=False,  # this command cannot measure again
        anchor=not arguments.no_anchor,
        accept=accepted,
        strict_context=arguments.strict_context,
    )


def find_baselines(words: Sequence[str], store: Store, device: DeviceRecord) -> Mapping[str, Baseline]:
    """Find the baseline of every case on a device."""
    runs = [each for word in words for each in find_baseline(word, store, device.fingerprint)]
    own = [each for each in runs if each.device.fingerprint == device.fingerprint]
    if len(words) > 1:  # several runs form one generation
        runs = [replace(each, label=" ".join(words), generation=words[0]) for each in own or runs]
    return index(runs, device.fingerprint, unit=device.unit)


def with_comparisons(candidate: Run, baselines: Mapping[str, Baseline], policy: Policy) -> Run:
    """Return a run with a comparison for every case, and with the cases missing from it."""
    together = metrics_judged(baselines.get(record.id) for record in candidate.cases)
    policy = dataclasses.replace(policy, metrics=together)
    cases = tuple(
        replace(record, comparison=compare(record, baselines.get(record.id), _policy_for(record, policy)))
        for record in candidate.cases
    )
    suites = {"quick", "full"} if candidate.settings.get("suite") == "full" else {"quick"}
    held = {record.id for record in cases}
    missing = tuple(
        case_id
        for case_id, baseline in baselines.items()
        if case_id not in held and baseline.runs[0].record.suite in suites
    )
    return replace(candidate, cases=cases, missing=missing)


def _policy_for(record: Record, policy: Policy) -> Policy:
    """Require a confirmation only for a case that has one."""
    carried = any(metric.confirmation is not None for metric in record.metrics)
    return dataclasses.replace(policy, confirm=True) if carried else policy


def _tolerance(text: str) -> tuple[str, float]:
    """Parse a tolerance; argparse only shows messages of its own exception."""
    try:
        return parse_tolerance(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
