"""Count the instructions of a workload under valgrind, which load, heat and clocks do not change.

The room knows neither pytest nor a session: client requests, forks with different memory layouts, the environment in
which counts repeat, and a canary that shows whether two counts were made alike.
"""
