"""Parse the saved results of other tools into runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import FINGERPRINT_DIGITS
from pytest_devperf.errors import CaseError, UsageError
from pytest_devperf.exchange.imported import Imported, Series, optional_text, positive_whole, utc
from pytest_devperf.exchange.pytest_benchmark import PYTEST_BENCHMARK, parse_pytest_benchmark
from pytest_devperf.metric import LATENCY, time_metric
from pytest_devperf.record.caution import CAUTIONS, IMPORTED, ONE_START
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.targets.device import HOST, Device
from pytest_devperf.tool.extract import guarded, json_in, refuse
from pytest_devperf.tool.readers import READERS

FORMATS = (PYTEST_BENCHMARK, "google-benchmark", "androidx", "hyperfine")
"""Tools whose files can be imported."""

ROUND = 30
"""Most samples in a round, as many iterations as a round of ours has."""

FEWEST_ROUNDS = 12
"""Rounds that samples are divided into, if there are few: as many as a run of ours has."""

MOST_ROUNDS = 100
"""Most rounds of a case: pytest-benchmark keeps up to a million samples of one."""

BYTES_PER_GIB = 1 << 30


def parse_import(tool: str, text: str, source: str) -> Imported:
    """Parse the results of another tool.

    Args:
        tool: One of `FORMATS`.
        text: The content of the file.
        source: Its name, for errors.

    Raises:
        UsageError: It is no such file, is damaged, or contains no samples.
    """
    try:
        return _PARSERS[tool](text)
    except CaseError as error:
        raise UsageError(f"{source}: {error.what}", error.next_step) from None


def make_run(found: Imported, *, label: str, device: Device, taken_at: str, version: str, run_id: str) -> Run:
    """Make a run of the results of another tool.

    Args:
        found: The results.
        label: The label that it is saved under.
        device: The device that it belongs to.
        taken_at: When it was taken, in UTC.
        version: Of this package.
        run_id: Its id.
    """
    return Run(
        id=run_id,
        label=label,
        taken_at=taken_at,
        devperf_version=version,
        commit=found.commit,
        device=DeviceRecord.of(device),
        settings={"imported_from": found.tool},
        run_context=RunContext(env=found.env),
        cases=tuple(_record(name, series, found) for name, series in found.cases.items()),
    )


def rounds_of_samples(samples_ns: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Divide samples into rounds of equal size; a remainder is left out, and the middle of very many rounds is thinned.

    >>> [len(rounds_of_samples([1.0] * count)) for count in (1, 7, 100, 360, 100_000)]
    [1, 7, 12, 12, 100]
    """
    width = min(ROUND, max(1, len(samples_ns) // FEWEST_ROUNDS))
    count = len(samples_ns) // width
    kept = range(count) if count <= MOST_ROUNDS else [at * count // MOST_ROUNDS for at in range(MOST_ROUNDS)]
    return tuple(tuple(samples_ns[at * width : (at + 1) * width]) for at in kept)


def _record(name: str, series: Series, found: Imported) -> Record:
    rows = rounds_of_samples(series.samples_ns)
    metric = time_metric(LATENCY)
    measurement = Measurement(
        name=metric.name,
        unit=metric.unit,
        better=metric.better,
        kind=metric.kind,
        main=True,
        process=(0,) * len(rows),
        inner_loops=series.inner_loops,
        samples_ns=rows,
        planned_rounds=len(rows),
        stop="done",
    )
    notes = {slug: CAUTIONS[slug].words for slug in (IMPORTED, ONE_START)}
    return Record(
        id=name,
        group=series.group,
        extra_info=dict(series.extra_info),
        workload=WorkloadRecord(fingerprint=Digest().of([found.tool, name]).hex()[:FINGERPRINT_DIGITS], kind=IMPORTED),
        cautions=tuple(notes),
        caution_notes=notes,
        run_context=RunContext(env=found.env),
        metrics=(derive(measurement),),
        iterations=len(rows[0]),
        processes=1,
    )


# -- tools that have a reader ---------------------------------------------------------------------------


def _parser_of(tool: str) -> Callable[[str], Imported]:
    """Make the parser of a tool whose output `devperf.command` reads as well."""

    @guarded(tool, "name a file that it wrote")
    def parse(text: str) -> Imported:
        output = READERS[tool](text)
        document = json_in(text, tool, "name a file that it wrote")
        series = output.series_ns or ({_only_name(document): output.samples_ns} if output.samples_ns else {})
        if not series:
            refuse(tool, "contains no time", text, "import a file with times")
        context = document.get("context") or {}
        return Imported(
            tool=tool,
            cases={name: Series(samples_ns=samples_ns) for name, samples_ns in series.items()},
            device=_device(context),
            taken_at=utc(context.get("date")),
        )

    return parse


def _only_name(document: Mapping[str, Any]) -> str:
    """Name the only benchmark of a document."""
    rows = document.get("benchmarks") or document.get("results") or [{}]
    return next((str(rows[0][key]) for key in ("run_name", "name", "command") if rows[0].get(key)), "benchmark")


def _device(context: Mapping[str, Any]) -> Device:
    """Describe the device of a document, as far as it does."""
    build = context.get("build")
    if not isinstance(build, dict):
        return Device(kind=HOST, cores=positive_whole(context.get("num_cpus")))
    memory = positive_whole(context.get("memTotalBytes"))
    return Device(
        kind="android",
        manufacturer=optional_text(build.get("brand")),
        model=optional_text(build.get("model")),
        cores=positive_whole(context.get("cpuCoreCount")),
        memory_gib=None if memory is None else -(-memory // BYTES_PER_GIB),
    )


_PARSERS: Mapping[str, Callable[[str], Imported]] = {
    PYTEST_BENCHMARK: parse_pytest_benchmark,
    **{tool: _parser_of(tool) for tool in FORMATS if tool != PYTEST_BENCHMARK},
}
