"""Run the command as `python -m pytest_devperf.cli`, if scripts are not on the path."""

from __future__ import annotations

import sys

from pytest_devperf.cli import main

sys.exit(main())
