"""Which CPUs a workload may run on, as a mask for `taskset`."""

from __future__ import annotations


def format_mask(cpus: tuple[int, ...]) -> str:
    """Write CPUs as the hexadecimal mask of toybox's `taskset`.

    >>> format_mask((4, 5, 6, 7))
    'f0'
    """
    return format(sum(1 << cpu for cpu in cpus), "x")
