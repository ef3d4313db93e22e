"""Prepare the programs that run models on phones, once per ABI.

ONNX models need ONNX Runtime's library for Android: libonnxruntime.so, or the archive onnxruntime-android (.aar)
with one library per ABI. The Android NDK builds the runner from the source in this package; with --runner no NDK
is needed.

Other models need their project's own tool, as an executable for the phone: LiteRT's benchmark_model for .tflite
files, ExecuTorch's executor_runner for .pte files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_devperf.cli.output import echo
from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.runner.setup import set_up_android
from pytest_devperf.targets.android.setup_folder import setup_folder
from pytest_devperf.targets.android.tools.tool import PROJECTS, TOOLS, option_of, store_tool

EXAMPLES = ("devperf setup-android --aar onnxruntime-android.aar",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    runtime = parser.add_mutually_exclusive_group()
    runtime.add_argument("--library", type=Path, metavar="FILE", help="libonnxruntime.so for Android")
    runtime.add_argument("--aar", type=Path, metavar="FILE", help="onnxruntime-android archive")
    builder = parser.add_mutually_exclusive_group()
    builder.add_argument(
        "--ndk", type=Path, metavar="PATH", help="Android NDK (default: ANDROID_NDK, or the SDK's newest)"
    )
    builder.add_argument(
        "--runner", type=Path, metavar="FILE", help="a runner built elsewhere, instead of building one"
    )
    for suffix, name in TOOLS.items():
        parser.add_argument(
            option_of(name), type=Path, metavar="FILE", help=f"{PROJECTS[name]}'s {name}, which runs {suffix} models"
        )


def run(arguments: argparse.Namespace) -> int:
    """Install the given files, and print their locations."""
    tools = {name: getattr(arguments, name) for name in TOOLS.values() if getattr(arguments, name) is not None}
    if not tools and arguments.library is None and arguments.aar is None:
        raise UsageError("nothing to set up", f"pass --library, --aar, {', '.join(map(option_of, PROJECTS))}")
    for name, file in tools.items():
        echo(f"{name} is ready: {store_tool(name, file)}")
    if arguments.library is not None or arguments.aar is not None:
        done = set_up_android(library=arguments.library, aar=arguments.aar, ndk=arguments.ndk, runner=arguments.runner)
        for abi in done:
            echo(f"{abi}: runner and runtime library are ready in {setup_folder() / abi}")
    return 0
