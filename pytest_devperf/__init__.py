"""Performance regression testing with pytest, on the device where the code really runs.

What stands in `__all__` is for plugins and typed tests; every other name and module of the package is private. A name's
module is imported when the name is first asked for, so importing the package alone costs nothing.
docs/howto-plugins.md shows a target, a store, a sensor and a reader that use nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for `typing.TYPE_CHECKING`, whose import would cost every session

if TYPE_CHECKING:
    from pytest_devperf.case.workload import App, Call, Command, Model, Workload
    from pytest_devperf.compare.history import Baseline, BaselineRun
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.errors import CaseError, DevperfError, StoreError, TargetError, Unsupported, UsageError
    from pytest_devperf.plugin.fixture import Benchmark
    from pytest_devperf.record.codec import decode, encode
    from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Document, Measurement, Record, Run
    from pytest_devperf.report.report import Report
    from pytest_devperf.sensor.added import Sensor, Shell
    from pytest_devperf.sensor.context import Context, CpuSet
    from pytest_devperf.sensor.run_context import RunContext
    from pytest_devperf.simphone import SimPhone
    from pytest_devperf.store.store import GenerationStore, LabelSummary, Store
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.protocol import (
        Answering,
        Clock,
        Closing,
        ContextReporting,
        Describing,
        IdleWatching,
        Looping,
        Memory,
        RoundContext,
        Runner,
        SelfWarming,
        ShellOffering,
        Surveying,
        Target,
        Ticking,
    )
    from pytest_devperf.targets.survey import Survey
    from pytest_devperf.tool.operators import Operator, OperatorReader
    from pytest_devperf.tool.output import Output, Value
    from pytest_devperf.tool.parse import parse_output
    from pytest_devperf.tool.readers import Reader

__all__ = [
    "Answering",
    "App",
    "Baseline",
    "BaselineRun",
    "Benchmark",
    "Call",
    "CaseError",
    "Change",
    "Clock",
    "Closing",
    "Command",
    "Comparison",
    "Context",
    "ContextReporting",
    "CpuSet",
    "Describing",
    "Device",
    "DeviceRecord",
    "DevperfError",
    "Document",
    "GenerationStore",
    "IdleWatching",
    "LabelSummary",
    "Looping",
    "Measurement",
    "Memory",
    "Model",
    "Operator",
    "OperatorReader",
    "Output",
    "Policy",
    "Reader",
    "Record",
    "Report",
    "RoundContext",
    "Run",
    "RunContext",
    "Runner",
    "SelfWarming",
    "Sensor",
    "Shell",
    "ShellOffering",
    "SimPhone",
    "Store",
    "StoreError",
    "Survey",
    "Surveying",
    "Target",
    "TargetError",
    "Ticking",
    "Unsupported",
    "UsageError",
    "Value",
    "Workload",
    "__version__",
    "decode",
    "encode",
    "parse_output",
]

__version__ = "0.1.0"

_HOMES = {
    "case.workload": ("App", "Call", "Command", "Model", "Workload"),
    "compare.history": ("Baseline", "BaselineRun"),
    "compare.policy": ("Policy",),
    "errors": ("CaseError", "DevperfError", "StoreError", "TargetError", "Unsupported", "UsageError"),
    "plugin.fixture": ("Benchmark",),
    "record.codec": ("decode", "encode"),
    "record.record": ("Change", "Comparison", "DeviceRecord", "Document", "Measurement", "Record", "Run"),
    "report.report": ("Report",),
    "sensor.added": ("Sensor", "Shell"),
    "sensor.context": ("Context", "CpuSet"),
    "sensor.run_context": ("RunContext",),
    "simphone": ("SimPhone",),
    "store.store": ("GenerationStore", "LabelSummary", "Store"),
    "targets.device": ("Device",),
    "targets.protocol": (
        "Answering",
        "Clock",
        "Closing",
        "ContextReporting",
        "Describing",
        "IdleWatching",
        "Looping",
        "Memory",
        "RoundContext",
        "Runner",
        "SelfWarming",
        "ShellOffering",
        "Surveying",
        "Target",
        "Ticking",
    ),
    "targets.survey": ("Survey",),
    "tool.operators": ("Operator", "OperatorReader"),
    "tool.output": ("Output", "Value"),
    "tool.parse": ("parse_output",),
    "tool.readers": ("Reader",),
}
"""Module -> the public names in it."""


if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name

    def __getattr__(name: str) -> object:
        """Import a public name from its module.

        It is not kept here: tests with pytester forget modules and import them anew.
        """
        home = next((module for module, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
