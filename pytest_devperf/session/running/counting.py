"""Decide whether a session can count instructions, and with what."""

from __future__ import annotations

import platform
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.errors import Unsupported, UsageError
from pytest_devperf.session.launch.interpreter import Environment
from pytest_devperf.session.launch.under_valgrind import UnderValgrind

if TYPE_CHECKING:
    from pytest_devperf.count.valgrind import Valgrind
    from pytest_devperf.record.record import Counting


class SessionCounting:
    """Finds valgrind, and counts the canary, when they are first needed."""

    def check(self, *, named: bool) -> str | None:
        """See that instructions can be counted.

        Args:
            named: Whether the command line asks for it.

        Returns:
            Why they cannot be counted, if nobody asked for it on the command line.

        Raises:
            UsageError: They cannot be, and the command line asks for it.
        """
        try:
            _ = self.identity
        except Unsupported as problem:
            if named:
                raise UsageError(f"--devperf-count: {problem.what}", problem.next_step) from None
            return str(problem)
        return None

    def known(self) -> Counting | None:
        """Give the identity of what is counted here; None if nothing can be."""
        try:
            return self.identity
        except Unsupported:
            return None

    @cached_property
    def valgrind(self) -> Valgrind:
        """What counts.

        Raises:
            Unsupported: Nothing does, here.
        """
        from pytest_devperf.count.valgrind import find_valgrind

        return find_valgrind()

    @cached_property
    def identity(self) -> Counting:
        """What two counts must have in common to be comparable.

        Raises:
            Unsupported: Nothing counts here.
        """
        from pytest_devperf.count.canary import count_canary
        from pytest_devperf.count.valgrind import allocator_name, libc_name
        from pytest_devperf.record.record import Counting

        return Counting(
            tool=self.valgrind.version,
            abi=platform.machine(),
            python=f"{platform.python_implementation()} {platform.python_version()}",
            libc=libc_name(),
            allocator=allocator_name(),
            canary=dict(count_canary(self.valgrind)),
        )

    def environment(self, folder: Path, process: int) -> Environment:
        """Return the environment of an interpreter that counts.

        Args:
            folder: Receives the counts.
            process: Index of the process start. In another one, what all forks share lies elsewhere too: names that an
                interpreter looks up can collide in its caches, which moves every fork alike.
        """
        from pytest_devperf.count.valgrind import counting_variables

        valgrind = self.valgrind
        return Environment(
            lead=valgrind.counting(folder),
            variables=counting_variables(process),
            valgrind=UnderValgrind(program=valgrind.program, version=valgrind.version, folder=str(folder)),
        )
