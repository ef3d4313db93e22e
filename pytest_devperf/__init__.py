"""Performance regression testing with pytest, on the device where the code really runs."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
