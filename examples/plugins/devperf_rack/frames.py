"""A reader that converts the log of a renderer to samples and a value, and its table of passes to operators.

A test passes it to the fixture: `devperf.command(["./render", "--frames={iterations}"], read=parse_frames)`, or
`read=FRAMES` if a change of the renderer is to be explained by its passes.
"""

from __future__ import annotations

import re

from pytest_devperf import Operator, OperatorReader, Output, Value

FRAME = re.compile(r"^frame \d+: ([0-9.]+) ms$", re.MULTILINE)
DROPPED = re.compile(r"^dropped (\d+)$", re.MULTILINE)
PASS = re.compile(r"^pass (\w+): ([0-9.]+) ms$", re.MULTILINE)

NS_PER_MS = 1e6


def parse_frames(text: str) -> Output:
    r"""Parse the time of each frame, and the number of dropped frames.

    Without a single frame the case fails, and pytest-devperf shows the last lines of the text.

    >>> parse_frames("frame 0: 16.5 ms\nframe 1: 16.7 ms\ndropped 1\n").samples_ns
    (16500000.0, 16700000.0)
    """
    samples_ns = tuple(float(each) * NS_PER_MS for each in FRAME.findall(text))
    dropped = DROPPED.search(text)
    values = {"dropped": Value(value=float(dropped[1]), unit="frames")} if dropped else {}
    return Output(samples_ns=samples_ns, values=values)


def parse_passes(text: str) -> list[Operator]:
    r"""Parse the time of each pass in a frame, which the renderer prints if it is started with `--passes`.

    >>> parse_passes("frame 0: 16.5 ms\npass shadows: 9.5 ms\npass blur: 7.0 ms\n")[0]
    Operator(kind='pass', name='shadows', time_ns=9500000.0, calls=1.0)
    """
    return [Operator("pass", name, float(ms) * NS_PER_MS) for name, ms in PASS.findall(text)]


FRAMES = OperatorReader(parse=parse_frames, parse_operators=parse_passes, options=("--passes",))
"""Starts that measure nothing get the option: `where: likely pass shadows +3.1 of +3.3 ms (94 %)`."""
