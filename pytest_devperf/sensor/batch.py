"""Many questions in one round trip: a script with markers, and its answer taken apart again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

END = "@@END"
"""Last line of a complete answer; without it the link dropped, whatever the return code says."""

NAME = re.compile(r"\w[\w.-]*")

RC = re.compile(r"@@rc [0-9]{1,3}")
"""What follows a probe's answer: its return code, a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one probe printed, its complaints included, and its return code."""

    text: str
    rc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a script of probes answered."""

    answers: Mapping[str, Answer]
    """By probe; one whose answer was cut off is missing."""
    complete: bool
    """Whether the end marker came."""

    def text(self, name: str) -> str:
        """Take a probe's text; empty where its answer is missing, which every reader takes as *unknown*."""
        answer = self.answers.get(name)
        return answer.text if answer is not None else ""


def format_batch(probes: Mapping[str, str]) -> str:
    """Write one `sh` script that asks everything.

    Each probe runs in a subshell between `@@name` and `@@rc N`; a line break before the latter keeps it at the
    beginning of its line, whatever the probe printed last. No here-document: they fail where no folder for
    temporary files can be written.

    Args:
        probes: Name -> shell commands, one line or several.

    Raises:
        ValueError: A name is no word.
    """
    parts: list[str] = []
    for name, command in probes.items():
        if not NAME.fullmatch(name) or name in ("END", "rc"):
            raise ValueError(f"a probe cannot be called {name!r}: use letters, digits, '.', '_' and '-'")
        parts.append(f'echo "@@{name}"\n(\n{command}\n) 2>&1 </dev/null\nr=$?; echo; echo "@@rc $r"')
    return "\n".join([*parts, f'echo "{END}"', ""])


def split_batch(text: str, names: Sequence[str]) -> Batch:
    """Take the answer of a script apart.

    Args:
        text: What it printed; line ends may be LF or CR LF.
        names: The probes in the order they were asked.

    Returns:
        The answers up to where it was cut off.
    """
    lines = text.replace("\r", "").split("\n")
    answers: dict[str, Answer] = {}
    position = 0
    for name in names:
        try:
            begin = lines.index(f"@@{name}", position)
        except ValueError:
            continue
        # The last line has no line break: a code there may be half of one.
        end = next((i for i in range(begin + 1, len(lines) - 1) if RC.fullmatch(lines[i])), None)
        if end is None:
            break
        # Joining leaves out the line break before the marker, which is ours.
        answers[name] = Answer(text="\n".join(lines[begin + 1 : end]), rc=int(lines[end].split()[1]))
        position = end + 1
    return Batch(answers=answers, complete=END in lines[position:])
