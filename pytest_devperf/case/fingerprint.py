"""Compute the workload's fingerprint, which identifies the work but not the code that does it.

It covers inputs, arguments, the command line and the facts that a test reports. It does not cover what is under
test: code, model bytes, binaries, runtime versions, and the options of a runtime (providers, session
options). Those are recorded and shown as differences.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.case.digest import Digest, type_name
from pytest_devperf.case.workload import App, Call, Command, Model, Workload

FINGERPRINT_DIGITS = 16
"""Hex digits: with 64 bits, two of a million workloads collide once in 37 million times."""

RECIPE = "devperf-workload/2"
"""Version of the hashed content; raise it if the same workload would get another fingerprint."""


def named_inputs(workload: Workload) -> dict[str, object]:
    """Name each input of a workload as users know it: `argument 0`, `input x`, `command line`."""
    if isinstance(workload, Call):
        named: dict[str, object] = {f"argument {index}": value for index, value in enumerate(workload.args)}
        return named | {f"argument {name}": value for name, value in workload.kwargs.items()}
    if isinstance(workload, Model):
        return {f"input {name}": value for name, value in (workload.inputs or {}).items()}
    if isinstance(workload, Command):
        return {"command line": workload.argv, "environment": workload.environment}
    return {"environment": workload.environment}


def digest_inputs(workload: Workload, digest: Digest) -> dict[str, str]:
    """Hash each input of a workload, so that an error can name the input that differs between process starts.

    Returns:
        Hex digests by the names of `named_inputs`.
    """
    return {name: digest.of(value).hex()[:FINGERPRINT_DIGITS] for name, value in named_inputs(workload).items()}


def describe_inputs(inputs: Mapping[str, object], digest: Digest | None = None) -> dict[str, dict[str, object]]:
    """Describe inputs for the record.

    Returns:
        Per input `shape`, `dtype` and `sha256` (of an array's bytes in C order); for anything that is not an
        array, `type` and a `sha256` that distinguishes it.
    """
    digest = digest or Digest()
    described: dict[str, dict[str, object]] = {}
    for name, value in inputs.items():
        facts = digest.array(value)
        if facts is not None:
            described[name] = {"shape": list(facts.shape), "dtype": facts.dtype, "sha256": facts.sha256}
        else:
            described[name] = {"type": type_name(value), "sha256": digest.of(value).hex()}
    return described


def fingerprint(
    workload: Workload,
    digest: Digest,
    *,
    facts: Mapping[str, object],
    input_facts: Mapping[str, Mapping[str, object]] | None = None,
    with_inputs: bool = True,
) -> str:
    """Compute the fingerprint of a workload.

    Args:
        workload: The workload.
        digest: Knows the paths of this machine that are replaced by placeholders: interpreter, rootdir, temporary
            and working directory.
        facts: What the test reports about the work (`devperf.workload(boxes=12)`).
        input_facts: Per model input `shape`, `dtype`, `sha256`, including generated inputs.
        with_inputs: Whether the inputs are part of the fingerprint.

    Returns:
        16 hex digits; the same in every process and on every machine.
    """
    parts = {
        "recipe": RECIPE,
        "kind": type(workload).__name__.lower(),
        "facts": dict(facts),
        "inputs": {name: digest.of(value) for name, value in named_inputs(workload).items()} if with_inputs else {},
        "input_facts": {name: dict(known) for name, known in (input_facts or {}).items()},
        "way": _way(workload),
    }
    return digest.of(parts).hex()[:FINGERPRINT_DIGITS]


def _way(workload: Workload) -> dict[str, object]:
    """Return what changes the work besides its inputs."""
    if isinstance(workload, Call):
        return {
            "shape": workload.shape,
            "setup": workload.setup is not None,
            "sync": workload.sync is not None,
        }
    if isinstance(workload, Model):
        # Providers and session options are under test, as the runtime is: recorded, not part of the fingerprint.
        return {"method": workload.method, "dims": workload.dims}
    if isinstance(workload, App):
        return {"id": workload.id, "cases": workload.cases}
    return {"read": workload.read if isinstance(workload.read, str) else "function"}
