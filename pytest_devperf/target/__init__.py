"""Where a workload runs: this machine, a phone, or what a plugin answers."""
