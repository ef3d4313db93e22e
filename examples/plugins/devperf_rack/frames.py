"""A reader that converts the log of a renderer to samples and a value.

A test passes it to the fixture: `devperf.command(["./render", "--frames={iterations}"], read=parse_frames)`.
"""

from __future__ import annotations

import re

from pytest_devperf import Output, Value

FRAME = re.compile(r"^frame \d+: ([0-9.]+) ms$", re.MULTILINE)
DROPPED = re.compile(r"^dropped (\d+)$", re.MULTILINE)

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
