"""One measuring session: its pending process starts, their results, its verdicts and its saved data.

Nothing here knows pytest; `plugin/` passes the tests in and reports their results.
"""
