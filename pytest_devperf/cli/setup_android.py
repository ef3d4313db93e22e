"""Prepare runner and runtime library for the phones of one or more ABIs, once.

The library is ONNX Runtime's own for Android: `libonnxruntime.so`, or the archive onnxruntime-android (.aar)
that holds one for each ABI. The runner is built from the source in this package by the Android NDK; a runner
from a release does without one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_devperf.cli.output import say
from pytest_devperf.target.android.setup import set_up_android, setup_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    runtime = parser.add_mutually_exclusive_group(required=True)
    runtime.add_argument("--library", type=Path, metavar="FILE", help="libonnxruntime.so for Android")
    runtime.add_argument("--aar", type=Path, metavar="FILE", help="onnxruntime-android archive")
    builder = parser.add_mutually_exclusive_group()
    builder.add_argument(
        "--ndk", type=Path, metavar="PATH", help="Android NDK (default: ANDROID_NDK, or the SDK's newest)"
    )
    builder.add_argument(
        "--runner", type=Path, metavar="FILE", help="a runner built elsewhere, instead of building one"
    )


def run(arguments: argparse.Namespace) -> int:
    """Store runner and library; tell where."""
    done = set_up_android(library=arguments.library, aar=arguments.aar, ndk=arguments.ndk, runner=arguments.runner)
    for abi in done:
        say(f"{abi}: runner and runtime library are ready in {setup_folder() / abi}")
    return 0
