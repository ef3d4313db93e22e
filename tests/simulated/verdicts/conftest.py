"""The virtual devices stand in `benchmarks/`, which is run from the root and not installed."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
