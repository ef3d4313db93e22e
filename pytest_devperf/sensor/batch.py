"""Run many probes in one round trip: build a script with markers, and split its output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

END = "@@END"
"""Last line of a complete answer; if it is missing, the connection was lost, whatever the return code."""

NAME = re.compile(r"\w[\w.-]*")

RC = re.compile(r"@@rc [0-9]{1,3}")
"""The line after a probe's output: its return code, one byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOutput:
    """Output of one probe, including stderr, and its return code."""

    text: str
    rc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The output of a script of probes."""

    answers: Mapping[str, ProbeOutput]
    """Answers by probe; one that was cut off is missing."""
    complete: bool
    """Whether the end marker was received."""

    def text(self, name: str) -> str:
        """Return a probe's output; empty if its answer is missing, which every parser treats as *unknown*."""
        answer = self.answers.get(name)
        return answer.text if answer is not None else ""


def format_batch(probes: Mapping[str, str]) -> str:
    """Write one `sh` script that runs all probes.

    Each probe runs in a subshell between `@@name` and `@@rc N`. A line break before `@@rc` ensures that it starts a
    line, whatever the probe printed last. Here-documents are not used: they fail if no folder for temporary files is
    writable.

    Args:
        probes: Name -> shell commands, one line or several.

    Raises:
        ValueError: A name contains a character that is not allowed.
    """
    parts: list[str] = []
    for name, command in probes.items():
        if not NAME.fullmatch(name) or name in ("END", "rc"):
            raise ValueError(f"{name!r} is not a valid name of a probe: use letters, digits, '.', '_' and '-'")
        parts.append(f'echo "@@{name}"\n(\n{command}\n) 2>&1 </dev/null\nr=$?; echo; echo "@@rc $r"')
    return "\n".join([*parts, f'echo "{END}"', ""])


def split_batch(text: str, names: Sequence[str]) -> Batch:
    """Split the output of a script into answers.

    Args:
        text: What it printed; line ends may be LF or CR LF.
        names: The probes in the order of the script.

    Returns:
        The answers, up to the place where the output was cut off.
    """
    lines = text.replace("\r", "").split("\n")
    answers: dict[str, ProbeOutput] = {}
    position = 0
    for name in names:
        try:
            begin = lines.index(f"@@{name}", position)
        except ValueError:
            continue
        # The last line has no line break, so a return code there may be incomplete.
        end = next((i for i in range(begin + 1, len(lines) - 1) if RC.fullmatch(lines[i])), None)
        if end is None:
            break
        # Joining drops the line break before the marker, which the script added.
        answers[name] = ProbeOutput(text="\n".join(lines[begin + 1 : end]), rc=int(lines[end].split()[1]))
        position = end + 1
    return Batch(answers=answers, complete=END in lines[position:])
