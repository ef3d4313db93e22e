"""The errors that users see.

A message is one line: what happened, to which file, option, case or device, and the next step.
The classes differ in who has to act, and so in how the plugin and the command exit.
"""

from __future__ import annotations

from pytest_devperf.untrusted import excerpt, printable

MOST_CHARACTERS = 5000
"""Characters of each half of a message: a longer one quotes the content of a file, and would fill the screen."""


class DevperfError(Exception):
    """An error that the user can fix: what happened, and the next step.

    Both halves may quote a file, a tool or a phone, so control characters are escaped; line breaks are kept.

    Args:
        what: One sentence that names the file, option, case or device.
        next_step: The next step for the user; empty if `what` includes it.
    """

    def __init__(self, what: str, next_step: str = "") -> None:
        """Keep both halves separate, so that callers can format them."""
        self.what = _safe(what)
        self.next_step = _safe(next_step)
        super().__init__(self.what, self.next_step)

    def __str__(self) -> str:
        """Return both halves in one line."""
        return f"{self.what}: {self.next_step}" if self.next_step else self.what

    def beside(self, case_id: str) -> str:
        """Return both halves in one line, without the case id, for output that already names the case.

        >>> CaseError("test_a.py::test_b: it broke", "fix it").beside("test_a.py::test_b")
        'it broke: fix it'
        """
        return str(self).removeprefix(f"{case_id}: ")


def _safe(text: str) -> str:
    return "\n".join(map(printable, excerpt(text, MOST_CHARACTERS).split("\n")))


class UsageError(DevperfError):
    """The command cannot be carried out as given (exit code 4); nothing was measured."""


class StoreError(UsageError):
    """A stored run or the store itself cannot be read or written."""


class TargetError(DevperfError):
    """The device failed while it was in use: it is gone, full or not responding."""


class CaseError(DevperfError):
    """A case is wrong, or its workload violated a requirement; the other cases are unaffected."""


class Unsupported(DevperfError):
    """The target cannot run this kind of workload; the case is skipped with the reason."""
