"""Every error a user may meet, each with its next step.

An error says what happened, to which file, option, case or device, and what to do next, in one line.
The kinds differ in who has to act on them, and so in how the edges (plugin and command) end.
"""

from __future__ import annotations

from pytest_devperf.untrusted import excerpt, printable

MOST_CHARACTERS = 5000
"""Characters of each half of a message: more of them are a file's content, and would fill the screen."""


class DevperfError(Exception):
    """Something a user can mend: what happened, and the next step.

    Both halves may quote a file, a tool or a phone, so control characters are spelt out; line breaks stay.

    Args:
        what: One sentence that names the file, option, case or device.
        next_step: What the user does about it; empty if `what` already says it.
    """

    def __init__(self, what: str, next_step: str = "") -> None:
        """Keep both halves apart, so that an edge may lay them out."""
        self.what = _safe(what)
        self.next_step = _safe(next_step)
        super().__init__(self.what, self.next_step)

    def __str__(self) -> str:
        """Both halves in one line."""
        return f"{self.what}: {self.next_step}" if self.next_step else self.what

    def beside(self, case_id: str) -> str:
        """Both halves in one line, for a place that names the case already.

        >>> CaseError("test_a.py::test_b: it broke", "mend it").beside("test_a.py::test_b")
        'it broke: mend it'
        """
        return str(self).removeprefix(f"{case_id}: ")


def _safe(text: str) -> str:
    return "\n".join(map(printable, excerpt(text, MOST_CHARACTERS).split("\n")))


class UsageError(DevperfError):
    """The call cannot be carried out as given (exit code 4); nothing was measured."""


class StoreError(UsageError):
    """A stored run or the store itself cannot be read or written."""


class TargetError(DevperfError):
    """The device failed while it was in use: gone, full, not answering."""


class CaseError(DevperfError):
    """One case is wrong, or its workload broke a promise; the others are unharmed."""


class Unsupported(DevperfError):
    """This target cannot run this kind of workload: the case is skipped with the reason."""
