"""What is measured: a case, its plan and its workload."""
