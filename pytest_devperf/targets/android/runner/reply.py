"""The replies of the runner on the phone: lines of JSON, checked when decoded."""

from __future__ import annotations

from typing import Annotated

import msgspec

from pytest_devperf.metric import LONGEST_NS, MOST_BYTES, SHORTEST_NS
from pytest_devperf.untrusted import excerpt

SLEPT_NS = 1_000_000
"""From 1 ms, the difference of the clocks means sleep, not the time between two reads of them."""

Time = Annotated[float, msgspec.Meta(ge=SHORTEST_NS, le=LONGEST_NS)]
Span = Annotated[int, msgspec.Meta(ge=0, le=int(LONGEST_NS))]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**18)]
"""Events of a hardware counter: at 10 GHz, no round has more in years."""

Size = Annotated[int, msgspec.Meta(ge=0, le=MOST_BYTES)]
Sampled = Annotated[int, msgspec.Meta(ge=0, le=10**10)]
"""kHz of a clock, or KiB of memory: up to 10 TiB."""

ProcessId = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Dimension = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Name = Annotated[str, msgspec.Meta(max_length=1000)]


class Failure(msgspec.Struct, frozen=True):
    """The reason why the runner could not execute a command."""

    text: str = ""
    stage: Name = "?"


class Watched(msgspec.Struct, frozen=True):
    """A sampled file, and the lowest number in it."""

    name: Name
    least: Sampled


class ModelOutput(msgspec.Struct, frozen=True):
    """One output of a model, and the file for it in the working folder."""

    name: Name
    kind: Name
    dtype: Name = ""
    shape: tuple[Dimension, ...] = ()
    file: Name = ""


class RunnerReply(msgspec.Struct, frozen=True):
    """One line of the runner; None and empty fields are missing in it."""

    error: Failure | None = None
    version: Name | None = None
    """Version of the runtime."""
    anchor: Name | None = None
    """Identity of the anchor kernel."""
    pid: ProcessId | None = None
    tick_ns: Time | None = None
    load_ns: Span | None = None
    ns: tuple[Time, ...] = ()
    """One per iteration, already divided by the inner loops."""
    anchor_ns: tuple[Time, ...] = ()
    cpu_ns: Span | None = None
    wall_ns: Span | None = None
    waited_ns: Span | None = None
    slept_ns: Span | None = None
    instructions: Count | None = None
    cycles: Count | None = None
    watched: tuple[Watched, ...] = ()
    outputs: tuple[ModelOutput, ...] = ()
    trace: Name | None = None
    """File in the working folder with the times of the model's nodes."""
    baseline: Size | None = None
    loaded: Size | None = None
    peak: Size | None = None
    disposed: Size | None = None

    @property
    def counters(self) -> dict[str, int]:
        """The hardware counters of the run; empty unless all can be read."""
        if self.instructions is None or self.cycles is None:
            return {}
        return {"instructions": self.instructions, "cycles": self.cycles}

    @property
    def slept(self) -> bool:
        """Whether the phone slept meanwhile."""
        return self.slept_ns is not None and self.slept_ns > SLEPT_NS


def parse_reply(line: str) -> RunnerReply | None:
    """Parse a line of the runner; None if it is not a JSON object: other code may print lines.

    Raises:
        ValueError: It is a JSON object, but not a valid reply.

    >>> parse_reply('{"ns": [120, 118.5]}').ns, parse_reply("WARNING: linker: …")
    ((120.0, 118.5), None)
    """
    try:
        return msgspec.json.decode(line, type=RunnerReply)
    except msgspec.ValidationError as error:
        if not line.lstrip().startswith("{"):
            return None
        raise ValueError(excerpt(str(error))) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
