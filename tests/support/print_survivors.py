"""Print what `mutmut results` lists, without the thousands of mutants that a run of one module did not check."""

from __future__ import annotations

import subprocess
import sys

if __name__ == "__main__":
    listed = subprocess.run(["mutmut", "results"], check=True, capture_output=True, text=True, encoding="utf-8").stdout
    sys.stdout.writelines(
        line for line in listed.splitlines(keepends=True) if not line.rstrip().endswith("not checked")
    )
